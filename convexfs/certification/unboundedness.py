"""Proofs that a problem has no optimum: a feasible point and a ray along which the cost falls.

A ray z with Az in K, Pz = 0 and q'z < 0 leads from any feasible point to ever cheaper ones. Both
must be verified: the ray is a feasible point of the problem with b = 0. A bound on the optimum
refutes the claim.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import cvxpy as cp
import numpy as np

from convexfs.certification.auxiliary import Budget, Scaling, Stopped, cheaper_direction
from convexfs.certification.convex_form import ConvexForm
from convexfs.certification.duals.dual_bound import cost_at, is_convex
from convexfs.certification.feasible_points import change_to_feasible
from convexfs.certification.infeasibility import (
    certificate,
    has_feasible_point,
    proof_of_infeasibility,
)
from convexfs.certification.optimality import OptimalityProof
from convexfs.certification.program.scaling import unit_of_objective
from convexfs.certification.program.standard_form import StandardForm
from convexfs.certification.rigorous.rounding import matrix_products
from convexfs.records import PROVEN, REFUTED, UNBOUNDED, UNDECIDED, Certificate

RAY = "a feasible point and a ray"


def unbounded(problem: cp.Problem, tol: float, budget: Budget) -> Certificate:
    """Return the certificate of the claim that the objective of `problem` is unbounded."""
    if not problem.is_dcp() and not problem.is_dgp():
        return _certificate(tol, UNDECIDED, "unbounded quasi-convex problems are not verified")
    convex = ConvexForm.of(problem)
    form = StandardForm.of(convex.convex)
    try:
        return _verified(convex, form, tol, budget)
    except Stopped:
        return _certificate(tol, UNDECIDED, "stopped: the budget of CPU time is used up")


def _verified(convex: ConvexForm, form: StandardForm, tol: float, budget: Budget) -> Certificate:
    if not is_convex(form):
        return _certificate(tol, UNDECIDED, "the objective is not convex, though it was assumed")
    relaxed = replace(form, integer=np.empty(0, dtype=int))
    ray = any(is_ray(form, each) for each in _rays(form, budget))
    if ray and form.integer.size:
        return _certificate(tol, UNDECIDED, "a ray of the relaxation, which has integers")
    if ray:
        if has_feasible_point(form, budget):
            return _certificate(tol, PROVEN, by="a verified point and a verified ray")
        if proof_of_infeasibility(form, budget) is not None:
            return _certificate(tol, REFUTED, "no point is feasible")
        return _certificate(tol, UNDECIDED, "a verified ray, but no feasible point is verified")
    bound = _lower_bound(relaxed, tol, budget)
    if bound is not None:
        value = convex.objective_of(bound + form.d)
        word = "at most" if convex.sign < 0 else "at least"
        return _certificate(tol, REFUTED, f"the optimum is {word} {value:.9g}", bound=value)
    return _certificate(tol, UNDECIDED, "no ray was found")


def _certificate(tol: float, verdict: str, reason: str = "", **fields: Any) -> Certificate:
    return certificate(tol, verdict, basis=RAY, claim=UNBOUNDED, reason=reason, **fields)


def _rays(form: StandardForm, budget: Budget) -> Iterator[np.ndarray]:
    """Yield candidate rays along which the cost falls: as found, and rounded."""
    for inside in (True, False):
        ray = cheaper_direction(form, Scaling.equilibrated(form), inside, budget.left)
        if ray is None:
            continue
        yield ray
        largest = float(np.abs(ray).max(initial=0.0)) or 1.0
        for steps in (1e6, 64.0):
            yield np.round(ray / largest * steps) / steps
        yield np.sign(ray)


def is_ray(form: StandardForm, ray: np.ndarray) -> bool:
    """Return whether some ray near this one surely stays in the cones and lowers the cost."""
    if form.P is not None and matrix_products(form.P, ray, np.zeros_like(ray))[0].any():
        return False
    homogeneous = replace(form, b=np.zeros_like(form.b), P=None)
    change = change_to_feasible(homogeneous, ray)
    return change is not None and cost_at(homogeneous, ray)[0] + change < 0


def _lower_bound(form: StandardForm, tol: float, budget: Budget) -> float | None:
    """Return a proven lower bound of costs without the constant; None if none is found."""
    nowhere = np.zeros(form.q.size)
    size = unit_of_objective(form) or 1.0
    for cost in (-1e3 * size, -1e6 * size, -1e12 * size):
        proof = OptimalityProof(
            form, nowhere, np.zeros(nowhere.size, dtype=bool), cost, tol, budget
        )
        if proof.box.empty:
            return None
        proof.run(())
        if proof.stopped:
            raise Stopped
        if np.isfinite(proof.above.value) and proof.above.rounding == 0:
            return proof.above.value
        if proof.best.rounding == 0 and np.isfinite(proof.best.value) and proof.best.value >= cost:
            return proof.best.value
    return None
