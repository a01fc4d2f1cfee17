r"""The binary problem of one point, exactly, by depth-first search.

.. math::
    \min_{f \in \{0,1\}^M} U_1(f)\quad\text{s.t.}\quad U_2(f) \ge \epsilon,\; 1 \le 1^T f \le \alpha

Both utilities grow with every feature added. So a branch ends when U1 reaches the best
value known, and need not go deeper when U2 reaches epsilon. The number of sets grows as
:math:`M^\alpha`: small sizes only.
"""

import numpy as np

from convexfs.kernels import compiled

kernel = compiled()
#: A level counts as reached if U2 is at most this below it (absolute, for rounding).
LEVEL_TOL = 1e-12


@kernel
def _mean_utility(z, s, lam):
    total = 0.0
    for j in range(z.size):
        total += 1.0 / (1.0 + np.exp(-s * z[j])) - 0.5 + lam * z[j]
    return total / z.size


@kernel
def _search(same, other, s, lam, eps, max_features, known):
    """Return the best set's features (-1 pads), its U1 or `known`, and how many sets were tried."""
    n_features = same.shape[0]
    z1 = np.zeros((max_features + 1, same.shape[1]))
    z2 = np.zeros((max_features + 1, other.shape[1]))
    chosen = np.full(max_features, -1)
    best = np.full(max_features, -1)
    depth = visited = 0
    while depth >= 0:
        chosen[depth] += 1
        m = chosen[depth]
        if m >= n_features:
            depth -= 1
            continue
        visited += 1
        z1[depth + 1] = z1[depth] + same[m]
        u1 = _mean_utility(z1[depth + 1], s, lam)
        if u1 >= known:
            continue
        z2[depth + 1] = z2[depth] + other[m]
        if _mean_utility(z2[depth + 1], s, lam) >= eps - LEVEL_TOL:
            known = u1
            best[:] = -1
            best[: depth + 1] = chosen[: depth + 1]
        elif depth + 1 < max_features:
            depth += 1
            chosen[depth] = m
    return best, known, visited


def best_subset(
    a_same: np.ndarray,
    a_other: np.ndarray,
    s: float,
    lam: float,
    eps: float,
    max_features: int,
    known: float = np.inf,
) -> tuple[np.ndarray | None, float, int]:
    """Return the set of least U1 below `known` (mask or None), its U1, and the sets visited.

    Features are tried from the least U1 upwards, which finds good sets early.
    """
    spread = a_same.mean(axis=0)
    order = np.argsort(spread, kind="stable")
    same = np.ascontiguousarray(a_same.T[order])
    other = np.ascontiguousarray(a_other.T[order])
    best, value, visited = _search(same, other, s, lam, eps, int(max_features), float(known))
    if best[0] < 0:
        return None, float(known), visited
    mask = np.zeros(a_same.shape[1], dtype=bool)
    mask[order[best[best >= 0]]] = True
    return mask, value, visited
