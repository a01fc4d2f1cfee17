"""What a method declares of itself: its convex problems, and the estimators that fit it.

A method is a package. Its ``__init__.py`` declares ``METHOD``; what belongs to it is found by
name, and imported when first used, so that a native fit never loads cvxpy:

- ``problem.py`` has a function for each formulation, arrays to ``cvxpy.Problem``;
- ``numbers.py`` a function of the same name, samples to those arrays;
- ``native.py``, if there is one, a function of the same name again, which solves the problem
  without cvxpy, and ``<name>_violation`` and ``<name>_gap``, or one ``violation`` and ``gap``
  for all of them;
- ``fit.py`` ``Settings``, a dataclass with all parameters of the method, a function of
  the method's name, which loops over the problems, and ``step``, which returns one of them as a
  :class:`Step`;
- ``tasks.py``, if a fit is split into tasks (see :class:`Method`), ``parts(whole,
  problem)``, those of a batch's task on a whole data set, and ``do(task, problem)``;
- ``estimator.py`` its scikit-learn classes.
"""

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache, partial
from inspect import signature
from types import ModuleType
from typing import Any, Literal, dataclass_transform

from convexfs.data.targets import CLASSES
from convexfs.errors import InputError, check_number

AUTO = "auto"


def learned(*, init: Literal[False] = False) -> Any:
    """Declare an attribute that ``fit`` sets; it is not a parameter."""
    return field(init=init)


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(learned, field))
def parameters(cls: Any) -> Any:
    """Turn a class into a dataclass whose annotated fields are keyword-only parameters.

    A method declares its settings so, with their defaults and types; its estimator inherits
    them, which makes them its own signature.
    """
    return dataclass(kw_only=True, eq=False, repr=False)(cls)


@dataclass(frozen=True)
class Solving:
    """Solver settings for a method's convex problems.

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


#: The default solver settings.
DEFAULT_SOLVING = Solving()
#: Former name, kept until the next release.
AS_USUAL = DEFAULT_SOLVING


def taken_by(function: Callable[..., Any], settings: Any) -> dict[str, Any]:
    """Return those settings that are arguments of the function, as a dict."""
    taken = argument_names(function)
    names = (field.name for field in fields(settings))
    return {name: getattr(settings, name) for name in names if name in taken}


@lru_cache
def argument_names(function: Callable[..., Any]) -> frozenset[str]:
    """Return the names of a function's arguments; remembered, because inspection takes long."""
    return frozenset(signature(function).parameters)


@dataclass(frozen=True)
class Formulation:
    """A named convex problem and the functions that belong to it.

    Attributes
    ----------
    name, equation, reference : str
        Its name, the problem in one line, and where it is printed.
    symbol : str
        Name of the variable that holds the feature weights.
    cones, integer : frozenset of str, bool
        What the problem asks of a solver, so that an unsuitable one is refused
        before any work.
    chosen_by : str
        The method's parameter that makes a whole fit solve this formulation; empty for the
        default one, and for those that no fit solves.
    selected_above : float or None
        Least value of a selected feature; None if it depends on the largest.
    formerly : str
        The name it has in stores of earlier versions.
    same_as : str
        Name of another method's formulation that this one shares all functions with, but for
        ``numbers``.
    home : str
        Package of the method, which fills this in.
    build : callable
        ``build(**values, **hyper) -> cvxpy.Problem``.
    native : callable or None
        Same arguments, returns a Solution without cvxpy.
    method : callable
        The algorithm whose step this problem is.
    numbers : callable
        The method's numeric half, ``numbers(X, codes, **hyper) -> values, hyper``:
        what ``build`` takes, computed from samples. Its defaults are its own, else the
        method's settings.
    settings : type
        The method's settings, a dataclass.
    violation, gap : callable
        ``f(values, hyper, primal) -> float``: how far a point is from feasible,
        and its distance to a dual bound, both in numpy from the formula alone.
    """

    name: str
    equation: str
    reference: str
    symbol: str
    cones: frozenset[str]
    integer: bool = False
    chosen_by: str = ""
    selected_above: float | None = None
    formerly: str = ""
    same_as: str = ""
    home: str = ""

    @property
    def build(self) -> Callable[..., Any]:
        return getattr(self._shared_file("problem"), self._function)

    @property
    def numbers(self) -> Callable[..., tuple[dict[str, Any], dict[str, Any]]]:
        function = getattr(_file(self.home, "numbers"), _as_identifier(self.name))
        # Arguments with a default, such as beta, may be None in the settings of a fit: use their
        # default.
        arguments = signature(function).parameters.values()
        own = {at.name for at in arguments if at.default is not at.empty}
        usual = taken_by(function, self.settings())
        return partial(function, **{name: usual[name] for name in usual.keys() - own})

    @property
    def settings(self) -> type[Any]:
        return importlib.import_module(f"{self.home}.fit").Settings

    @property
    def method(self) -> Callable[..., Any]:
        return getattr(_file(self.home, "fit"), self.home.rpartition(".")[2])

    @property
    def tasks(self) -> Any:
        """Return the method's module ``tasks``, which defines its batch tasks; None without one."""
        return _file(self.home, "tasks")

    @property
    def native(self) -> Callable[..., Any] | None:
        return getattr(self._shared_file("native"), self._function, None)

    @property
    def violation(self) -> Callable[..., float]:
        return self._native_part("violation")

    @property
    def gap(self) -> Callable[..., float]:
        return self._native_part("gap")

    @property
    def _function(self) -> str:
        return _as_identifier(self.same_as or self.name)

    def _shared_file(self, name: str) -> ModuleType | None:
        """Import this method's module `name`, or that of formulation `same_as`; None if missing."""
        if not self.same_as:
            return _file(self.home, name)
        from convexfs.methods import FORMULATIONS

        return _file(FORMULATIONS[self.same_as].home, name)

    def _native_part(self, part: str) -> Callable[..., float]:
        native = self._shared_file("native")
        return getattr(native, f"{self._function}_{part}", None) or getattr(native, part)


@dataclass(frozen=True)
class Method:
    """Facts about a method that are needed before it is imported.

    Attributes
    ----------
    name : str
        As the command line and problem files call it.
    home : str
        Its package: give ``__name__``.
    estimators : mapping of str to str
        Classes, as ``file:Class``, by the name that ``convexfs select --method`` takes.
    formulations : tuple of Formulation
        The first is the one that its estimator solves by default.
    component_number : pair of str, optional
        For a projection: the attribute with one number a component, and what that number is.
    shows_progress : bool
        Whether its estimator draws its own progress bar if ``verbose`` is 1.
    target : {"classes", "numbers"}
        What it learns from.
    takes_missing : tuple of str
        Names of those of its estimators that take missing values and categories.
    parts : pair of str, optional
        For a method whose fit falls into independent parts, a task each: what FIT of a
        problem file calls them, and what GRID calls one of them.
    cited : str
        Authors and years that a methods section cites for it.
    """

    name: str
    home: str
    estimators: Mapping[str, str] = field(default_factory=dict)
    formulations: tuple[Formulation, ...] = ()
    component_number: tuple[str, str] | None = None
    shows_progress: bool = False
    target: str = CLASSES
    takes_missing: tuple[str, ...] = ()
    parts: tuple[str, str] | None = None
    cited: str = ""

    def __post_init__(self) -> None:
        at_home = (replace(row, home=self.home) for row in self.formulations)
        object.__setattr__(self, "formulations", tuple(at_home))

    def formulation(self, name: str, solving: Solving | None = None) -> Formulation:
        """Return the method's formulation of this name; raise if `solving` cannot solve it."""
        found = next(row for row in self.formulations if row.name == name)
        if solving is not None:
            check_solver(found, solving)
        return found

    def estimator(self, name: str) -> type[Any]:
        """Return the estimator class of a name on the command line."""
        file = self.estimators[name].partition(":")[0]
        return getattr(_file(self.home, file), self.class_name(name))

    def class_name(self, name: str) -> str:
        """Return the name of the estimator class of a name on the command line."""
        return self.estimators[name].partition(":")[2]


@dataclass(frozen=True)
class Step:
    """One convex step of a method: the problem, its data, and its solution if known.

    Attributes
    ----------
    values, hyper : mapping
        What ``formulation.build`` takes: arrays, and scalars.
    start : array or None
        Of a fixed point, the weights at which the neighbours were taken.
    primal : mapping
        Values of variables by name, as far as they are known.
    """

    formulation: Formulation
    values: Mapping[str, Any]
    hyper: Mapping[str, Any]
    start: Any = None
    primal: Mapping[str, Any] = field(default_factory=dict)


def _as_identifier(name: str) -> str:
    return name.replace("-", "_")


def _file(home: str, name: str) -> ModuleType | None:
    """Import a module of a method; return None if it does not exist."""
    module = f"{home}.{name}"
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        return None


class _Own(Formulation):
    """Placeholder formulation of a user-defined problem, without data and native solver."""

    @property
    def numbers(self) -> Callable[..., tuple[dict[str, Any], dict[str, Any]]]:
        return lambda: ({}, {})

    @property
    def native(self) -> None:
        return None

    @property
    def method(self) -> Callable[..., Any]:
        return own


def own(*_: Any, **__: Any) -> Any:
    """Raise an error: a user-defined problem has no fit."""
    raise NotImplementedError("a custom problem has no fit")


OWN = _Own("own", "min or max, as the problem file says", "", symbol="", cones=frozenset())


def check_solver(formulation: Formulation, solving: Solving) -> None:
    """Raise if solver or tolerance is invalid, or the solver cannot solve the printed problem.

    What a changed problem needs is known only once it is built.
    """
    if not isinstance(solving.solver, str):
        raise InputError(f"solver must be a name such as 'CLARABEL', not {solving.solver!r}")
    check_number("solver_tol", solving.tol, 0, 1, open_ends=True)
    if solving.solver.lower() == AUTO or runs_natively(formulation, solving):
        return
    from convexfs.solving.backends import Needs, backend, check_takes

    row = backend(solving.solver)
    if solving.build is None:
        check_takes(row, Needs(formulation.cones, formulation.integer))


def runs_natively(formulation: Formulation, solving: Solving) -> bool:
    """Return whether the native solver is used; raise if it is asked for but cannot be used."""
    from convexfs.records import NATIVE  # loads numpy, which declarations of methods do not need

    solver, printed = solving.solver.lower(), solving.build is None
    if solver == AUTO:
        return printed and formulation.native is not None
    if solver != NATIVE:
        return False
    if not printed or formulation.native is None:
        raise InputError(
            f"solver='native' solves {formulation.name} as printed, not a changed formulation: "
            "use solver='auto' or name a cvxpy solver"
        )
    return True
