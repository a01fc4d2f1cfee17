"""Changes of a problem: functions that take the printed problem and return another one.

A function with an argument ``problem`` is a change. It is called by argument name: ``problem`` is
the method's step, its scalars named Parameters, and other arguments are those of a ``build``.
"""

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

from convexfs.errors import InputError, warn

#: Name of the argument that marks a function as a change.
PROBLEM = "problem"


def is_change(build: Callable[..., Any] | None) -> bool:
    """Return whether a function has an argument `problem`: it changes the printed problem."""
    return build is not None and PROBLEM in inspect.signature(build).parameters


def takes(build: Callable[..., Any], name: str) -> bool:
    """Return whether a function has an argument `name`, or `problem`, which contains all values."""
    return name in inspect.signature(build).parameters or is_change(build)


def printed_problem(build: Callable[..., Any], offered: Mapping[str, Any]) -> Any:
    """Build a method's printed problem with named Parameters and constants, as a change's input."""
    from convexfs.solving.named_leaves import name_constants, with_parameters

    problem = build(**with_parameters(build, offered))
    name_constants(problem, offered)
    return problem


def as_build(change: Callable[..., Any], printed: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a change as a ``build`` whose signature also has the printed problem's arguments.

    Callers that look which values a ``build`` takes then offer it all that the printed one needs.
    """
    own = inspect.signature(change).parameters

    def build(**offered: Any) -> Any:
        return change(**{name: value for name, value in offered.items() if name in own})

    arguments = {**inspect.signature(printed).parameters, **own}
    keywords = [each.replace(kind=each.KEYWORD_ONLY) for each in arguments.values()]
    build.__signature__ = inspect.Signature(keywords)  # type: ignore[attr-defined]
    build.__name__ = called(change)
    return build


def called(build: Callable[..., Any] | None) -> str:
    """Return a function's name for messages: a lambda's file and line, "formulation" if unnamed."""
    name = getattr(build, "__name__", "") or getattr(getattr(build, "func", None), "__name__", "")
    if name != "<lambda>":
        return name or "formulation"
    code = build.__code__  # type: ignore[union-attr]
    return f"lambda in line {code.co_firstlineno} of {code.co_filename}"


Constraints = Callable[[Any, Any], Any]


def added(default: Constraints, constraints: Constraints) -> Constraints:
    """Return a function that lists the default constraints followed by the user's own."""

    def feasible(f: Any, max_features: Any) -> list[Any]:
        return [*default(f, max_features), *_listed(constraints(f, plain(max_features)))]

    feasible.__name__ = called(constraints)
    return feasible


def replacing(default: Constraints, feasible: Constraints) -> Constraints:
    """Wrap the user's constraints, which replace the defaults; warn once which are dropped."""
    warned = []

    @wraps(feasible)
    def replaced(f: Any, max_features: Any) -> Any:
        from convexfs.solving.named_leaves import unstated

        rows = feasible(f, plain(max_features))
        if not warned and isinstance(rows, list | tuple):
            warned.append(True)
            dropped = unstated(default(f, max_features), rows, f)
            if dropped:
                warn(
                    f"{called(feasible)} drops the default constraints {', '.join(dropped)}: state "
                    "them too, or define constraints(f, max_features), which are added to them"
                )
        return rows

    return replaced


def _listed(rows: Any) -> list[Any]:
    """Return a function's constraints as a list; raise if it returned something else."""
    if isinstance(rows, list | tuple):
        return list(rows)
    raise InputError(
        f"constraints must return a list of constraints, not {type(rows).__name__}: "
        "is a return missing?"
    )


def plain(max_features: Any) -> int:
    """Return max_features as an integer, also from a Parameter."""
    return int(getattr(max_features, "value", max_features))
