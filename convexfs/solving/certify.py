"""Judge an answer by the problem's own formula, never by the solver's word.

Every DCP problem is, after canonicalisation, a cone program

    minimise  1/2 x'Px + q'x + d   subject to   Ax + b in K,   l <= x <= u

whose optimum is proven by a point of the stated problem, multipliers y and
bound multipliers r = Px + q - A'y with

    primal    the stated constraints and Ax + b in K hold,
    dual      y in the dual cone K*, r_i >= 0 only where x_i has a lower bound
              and r_i <= 0 only where it has an upper one,
    gap       stated objective - (d - 1/2 x'Px - b'y + l'r+ - u'r-) = 0.

The stated objective and constraints are evaluated at ``solution.primal``, the
rest on a fresh canonicalisation. Each residual is relative: dual ones and the gap
to the size of the objective's coefficients, so that an objective in millionths
is judged as strictly as one in millions; the primal one to the size of the rows,
or to 1 if they are smaller. (Testing stationarity with gradients of the
stated problem instead would fail at kinks, where no gradient exists.)
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.constraints import PSD, SOC, ExpCone, NonNeg, SvecPSD, Zero
from cvxpy.reductions.chain import Chain
from cvxpy.reductions.solvers.solving_chain import resolve_and_build_chain
from cvxpy.utilities.psd_utils import TriangleKind

from convexfs.errors import InputError
from convexfs.solution import Certificate, Solution

BASIS = "cone program"
#: A certificate allows this many times the accuracy asked of the solver.
SLACK = 10.0


def certify(problem: cp.Problem, solution: Solution, tol: float | None = None) -> Certificate:
    """Recompute how far `solution` is from solving `problem`.

    Parameters
    ----------
    problem : cvxpy.Problem
        The problem as stated, its parameters at the values that were solved.
        Its variables are left holding ``solution.primal``.
    solution : Solution
        An answer of :func:`convexfs.solve`, possibly changed since.
    tol : float, optional
        Largest residual accepted; ten times ``solution.tol`` by default.

    Returns
    -------
    Certificate
        ``ok`` is None when the point is feasible but the solver returns no
        multipliers (integer problems).
    """
    tol = SLACK * solution.tol if tol is None else tol
    if not solution.primal or solution.cone is None:
        return Certificate(np.inf, None, None, None, tol, f"no point: {solution.status}")
    _place(problem, solution)
    program = ConeProgram.of(problem, solution.solver)
    point = solution.cone
    violation = max(_stated_violation(problem), program.violation(point.x))
    primal = violation / program.row_scale(point.x)
    if point.y is None or problem.is_mixed_integer() or not program.covered:
        return Certificate(primal, None, None, None, tol, BASIS)
    # cvxpy's quadratic interfaces return the multipliers of equalities with the
    # other sign. Either is dual feasible, so whichever proves more is a proof.
    proofs = (
        _proof(problem, program, point.x, y, primal, tol)
        for y in (point.y, program.with_equalities_negated(point.y))
    )
    return min(proofs, key=lambda certificate: certificate.worst)


def _proof(
    problem: cp.Problem,
    program: "ConeProgram",
    x: np.ndarray,
    y: np.ndarray,
    primal: float,
    tol: float,
) -> Certificate:
    sign = -1.0 if isinstance(problem.objective, cp.Maximize) else 1.0
    stated = sign * np.real(np.asarray(problem.objective.value)).item()
    bound = program.dual_objective(x, y)
    size = max(abs(stated), abs(bound), program.cost * max(1.0, _largest(x)))
    return Certificate(
        primal_residual=primal,
        dual_residual=program.dual_residual(x, y),
        complementarity=program.slackness(x, y) / size,
        gap=abs(stated - bound) / size,
        tol=tol,
        basis=BASIS,
    )


def _place(problem: cp.Problem, solution: Solution) -> None:
    for variable in problem.variables():
        if variable.name() not in solution.primal:
            raise InputError(
                f"the solution has no value for variable {variable.name()!r}: "
                "it belongs to another problem"
            )
        # save_value: a point to be judged may lie outside the variable's domain.
        variable.save_value(np.reshape(solution.primal[variable.name()], variable.shape))


def _stated_violation(problem: cp.Problem) -> float:
    parts = [np.max(constraint.violation(), initial=0.0) for constraint in problem.constraints]
    for variable in problem.variables():
        parts.append(np.max(np.abs(variable.value - variable.project(variable.value)), initial=0.0))
    return float(max(parts, default=0.0))


@dataclass(frozen=True)
class ConeProgram:
    """``minimise 1/2 x'Px + q'x + d subject to Ax + b in K, l <= x <= u`` in numpy."""

    P: Any
    q: np.ndarray
    d: float
    A: Any
    b: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    cones: tuple["Cone", ...]

    @classmethod
    def of(cls, problem: cp.Problem, solver: str) -> "ConeProgram":
        """Canonicalise `problem` afresh, as it is for `solver`."""
        chain = resolve_and_build_chain(problem, solver)
        # All but the last reduction: the solver's own layout of the rows.
        program, _ = Chain(reductions=chain.reductions[:-1]).apply(problem)
        parts = program.apply_parameters(quad_obj=program.P is not None)
        P, (q, d, A, b) = (None, parts) if program.P is None else (parts[0], parts[1:])
        lower, upper = program.lower_bounds, program.upper_bounds
        return cls(
            P=P,
            q=np.ravel(q),
            d=float(np.squeeze(d)),
            A=A,
            b=np.ravel(b),
            lower=np.full(q.size, -np.inf) if lower is None else np.ravel(lower),
            upper=np.full(q.size, np.inf) if upper is None else np.ravel(upper),
            cones=tuple(_cones(program.constraints, chain.solver_context)),
        )

    @property
    def covered(self) -> bool:
        """Whether every cone is one whose dual is known here."""
        return all(cone.dual_violation is not None for cone in self.cones)

    @property
    def cost(self) -> float:
        """Size of the objective's coefficients; 1 if there are none."""
        return max(_largest(self.q), 0.0 if self.P is None else _largest(self.P.data)) or 1.0

    def quadratic(self, x: np.ndarray) -> np.ndarray:
        return np.zeros_like(x) if self.P is None else self.P @ x

    def reduced_cost(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return self.quadratic(x) + self.q - self.A.T @ y

    def row_scale(self, x: np.ndarray) -> float:
        return 1.0 + max(_largest(self.b), _largest(self.A @ x))

    def violation(self, x: np.ndarray) -> float:
        rows = self.A @ x + self.b
        outside = np.maximum(np.maximum(self.lower - x, x - self.upper), 0.0)
        return max([_largest(outside), *(cone.violation(rows[cone.rows]) for cone in self.cones)])

    def dual_residual(self, x: np.ndarray, y: np.ndarray) -> float:
        """Distance of y from K*, and of the reduced cost from what bounds can carry."""
        cost = self.reduced_cost(x, y)
        uncarried = np.where(cost > 0, np.isinf(self.lower), np.isinf(self.upper)) * cost
        outside = [cone.dual_violation(y[cone.rows]) for cone in self.cones if cone.dual_violation]
        off_the_cone = max(outside, default=0.0) / max(self.cost, _largest(y))
        return max(_largest(uncarried) / max(self.cost, _largest(self.A.T @ y)), off_the_cone)

    def dual_objective(self, x: np.ndarray, y: np.ndarray) -> float:
        cost = self.reduced_cost(x, y)
        at_lower = np.where(np.isfinite(self.lower) & (cost > 0), self.lower, 0.0)
        at_upper = np.where(np.isfinite(self.upper) & (cost < 0), self.upper, 0.0)
        curved = 0.5 * x @ self.quadratic(x)
        return float(self.d - curved - self.b @ y + cost @ (at_lower + at_upper))

    def slackness(self, x: np.ndarray, y: np.ndarray) -> float:
        rows = self.A @ x + self.b
        return float(sum(abs(rows[cone.rows] @ y[cone.rows]) for cone in self.cones))

    def with_equalities_negated(self, y: np.ndarray) -> np.ndarray:
        negated = y.copy()
        for cone in self.cones:
            if cone.is_equality:
                negated[cone.rows] *= -1.0
        return negated


@dataclass(frozen=True)
class Cone:
    """Some rows of ``Ax + b``: how far a vector is from their cone and from its dual."""

    rows: slice
    violation: Callable[[np.ndarray], float]
    dual_violation: Callable[[np.ndarray], float] | None
    is_equality: bool = False


def _cones(constraints: list[Any], context: Any) -> Iterator[Cone]:
    start = 0
    for constraint in constraints:
        rows = slice(start, start + constraint.size)
        start = rows.stop
        match constraint:
            case Zero():
                yield Cone(rows, _largest, lambda y: 0.0, is_equality=True)
            case NonNeg():
                yield Cone(rows, _negative_part, _negative_part)
            case SOC():
                beyond = _second_order(constraint.cone_sizes()[0])
                yield Cone(rows, beyond, beyond)
            case ExpCone():
                yield Cone(rows, _exponential, _exponential_dual)
            case PSD():
                beyond = _negative_eigenvalue(_square)
                yield Cone(rows, beyond, beyond)
            case SvecPSD() if context.psd_sqrt2_scaling:
                beyond = _negative_eigenvalue(
                    _from_triangle(constraint._n, context.psd_triangle_kind)
                )
                yield Cone(rows, beyond, beyond)
            case _:
                # The stated constraints are still checked.
                yield Cone(rows, lambda values: 0.0, None)


def _largest(values: np.ndarray) -> float:
    return float(np.max(np.abs(values), initial=0.0))


def _negative_part(values: np.ndarray) -> float:
    return float(np.max(-values, initial=0.0))


def _second_order(size: int) -> Callable[[np.ndarray], float]:
    """norm(X) <= t for cones stored as all t, then X cone after cone."""

    def beyond(values: np.ndarray) -> float:
        count = values.size // size
        t, X = values[:count], values[count:].reshape(count, size - 1)
        return float(np.max(np.linalg.norm(X, axis=1) - t, initial=0.0))

    return beyond


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
    """Matrices from column-major triangles whose off-diagonal is scaled by sqrt(2)."""
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


def _worst_of_nearest(*bounds: np.ndarray) -> float:
    nearest = np.fmin.reduce(np.maximum(bounds, 0.0))
    return float(np.max(nearest, initial=0.0))
