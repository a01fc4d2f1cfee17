"""State any stage of a point as a cvxpy problem, and trace the subproblems of its solution."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from convexfs.certification.certify import certify
from convexfs.errors import InputError, check_choice, check_number
from convexfs.methods.base.change import is_change, printed_problem
from convexfs.methods.base.formulation import AUTO
from convexfs.methods.base.solve_step import call_by_name, stated
from convexfs.methods.llfs import METHOD
from convexfs.methods.llfs.backend.separation import Step
from convexfs.methods.llfs.backend.subproblems import CURVED, RANK, checked_constraints
from convexfs.methods.llfs.fit import PointWork
from convexfs.methods.llfs.numbers import polymatroid_cut
from convexfs.methods.llfs.problem_steps import PROGRAMS, feasible, llfs_curved_step, value_at
from convexfs.methods.llfs.relaxation import path_solver, relaxed_path
from convexfs.methods.llfs.settings import LFS, PointSettings
from convexfs.methods.llfs.utility import mean_utility
from convexfs.records import NATIVE, UNDECIDED, Certificate
from convexfs.solving.named_leaves import fill, parameter
from convexfs.solving.solve import solve

STAGES = ("separation", "compactness", CURVED, "bisection", "linear", "ratio", "exact")
#: The last stage of a fit.
STEP = "compactness"
#: Most tangents added to a stated step, and the relative gain below which none is added.
MOST_CUTS, CUT_GAIN = 10, 1e-6
#: Verdicts, worst first.
_RANK = {False: 0, None: 1, True: 2}
#: Readable names of the subproblems.
NAMES = {"linear": "linear step", CURVED: "quadratic step", "ask": "question", "ratio": "ratio"}


def point_problem(work: PointWork, i: int, beta: float, stage: str | None, iterate: Any) -> Any:
    """Return a stage of a point; by default the last one of its fit."""
    settings, values = work.settings, work.values(i)
    stage = stage or (settings.form if settings.linear else STEP)
    if settings.linear and stage == settings.form:
        f = relaxed_path(values, replace(settings, betas=np.array([beta]))).f[0]
        check_number("beta", beta, 0, 1)
        known = work.localities(i) if settings.form == LFS else values
        problem = _stated(stage, settings, {**known, "beta": beta, **_constraints(settings)})
        fill(problem, {"f": f})
        return problem
    if settings.form == LFS:
        check_choice("stage", stage, (LFS,))
    return stage_problem(values, settings, beta, stage, iterate)


def stage_problem(
    values: Mapping[str, Any],
    settings: PointSettings,
    beta: float,
    stage: str = "compactness",
    iterate: np.ndarray | None = None,
) -> Any:
    """Return the cvxpy problem of a stage, linearised at `iterate` (default: local optimum).

    Parameters
    ----------
    values : mapping
        The point's numbers, as :func:`convexfs.methods.llfs.numbers.local_values` has them.
    stage : str
        ``separation`` (6); a step of (7), ``compactness`` or with curvature ``curved``; the
        question ``bisection`` asks at the iterate's U1; Dinkelbach's step of the ``ratio``
        at the iterate's; the ``linear`` form; the binary problem, ``exact``, with one cut.
    """
    check_choice("stage", stage, STAGES)
    check_number("beta", beta, 0, 1)
    at, widest, eps_max = _optimum(values, settings, beta)
    f = at if iterate is None else _checked(iterate, len(at))
    offered = _constraints(settings) | {"eps": beta * eps_max}
    if stage == CURVED:
        problem = _curved(values, settings, f, offered)
    else:
        offered |= {**values, "beta": beta, "iterate": f, **_levels(values, f)}
        if stage != STEP or not _keeps_step(settings):
            offered["tangents"] = np.vstack([widest, f])
        problem = _stated(stage, settings, offered)
    if iterate is None and stage in (STEP, CURVED):
        if stage == STEP and settings.changed and _keeps_step(settings):
            problem = _cut_step(problem, settings, offered, at)
        fill(problem, {"f": at})
    return problem


def certify_points(model: Any, options: Mapping[str, Any]) -> Certificate:
    """Certify the last step of every sample of a fitted LLFS; return the worst certificate."""
    if model.form in ("exact", "ratio"):
        raise InputError(
            f"the points of form={model.form!r} end with no convex step that could be certified "
            "anew: certify the problems of single samples, model.problem(i)"
        )
    proofs = [certify(model.problem(i), **options) for i in range(len(model.betas_))]
    worst = min(range(len(proofs)), key=lambda i: (_RANK[proofs[i].ok], -proofs[i].worst))
    proof = replace(proofs[worst], basis=model.certificate_.basis)
    if not proof.ok:
        return replace(proof, reason=f"sample {worst + 1}: {proof.reason}")
    if model._work.settings.linear:
        return proof
    reason = "local: the last step of every sample is proven, but (7) is not convex"
    return replace(proof, dual_residual=proof.gap, gap=None, verdict=UNDECIDED, reason=reason)


def _keeps_step(settings: PointSettings) -> bool:
    """Return whether the step is the printed one or a change of it, not from ``build``."""
    build = settings.solving.build
    return build is None or is_change(build)


def _cut_step(
    problem: Any, settings: PointSettings, offered: Mapping[str, Any], f: np.ndarray
) -> Any:
    """Add at most ten tangents of U2 to the step, until f solves it; return the problem.

    The steps of a backend have several: with the one at f alone, a point that is optimal to
    the last digits may leave more of them.
    """
    tangents: list[np.ndarray] = []
    for _ in range(MOST_CUTS):
        value, solution = value_at(problem, f), solve(problem, tol=1e-8)
        if solution.objective is None or value - solution.objective <= CUT_GAIN * abs(value):
            break
        tangents.append(np.clip(solution.primal["f"], 0.0, 1.0))
        problem = _stated(STEP, settings, {**offered, "tangents": np.array(tangents)})
    return problem


def _stated(stage: str, settings: PointSettings, offered: Mapping[str, Any]) -> Any:
    row = METHOD.formulation(stage if stage == LFS else f"llfs-{stage}")
    build = settings.solving.build
    if stage != STEP or build is None:
        return printed_problem(row.build, offered)
    if is_change(build):
        # The change states its own constraints.
        printed = {name: value for name, value in offered.items() if name != "feasible"}
        return stated(row, {"a_same": offered["a_same"], **printed}, build)
    return call_by_name(build, offered)


def _curved(
    values: Mapping[str, Any], settings: PointSettings, f: np.ndarray, offered: Mapping[str, Any]
) -> Any:
    """Return the step with curvature, at f."""
    eps, alpha = parameter("eps", offered["eps"]), parameter("alpha", settings.max_features)
    solving = replace(settings.solving, solver=AUTO)
    here = path_solver(values, replace(settings, solving=solving, form=STEP))
    place = here.point.at(f)
    _, price = here.promise(place, place.u1, offered["eps"])
    R = here.point.curvature(place, price.reduced, price.mu, True, RANK)
    level = eps - (place.u2 - float(place.g2 @ f))
    return llfs_curved_step(place.g1, place.g2[None], level, R, R @ f, alpha, offered["feasible"])


def _constraints(settings: PointSettings) -> dict[str, Any]:
    """Return the budget and the constraints on f: the paper's, or changed ones."""
    changed = settings.feasible
    allowed = feasible if changed is None else checked_constraints(changed)
    return {"max_features": settings.max_features, "feasible": allowed}


def _levels(values: Mapping[str, Any], f: np.ndarray) -> dict[str, Any]:
    """Return the numbers that bisection, ratio and binary cut take from the iterate."""
    a_same, a_other, s, lam = (values[name] for name in ("a_same", "a_other", "s", "lam"))
    order = np.argsort(-f, kind="stable")
    return {
        "level": mean_utility(a_same, f, s, lam),
        "ratio": float(a_same.mean(axis=0) @ f) / mean_utility(a_other, f, s, lam),
        "cuts": polymatroid_cut(a_same, order, s, lam)[None],
    }


def _optimum(
    values: Mapping[str, Any], settings: PointSettings, beta: float
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return the local optimum at beta, the maximiser of (6), and its value."""
    if settings.form not in ("compactness", "bisection"):
        settings = replace(settings, form="compactness")
    betas = np.unique(np.append(settings.betas, [beta, 1.0]))
    path = relaxed_path(values, replace(settings, betas=betas))
    return path.f[int(np.searchsorted(betas, beta))], path.f[-1], path.eps_max


def _checked(iterate: Any, n_features: int) -> np.ndarray:
    f = np.asarray(iterate, dtype=float)
    if f.shape != (n_features,):
        raise InputError(
            f"iterate must have one entry for each of the {n_features} features that were not "
            f"pruned, not the shape {f.shape}"
        )
    return f


@dataclass(frozen=True, kw_only=True)
class TraceStep(Step):
    """One subproblem on the way to a local optimum.

    Attributes
    ----------
    name, solver : str
    iterate, answer : array
        Where it is linearised, and the solver's point (None if it failed).
    u1, u2, level : float
        At the iterate, and what U2 must reach: an upward step starts below it.
    problem : cvxpy.Problem
        To be shown, changed and solved again.
    objective : float
        Of the problem, at the answer.
    """

    name: str
    solver: str
    u1: float
    u2: float
    settings: PointSettings

    @cached_property
    def problem(self) -> Any:
        numbers = dict(self.numbers)
        used = np.abs(numbers["G"]).max(axis=1) > 0  # Rows with tangents; the other rows are empty.
        if used.any():
            numbers |= {name: numbers[name][used] for name in ("G", "h", "b") if name in numbers}
        for name in ("level", "ratio", "eps"):
            if name in numbers:
                numbers[name] = float(numbers[name])
        return PROGRAMS[self.kind](**numbers, **_constraints(self.settings))

    @property
    def objective(self) -> float:
        if self.answer is None:
            return np.nan
        numbers, f = self.numbers, self.answer
        below = float(np.min(numbers["G"] @ f + numbers["b"])) if "b" in numbers else np.nan
        if self.kind == "ask":
            return below
        cost = float(numbers["c"] @ f)
        if self.kind == "ratio":
            return cost - float(numbers["ratio"]) * below
        if self.kind == CURVED:
            cost += 0.5 * float(np.sum((numbers["R"] @ f - numbers["r"]) ** 2))
        return cost


class Trace(list[TraceStep]):
    """The subproblems of one point and beta, in the order they were solved.

    Printed, it is a table; ``convexfs.show(trace[k].problem)`` shows one of them, and
    :func:`convexfs.methods.llfs.pictures.trace_picture` draws the sequence.
    """

    def __str__(self) -> str:
        rows = [
            f"{'program':<15} {'U1':>12} {'U2/level':>12} {'objective':>12}  features at iterate"
        ]
        for each in self:
            share = each.u2 / each.level if each.level > 0 else np.inf
            used = " ".join(map(str, np.flatnonzero(each.iterate > 1e-6)))
            rows.append(
                f"{each.name:<15} {each.u1:12.8f} {share:12.8f} {each.objective:12.8f}  {used}"
            )
        return "\n".join(rows)

    __repr__ = __str__


def trace(values: Mapping[str, Any], settings: PointSettings, beta: float) -> Trace:
    """Return all subproblems by which the solution path reaches `beta`, up and down.

    A fit by the native solver is traced through the backend that "auto" names.
    """
    check_number("beta", beta, 0, 1)
    if settings.solving.build is not None:
        raise InputError("trace follows the built-in solution path, not a changed build")
    form = "compactness" if settings.form == "exact" else settings.form
    solver = AUTO if settings.solving.solver.lower() == NATIVE else settings.solving.solver
    betas = np.unique(np.append(settings.betas, beta))
    solving = replace(settings.solving, solver=solver)
    settings = replace(settings, solving=solving, form=form, betas=betas)
    steps: list[Step] = []
    way = path_solver(values, settings, steps)
    way.path(betas)
    level, point = beta * way.eps_max, way.point
    return Trace(
        TraceStep(
            **vars(step), name=NAMES[step.kind], solver=way.programs.solver, settings=settings,
            u1=point.u1(step.iterate), u2=point.u2(step.iterate),
        )
        for step in steps
        if step.level == level and (beta > 0 or step.level > 0)
    )  # fmt: skip
