r"""MMC, the maximum margin criterion, as a semidefinite program.

Symbols: :math:`S_b` and :math:`S_w` the scatter between and within classes, W a
projection on q directions, or a mixture of such.
"""

import cvxpy as cp
import numpy as np


def mmc(Sb: np.ndarray, Sw: np.ndarray, q: int | cp.Parameter = 1) -> cp.Problem:
    r"""Find q directions with classes far apart and samples of one class close together.

    .. math::
        \max_W\; \mathrm{tr}(W (S_b - S_w))
        \quad\text{s.t.}\quad 0 \preceq W \preceq I,\; \mathrm{tr}(W) = q

    Li, Jiang and Zhang (2006) ask for :math:`W = V V^T` with orthonormal V, which
    are the extreme points of this set: its optimum is theirs (Ky Fan).
    """
    W = cp.Variable(Sb.shape, name="W", symmetric=True)
    return cp.Problem(
        cp.Maximize(cp.trace(W @ (Sb - Sw))),
        [
            (W >> 0).set_label("psd"),
            (np.eye(len(Sb)) - W >> 0).set_label("unit"),
            (cp.trace(W) == q).set_label("rank"),  # type: ignore[attr-defined]
        ],
    )
