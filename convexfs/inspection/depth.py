"""Room for deep formulas: Python's own limit is met before cvxpy's."""

import sys
from contextlib import ContextDecorator
from typing import Any

#: Calls inside each other; a level of a formula takes up to six.
ROOM = 10_000


class deep(ContextDecorator):  # noqa: N801, it is used as a decorator
    """Raise the recursion limit for the time of a call."""

    def __enter__(self) -> None:
        self._before = sys.getrecursionlimit()
        sys.setrecursionlimit(max(self._before, ROOM))

    def __exit__(self, *_: Any) -> None:
        sys.setrecursionlimit(self._before)

    def _recreate_cm(self) -> "deep":
        return deep()
