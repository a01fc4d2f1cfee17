r"""Bound how often a feature of small selection probability is selected, by a linear program.

Symbols: p the law of the share of complementary pairs that select the feature in both halves,
on the shares 0, 1/B, ..., 1; eta a bound on its mean, the square of the probability that a
half selects the feature; tail 1 at the shares of at least :math:`2 \tau - 1`, else 0.
"""

import cvxpy as cp
import numpy as np


def stability_unimodal(
    tail: np.ndarray, share: np.ndarray, eta: float | cp.Parameter, mode: int = 0
) -> cp.Problem:
    r"""Maximise the tail of a unimodal law of small mean (Shah & Samworth 2013, Theorem 2).

    .. math::
        \max_p\; \sum_i \mathrm{tail}_i p_i \quad\text{s.t.}\quad 1^T p = 1,\;
        \sum_i \mathrm{share}_i p_i \le \eta,\;
        0 \le p_0 \le \dots \le p_{\mathrm{mode}} \ge \dots \ge p_B \ge 0

    A feature selected by a share :math:`\tau` of all halves is selected in both halves by at
    least :math:`2 \tau - 1` of the pairs. The bound is the largest optimum over all modes;
    those above :math:`2 B \eta` have no law of so small a mean.
    """
    p = cp.Variable(len(tail), name="p")
    constraints = [
        (cp.sum(p) == 1).set_label("total"),  # type: ignore[attr-defined]
        (share @ p <= eta).set_label("mean"),
        (p >= 0).set_label("sign"),
    ]
    if mode > 0:
        constraints.append((p[:mode] <= p[1 : mode + 1]).set_label("rising"))
    if mode < len(tail) - 1:
        constraints.append((p[mode:-1] >= p[mode + 1 :]).set_label("falling"))
    return cp.Problem(cp.Maximize(tail @ p), constraints)
