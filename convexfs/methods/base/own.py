"""What stands in the place of a formulation where a problem file states a problem of its own."""

from collections.abc import Callable
from typing import Any

from convexfs.methods.base.formulation import Formulation


class _Own(Formulation):
    """A formulation of no method: nothing is computed from samples, nothing solved natively."""

    @property
    def numbers(self) -> Callable[..., tuple[dict[str, Any], dict[str, Any]]]:
        return _none

    @property
    def native(self) -> None:
        return None

    @property
    def method(self) -> Callable[..., Any]:
        return own


def _none() -> tuple[dict[str, Any], dict[str, Any]]:
    return {}, {}


def own(*_: Any, **__: Any) -> Any:
    """Raise: a problem of its own is solved as it stands, and no fit leads to it."""
    raise NotImplementedError("a problem of its own has no fit")


OWN = _Own(
    name="own",
    equation="min or max, as the problem file says",
    reference="",
    symbol="",
    cones=frozenset(),
)
