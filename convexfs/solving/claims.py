"""One judge for each claim: an optimum, no feasible point, no optimum."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import cvxpy as cp
import numpy as np
from cvxpy import settings as cvxpy_settings

from convexfs.errors import InputError
from convexfs.records import INFEASIBLE, OPTIMAL, UNBOUNDED, Certificate, ConePoint
from convexfs.solving import multipliers
from convexfs.solving.backends import choose
from convexfs.solving.branching import Tree, bound_by_branching
from convexfs.solving.feasibility import Violation, violation
from convexfs.solving.infeasibility import PROVEN, Contradiction, contradiction
from convexfs.solving.optimality import Trial, is_convex
from convexfs.solving.quasiconvex import contradiction_below
from convexfs.solving.standard_form import StandardForm
from convexfs.solving.statement import Statement, lacking_values, objective_value
from convexfs.solving.unboundedness import descent
from convexfs.solving.units import units_at

BASIS = "cone program"
CONTRADICTION = "Farkas multipliers: no feasible point"
RAY = "feasible point and ray: no optimum"
#: A point found on the way is better only if it breaks its constraints by no more than this.
CLEARLY_FEASIBLE = 1e-9


@dataclass(frozen=True)
class Answer:
    """What somebody claims: a status, the reported objective, perhaps a solver's vectors."""

    status: str
    reported: float | None
    solver: str = ""
    cone: ConePoint | None = None


@dataclass(frozen=True)
class Rules:
    """How strictly, and with how much effort, a claim is judged."""

    tol: float
    search: bool
    nodes: int


def judged(problem: cp.Problem, answer: Answer, rules: Rules) -> Certificate:
    """Judge the claim of an answer, whose point `problem` holds."""
    status = answer.status.removesuffix("_inaccurate")
    if status == INFEASIBLE:
        return _infeasible(problem, rules)
    if status == UNBOUNDED:
        return _unbounded(problem, rules)
    if status == cvxpy_settings.INFEASIBLE_OR_UNBOUNDED:
        proof = _infeasible(problem, rules)
        return proof if proof.ok else _unbounded(problem, rules)
    return _optimal(problem, answer, rules)


def _refused(
    tol: float, reason: str, residual: float = np.inf, claim: str = OPTIMAL
) -> Certificate:
    return Certificate(residual, None, None, None, tol, reason, reason=reason, claim=claim)


# ---- an optimum --------------------------------------------------------------------------------


def _optimal(problem: cp.Problem, answer: Answer, rules: Rules) -> Certificate:
    if lacking := list(lacking_values(problem)):
        if all(variable.value is None for variable in problem.variables()):
            return _refused(rules.tol, f"no point: {answer.status}")
        return _refused(rules.tol, f"not a number: {lacking[0]}", np.nan)
    if answer.cone is not None and not answer.cone.finite:
        return _refused(rules.tol, f"not a number: {answer.status}", np.nan)
    objective, reported = objective_value(problem), answer.reported
    if reported is None or not np.isfinite(reported):
        return _refused(rules.tol, f"not a number: the reported objective, {reported}", np.nan)
    if not np.isfinite(objective):
        return _refused(rules.tol, "the objective has no value at the point", np.nan)
    kept = [(variable, variable.value) for variable in problem.variables()]
    try:
        if not problem.is_dcp() and not problem.is_dgp() and problem.is_dqcp():
            return _quasiconvex(problem, objective, float(reported), rules)
        return _convex(Statement.of(problem), answer, objective, float(reported), rules)
    finally:
        for variable, value in kept:
            variable.save_value(value)


def _convex(
    statement: Statement, answer: Answer, objective: float, reported: float, rules: Rules
) -> Certificate:
    statement.take_values()
    form, own = _form_for(statement, answer)
    if not is_convex(form):
        worst = violation(statement.stated)
        reason = "the objective is not convex, though it was assumed to be"
        return Certificate(worst.value, None, None, None, rules.tol, BASIS, reason=reason)
    point, known = statement.columns(form)
    if own is not None and own.x.size == known.size:
        point, known = np.where(known, point, own.x), np.ones_like(known)
    trial = Trial(form, point, known, statement.cost(), rules.tol, statement.logarithmic)
    tree = None
    if form.integer.size:
        tree = trial.branch(rules.nodes)
    else:
        trial.prove(_offered(statement, trial, answer, own), rules.search)
    worst = _violation(statement, trial)
    scale = abs(objective) if statement.logarithmic else trial.scale
    certificate = Certificate(
        primal_residual=worst.value,
        dual_residual=trial.lost if tree is None else None,
        complementarity=None,
        gap=trial.gap,
        tol=rules.tol,
        basis=BASIS,
        objective=objective,
        bound=statement.objective_of(trial.bound),
        reported=_share(abs(reported - objective), scale),
        by=trial.by,
        where=(*([worst.where] if worst.value > 0 else []), *trial.worst_columns()),
        undecided=tree is not None and not tree.complete and trial.gap > rules.tol,
    )
    return _explained(certificate, statement, trial, tree)


def _share(off: float, scale: float) -> float:
    return 0.0 if off == 0 else off / scale if scale > 0 else np.inf


def _form_for(statement: Statement, answer: Answer) -> tuple[StandardForm, ConePoint | None]:
    """Canonicalise as for the solver if its vectors are there, else as for the search."""
    if statement.convex.is_mixed_integer():
        return StandardForm.of(statement.convex, choose(statement.convex).name), None
    if answer.cone is not None and not statement.logarithmic:
        try:
            return StandardForm.of(statement.convex, answer.solver), answer.cone
        except InputError:  # not installed here: its multipliers can be done without
            pass
    return StandardForm.of(statement.convex), None


def _offered(
    statement: Statement, trial: Trial, answer: Answer, own: ConePoint | None
) -> Iterator[tuple[np.ndarray, str]]:
    """Yield the multipliers that came with the answer."""
    if own is not None:
        candidates = multipliers.of_cone_point(trial.form, own, answer.solver)
    elif trial.known.all() and not statement.logarithmic:
        candidates = multipliers.of_constraints(statement.convex, trial.form)
    else:
        return
    for y in candidates:
        yield y, multipliers.SOLVERS


def _violation(statement: Statement, trial: Trial) -> Violation:
    """Return the worst violation; if it is large, with changes too that no other row notices.

    What they would cost is no matter here: that is for the gap to tell.
    """
    worst = violation(statement.stated)
    if not worst.value > trial.tol or trial.full is None:
        return worst
    sizes = statement.sizes(trial.form, units_at(trial.form, trial.full).columns)
    return min(worst, violation(statement.stated, sizes), key=lambda each: each.value)


def _explained(
    certificate: Certificate, statement: Statement, trial: Trial, tree: Tree | None
) -> Certificate:
    """Say why an answer is refused or left open, and whether a better point was met."""
    if certificate.ok:
        return certificate
    reason = _fault(certificate)
    if certificate.ok is None and tree is not None:
        reason = f"feasible, but not proven optimal: {reason} after {tree.nodes} nodes"
    better = None if certificate.undecided else _better(statement, trial)
    if better is not None:
        reason = f"{reason}; a feasible point has objective {better:.9g}"
    return replace(certificate, reason=reason, better=better)


def _fault(certificate: Certificate) -> str:
    """Say which number is too large."""
    numbers = {
        "constraints are violated by": certificate.primal_residual,
        "the reported objective is off by": certificate.reported,
        "the gap is": certificate.gap,
    }
    for what, value in numbers.items():
        if value is not None and not value <= certificate.tol:
            return f"{what} {value:.1e} > {certificate.tol:.0e}"
    return ""


def _better(statement: Statement, trial: Trial) -> float | None:
    """Return the objective of a point that was found to be better and clearly feasible."""
    for z in trial.others:
        if not statement.moved_to(trial.form, z):
            continue
        cost = statement.cost()
        much = cost < trial.cost - 10 * trial.tol * trial.scale
        if much and violation(statement.stated).value <= CLEARLY_FEASIBLE:
            return statement.objective_of(cost)
    return None


def _quasiconvex(
    problem: cp.Problem, objective: float, reported: float, rules: Rules
) -> Certificate:
    """Judge a point of a quasi-convex problem: nothing costs less by more than tol of it."""
    worst = violation(problem)
    sign = -1.0 if isinstance(problem.objective, cp.Maximize) else 1.0
    margin = rules.tol * (abs(objective) or 1.0)
    found, empty = contradiction_below(problem, sign * objective - margin)
    proven = empty or found is not None
    certificate = Certificate(
        primal_residual=worst.value,
        dual_residual=None,
        complementarity=None,
        gap=rules.tol if proven else None,
        tol=rules.tol,
        basis="Farkas multipliers: no better point",
        objective=objective,
        bound=objective - sign * margin if proven else None,
        reported=_share(abs(reported - objective), margin / rules.tol),
        reach=None if found is None else found.reach,
        by="multipliers found here",
        where=(worst.where,) if worst.value > 0 else (),
    )
    if proven:
        return replace(certificate, reason=_fault(certificate))
    reason = f"no proof that nothing is better by more than {margin:.1e}"
    return replace(certificate, gap=np.inf, reason=reason)


# ---- no feasible point, no optimum -------------------------------------------------------------


def _form_of_claim(problem: cp.Problem) -> StandardForm:
    convex = Statement.of(problem).convex
    return StandardForm.of(convex, choose(convex).name if convex.is_mixed_integer() else "CLARABEL")


def _infeasible(problem: cp.Problem, rules: Rules) -> Certificate:
    if not problem.is_dcp() and not problem.is_dgp() and problem.is_dqcp():
        found, empty = contradiction_below(problem, np.inf)
        return _contradicted(found, empty, rules)
    form = _form_of_claim(problem)
    found = contradiction(form, rules.tol)
    if form.integer.size and (found is None or not found.proven):
        units = units_at(form, np.zeros(form.q.size))
        tree = bound_by_branching(form, units, 1.0, np.inf, rules.nodes, PROVEN)
        return _contradicted(None, tree.value == np.inf, rules)
    return _contradicted(found, False, rules)


def _contradicted(found: Contradiction | None, empty: bool, rules: Rules) -> Certificate:
    if empty:
        return Certificate(
            0.0, 0.0, None, 0.0, rules.tol, CONTRADICTION, claim=INFEASIBLE, by="branch and bound"
        )
    if found is None:
        return _refused(rules.tol, "no proof of infeasibility", claim=INFEASIBLE)
    near = f"no feasible point within {found.reach:.0e} units, but perhaps beyond"
    return Certificate(
        primal_residual=0.0,
        dual_residual=None,
        complementarity=None,
        gap=1.0 / found.reach,
        tol=rules.tol,
        basis=CONTRADICTION,
        claim=INFEASIBLE,
        reach=found.reach,
        by="multipliers found here",
        reason="" if found.proven else near,
        undecided=not found.proven,
    )


def _unbounded(problem: cp.Problem, rules: Rules) -> Certificate:
    if problem.is_mixed_integer():
        reason = "not certified: unbounded integer problems are not judged"
        return Certificate(
            0.0, None, None, None, rules.tol, RAY, claim=UNBOUNDED, reason=reason, undecided=True
        )
    form = _form_of_claim(problem)
    found = descent(form, rules.tol)
    if found is None:
        return _refused(rules.tol, "no proof: no ray was found", claim=UNBOUNDED)
    reason = "" if found.start is not None else "a ray, but no feasible point: perhaps infeasible"
    return Certificate(
        primal_residual=0.0,
        dual_residual=None,
        complementarity=None,
        gap=found.off,
        tol=rules.tol,
        basis=RAY,
        claim=UNBOUNDED,
        by=f"a ray found here, which gains {found.gain:.0e} of its terms",
        reason=reason,
        undecided=found.start is None,
    )
