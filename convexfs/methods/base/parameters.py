"""Parameters, written once: of a method by itself, and of whatever solves its problems."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, dataclass_transform

AUTO = "auto"


def learned(*, init: Literal[False] = False) -> Any:
    """Declare an attribute that ``fit`` sets, and that is no parameter."""
    return field(init=init)


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(learned, field))
def parameters(cls: Any) -> Any:
    """Make the annotated fields of a class its keyword-only parameters.

    A method declares its settings so, with their defaults and types; its estimator inherits
    them, which makes them its own signature.
    """
    return dataclass(kw_only=True, eq=False, repr=False)(cls)


@dataclass(frozen=True)
class Solving:
    """How the convex problems of a method are solved, whatever the method.

    Attributes
    ----------
    solver : str
        "auto" takes the native twin where there is one; a cvxpy name forces that backend.
    tol, options, time_limit
        The accuracy a backend is asked for, more options in its own words, and the seconds
        it may take for a problem.
    build : callable or None
        A changed problem in place of the formulation's own; it has no native twin.
    verbose : bool
        Whether the backend prints.
    """

    solver: str = AUTO
    tol: float = 1e-6
    options: Mapping[str, Any] | None = None
    time_limit: float | None = None
    build: Callable[..., Any] | None = None
    verbose: bool = False


#: How problems are solved by default.
DEFAULT_SOLVING = Solving()
#: Its former name, until the next release.
AS_USUAL = DEFAULT_SOLVING


def taken_by(function: Callable[..., Any], settings: Any) -> dict[str, Any]:
    """Return the settings that a function takes as arguments, by name."""
    taken = inspect.signature(function).parameters
    names = (field.name for field in fields(settings))
    return {name: getattr(settings, name) for name in names if name in taken}
