"""Name the parameters and constants of a problem, and fill in its solution."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from typing import Any, get_args

import cvxpy as cp
import numpy as np
from cvxpy.constraints import Equality, Inequality
from scipy.sparse import issparse


def with_parameters(build: Callable[..., Any], offered: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `build` by name, scalars as cvxpy Parameters if annotated so.

    Those arguments become Parameters whose annotation allows it.
    """
    taken: dict[str, Any] = {}
    for name, argument in inspect.signature(build).parameters.items():
        value = offered.get(name, argument.default)
        if value is argument.empty:
            continue
        taken[name] = parameter(letter_of(argument), value) if _may_vary(argument, value) else value
    return taken


def letter_of(argument: inspect.Parameter) -> str:
    """Return an argument's symbol in formulas: its name, or its annotated letter.

    >>> from typing import Annotated
    >>> def build(max_features: Annotated[float, "alpha"], lam: float): ...
    >>> [letter_of(each) for each in inspect.signature(build).parameters.values()]
    ['alpha', 'lam']
    """
    return next(iter(getattr(argument.annotation, "__metadata__", ())), argument.name)


def parameter(name: str, value: float) -> cp.Parameter:
    """Return a scalar cvxpy Parameter with this value, declared nonneg or nonpos by its sign."""
    return cp.Parameter(name=name, value=float(value), nonneg=value >= 0, nonpos=value < 0)


def _may_vary(argument: inspect.Parameter, value: Any) -> bool:
    annotation = getattr(argument.annotation, "__origin__", argument.annotation)
    kinds = [kind for kind in get_args(annotation) if isinstance(kind, type)]
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    return is_number and any(issubclass(cp.Parameter, kind) for kind in kinds)


def name_constants(problem: cp.Problem, values: Mapping[str, Any]) -> None:
    """Name a cvxpy problem's dense array constants, in place, after equal arrays in `values`."""
    arrays = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
    for constant in problem.constants():
        value: Any = constant.value
        if issparse(value) or np.ndim(value) == 0:
            continue
        for name, array in arrays.items():
            if np.shape(array) == np.shape(value) and np.array_equal(array, value):
                # cvxpy sets names only when a constant is made, which happens inside an operator.
                constant._name = name
                break


def fill(problem: cp.Problem, primal: Mapping[str, Any]) -> bool:
    """Assign values to variables by name, compute defined ones; return whether all have one.

    Returns whether all variables have a value. A problem of which some have none is left
    without values.
    """
    for variable in problem.variables():
        value = primal.get(variable.name())
        fits = value is not None and np.shape(value) == variable.shape
        variable.save_value(np.array(value, dtype=float) if fits else None)
    for constraint in problem.constraints:
        _define(constraint)
    complete = all(variable.value is not None for variable in problem.variables())
    if not complete:
        for variable in problem.variables():
            variable.save_value(None)
    return complete


def _define(constraint: Any) -> None:
    """If an equation's left side is a variable without value, assign it the right side's."""
    if not isinstance(constraint, Equality):
        return
    left, right = constraint.args
    if isinstance(left, cp.Variable) and left.value is None and right.value is not None:
        left.save_value(np.broadcast_to(right.value, left.shape).copy())


def unstated(defaults: list[Any], rows: Sequence[Any], variable: cp.Variable) -> list[str]:
    """Return the labels of the constraints in `defaults` that `rows` do not imply.

    Rows are compared as affine inequalities of `variable`; others are taken to state nothing.
    """
    stated = [pair for row in rows for pair in _half_spaces(row, variable)]

    def is_stated(default: Any) -> bool:
        needed = _half_spaces(default, variable)
        return all(any(_implies(own, each) for own in stated) for each in needed)

    return [default.label for default in defaults if not is_stated(default)]


def _half_spaces(row: Any, variable: cp.Variable) -> list[tuple[np.ndarray, float]]:
    """Return (unit normal a, bound b) of half-spaces ``a'x <= b``; [] if not affine in x only."""
    if not isinstance(row, Inequality | Equality) or not row.expr.is_affine():
        return []
    if {each.id for each in row.variables()} != {variable.id}:
        return []
    before = variable.value
    variable.save_value(np.zeros(variable.shape))
    slopes: Any = row.expr.grad[variable]
    dense = slopes.toarray() if issparse(slopes) else np.asarray(slopes)
    slopes = dense.reshape(variable.size, -1, order="F")
    bounds = -np.ravel(row.expr.value, order="F")
    variable.save_value(before)
    found = []
    for slope, bound in zip(slopes.T, bounds, strict=True):
        length = float(np.linalg.norm(slope)) or 1.0
        signs = (1.0, -1.0) if isinstance(row, Equality) else (1.0,)
        found += [(sign * slope / length, sign * bound / length) for sign in signs]
    return found


def _implies(own: tuple[np.ndarray, float], needed: tuple[np.ndarray, float]) -> bool:
    slack = 1e-9 * (1.0 + abs(needed[1]))
    return bool(np.abs(own[0] - needed[0]).max() <= 1e-9 and own[1] <= needed[1] + slack)
