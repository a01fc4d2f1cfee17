"""A changed problem given to an estimator: a function, or a problem file."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from convexfs.errors import InputError


def build_of(formulation: Callable[..., Any] | str | Path | None) -> Callable[..., Any] | None:
    """The build function behind an estimator's ``formulation`` parameter.

    Of a problem file, arguments that are in its GRID take their first value.
    """
    if formulation is None or callable(formulation):
        return formulation
    if not isinstance(formulation, str | Path):
        kind = type(formulation).__name__
        raise InputError(f"formulation must be a build function or a problem file, not {kind}")
    from convexfs.batch.problem_file import load_problem_file, with_fixed

    file = load_problem_file(formulation)
    return with_fixed(file.build, {name: values[0] for name, values in file.grid.items()})
