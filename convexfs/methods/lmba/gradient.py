"""Lmba as printed: stochastic gradient descent on the loss, sample by sample."""

import numpy as np

from convexfs.kernels import compiled


def descend(
    X: np.ndarray,
    codes: np.ndarray,
    targets: np.ndarray,
    theta: np.ndarray,
    c: float,
    *,
    step: float,
    n_epochs: int,
    seed: object,
    decay: float = 0.0,
) -> np.ndarray:
    r"""Return weights w after ``n_epochs`` visits to every sample in random order (Sec. 3.1).

    .. math::
        w \leftarrow w - \beta_i V / \|V\|,\qquad
        V_f = 2 w_f \Big(\sum_j t_{ij} D_{ijf}
              + c \sum_{j,p} t_{ij} (1 - b_{ip}) [h_{ijp} > 0] (D_{ijf} - D_{ipf})\Big)

    V is proportional to w: a weight that reaches 0 stays there. The paper does
    not say how :math:`\beta_i` decays; at the i-th visit it is ``step / i**decay``, by
    default `step` throughout. A step of 1, which the paper also mentions, is as long as
    the box is wide and loses the ranking.
    """
    rng = np.random.default_rng(seed)  # type: ignore[arg-type]
    order = np.concatenate([rng.permutation(len(X)) for _ in range(n_epochs)])
    X = np.ascontiguousarray(X, dtype=np.float64)
    steps = step / np.arange(1.0, len(order) + 1.0) ** decay
    return _descend(X, codes, targets, theta, float(c), steps, order)


@compiled()
def _descend(X, codes, targets, theta, c, steps, order):
    n, n_features = X.shape
    w = np.ones(n_features)
    for visit, i in enumerate(order):
        difference = (X - X[i]) ** 2
        d = difference @ (w * w)
        V = np.zeros(n_features)
        for j in targets[i]:
            if j < 0:
                continue
            V += difference[j]
            reach = theta[i] + d[j]
            for p in range(n):
                if codes[p] != codes[i] and reach > d[p]:
                    V += c * (difference[j] - difference[p])
        V *= 2.0 * w
        length = np.sqrt((V * V).sum())
        if length > 0.0:
            w -= steps[visit] / length * V
    return w
