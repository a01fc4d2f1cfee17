"""A problem in canonical form, in numpy: what certificates are computed on.

Here is everything that judges a point of

    minimise  1/2 x'Px + q'x + d   subject to   Ax + b in K,   l <= x <= u

and its multipliers: the cones, their duals, and distances from both. It is
canonicalised afresh and shares no code with the call of a solver.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.constraints import PSD, SOC, ExpCone, NonNeg, PowCone3D, PowConeND, SvecPSD, Zero
from cvxpy.error import SolverError
from cvxpy.reductions.chain import Chain
from cvxpy.reductions.solvers.solving_chain import resolve_and_build_chain
from cvxpy.utilities.psd_utils import TriangleKind
from scipy.sparse.linalg import eigsh

from convexfs.errors import InputError

#: Terms below this share of the objective's largest coefficient are judged by that share.
NEGLIGIBLE = 1e-3
#: Multipliers are moved into a dual cone this far, relative to their own size.
MARGIN = 1e-6
#: Side of a quadratic objective's matrix above which its lowest eigenvalue is only searched for.
LARGEST_DENSE = 1000
#: Cones whose duals are not known here.
_UNCOVERED = {SvecPSD: "psd matrix", PowCone3D: "power cone", PowConeND: "power cone"}


@dataclass(frozen=True)
class ConeProgram:
    """``minimise 1/2 x'Px + q'x + d subject to Ax + b in K, l <= x <= u`` in numpy.

    P is None where the objective is linear; a problem to be maximised is minimised here
    with the opposite sign. `columns` are the first column and the count of every variable;
    those that are not the problem's own are called ``aux_1`` and so on. It is laid out for
    `solver`.
    """

    P: Any
    q: np.ndarray
    d: float
    A: Any
    b: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    cones: tuple["Cone", ...]
    columns: dict[str, tuple[int, int]]
    solver: str

    @classmethod
    def of(cls, problem: cp.Problem, solver: str) -> "ConeProgram":
        """Canonicalise `problem` afresh, as it is for `solver`."""
        try:
            chain = resolve_and_build_chain(problem, solver)
        except SolverError as error:
            raise InputError(
                f"judging an answer of {solver} needs it installed here, and able to take the "
                "problem"
            ) from error
        # All but the last reduction: the solver's own layout of the rows.
        program, _ = Chain(reductions=chain.reductions[:-1]).apply(problem)
        parts = program.apply_parameters(quad_obj=program.P is not None)
        P, (q, d, A, b) = (None, parts) if program.P is None else (parts[0], parts[1:])
        lower, upper = _bounds(program, q.size)
        return cls(
            P=P,
            q=np.ravel(q),
            d=float(np.squeeze(d)),
            A=A,
            b=np.ravel(b),
            lower=lower,
            upper=upper,
            cones=tuple(_cones(program.constraints, chain.solver_context)),
            columns=_columns(problem, program),
            solver=solver,
        )

    def check_sizes(self, x: np.ndarray, y: np.ndarray | None) -> None:
        """Raise if there are not as many variables and multipliers as this program has."""
        rows = self.b.size if y is None else y.size
        if (x.size, rows) != (self.q.size, self.b.size):
            raise InputError(
                f"the answer has {x.size} variables and {rows} multipliers where the program for "
                f"{self.solver} has {self.q.size} and {self.b.size}: it is of another problem or "
                "another solver"
            )

    @property
    def covered(self) -> bool:
        """Whether a dual bound is known here: for every cone, and for the objective."""
        known = all(cone.dual_violation is not None for cone in self.cones)
        return known and (self.P is None or _is_semidefinite(self.P))

    @property
    def floor(self) -> float:
        """Return what counts as small beside the objective's coefficients; 1 if there are none."""
        largest = max(_largest(self.q), 0.0 if self.P is None else _largest(self.P.data))
        return NEGLIGIBLE * largest or 1.0

    def quadratic(self, x: np.ndarray) -> np.ndarray:
        return np.zeros_like(x) if self.P is None else self.P @ x

    def reduced_cost(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return self.quadratic(x) + self.q - self.A.T @ y

    def uncarried(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the part of the reduced cost that no bound can carry as its multiplier."""
        cost = self.reduced_cost(x, y)
        return np.where(cost > 0, np.isinf(self.lower), np.isinf(self.upper)) * cost

    def violation(self, x: np.ndarray) -> float:
        """Largest distance of ``Ax + b`` from K and of x from its bounds."""
        rows = self.A @ x + self.b
        sizes = 1.0 + np.maximum(np.abs(self.b), abs(self.A) @ np.abs(x))
        outside = np.maximum(np.maximum(self.lower - x, x - self.upper), 0.0)
        parts = [_largest(outside / (1.0 + np.abs(x)))]
        parts += [cone.violation(rows[cone.rows], sizes[cone.rows]) for cone in self.cones]
        return float(np.max(parts))

    def dual_residual(self, x: np.ndarray, y: np.ndarray) -> float:
        """Return how far y is from K*, and the reduced cost from what bounds can carry."""
        uncarried = self.uncarried(x, y)
        terms = np.abs(self.q) + abs(self.A).T @ np.abs(y) + np.abs(self.quadratic(x))
        sizes = np.maximum(terms, self.floor)
        # Multipliers are compared with floor / their row's largest coefficient: rows with huge
        # coefficients have tiny multipliers.
        entries = abs(self.A).max(axis=1).toarray().ravel() if y.size else np.empty(0)
        multipliers = np.maximum(np.abs(y), self.floor / np.where(entries > 0, entries, 1.0))
        parts = [
            cone.dual_violation(y[cone.rows], multipliers[cone.rows])
            for cone in self.cones
            if cone.dual_violation is not None
        ]
        return float(np.max([_largest(uncarried / sizes), *parts]))

    def dual_objective(self, x: np.ndarray, y: np.ndarray) -> float:
        cost = self.reduced_cost(x, y)
        at_lower = np.where(np.isfinite(self.lower) & (cost > 0), self.lower, 0.0)
        at_upper = np.where(np.isfinite(self.upper) & (cost < 0), self.upper, 0.0)
        curved = 0.5 * x @ self.quadratic(x)
        return float(self.d - curved - self.b @ y + cost @ (at_lower + at_upper))

    def slackness(self, x: np.ndarray, y: np.ndarray) -> float:
        """Return ``|s'y|`` of each row or cone, added up so that opposite signs cannot cancel."""
        products = (self.A @ x + self.b) * y
        parts = (products[cone.rows] for cone in self.cones if not cone.is_equality)
        rowwise = [cone.is_rowwise for cone in self.cones if not cone.is_equality]
        return float(
            sum(
                np.abs(part).sum() if alone else abs(part.sum())
                for part, alone in zip(parts, rowwise, strict=True)
            )
        )

    def looseness(self, x: np.ndarray, y: np.ndarray) -> float:
        """Return by how much the dual bound may be off where no bound carries the reduced cost."""
        return float(np.abs(self.uncarried(x, y)) @ np.abs(x))

    def with_equalities_negated(self, y: np.ndarray) -> np.ndarray:
        negated = y.copy()
        for cone in self.cones:
            if cone.is_equality:
                negated[cone.rows] *= -1.0
        return negated


def _bounds(program: Any, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Least and largest values of the variables; boolean ones are relaxed to 0 .. 1."""
    lower, upper = program.lower_bounds, program.upper_bounds
    lower = np.full(size, -np.inf) if lower is None else np.array(lower, dtype=float).ravel()
    upper = np.full(size, np.inf) if upper is None else np.array(upper, dtype=float).ravel()
    boolean = [index for (index,) in program.x.boolean_idx]
    lower[boolean] = np.maximum(lower[boolean], 0.0)
    upper[boolean] = np.minimum(upper[boolean], 1.0)
    return lower, upper


def _columns(problem: cp.Problem, program: Any) -> dict[str, tuple[int, int]]:
    by_id = {variable.id: variable.name() for variable in problem.variables()}
    columns: dict[str, tuple[int, int]] = {}
    auxiliary = (f"aux_{k}" for k in count(1))
    for variable in program.variables:
        # cvxpy replaces a variable with attributes by another of the same name.
        own = variable.name() if variable.name() in by_id.values() else next(auxiliary)
        name = by_id.get(variable.id, own)
        counted = (name if k == 1 else f"{name}_{k}" for k in count(1))
        free = next(each for each in counted if each not in columns)
        columns[free] = (int(program.var_id_to_col[variable.id]), int(variable.size))
    return columns


#: How far some rows lie outside a cone, relative to the sizes of their terms.
Distance = Callable[[np.ndarray, np.ndarray], float]


@dataclass(frozen=True)
class Dual:
    """Dual cone: `membership(y)` gives constraints, `inside(y)` moves y in, by MARGIN if curved."""

    membership: Callable[[cp.Expression], list[Any]]
    inside: Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Cone:
    """Some rows of ``Ax + b``: how far a vector is from their cone and from its dual."""

    kind: str
    rows: slice
    violation: Distance
    dual_violation: Distance | None
    dual: Dual | None = None
    is_equality: bool = False
    is_rowwise: bool = False


ANYTHING = Dual(lambda y: [], lambda y: y)
NONNEGATIVE = Dual(lambda y: [y >= 0], lambda y: np.maximum(y, 0.0))


def _cones(constraints: list[Any], context: Any) -> Iterator[Cone]:
    start = 0
    for constraint in constraints:
        rows = slice(start, start + constraint.size)
        start = rows.stop
        match constraint:
            case Zero():
                anything = (lambda y, sizes: 0.0, ANYTHING)
                yield Cone("equal to 0", rows, _nonzero, *anything, is_equality=True)
            case NonNeg():
                yield Cone("at least 0", rows, _negative, _negative, NONNEGATIVE, is_rowwise=True)
            case SOC():
                size = constraint.cone_sizes()[0]
                beyond = _of_whole(_second_order(size))
                yield Cone("second-order cone", rows, beyond, beyond, _second_order_dual(size))
            case ExpCone():
                beyond, dual = _of_whole(_exponential), _of_whole(_exponential_dual)
                yield Cone("exponential cone", rows, beyond, dual, EXPONENTIAL_DUAL)
            case PSD():
                beyond = _of_whole(_negative_eigenvalue(_square))
                yield Cone("psd matrix", rows, beyond, beyond)
            case SvecPSD() if context.psd_sqrt2_scaling:
                to_matrices = _from_triangle(constraint._n, context.psd_triangle_kind)
                beyond = _of_whole(_negative_eigenvalue(to_matrices))
                yield Cone("psd matrix", rows, beyond, beyond)
            case _:
                # The stated constraints are still checked.
                kind = _UNCOVERED.get(type(constraint), type(constraint).__name__)
                yield Cone(kind, rows, lambda values, sizes: 0.0, None)


def _nonzero(values: np.ndarray, sizes: np.ndarray) -> float:
    return _largest(values / sizes)


def _negative(values: np.ndarray, sizes: np.ndarray) -> float:
    return float(np.max(-values / sizes, initial=0.0))


def _of_whole(beyond: Callable[[np.ndarray], float]) -> Distance:
    """Return a distance that belongs to all rows together, divided by their largest size."""
    return lambda values, sizes: beyond(values) / np.max(sizes)


def _largest(values: np.ndarray) -> float:
    return float(np.max(np.abs(values), initial=0.0))


def _is_semidefinite(P: Any) -> bool:
    """Whether P has no negative eigenvalue but for rounding; cvxpy can be told to assume it."""
    if P.nnz == 0:
        return True
    if P.shape[0] <= LARGEST_DENSE:
        lowest = np.linalg.eigvalsh(P.toarray())[0]
    else:
        lowest = eigsh(P, k=1, which="SA", return_eigenvectors=False, tol=1e-3)[0]  # pyright: ignore[reportArgumentType]
    return bool(lowest >= -1e-9 * _largest(P.data))


def _second_order(size: int) -> Callable[[np.ndarray], float]:
    """Return a function that measures how far norm(X) exceeds t, cones stored as all t, then X."""

    def beyond(values: np.ndarray) -> float:
        count = values.size // size
        t, X = values[:count], values[count:].reshape(count, size - 1)
        return float(np.max(np.linalg.norm(X, axis=1) - t, initial=0.0))

    return beyond


def _second_order_dual(size: int) -> Dual:
    """Return the cone itself with room: (1 + MARGIN) norm(X) <= t."""

    def membership(values: cp.Expression) -> list[Any]:
        count = values.size // size
        X = cp.reshape(values[count:], (count, size - 1), order="C")
        return [SOC(values[:count], (1.0 + MARGIN) * X, axis=1)]

    def inside(values: np.ndarray) -> np.ndarray:
        count = values.size // size
        norms = np.linalg.norm(values[count:].reshape(count, size - 1), axis=1)
        return np.concatenate([np.maximum(values[:count], (1.0 + MARGIN) * norms), values[count:]])

    return Dual(membership, inside)


def _negative_eigenvalue(
    to_matrices: Callable[[np.ndarray], np.ndarray],
) -> Callable[[np.ndarray], float]:
    """Size of the most negative eigenvalue of each matrix."""
    return lambda values: float(max(-np.linalg.eigvalsh(to_matrices(values)).min(), 0.0))


def _square(values: np.ndarray) -> np.ndarray:
    side = int(np.sqrt(values.size))
    matrix = values.reshape(side, side)
    return 0.5 * (matrix + matrix.T)


def _from_triangle(side: int, kind: TriangleKind) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function that unpacks column-major triangles, off-diagonals scaled by sqrt(2)."""
    # Column-major lower pairs are row-major upper ones, and the other way round.
    lower = kind == TriangleKind.LOWER
    i, j = np.triu_indices(side) if lower else np.tril_indices(side)
    scale = np.where(i == j, 1.0, np.sqrt(2.0))

    def unpack(values: np.ndarray) -> np.ndarray:
        triangles = values.reshape(-1, i.size) / scale
        matrices = np.empty((len(triangles), side, side))
        matrices[:, i, j] = matrices[:, j, i] = triangles
        return matrices

    return unpack


def _exponential(values: np.ndarray) -> float:
    """Distance bound to y exp(x/y) <= z, y > 0: what x must lose or z must gain."""
    x, y, z = values.reshape(3, -1)
    with np.errstate(all="ignore"):
        lower_x = x - y * np.log(z / y)
        raise_z = y * np.exp(x / y) - z
    inside = (y > 0) & (z > 0)
    by_x = np.where(inside, lower_x, np.inf)
    by_z = np.where(y > 0, raise_z, np.inf)
    # The cone's closure has the face y = 0, x <= 0, z >= 0.
    to_face = np.maximum.reduce([np.abs(y), x, -z])
    return _worst_of_nearest(by_x, by_z, to_face)


def _exponential_dual(values: np.ndarray) -> float:
    """Distance bound to -u exp(v/u) <= e w, u < 0: what w or v must gain."""
    u, v, w = values.reshape(3, -1)
    with np.errstate(all="ignore"):
        raise_w = -u * np.exp(v / u - 1.0) - w
        raise_v = u * (1.0 + np.log(w / -u)) - v
    by_w = np.where(u < 0, raise_w, np.inf)
    by_v = np.where((u < 0) & (w > 0), raise_v, np.inf)
    to_face = np.maximum.reduce([np.abs(u), -v, -w])
    return _worst_of_nearest(by_w, by_v, to_face)


def _in_exponential_dual(values: cp.Expression) -> list[Any]:
    count = values.size // 3
    u, v, w = values[:count], values[count : 2 * count], values[2 * count :]
    return [ExpCone(-v, -u, np.e / (1.0 + MARGIN) * w)]


def _into_exponential_dual(values: np.ndarray) -> np.ndarray:
    """Raise w or v, whichever needs less, until -u exp(v/u) (1 + MARGIN) <= e w."""
    u, v, w = values.reshape(3, -1)
    u, w = np.minimum(u, 0.0), np.maximum(w, 0.0)
    with np.errstate(all="ignore"):
        least_w = -u * np.exp(v / u - 1.0) * (1.0 + MARGIN)
        least_v = u * (1.0 + np.log(w / (-u * (1.0 + MARGIN))))
    flat = u == 0
    least_w, least_v = np.where(flat, 0.0, least_w), np.where(flat, 0.0, least_v)
    by_v = flat | (least_v - v < least_w - w)
    return np.concatenate(
        [u, np.where(by_v, np.maximum(v, least_v), v), np.where(by_v, w, np.maximum(w, least_w))]
    )


EXPONENTIAL_DUAL = Dual(_in_exponential_dual, _into_exponential_dual)


def _worst_of_nearest(*bounds: np.ndarray) -> float:
    nearest = np.fmin.reduce(np.maximum(bounds, 0.0))
    return float(np.max(nearest, initial=0.0))
