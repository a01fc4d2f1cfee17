r"""The convex subproblems of LLFS's solution path, parametrised by the changing numbers.

=================  =====================================================================
f                  membership of the features, 0 to 1
c                  gradient of U1 at the iterate
G, b               tangents of U2, :math:`U_2(f) \le g_k^T f + b_k`, a row each
h                  :math:`\epsilon - b`: what G f must reach
R, r               root of a Hessian, and R times the iterate
=================  =====================================================================

All are DPP: :func:`program` states them with parameters, to be compiled once and solved
often. An unused row of G is 0, with h = -1 or a large b.
"""

import inspect
from collections.abc import Callable
from typing import Annotated, Any

import cvxpy as cp
import numpy as np

from convexfs.methods.base.change import called
from convexfs.methods.base.solve_step import require_problem

Number = float | cp.Expression
#: The paper's alpha, and its letter in a formula.
Alpha = Annotated[int | cp.Expression, "alpha"]
Vector = Any  # An array, or a Parameter of its shape.
Feasible = Callable[[cp.Variable, Any], list[Any]]


def feasible(f: cp.Variable, max_features: Alpha) -> list[Any]:
    r"""Return :math:`0 \le f \le 1,\ 1 \le 1^T f \le \alpha`; a problem file may replace it."""
    total: Any = cp.sum(f)
    return [
        (f >= 0).set_label("lower"),
        (f <= 1).set_label("upper"),
        (total >= 1).set_label("some"),
        (total <= max_features).set_label("budget"),
    ]


def llfs_step(
    c: Vector,
    G: Vector,
    h: Vector,
    max_features: Alpha,
    offset: float = 0.0,
    feasible: Feasible = feasible,
) -> cp.Problem:
    r"""Minimise a linear step of (7).

    .. math::
        \min_f\; c^T f\quad\text{s.t.}\quad G f \ge h,\;\text{feasible}

    c is the gradient of U1 at the iterate, :math:`h = \epsilon - b`.
    """
    f = cp.Variable(G.shape[1], name="f")
    above = (G @ f >= h).set_label("tangents")
    return cp.Problem(cp.Minimize(c @ f + offset), [above, *feasible(f, max_features)])


def llfs_curved_step(
    c: Vector,
    G: Vector,
    h: Vector,
    R: Vector,
    r: Vector,
    max_features: Alpha,
    feasible: Feasible = feasible,
) -> cp.Problem:
    r"""Minimise a step of (7) or of (6) with curvature.

    .. math::
        \min_f\; c^T f + \tfrac12 |R f - r|^2\quad\text{s.t.}\quad G f \ge h,\;\text{feasible}

    :math:`R^T R` is the positive part of the Hessian of :math:`U_1 - \mu U_2` at the
    iterate :math:`\bar f`, and :math:`r = R\bar f`.
    """
    f = cp.Variable(G.shape[1], name="f")
    above = (G @ f >= h).set_label("tangents")
    cost = c @ f + 0.5 * cp.sum_squares(R @ f - r)
    return cp.Problem(cp.Minimize(cost), [above, *feasible(f, max_features)])


def llfs_ask(
    c: Vector,
    level: Number,
    G: Vector,
    b: Vector,
    max_features: Alpha,
    feasible: Feasible = feasible,
) -> cp.Problem:
    r"""Maximise U2, bounded by its tangents, where the tangent of U1 is at most a level.

    .. math::
        \max_{f, u}\; u\quad\text{s.t.}\quad u \le G f + b,\; c^T f \le t,\;\text{feasible}
    """
    f, u = cp.Variable(G.shape[1], name="f"), cp.Variable(name="u")
    below = (u <= G @ f + b).set_label("tangents")
    compact = (c @ f <= level).set_label("level")
    return cp.Problem(cp.Maximize(u), [below, compact, *feasible(f, max_features)])


def llfs_ratio_step(
    c: Vector,
    ratio: Number,
    eps: Number,
    G: Vector,
    b: Vector,
    max_features: Alpha,
    feasible: Feasible = feasible,
) -> cp.Problem:
    r"""Check by Dinkelbach's step whether the ratio :math:`t = c^T f / U_2(f)` can be lowered.

    .. math::
        \min_{f, u}\; c^T f - t u\quad\text{s.t.}\quad
        \epsilon \le u \le G f + b,\;\text{feasible}
    """
    f, u = cp.Variable(G.shape[1], name="f"), cp.Variable(name="u")
    below, level = (u <= G @ f + b).set_label("tangents"), (u >= eps).set_label("level")
    return cp.Problem(cp.Minimize(c @ f - ratio * u), [below, level, *feasible(f, max_features)])


def program(
    kind: str,
    n_features: int,
    n_tangents: int,
    rank: int,
    max_features: Alpha,
    feasible: Feasible = feasible,
) -> cp.Problem:
    """Return one of the four steps (`PROGRAMS`) with a parameter for each changing number."""
    shapes: dict[str, Any] = {
        "c": n_features, "G": (n_tangents, n_features), "h": n_tangents, "b": n_tangents,
        "R": (rank, n_features), "r": rank, "level": (), "eps": (),
    }  # fmt: skip
    build = PROGRAMS[kind]
    wanted = [name for name in inspect.signature(build).parameters if name in shapes]
    parameters = {name: cp.Parameter(shapes[name], name=name) for name in wanted}
    if build is llfs_ratio_step:
        parameters["ratio"] = cp.Parameter(name="ratio", nonneg=True)
    return build(**parameters, max_features=max_features, feasible=feasible)


def changed_rows(
    change: Callable[..., Any], f: cp.Variable, max_features: Alpha
) -> tuple[list[Any], list[Any], bool]:
    """Return a changed step's constraints without the level, and whether it changes more.

    The first are on f alone, and shared by all stages of a point; the second have other variables
    too. The change is given a step on this f, whose numbers stand for those of any point.
    """
    slope, eps = np.ones(f.size), cp.Parameter(name="eps", value=0.5, nonneg=True)
    level = (slope[None] @ f >= eps).set_label("tangents")
    printed = cp.Problem(cp.Minimize(slope @ f), [level, *feasible(f, max_features)])
    changed = change(problem=printed)
    require_problem(changed, called(change))
    shared, own, levels = [], [], 0
    for row in changed.constraints:
        if row is level:
            levels += 1
        elif {variable.id for variable in row.variables()} == {f.id}:
            shared.append(row)
        else:
            own.append(row)
    same = changed.objective is printed.objective and levels and not own
    return shared, own, not same


def value_at(problem: cp.Problem, f: np.ndarray) -> float:
    """Return the least objective of a step at this f, over other variables; inf if unsolved."""
    problem.var_dict["f"].value = f
    value: Any = problem.objective.value
    if value is not None:
        return float(value)
    from convexfs.solving.solve import solve

    fixed = [*problem.constraints, problem.var_dict["f"] == f]
    solved = solve(cp.Problem(problem.objective, fixed)).objective
    return np.inf if solved is None else solved


#: The steps by their names in the solution path.
PROGRAMS: dict[str, Callable[..., cp.Problem]] = {
    "linear": llfs_step,
    "curved": llfs_curved_step,
    "ask": llfs_ask,
    "ratio": llfs_ratio_step,
}
