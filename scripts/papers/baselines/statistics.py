"""Scores of one feature at a time."""

from typing import Any

import numpy as np
from sklearn.feature_selection import mutual_info_classif

from convexfs.errors import InputError
from papers.baselines.checks import checked


def kolmogorov_smirnov(X: Any, y: Any) -> np.ndarray:
    r"""Largest distance of two distribution functions.

    .. math:: \max_c \sup_t |F_c(t) - F_{\bar c}(t)|

    of the samples of class c and of all others, feature by feature.
    """
    X, codes = checked(X, y)
    order = np.argsort(X, axis=0, kind="stable")
    ordered = np.take_along_axis(X, order, axis=0)
    # Distribution functions are compared only after the last of equal values.
    last = np.vstack([ordered[1:] != ordered[:-1], np.ones((1, X.shape[1]), bool)])
    distances = []
    for c in range(codes.max() + 1):
        own = codes == c
        step = np.where(own, 1.0 / own.sum(), -1.0 / (~own).sum())
        distances.append(np.where(last, np.abs(np.cumsum(step[order], axis=0)), 0.0).max(axis=0))
    return np.max(distances, axis=0)


def fisher_markov(X: Any, y: Any, gamma: float = 0.5) -> np.ndarray:
    r"""Fisher-Markov selector with linear kernel (Cheng, Zhou and Cheng 2011).

    .. math::
        \theta_j = \frac1N \Big(\sum_c N_c (\mu_{cj} - \mu_j)^2
                   - \gamma \sum_n (x_{nj} - \mu_j)^2\Big),

    between-class minus gamma times total scatter; the subset that maximises the
    sum over its features of :math:`\theta_j - \lambda` is those with
    :math:`\theta_j > \lambda`. On standardised features gamma does not change the order.
    """
    X, codes = checked(X, y)
    centred = X - X.mean(axis=0)
    between = sum(
        (codes == c).sum() * centred[codes == c].mean(axis=0) ** 2 for c in range(codes.max() + 1)
    )
    return (between - gamma * (centred**2).sum(axis=0)) / len(X)


def mutual_information(X: Any, y: Any, random_state: int = 0) -> np.ndarray:
    """Mutual information of a feature and the class, by nearest neighbours (scikit-learn)."""
    X, codes = checked(X, y)
    if np.bincount(codes).max() < 2:
        raise InputError("no class has two samples, so none has neighbours: check the classes")
    return mutual_info_classif(X, codes, random_state=random_state)
