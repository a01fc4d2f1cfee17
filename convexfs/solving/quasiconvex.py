"""Optima of quasi-convex problems (DQCP): no point is better by more than the tolerance.

That the objective is at most t is a convex constraint for every t. A bound t on the optimum is
proven by a contradiction (:mod:`infeasibility`) between that constraint and the others.
"""

import cvxpy as cp
import numpy as np
from cvxpy.reductions.dqcp2dcp.dqcp2dcp import Dqcp2Dcp
from cvxpy.reductions.flip_objective import FlipObjective

from convexfs.solving.infeasibility import Contradiction, contradiction
from convexfs.solving.standard_form import StandardForm

#: Contradictions weaker than this share of their terms are rounding errors.
WEAKEST = 1e-9


def contradiction_below(problem: cp.Problem, cost: float) -> tuple[Contradiction | None, bool]:
    """Prove that no feasible point has a cost (to be minimised) as low as this.

    Returns
    -------
    Contradiction or None
    bool
        True if the level set is empty by the objective's range alone.
    """
    if isinstance(problem.objective, cp.Maximize):
        problem, _ = FlipObjective().apply(problem)
    levels, _ = Dqcp2Dcp().apply(problem)
    level = levels._bisection_data.param
    if (level.is_nonneg() and cost < 0) or not np.isfinite(cost):
        return None, level.is_nonneg()
    # Of an objective with whole values the next lower one.
    cost = float(levels._bisection_data.tighten_upper(cost))
    level.value = min(cost, 0.0) if level.is_nonpos() else cost
    rows = [*levels.constraints, *(make() for make in levels._lazy_constraints)]
    if any(row is False for row in rows):
        return None, True
    real = [row for row in rows if row is not True]
    form = StandardForm.of(cp.Problem(cp.Minimize(0), real))
    return contradiction(form, WEAKEST), False
