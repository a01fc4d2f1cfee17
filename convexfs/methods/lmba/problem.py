r"""Lmba, the loss-margin based algorithm, as linear programs.

With :math:`u = w^2` the paper's loss is convex. Symbols: x samples, t their
target neighbours (-1: none), :math:`D_{ij} = (x_i - x_j)^2` elementwise,
:math:`\theta_i` the margin of sample i in the unweighted space, c the penalty of
an impostor's invasion.
"""

import cvxpy as cp
import numpy as np

from convexfs.neighbors.triplets import join_triplets, list_triplets


def lmba_box(
    X: np.ndarray,
    codes: np.ndarray,
    targets: np.ndarray,
    theta: np.ndarray,
    c: float | cp.Parameter = 1.0,
) -> cp.Problem:
    r"""Minimise the loss over weights in a box (eq. 3-4 with :math:`u = w^2 \in [0, 1]`).

    .. math::
        \min_u\; \sum_{i,j} t_{ij} D_{ij}^T u + c \sum_{i,j,p} t_{ij} (1 - b_{ip})
        [\theta_i + D_{ij}^T u - D_{ip}^T u]_+
        \quad\text{s.t.}\quad 0 \le u \le 1

    It may well be solved by u = 1, which ranks nothing; see :func:`lmba_simplex`.
    """
    u = cp.Variable(X.shape[1], name="u")
    bounds = [(u >= 0).set_label("sign"), (u <= 1).set_label("box")]
    return _least_loss(u, bounds, X, codes, targets, theta, c)


def lmba_simplex(
    X: np.ndarray,
    codes: np.ndarray,
    targets: np.ndarray,
    theta: np.ndarray,
    c: float | cp.Parameter = 1.0,
) -> cp.Problem:
    r"""Minimise the loss over weights whose sum is the number of features (eq. 3-4).

    .. math::
        \min_u\; \sum_{i,j} t_{ij} D_{ij}^T u + c \sum_{i,j,p} t_{ij} (1 - b_{ip})
        [\theta_i + D_{ij}^T u - D_{ip}^T u]_+
        \quad\text{s.t.}\quad u \ge 0,\; 1^T u = n
    """
    u = cp.Variable(X.shape[1], name="u")
    region = [(u >= 0).set_label("sign"), (cp.sum(u) == X.shape[1]).set_label("total")]
    return _least_loss(u, region, X, codes, targets, theta, c)


def _least_loss(u, region, X, codes, targets, theta, c) -> cp.Problem:
    """Return the problem over a region; distances are variables, so that rows have 3 entries."""
    target_pairs, impostor_pairs = list_triplets(codes, targets)
    i, j = target_pairs.T
    near = cp.Variable(len(target_pairs), name="near")
    far = cp.Variable(len(impostor_pairs), name="far")
    target_row, impostor_row = join_triplets(target_pairs, impostor_pairs)
    hinges = theta[i][target_row] + near[target_row] - far[impostor_row]
    distances = [
        (near == (X[i] - X[j]) ** 2 @ u).set_label("near"),
        (far == (X[impostor_pairs[:, 0]] - X[impostor_pairs[:, 1]]) ** 2 @ u).set_label("far"),
    ]
    loss = cp.sum(near) + c * cp.sum(cp.pos(hinges))
    return cp.Problem(cp.Minimize(loss), [*region, *distances])
