"""How far a point is from satisfying the constraints of a problem as they are stated.

A violation is divided by the terms of its own row, in the sense of Oettli and Prager: the
values of both sides, and what they change by when every variable changes by its own size. So
it is the least relative change of the row's terms that makes the point feasible, whatever
units rows and variables are in, and no large row hides a small one. Cones are evaluated in
closed form, in units of their own entries; integers may be off by an absolute amount.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.constraints import PSD, SOC, Equality, ExpCone, Inequality, PowCone3D, PowConeND

from convexfs.certification.program.exponential_and_power import Exponential

#: Number of random directions in which variables are changed, and the step relative to their size.
DIRECTIONS, STEP = 4, 1e-7
#: Violations above this are computed again, relative to how much both sides vary with the
#: variables.
NEGLIGIBLE = 1e-12


@dataclass(frozen=True)
class Violation:
    """The largest relative violation, and the constraint or variable it comes from."""

    value: float
    where: str = ""


def violation(problem: cp.Problem, units: Mapping[int, np.ndarray] | None = None) -> Violation:
    """Return the largest relative violation of the constraints at the variables' values.

    `units` are the least sizes of variables' changes, by id; without them each changes by its
    own value only.
    """
    sides = [_sides(constraint) for constraint in problem.constraints]
    plain = [[np.abs(side) for side in pair] for pair in sides]
    worst = _worst(problem, sides, plain, units)
    if not worst.value > NEGLIGIBLE:
        return worst
    changes = _changes(problem, sides, units)
    grown = [
        [term + change for term, change in zip(*pair, strict=True)]
        for pair in zip(plain, changes, strict=True)
    ]
    return _worst(problem, sides, grown, units)


def _sides(constraint: Any) -> list[np.ndarray]:
    return [value_of(side) for side in constraint.args]


def value_of(expression: Any) -> np.ndarray:
    """Return the value of an expression as a dense array."""
    return dense(expression.value)


def dense(value: Any) -> np.ndarray:
    """Return a value of cvxpy, perhaps sparse, as a dense array."""
    return np.asarray(value.toarray() if hasattr(value, "toarray") else value)


def _sizes(problem: cp.Problem, units: Mapping[int, np.ndarray] | None) -> list[np.ndarray]:
    """Return by how much to change each variable: its absolute value, at least its unit."""
    sizes = []
    for variable in problem.variables():
        size = np.abs(value_of(variable))
        if units is not None and variable.id in units:
            size = np.maximum(size, units[variable.id])
        sizes.append(size)
    return sizes


def _changes(
    problem: cp.Problem, sides: list[list[np.ndarray]], units: Mapping[int, np.ndarray] | None
) -> list[list[np.ndarray]]:
    """Return how much each constraint's sides change if the variables change by their sizes."""
    variables = problem.variables()
    point = [value_of(variable) for variable in variables]
    sizes, draw = _sizes(problem, units), np.random.default_rng(0)
    changes = [[np.zeros(np.shape(side)) for side in pair] for pair in sides]
    try:
        for _ in range(DIRECTIONS):
            for variable, value, size in zip(variables, point, sizes, strict=True):
                # Change entries by different amounts: else differences of equal variables would not
                # change.
                shares = draw.uniform(-1.0, 1.0, size=value.shape)
                variable.save_value(value + STEP * size * shares)
            for k, constraint in enumerate(problem.constraints):
                for i, moved in enumerate(_sides(constraint)):
                    change = np.abs(moved - sides[k][i]) / STEP
                    # fmax ignores NaN: functions have no value outside their domain.
                    changes[k][i] = np.fmax(changes[k][i], change)
    finally:
        for variable, value in zip(variables, point, strict=True):
            variable.save_value(value)
    return changes


def _worst(
    problem: cp.Problem,
    sides: list[list[np.ndarray]],
    terms: list[list[np.ndarray]],
    units: Mapping[int, np.ndarray] | None,
) -> Violation:
    found = [Violation(0.0)]
    for position, constraint in enumerate(problem.constraints):
        value, entry = _of_constraint(constraint, sides[position], terms[position])
        name = f"constraint {constraint.label or position}"
        found.append(Violation(value, name + entry))
    for variable, size in zip(problem.variables(), _sizes(problem, units), strict=True):
        value, entry = _of_variable(variable, size)
        found.append(Violation(value, f"the domain of {variable.name()}{entry}"))
    # NaN counts as the largest violation.
    return max(found, key=lambda each: np.inf if np.isnan(each.value) else each.value)


def _of_constraint(
    constraint: Any, sides: list[np.ndarray], terms: list[np.ndarray]
) -> tuple[float, str]:
    match constraint:
        case PSD():
            return matrix_violation(sides[0], terms[0]), ""
        case SOC() | ExpCone() | PowCone3D() | PowConeND():
            beyond, units = _of_cones(constraint, sides, terms)
            return _largest_ratio(beyond, units)
    if isinstance(constraint, Inequality | Equality):
        difference = sides[0] - sides[1]
        over = isinstance(constraint, Inequality) and np.isrealobj(difference)
        beyond = np.maximum(difference, 0.0) if over else np.abs(difference)
        return _largest_ratio(beyond, terms[0] + terms[1])
    beyond = np.asarray(constraint.violation())
    if beyond.ndim and beyond.shape == terms[0].shape:
        return _largest_ratio(beyond, terms[0])
    return _largest_ratio(beyond, max(np.max(term, initial=0.0) for term in terms))


def _of_cones(
    constraint: Any, sides: list[np.ndarray], terms: list[np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Return, for each cone, the distance of its entries from the cone, and their unit."""
    if isinstance(constraint, SOC):
        t, X = np.ravel(sides[0]), np.atleast_2d(_by_cone(sides[1], constraint.axis))
        sizes = np.atleast_2d(_by_cone(terms[1], constraint.axis)).max(axis=1, initial=0.0)
        units = np.maximum(np.ravel(terms[0]), sizes)
        return np.maximum(np.linalg.norm(X, axis=1) - t, 0.0), units
    if isinstance(constraint, ExpCone):
        values, units = (np.column_stack([np.ravel(each) for each in of]) for of in (sides, terms))
        return Exponential().outside(values), units.max(axis=1)
    alpha = np.asarray(constraint.alpha.value, dtype=float)
    if isinstance(constraint, PowCone3D):
        x, y, z, x_unit, y_unit, z_unit = (np.ravel(each) for each in (*sides, *terms))
        exponents = np.column_stack([np.ravel(alpha), 1.0 - np.ravel(alpha)])
        u, u_unit = np.column_stack([x, y]), np.column_stack([x_unit, y_unit])
    else:
        u, u_unit = (np.atleast_2d(_by_cone(each[0], constraint.axis)) for each in (sides, terms))
        exponents = np.atleast_2d(_by_cone(alpha, constraint.axis))
        z, z_unit = np.ravel(sides[1]), np.ravel(terms[1])
    product = np.prod(np.maximum(u, 0.0) ** exponents, axis=1)
    short = np.maximum(np.abs(z) - product, 0.0)
    units = np.maximum(z_unit, product)
    # Compare a negative entry with the largest entry, and a shortfall with the product.
    negative = np.max(np.maximum(-u, 0.0), axis=1) / np.maximum(u_unit.max(axis=1), 1e-300)
    return np.maximum(short, negative * units), units


def _by_cone(values: np.ndarray, axis: int) -> np.ndarray:
    """Reshape entries to one row per cone; `axis` runs over the entries of one cone."""
    return values.T if values.ndim > 1 and axis == 0 else values


def lacks_structure(problem: cp.Problem, tol: float) -> str:
    """Return ``the domain of x`` for a variable x that breaks its structure (symmetry), or ""."""
    for variable in problem.variables():
        value = value_of(variable)
        off = np.abs(value - _structured(variable, value))
        if np.any(off > tol * np.abs(value).max(initial=0.0)):
            return f"the domain of {variable.name()}"
    return ""


def _structured(variable: cp.Variable, value: np.ndarray) -> np.ndarray:
    """Return the nearest value with the variable's declared structure, such as symmetry."""
    given: Any = variable.attributes
    if given["PSD"] or given["NSD"] or given["symmetric"] or given["hermitian"]:
        value = (value + np.conj(np.swapaxes(value, -1, -2))) / 2
    if given["diag"]:
        value = np.where(np.eye(value.shape[0], dtype=bool), value, 0.0)
    if given["imag"]:
        value = 1j * np.imag(value)
    return dense(variable.project(value)) if given["sparsity"] else value


def _limits(variable: cp.Variable) -> tuple[Any, Any]:
    """Return the lower and upper limits from a variable's ``bounds`` and sign attributes."""
    given: Any = variable.attributes
    bounds: Any = variable.bounds
    lower, upper = (-np.inf, np.inf) if bounds is None else bounds
    lower, upper = (dense(getattr(each, "value", each)) for each in (lower, upper))
    if given["nonneg"] or given["pos"]:
        lower = np.maximum(lower, 0.0)
    if given["nonpos"] or given["neg"]:
        upper = np.minimum(upper, 0.0)
    return lower, upper


def _of_variable(variable: cp.Variable, size: np.ndarray) -> tuple[float, str]:
    attributes: Any = variable.attributes
    if all(value is None or value is False for value in attributes.values()):
        return 0.0, ""
    value = value_of(variable)
    found = [_largest_ratio(np.abs(value - _structured(variable, value)), size)]
    if attributes["PSD"] or attributes["NSD"]:
        matrix = value if attributes["PSD"] else -value
        skew = np.abs(matrix - np.conj(np.swapaxes(matrix, -1, -2)))
        largest = float(np.abs(matrix).max(initial=0.0))
        found = [_largest_ratio(skew, largest), (matrix_violation(matrix, size), "")]
    if attributes["boolean"] or attributes["integer"]:
        mask = integer_entries(variable)
        off = np.where(mask, np.abs(value - np.round(value)), 0.0)
        # The unit of an integer entry is at least 1.
        size = np.where(mask, np.maximum(size, 1.0), size)
        found.append(_largest_ratio(off, 1.0))
    if np.isrealobj(value):
        lower, upper = _limits(variable)
        beyond = np.maximum(np.maximum(lower - value, value - upper), 0.0)
        known = [np.where(np.isfinite(each), np.abs(each), 0.0) for each in (lower, upper)]
        found.append(_largest_ratio(beyond, np.maximum(size, np.maximum(*known))))
    return max(found, key=lambda each: each[0])


def integer_entries(variable: cp.Variable) -> np.ndarray:
    """Return a mask of the boolean and integer entries of a variable."""
    mask = np.zeros(variable.shape, dtype=bool)
    for kind, places in (("boolean", variable.boolean_idx), ("integer", variable.integer_idx)):
        if variable.attributes[kind] is True:
            mask[...] = True
        elif places:
            rows: Any = np.array(places)
            mask[tuple(rows.T if rows.shape[-1] == mask.ndim and rows.ndim == 2 else rows)] = True
    return mask


def _largest_ratio(beyond: Any, terms: Any) -> tuple[float, str]:
    """Return the largest ratio of violation to terms, and the text of its index, as ``[2, 0]``."""
    beyond, terms = np.broadcast_arrays(np.asarray(beyond, dtype=float), terms)
    # A violation that is not a number, or has no terms to compare with, is infinite.
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(beyond > 0, beyond / terms, np.where(np.isnan(beyond), np.inf, 0.0))
    if not ratios.size:
        return 0.0, ""
    ratios = np.where(np.isnan(ratios), np.inf, ratios)
    place = np.unravel_index(int(np.argmax(ratios)), ratios.shape)
    entry = ", ".join(str(int(each)) for each in place)
    return float(ratios.max()), f"[{entry}]" if entry else ""


def matrix_violation(matrix: np.ndarray, terms: np.ndarray) -> float:
    """Return max(0, -lowest eigenvalue) of the matrix scaled by `terms`; inf if not finite."""
    if not np.isfinite(matrix).all():
        return np.inf
    matrix = (matrix + np.conj(np.swapaxes(matrix, -1, -2))) / 2
    units = np.sqrt(np.abs(np.diagonal(terms, axis1=-2, axis2=-1)))
    units = np.where(units > 0, units, np.sqrt(np.max(terms, initial=0.0)) or 1.0)
    scaled = matrix / (units[..., :, None] * units[..., None, :])
    return float(max(-np.linalg.eigvalsh(scaled)[..., 0].min(), 0.0))
