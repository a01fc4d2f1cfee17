r"""LLFS: the problems of one representative point (Armanfard, Reilly & Komeili 2017).

=================  =====================================================================
f                  membership of the features, 0 to 1
a_same, a_other    :math:`|x_i - x_j|` to the other samples of the point's class, to all others
s, lam             of :math:`G(z) = 1/(1+e^{-sz}) - 1/2 + \lambda z`
U1, U2             mean of :math:`G(a_j^T f)` over a_same and over a_other
max_features       the paper's alpha
eps                the level :math:`\beta \epsilon_{max}` that U2 must reach
=================  =====================================================================

cvxpy has no concave sigmoid, and none is known from its cones. But U2 is concave, so each
tangent, :math:`U_2(f) \le g_k^T f + b_k`, lies above it, and as no sample stands in it, a
program is small and a tangent serves every level. Tangents (rows `G`, entries `b`) are
added where a solution lies until they no longer matter. U1 is replaced by its tangent at
the iterate. The programs that this leads to are those of
:mod:`convexfs.methods.llfs.problem_steps`.

**(7) is not quasi-convex**, contrary to Sec. III-A of the paper: G is concave on
:math:`z \ge 0`, so (7) minimises a concave function. Four samples show it. Let x = (0, 0)
have (1, 0) and (0, 1.2) in its class and (1, 1) in the other, with alpha = 2,
s = ln(97/3), lam = .005 and beta = .9331. Then U1 is .2375 at f = (1, 0), .3727 at
(.5, .5) and .2454 at (0, 1): two strict *local* minima, and a level set in two pieces.
What solves (7) here is therefore called local, never optimal. (6) is convex.
"""

from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.constraints.nonpos import Inequality
from cvxpy.constraints.zero import Equality

from convexfs.errors import InputError, warn
from convexfs.methods.base.change import called, plain
from convexfs.methods.llfs.problem_steps import (
    Alpha,
    Feasible,
    Number,
    changed_rows,
    feasible,
    llfs_ask,
    llfs_ratio_step,
    llfs_step,
)
from convexfs.methods.llfs.utility import tangent, tangents_of_mean, utility, utility_slope

#: Rounding error by which a set of features may violate a constraint.
ALLOWED_SLACK = 1e-9


def allowed_sets(sets: np.ndarray, feasible: Feasible, max_features: int) -> np.ndarray:
    """Return a mask of the sets of features (rows of `sets`) that satisfy `feasible`.

    Affine constraints are looked at all sets together, others one by one.
    """
    f = cp.Variable(sets.shape[1], name="f", value=np.zeros(sets.shape[1]))
    allowed = np.ones(len(sets), dtype=bool)
    for constraint in feasible(f, max_features):
        if any(variable.id != f.id for variable in constraint.variables()):
            raise InputError(
                "feasible adds variables, which the rounding does not know:  "
                "write it with f alone, or use form='exact'"
            )
        if isinstance(constraint, Inequality | Equality) and constraint.expr.is_affine():
            f.value = np.zeros(f.size)
            slope, offset = constraint.expr.grad[f], np.ravel(constraint.expr.value, order="F")
            left = sets @ slope + offset
            over = np.abs(left) if isinstance(constraint, Equality) else left
            allowed &= (over <= ALLOWED_SLACK).all(axis=1)
            continue
        for row in np.flatnonzero(allowed):
            f.value = sets[row].astype(float)
            allowed[row] = np.max(constraint.violation()) <= ALLOWED_SLACK
    return allowed


def change_constraints(change: Any) -> Feasible:
    """Return a function of the constraints on f after a change, for all stages of a point."""

    def feasible(f: cp.Variable, max_features: Alpha) -> list[Any]:
        return changed_rows(change, f, max_features)[0]

    feasible.__name__ = called(change)
    return feasible


def changes_step(change: Any, n_features: int, max_features: int) -> bool:
    """Return whether a change affects more than constraints on f; warn about other variables."""
    _, own, more = changed_rows(change, cp.Variable(n_features, name="f"), max_features)
    if own:
        warn(
            f"{called(change)} has {len(own)} constraints with variables other than f: they "
            "hold in the steps of (7), not in (6) and in the roundings"
        )
    return more


def llfs_separation(
    a_other: np.ndarray,
    s: float,
    lam: float,
    max_features: Alpha,
    tangents: np.ndarray,
    feasible: Feasible = feasible,
) -> cp.Problem:
    r"""Maximise the separation from other classes, U2, bounded by tangents (problem 6).

    Its maximum is :math:`\epsilon_{max} = \max_f U_2(f)`.
    """
    f = cp.Variable(a_other.shape[1], name="f")
    u2, below = _under_tangents(f, a_other, s, lam, tangents)
    return cp.Problem(cp.Maximize(u2), [*below, *feasible(f, max_features)])


def llfs_compactness(
    a_same: np.ndarray,
    a_other: np.ndarray,
    s: float,
    lam: float,
    eps: Number,
    max_features: Alpha,
    iterate: np.ndarray,
    tangents: np.ndarray | None = None,
    feasible: Feasible = feasible,
) -> cp.Problem:
    r"""One step of (7), :math:`\min_f U_1(f),\ U_2(f) \ge \epsilon`, at an iterate.

    .. math::
        \min_f\; U_1(\bar f) + \nabla U_1(\bar f)^T (f - \bar f)
        \quad\text{s.t.}\quad
        U_2(\bar f) + \nabla U_2(\bar f)^T (f - \bar f) \ge \epsilon,\;\text{feasible}

    Both tangents lie above their functions: if :math:`\bar f` solves this step, it is
    stationary for (7), and what the step gains is all that is left to gain nearby. More
    tangents of U2, at the points `tangents`, keep a step from going too far.
    """
    c, offset = tangent(a_same, iterate, s, lam)
    if tangents is None:
        g, b = tangent(a_other, iterate, s, lam)
        return llfs_step(c, g[None], eps - b, max_features, offset, feasible)
    G, b = tangents_of_mean(a_other, np.vstack([iterate, tangents]), s, lam)
    return llfs_step(c, G, eps - b, max_features, offset, feasible)


def llfs_tangent_step(
    slope: np.ndarray | cp.Parameter,
    a_other: np.ndarray,
    s: float,
    lam: float,
    eps: Number,
    max_features: Alpha,
    tangents: np.ndarray,
    feasible: Feasible = feasible,
) -> cp.Problem:
    r"""Minimise the linearised U1 over tangents of every sample's G at the points `tangents`.

    Tighter than tangents of their mean, and larger by the number of samples; `slope`, the
    gradient of U1, and eps may be Parameters.
    """
    f = cp.Variable(a_other.shape[1], name="f")
    u2, below = _under_tangents(f, a_other, s, lam, tangents)
    level = (u2 >= eps).set_label("level")
    return cp.Problem(cp.Minimize(slope @ f), [level, *below, *feasible(f, max_features)])


def llfs_linear(
    a_same: np.ndarray,
    a_other: np.ndarray,
    beta: Number,
    max_features: Alpha,
    feasible: Feasible = feasible,
) -> cp.Problem:
    r"""Minimise the linear relaxation of (4), written as an epsilon-constraint problem.

    .. math::
        \min_f c_1^T f\quad\text{s.t.}\quad c_2^T f \ge \beta \max c_2^T f,\;\text{feasible}

    c1 and c2 are the mean distances to the own class and to the others; the maximum is
    the sum of the alpha largest entries of c2.
    """
    c1, c2 = a_same.mean(axis=0), a_other.mean(axis=0)
    most = _largest_sum(c2, max_features)
    f = cp.Variable(len(c1), name="f")
    level = (c2 @ f >= beta * most).set_label("level")
    return cp.Problem(cp.Minimize(c1 @ f), [level, *feasible(f, max_features)])


def lfs(
    d_same: np.ndarray,
    d_other: np.ndarray,
    v_same: np.ndarray,
    v_other: np.ndarray,
    beta: Number,
    max_features: Alpha,
    feasible: Feasible = feasible,
) -> cp.Problem:
    r"""Minimise LFS's weighted distances (2016), LLFS's linear ancestor.

    .. math::
        \min_f a^T f\quad\text{s.t.}\quad b^T f \ge \beta \max b^T f,\;\text{feasible},\qquad
        a = \sum_{j \in S} v_j \delta_j,\; b = \sum_{j \in O} v_j \delta_j

    over the own class S and the others O, with :math:`\delta_j = (x_j - x_i)^2` entry by
    entry (`d_same`, `d_other`) and weights v as :mod:`convexfs.methods.llfs.lfs` has them.
    """
    a, b = v_same @ d_same, v_other @ d_other
    most = _largest_sum(b, max_features)
    f = cp.Variable(len(a), name="f")
    level = (b @ f >= beta * most).set_label("level")
    return cp.Problem(cp.Minimize(a @ f), [level, *feasible(f, max_features)])


def llfs_bisection(
    a_same: np.ndarray,
    a_other: np.ndarray,
    s: float,
    lam: float,
    level: Number,
    max_features: Alpha,
    iterate: np.ndarray,
    tangents: np.ndarray,
    feasible: Feasible = feasible,
) -> cp.Problem:
    r"""Maximise U2 where the tangent of U1 is at most t: the subproblem of a bisection on t.

    .. math::
        \max_f U_2(f)\quad\text{s.t.}\quad
        U_1(\bar f) + \nabla U_1(\bar f)^T (f - \bar f) \le t,\;\text{feasible}

    :math:`\{U_1 \le t\}` is not convex; the half-space of the tangent lies inside it. So
    t is reached if the answer is at least epsilon, but an answer below it is no lower
    bound: the end is the same local one as that of majorise-minimise.
    """
    c, offset = tangent(a_same, iterate, s, lam)
    G, b = tangents_of_mean(a_other, tangents, s, lam)
    return llfs_ask(c, level - offset, G, b, max_features, feasible)


def llfs_ratio(
    a_same: np.ndarray,
    a_other: np.ndarray,
    s: float,
    lam: float,
    eps: Number,
    max_features: Alpha,
    ratio: Number,
    tangents: np.ndarray,
    feasible: Feasible = feasible,
) -> cp.Problem:
    r"""Minimise the ratio of compactness to separation, which is truly quasi-convex.

    .. math::
        \min_f \frac{c_1^T f}{U_2(f)}\quad\text{s.t.}\quad U_2(f) \ge \epsilon,\;\text{feasible}

    A ratio t >= 0 is attained iff :math:`F(t) = \min_f c_1^T f - t\,U_2(f) \le 0`, and
    this problem is F(t): bisection on t, or Dinkelbach's :math:`t \leftarrow c_1^T f/U_2(f)`.
    Without the bound on U2 it would always end at :math:`1^T f = 1`.
    """
    G, b = tangents_of_mean(a_other, tangents, s, lam)
    return llfs_ratio_step(a_same.mean(axis=0), ratio, eps, G, b, max_features, feasible)


def llfs_exact(
    a_other: np.ndarray,
    s: float,
    lam: float,
    eps: Number,
    max_features: Alpha,
    cuts: np.ndarray,
    tangents: np.ndarray,
    feasible: Feasible = feasible,
) -> cp.Problem:
    r"""Solve the binary problem (7) itself as a mixed-integer program, for small sizes.

    .. math::
        \min_{w, f} w\quad\text{s.t.}\quad w \ge \pi_k^T f,\; U_2(f) \ge \epsilon,\;
        f \in \{0, 1\}^M,\;\text{feasible}

    U1 is a submodular function of the chosen set (concave, of a nonnegative sum), so it
    is the largest of Edmonds' polymatroid cuts :math:`\pi_k` (`cuts`, one per order of
    the features): marginal gains of U1 along the order, exact for the sets it passes.
    With cuts and tangents at every set the solver proposes the answer is exact.
    """
    f = cp.Variable(a_other.shape[1], name="f", boolean=True)
    w = cp.Variable(name="w")
    u2, below = _under_tangents(f, a_other, s, lam, tangents)
    level = (u2 >= eps).set_label("level")
    above = (w >= cuts @ f).set_label("cuts")
    return cp.Problem(cp.Minimize(w), [above, level, *below, *feasible(f, max_features)])


def _largest_sum(values: np.ndarray, max_features: Alpha) -> float:
    """Return the sum of the alpha largest values; alpha may be a Parameter."""
    return float(np.sort(values)[-plain(max_features) :].sum())


def _under_tangents(
    f: cp.Variable, a: np.ndarray, s: float, lam: float, tangents: np.ndarray
) -> tuple[Any, list[Any]]:
    """Return an upper bound of U(f) by tangents of G, and the constraints that define it.

    Distances get their own variable: inlined, they make the program dense.
    """
    n = len(a)
    z, t = cp.Variable(n, name="z"), cp.Variable(n, name="t")
    constraints = [(z == a @ f).set_label("distances")]
    for number, at in enumerate(np.atleast_2d(tangents) @ a.T):
        slope = utility_slope(at, s, lam)
        line = cp.multiply(slope, z) + (utility(at, s, lam) - slope * at)
        constraints.append((t <= line).set_label(f"tangent {number}"))
    return cp.sum(t) / n, constraints
