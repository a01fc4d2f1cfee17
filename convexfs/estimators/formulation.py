"""A changed problem given to an estimator: a function, or a problem file."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from convexfs.errors import InputError


def build_of(formulation: Callable[..., Any] | str | Path | None) -> Callable[..., Any] | None:
    """The build function behind an estimator's ``formulation`` parameter."""
    if formulation is None or callable(formulation):
        return formulation
    raise InputError(
        f"formulation must be a build function or a problem file, not {type(formulation).__name__}"
    )
