"""User-defined formulations for an estimator: a build function, or a problem file."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from convexfs.errors import InputError

if TYPE_CHECKING:
    from convexfs.batch.problem_files.load import ProblemFile


def build_of(
    formulation: Callable[..., Any] | str | Path | None, method: str
) -> Callable[..., Any] | None:
    """Return the build function of the parameter ``formulation``: a callable, a file's, or None.

    Of a problem file, its own arguments take the first value they have in its GRID;
    what the method offers, such as ``lam``, the estimator's parameters decide.
    """
    if formulation is None or callable(formulation):
        return formulation
    from convexfs.batch.problem_files.load import with_fixed

    file = changed_file(formulation, method)
    return with_fixed(file.build, own_values(file))


def own_values(file: "ProblemFile") -> dict[str, Any]:
    """Return extra arguments of a file's `build` as a dict, each at the first value of its GRID."""
    if file.build is None:
        return {}
    offered = inspect.signature(file.formulation.build).parameters
    taken = inspect.signature(file.build).parameters
    own = (name for name in file.grid if name in taken and name not in offered)
    return {name: file.grid[name][0] for name in own}


def changed_file(formulation: Any, method: str) -> "ProblemFile":
    """Load the problem file of this name; raise unless it changes a problem of this method."""
    if not isinstance(formulation, str | Path):
        kind = type(formulation).__name__
        raise InputError(f"formulation must be a build function or a problem file, not {kind}")
    from convexfs.batch.problem_files.load import load_problem_file

    file = load_problem_file(formulation)
    theirs = file.formulation.method.__name__
    if theirs != method:
        raise InputError(f"{file.path} changes {theirs}: it cannot be the formulation of {method}")
    if file.build is None:
        raise InputError(
            f"{file.path} changes nothing, for it defines no build or change: leave formulation "
            "out, and give what its GRID names as parameters"
        )
    return file
