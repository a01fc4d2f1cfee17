"""Propose units for variables, if with them more solvers return certified solutions.

The compiled program is scaled, because substituting a variable in an expression would leave an
auxiliary variable badly scaled. Solutions are mapped back to the stated problem and certified
there.
"""

from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from cvxpy.constraints import SOC, ExpCone, PowCone3D, PowConeND

from convexfs.certification.auxiliary import Budget
from convexfs.certification.certify import certify
from convexfs.certification.convex_form import ConvexForm
from convexfs.certification.program.cones import Equality, NonNegative, SecondOrder, Semidefinite
from convexfs.certification.program.exponential_and_power import Exponential
from convexfs.certification.program.scaling import data_units
from convexfs.certification.program.standard_form import StandardForm, triangle_of
from convexfs.errors import ConvexfsError
from convexfs.records import OPTIMAL, Solution, values_kept
from convexfs.solving.backends import BACKENDS, needs_of
from convexfs.solving.solve import solve

#: The first MOST_SOLVERS of these that are installed and can solve the problem are compared.
SOLVERS = ("CLARABEL", "HIGHS", "ECOS", "OSQP", "PIQP", "SCS", "CVXOPT")
MOST_SOLVERS = 4
#: Tolerance to which solutions are certified in the comparison.
ACCURACY = 1e-6
#: No scaling is proposed for programs with more entries.
MOST_ENTRIES = 30_000
#: No scaling is proposed with fewer CPU seconds left.
LEAST_SECONDS = 2.0


@dataclass(frozen=True)
class Proposal:
    """Sentences that propose units, and a table of solvers: certified as stated, and scaled."""

    sentences: list[str]
    table: list[list[str]]
    before: int
    after: int


def propose_scaling(problem: cp.Problem, budget: Budget) -> Proposal | None:
    """Return units with which more solvers are certified to 1e-6, and none fewer; or None."""
    if not problem.is_dcp() or any(each.is_complex() for each in problem.variables()):
        return None
    form = StandardForm.of(problem)
    if form.integer.size or form.A.nnz > MOST_ENTRIES or budget.left < LEAST_SECONDS:
        return None
    needs = needs_of(problem)
    solvers = [name for name in SOLVERS if name in BACKENDS and BACKENDS[name].installed
               and BACKENDS[name].takes(needs)][:MOST_SOLVERS]  # fmt: skip
    with values_kept(problem.variables()):
        before = {name: _score(problem, _solved(problem, name), budget) for name in solvers}
        if all(good for good, _ in before.values()):
            return None
        for units, sentences in _units(problem, form):
            scaled = _restated(form, units)
            after = {}
            for name in solvers:
                point = _taken_back(problem, form, units, _solved(scaled, name))
                after[name] = _score(problem, point, budget)
            better = [sum(good for good, _ in each.values()) for each in (before, after)]
            worse = any(before[name][0] and not after[name][0] for name in solvers)
            if better[1] > better[0] and not worse:
                rows = [[name, before[name][1], after[name][1]] for name in solvers]
                table = [["solver", "objective, residual as stated", "in these units"], *rows]
                return Proposal(sentences, table, *better)
    return None


def _solved(problem: cp.Problem, name: str) -> Solution | None:
    try:
        solution = solve(problem, name, tol=ACCURACY)
    except ConvexfsError:
        return None
    return solution if solution.primal else None


def _score(problem: cp.Problem, solution: Solution | None, budget: Budget) -> tuple[bool, str]:
    """Return whether a solution is certified to ACCURACY, and objective and residual as text."""
    if solution is None or budget.left <= 0:
        return False, "no solution"
    certificate = certify(problem, primal=solution.primal, tol=ACCURACY, effort=0.01)
    word = "certified" if certificate.ok else "not certified"
    value = certificate.objective
    shown = "no objective" if value is None else f"{value:.6g}"
    return bool(certificate.ok), f"{shown}, {certificate.primal_residual:.0e}, {word}"


def _units(problem: cp.Problem, form: StandardForm) -> Any:
    """Yield (units of all columns, sentences): one unit per variable, then one per entry."""
    columns = np.exp2(np.round(np.log2(data_units(form).columns)))
    by_variable, sentences, entrywise = columns.copy(), [], []
    for variable in problem.variables():
        at = form.columns.get(variable.id, slice(0, 0))
        if at.start == at.stop:
            continue
        own = columns[at]
        unit = 10.0 ** round(float(np.mean(np.log10(own))))
        by_variable[at] = unit
        sentences += [f"measure {variable.name()} in units of {unit:.0e}"] * (unit != 1)
        entrywise.append(f"measure each entry of {variable.name()} in its own unit, "
                         f"{own.min():.0e} to {own.max():.0e}")  # fmt: skip
    if sentences:
        yield by_variable, sentences
    yield columns, entrywise


def _taken_back(
    problem: cp.Problem, form: StandardForm, units: np.ndarray, solution: Solution | None
) -> Solution | None:
    """Return a scaled program's solution in the stated problem's variables, or None."""
    if solution is None:
        return None
    z = units * np.ravel(solution.primal["y"])
    if not ConvexForm.of(problem).moved_to(form, z):
        return None
    point = {each.name(): np.array(each.value) for each in problem.variables()}
    return Solution(OPTIMAL, solution.solver, primal=point)


def _restated(form: StandardForm, units: np.ndarray) -> cp.Problem:
    """Return the compiled program as a cvxpy problem, columns scaled by `units`, rows near 1."""
    sizes = np.abs(form.b) + form.sizes @ units
    scale = np.exp2(-np.round(np.log2(form.scales(np.where(sizes > 0, sizes, 1.0)))))
    scale = form.together(-form.together(-scale)) if form.curved.any() else scale
    A = sp.csr_array(sp.diags_array(scale) @ form.A @ sp.diags_array(units))
    b, q = scale * form.b, units * form.q
    y = cp.Variable(units.size, name="y")
    P = None
    if form.P is not None:
        P = sp.csc_array(sp.diags_array(units) @ form.P @ sp.diags_array(units))
    largest = max(np.abs(q).max(initial=0.0), 0.0 if P is None else abs(P).max()) or 1.0
    cost: Any = (q / largest) @ y
    if P is not None:
        cost = cost + 0.5 * cp.quad_form(y, P / largest, assume_PSD=True)
    return cp.Problem(cp.Minimize(cost), [
        constraint for block in form.blocks for constraint in _stated(block, A, b, y)
    ])  # fmt: skip


def _stated(block: Any, A: Any, b: np.ndarray, y: cp.Variable) -> list[Any]:
    """Return a block of the program's cones as cvxpy constraints."""
    rows = np.arange(block.rows.start, block.rows.stop)
    cones = rows.reshape(-1, block.cone.size)

    def affine(at: np.ndarray) -> Any:
        return A[at] @ y + b[at]

    match block.cone:
        case Equality():
            return [A[rows] @ y == -b[rows]]
        case NonNegative():
            return [A[rows] @ y >= -b[rows]]
        case SecondOrder():
            tails = cp.reshape(affine(cones[:, 1:].ravel()), (block.cone.size - 1, len(cones)),
                               order="F")  # fmt: skip
            return [SOC(affine(cones[:, 0]), tails, axis=0)]
        case Exponential():
            return [ExpCone(*(affine(cones[:, k]) for k in range(3)))]
        case Semidefinite():
            return [_matrix(block.cone.side, affine(cone)) >> 0 for cone in cones]
    exponents = block.cone.exponents
    if len(exponents) == 2:
        u, v, w = (affine(cones[:, k]) for k in range(3))
        return [PowCone3D(u, v, w, exponents[0])]
    return [PowConeND(affine(cone[:-1]), affine(cone[-1:])[0], np.array(exponents))
            for cone in cones]  # fmt: skip


def _matrix(side: int, triangle: Any) -> Any:
    """Return the symmetric matrix (cvxpy) of a scaled triangle, column by column."""
    unpack = sp.csr_array(triangle_of(side).T)
    return cp.reshape(unpack @ triangle, (side, side), order="F")
