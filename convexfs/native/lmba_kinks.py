r"""The last step of Lmba's linear program: the few hinges that are nearly 0.

At an optimum all but some hinges are clearly positive or negative: their shares
are 1 or 0. Over the others, K, the program is

.. math::
    \min_{u \in U, \xi \ge 0} v_0^T u + c\, 1^T \xi
    \quad\text{s.t.}\quad \xi \ge \theta_K + R_K u,

small enough for a simplex method. Its multipliers complete the shares to a proof.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import linprog

from convexfs.native import lmba_kernels as kernels
from convexfs.neighbors.triplets import pair_distances, pair_sums

if TYPE_CHECKING:
    from convexfs.native.lmba_newton import Program

#: Hinges taken for nearly 0: this many, and as many more for every feature.
_KINKS, _KINKS_PER_FEATURE = 200, 3
#: Hinges below this share of a usual distance may be 0; up to so many times the usual
#: number of them are looked at, and told apart by so many digits.
_TIED, _TIMES_USUAL, _DIGITS = 1e-7, 100, 12
#: HiGHS goes no further.
_ACCURACY = 1e-10


@dataclass(frozen=True)
class Polished:
    """A minimiser over the nearest kinks, and the bound its multipliers prove for all u."""

    u: np.ndarray
    bound: float


def polish(program: "Program", u: np.ndarray) -> Polished | None:
    """Solve over the hinges nearest to 0 at u; None if that fails."""
    d = pair_distances(program.X, u)
    i, j, p = _nearest_kinks(program, d)
    C = np.zeros_like(d)
    _, earned, _ = kernels.hinge_sums(d, program.theta, program.codes, program.targets, 0.0, C)
    positive = program.theta[i] + d[i, j] > d[i, p]
    np.subtract.at(C, (i[positive], j[positive]), 1.0)
    np.add.at(C, (i[positive], p[positive]), 1.0)
    earned -= program.theta[i[positive]].sum()
    v = program.linear + program.c * pair_sums(program.X, C)
    R = (program.X[i] - program.X[j]) ** 2 - (program.X[i] - program.X[p]) ** 2
    R, theta, times = _merged(program, R, program.theta[i])
    solved = _solve(program, v, R, theta, times)
    if solved is None:
        return None
    u, share = solved
    slope = v + program.c * (share @ R)
    bound = program.c * (earned + share @ theta) + program.least_over_region(slope)
    return Polished(u, float(bound))


def _nearest_kinks(program: "Program", d: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Triplets (i, j, p) whose hinges are nearest to 0, and all that may be 0."""
    usual = _usual_kinks(program)
    others = np.not_equal.outer(program.codes, program.codes)
    least = _TIED * max(float(np.abs(d).max()), program.typical_hinge())
    found = []
    for place in range(program.targets.shape[1]):
        j = program.targets[:, place]
        rows = np.flatnonzero(j >= 0)
        reach = program.theta[rows] + d[rows, j[rows]]
        size = np.where(others[rows], np.abs(reach[:, None] - d[rows]), np.inf).ravel()
        wanted = min(max(usual, np.count_nonzero(size <= least)), _TIMES_USUAL * usual)
        nearest = np.argpartition(size, wanted)[:wanted] if size.size > wanted else slice(None)
        cells = np.arange(size.size)[nearest]
        cells = cells[np.isfinite(size[cells])]
        i, p = rows[cells // len(d)], cells % len(d)
        found.append((size[cells], i, j[i], p))
    size, i, j, p = (np.concatenate(part) for part in zip(*found, strict=True))
    kept = np.argsort(size, kind="stable")
    kept = kept[: min(max(usual, np.count_nonzero(size <= least)), _TIMES_USUAL * usual)]
    return i[kept], j[kept], p[kept]


def _usual_kinks(program: "Program") -> int:
    return _KINKS + _KINKS_PER_FEATURE * program.X.shape[1]


def _merged(
    program: "Program", R: np.ndarray, theta: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Hinges that are the same as one, and how often each occurs.

    With few different values in the data there are far more hinges at 0 than usual, but
    few of them differ.
    """
    if len(R) <= _usual_kinks(program):
        return R, theta, np.ones(len(R))
    rows = np.column_stack([R, theta])
    digits = np.round(rows / np.abs(rows).max(initial=1e-300), _DIGITS)
    _, first, times = np.unique(digits, axis=0, return_index=True, return_counts=True)
    return R[first], theta[first], times.astype(float)


def _solve(
    program: "Program", v: np.ndarray, R: np.ndarray, theta: np.ndarray, times: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    """Weights, and shares times how often a hinge occurs, of the small program, by HiGHS."""
    n_kinks, n_features = R.shape
    box = program.total is None
    # In units of the slope, so that the solver's absolute accuracy means something.
    unit = max(float(np.abs(v).max(initial=0.0)), _ACCURACY * program.c)
    cost = np.concatenate([v, program.c * times]) / unit
    sums = np.concatenate([np.ones(n_features), np.zeros(n_kinks)])[None]
    solved = linprog(
        cost,
        A_ub=np.hstack([R, -np.eye(n_kinks)]),
        b_ub=-theta,
        A_eq=None if box else sums,
        b_eq=None if box else [program.total],
        bounds=[(0, 1 if box else None)] * n_features + [(0, None)] * n_kinks,
        method="highs-ds",
        options={
            "primal_feasibility_tolerance": _ACCURACY,
            "dual_feasibility_tolerance": _ACCURACY,
        },
    )
    if not solved.success:
        return None
    u = np.clip(solved.x[:n_features], 0.0, 1.0 if box else None)
    if program.total is not None:
        u *= program.total / u.sum()
    share = np.clip(-solved.ineqlin.marginals * unit / program.c, 0.0, times)
    return u, share
