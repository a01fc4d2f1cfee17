"""Features as a fitted model weighs them."""

from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import ElasticNetCV, LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from convexfs.errors import check_number
from convexfs.methods.relief.fit import Settings, relief
from papers.baselines.checks import checked, standardised


def relieff(X: Any, y: Any, n_neighbors: int = 10) -> np.ndarray:
    r"""RELIEF-F (Kononenko 1994): the margin vector, negative entries included.

    .. math::
        z = \sum_n \Big(\sum_{c \ne y_n} \frac{P(c)}{1 - P(y_n)} \overline{|x_n - NM_c|}
            - \overline{|x_n - NH|}\Big)
    """
    X, codes = checked(X, y)
    return relief(X, codes, Settings(n_neighbors=n_neighbors, miss="prior")).margin


def elastic_net(X: Any, y: Any, l1_ratio: float = 0.5) -> np.ndarray:
    r"""Elastic net on class indicators, penalty by cross-validation (scikit-learn).

    .. math::
        \min_b \frac{1}{2N} \|y_c - X b\|^2 + \alpha (\rho \|b\|_1 + \tfrac{1-\rho}{2} \|b\|^2),

    one model a class against the others; the score is the largest :math:`|b_j|`.
    """
    X, codes = checked(X, y)
    X = standardised(X)
    classes = range(1, 2) if codes.max() == 1 else range(codes.max() + 1)
    folds = min(len(X), 5)
    models = (ElasticNetCV(l1_ratio=l1_ratio, cv=folds).fit(X, codes == c) for c in classes)
    return np.max([np.abs(model.coef_) for model in models], axis=0)


def l1_logistic(X: Any, y: Any, C: float = 1.0) -> np.ndarray:
    r"""Logistic regression with a penalty on the weights (scikit-learn).

    .. math:: \min_{b, b_0} C \sum_n \log(1 + \exp(-y_n (x_n^T b + b_0))) + \|b\|_1,

    one model a class against the others; the score is the largest :math:`|b_j|`.
    Liblinear prices :math:`b_0` too, here at a ten-thousandth.
    """
    X, codes = checked(X, y)
    X = standardised(X)
    classes = range(1, 2) if codes.max() == 1 else range(codes.max() + 1)

    def against_others(c: int) -> np.ndarray:
        model = LogisticRegression(
            l1_ratio=1.0, C=C, solver="liblinear", intercept_scaling=10_000, tol=1e-8,
            max_iter=5000, random_state=0,
        )  # fmt: skip
        return model.fit(X, codes == c).coef_[0]

    return np.max([np.abs(against_others(c)) for c in classes], axis=0)


def random_forest(X: Any, y: Any, random_state: int = 0) -> np.ndarray:
    """Mean decrease of Gini impurity over 500 trees (scikit-learn)."""
    X, codes = checked(X, y)
    forest = RandomForestClassifier(500, random_state=random_state).fit(X, codes)
    return forest.feature_importances_


def rfe_rbf(X: Any, y: Any, C: float = 1.0, gamma: float | None = None) -> np.ndarray:
    r"""Recursive feature elimination with a Gaussian support vector machine (Guyon 2002).

    From all features down to one, those that matter least to the dual objective,

    .. math::
        \tfrac12 (\alpha^T H \alpha - \alpha^T H_{(-j)} \alpha),\qquad
        H_{nm} = y_n y_m \exp(-\gamma \|x_n - x_m\|^2),

    go: a tenth of them, at least one, at a time, :math:`\gamma = 1/J` for J left, unless
    one is given for all rounds. With many classes the objectives of all pairs are added.
    The score is the round a feature left in, and within a round what it mattered.
    """
    X, codes = checked(X, y)
    if gamma is not None:
        check_number("gamma", gamma, 0, open_ends=True)
    X = standardised(X)
    left, scores, turn = np.arange(X.shape[1]), np.zeros(X.shape[1]), 0
    while len(left):
        matters = _objective_changes(X[:, left], codes, C, gamma or 1.0 / len(left))
        order = np.argsort(matters, kind="stable")[: max(len(left) // 10, 1)]
        ranks = np.arange(1, len(order) + 1) / (len(order) + 1)
        scores[left[order]] = turn + ranks
        left, turn = np.delete(left, order), turn + 1
    return scores


def _objective_changes(X: np.ndarray, codes: np.ndarray, C: float, gamma: float) -> np.ndarray:
    """Return what the dual objective changes by when a feature is left out of the kernel."""
    changes = np.zeros(X.shape[1])
    for a in range(codes.max() + 1):
        for b in range(a):
            pair = np.isin(codes, (a, b))
            machine = SVC(C=C, gamma=gamma)  # type: ignore[arg-type]
            machine.fit(X[pair], codes[pair] == a)
            support, alpha = X[pair][machine.support_], machine.dual_coef_[0]
            weighted = alpha[:, None] * rbf_kernel(support, gamma=gamma) * alpha
            for j in range(X.shape[1]):
                without = np.exp(gamma * np.subtract.outer(support[:, j], support[:, j]) ** 2)
                changes[j] += 0.5 * (weighted.sum() - (weighted * without).sum())
    return changes
