"""Logo's convex step: logistic loss of the margins, with few features.

Symbols: zbar_n is the margin vector of sample n, expected over its soft nearest
miss and hit, and row n of Z; w are the feature weights, p the dual variable (one
a sample), lam the penalty and beta the bound of the total weight, counts how much
the term of each sample counts where that is not 1.
"""

from typing import Any

import cvxpy as cp
import numpy as np

from convexfs.errors import warn

#: With more entries of Z, building the full problem warns: a cvxpy solver needs minutes for it.
LARGEST_DIRECT = 2_000_000


def logo_penalised(
    Z: np.ndarray, lam: float | cp.Parameter = 1.0, counts: np.ndarray | None = None
) -> cp.Problem:
    r"""Maximise margins with an l1 penalty on the weights (Sun et al. 2010, eq. 7).

    .. math::
        \min_w\; \sum_n \log(1 + \exp(-w^T \bar z_n)) + \lambda 1^T w
        \quad\text{s.t.}\quad w \ge 0

    With lam = 0 it is eq. 6, whose minimum may not be attained.
    """
    _warn_if_large(Z)
    w = cp.Variable(Z.shape[1], name="w")
    loss = _loss(Z, w, counts)
    nonnegative = (w >= 0).set_label("sign")
    return cp.Problem(cp.Minimize(loss + lam * cp.sum(w)), [nonnegative])


def logo_constrained(
    Z: np.ndarray, beta: float | cp.Parameter = 1.0, counts: np.ndarray | None = None
) -> cp.Problem:
    r"""Maximise margins within a budget of weights (eq. 8, the nonnegative garrote).

    .. math::
        \min_w\; \sum_n \log(1 + \exp(-w^T \bar z_n))
        \quad\text{s.t.}\quad 1^T w \le \beta,\; w \ge 0
    """
    _warn_if_large(Z)
    w = cp.Variable(Z.shape[1], name="w")
    loss = _loss(Z, w, counts)
    budget: Any = cp.sum(w) <= beta
    nonnegative = (w >= 0).set_label("sign")
    return cp.Problem(cp.Minimize(loss), [budget.set_label("total"), nonnegative])


def _loss(Z: np.ndarray, w: cp.Variable, counts: np.ndarray | None) -> Any:
    terms = cp.logistic(-(Z @ w))
    return cp.sum(terms) if counts is None else counts @ terms


def _warn_if_large(Z: np.ndarray) -> None:
    if Z.size > LARGEST_DIRECT:
        warn(
            f"Logo's problem with {Z.shape[0]} x {Z.shape[1]} margins takes a cvxpy solver minutes "
            "and gigabytes as a whole: use solver='native', or convexfs.Logo, which gives "
            "a solver only the features that matter and certifies the rest",
        )
