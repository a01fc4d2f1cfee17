r"""The last step of Lmba's linear program: the few hinges that are nearly 0.

At an optimum all but some hinges are clearly positive or negative: their shares
are 1 or 0. Over the others, K, the program is

.. math::
    \min_{u \in U, \xi \ge 0} v_0^T u + c\, 1^T \xi
    \quad\text{s.t.}\quad \xi \ge \theta_K + R_K u,

small enough for a simplex method. Its multipliers complete the shares to a proof. Only
features in use are given to it, then those that would pay at its multipliers, until none
would: most weights of wide data are 0.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import linprog

from convexfs.methods.lmba import kernels as kernels
from convexfs.neighbors.triplets import pair_distances, pair_sums

if TYPE_CHECKING:
    from convexfs.methods.lmba.newton import Program

#: Number of hinges taken as nearly 0: the first, plus the second per feature in use.
_KINKS, _KINKS_PER_FEATURE = 200, 3
#: Hinges below this fraction of a typical distance are used too, as they may be 0; at most this
#: multiple of the usual number is used; if more than usual, those equal to 12 digits are merged.
_TIED, _TIMES_USUAL, _DIGITS = 1e-7, 100, 12
#: Fewest features of the first small program; it at most doubles per round.
_FEATURES = 50
#: A feature whose reduced cost is smaller, relative to the largest slope, does not enter.
_PAYS = 1e-13
#: HiGHS's tightest tolerance.
_ACCURACY = 1e-10


@dataclass(frozen=True)
class Polished:
    """Minimiser of the small program over hinges near 0, and the lower bound it proves for all u.

    ``features`` are those it was sought among: no other would pay.
    """

    u: np.ndarray
    bound: float
    features: np.ndarray


def polish(program: "Program", u: np.ndarray) -> Polished | None:
    """Solve the program with all but the hinges nearest to 0 fixed as at u; None if it fails."""
    d = pair_distances(program.X, u)
    used = np.flatnonzero(u > 0)
    usual = _KINKS + _KINKS_PER_FEATURE * len(used)
    i, j, p = _nearest_kinks(program, d, usual)
    C = np.zeros_like(d)
    _, earned, _ = kernels.hinge_sums(d, program.theta, program.codes, program.targets, 0.0, C)
    positive = program.theta[i] + d[i, j] > d[i, p]
    np.subtract.at(C, (i[positive], j[positive]), 1.0)
    np.add.at(C, (i[positive], p[positive]), 1.0)
    earned -= program.theta[i[positive]].sum()
    v = program.linear + program.c * pair_sums(program.X, C)
    R = (program.X[i] - program.X[j]) ** 2 - (program.X[i] - program.X[p]) ** 2
    R, theta, times = _merged(R, program.theta[i], usual)
    features = np.union1d(used, np.argsort(v, kind="stable")[:_FEATURES])
    while True:
        solved = _solve(program, v[features], R[:, features], theta, times)
        if solved is None:
            return None
        weights, share = solved
        slope = v + program.c * (share @ R)
        paying = _paying(program, slope, features)
        if not len(paying):
            break
        features = np.union1d(features, paying[: len(features)])
    u = np.zeros_like(u)
    u[features] = weights
    bound = program.c * (earned + share @ theta) + program.least_over_region(slope)
    return Polished(u, float(bound), features)


def _paying(program: "Program", slope: np.ndarray, features: np.ndarray) -> np.ndarray:
    """Return indices of features outside `features` that would lower the loss, steepest first."""
    level = 0.0 if program.total is None else slope[features].min()
    worth = slope < level - _PAYS * np.abs(slope).max(initial=0.0)
    worth[features] = False
    paying = np.flatnonzero(worth)
    return paying[np.argsort(slope[paying], kind="stable")]


def _nearest_kinks(
    program: "Program", d: np.ndarray, usual: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return arrays i, j, p of at least `usual` triplets nearest to 0, and of all that may be 0."""
    others = np.not_equal.outer(program.codes, program.codes)
    least = _TIED * max(float(np.abs(d).max()), program.typical_hinge())
    parts = []
    for rank in range(program.targets.shape[1]):
        j = program.targets[:, rank]
        rows = np.flatnonzero(j >= 0)
        reach = program.theta[rows] + d[rows, j[rows]]
        size = np.where(others[rows], np.abs(reach[:, None] - d[rows]), np.inf).ravel()
        wanted = min(max(usual, np.count_nonzero(size <= least)), _TIMES_USUAL * usual)
        nearest = np.argpartition(size, wanted)[:wanted] if size.size > wanted else slice(None)
        cells = np.arange(size.size)[nearest]
        cells = cells[np.isfinite(size[cells])]
        i, p = rows[cells // len(d)], cells % len(d)
        parts.append((size[cells], i, j[i], p))
    size, i, j, p = (np.concatenate(part) for part in zip(*parts, strict=True))
    smallest = np.argsort(size, kind="stable")
    smallest = smallest[: min(max(usual, np.count_nonzero(size <= least)), _TIMES_USUAL * usual)]
    return i[smallest], j[smallest], p[smallest]


def _merged(
    R: np.ndarray, theta: np.ndarray, usual: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Merge equal hinges if there are more than usual, and count how often each occurs.

    With few different values in the data there are far more hinges at 0 than usual, but
    few of them differ.
    """
    if len(R) <= usual:
        return R, theta, np.ones(len(R))
    rows = np.column_stack([R, theta])
    digits = np.round(rows / np.abs(rows).max(initial=1e-300), _DIGITS)
    _, first, times = np.unique(digits, axis=0, return_index=True, return_counts=True)
    return R[first], theta[first], times.astype(float)


def _solve(
    program: "Program", v: np.ndarray, R: np.ndarray, theta: np.ndarray, times: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    r"""Solve the small program by HiGHS; return u and the hinges' multipliers over c, or None.

    Its dual has a row for each feature instead of each hinge, of which there are more:
    :math:`\max \theta^T \pi + s \lambda,\ \lambda 1 - R^T \pi \le v,\ 0 \le \pi \le c` with the
    total s of the simplex; of the box, :math:`\max \theta^T \pi - 1^T \kappa,\
    -R^T \pi - \kappa \le v,\ \kappa \ge 0`.
    """
    n_kinks, n_features = R.shape
    # Scale by the slope, so that the solver's absolute tolerance is meaningful.
    unit = max(float(np.abs(v).max(initial=0.0)), _ACCURACY * program.c)
    if program.total is None:
        others, cost, bounds = -np.eye(n_features), np.ones(n_features), (0, None)
    else:
        others, cost, bounds = np.ones((n_features, 1)), [-program.total], (None, None)
    solved = linprog(
        np.concatenate([-theta, cost]),
        A_ub=np.hstack([-R.T, others]),
        b_ub=v / unit,
        bounds=[(0.0, most) for most in program.c * times / unit] + [bounds] * others.shape[1],
        method="highs-ds",
        options={
            "primal_feasibility_tolerance": _ACCURACY,
            "dual_feasibility_tolerance": _ACCURACY,
        },
    )
    if not solved.success:
        return None
    u = np.clip(-solved.ineqlin.marginals, 0.0, 1.0 if program.total is None else None)
    if program.total is not None:
        u *= program.total / u.sum()
    return u, np.clip(solved.x[:n_kinks] * unit / program.c, 0.0, times)
