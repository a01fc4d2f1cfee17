"""Linear projections by scatter matrices of the classes."""

from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from convexfs.baselines.checks import checked
from convexfs.errors import check_number
from convexfs.native.lfe import lfe


class _Projection(TransformerMixin, BaseEstimator):
    """Rows of ``components_`` are what samples are projected on."""

    n_components: int | None
    components_: np.ndarray

    def transform(self, X: Any) -> np.ndarray:
        """Coordinates of samples along the components."""
        check_is_fitted(self)
        return np.asarray(X, dtype=np.float64) @ self.components_.T

    def _checked(self, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        X, codes = checked(X, y)
        if self.n_components is not None:
            check_number("n_components", self.n_components, 1, X.shape[1], whole=True)
        return X, codes


class MMC(_Projection):
    r"""Maximum margin criterion (Li, Jiang and Zhang 2006), by LFE's solver.

    .. math:: \max_W \mathrm{tr}(W (S_b - S_w)),\quad \|W\|_F \le 1,\; W \succeq 0,

    the scatter between classes minus that within. At most K - 1 directions have a
    positive eigenvalue.
    """

    def __init__(self, n_components: int | None = None):
        self.n_components = n_components

    def fit(self, X: Any, y: Any) -> "MMC":
        """Learn the directions."""
        X, codes = self._checked(X, y)
        within = np.concatenate([X[codes == c] - X[codes == c].mean(axis=0) for c in set(codes)])
        between = _class_means(X, codes)
        self.solution_ = lfe((between.T @ between - within.T @ within) / len(X))
        beta, vectors = np.linalg.eigh(self.solution_.primal["W"])
        used = np.flatnonzero(beta > 1e-12)[::-1][: self.n_components]
        self.components_ = (vectors[:, used] * np.sqrt(beta[used])).T
        return self


class DANN(_Projection):
    r"""Discriminant adaptive nearest neighbours' subspace (Hastie and Tibshirani 1996).

    The leading eigenvectors of the local between-class scatter,

    .. math::
        \bar B = \frac1N \sum_n \sum_c \pi_c (\mu_c - \mu)(\mu_c - \mu)^T,

    means and shares of the classes taken over the neighbours of each sample, a
    fifth of all samples and at least 50.
    """

    def __init__(self, n_components: int | None = None):
        self.n_components = n_components

    def fit(self, X: Any, y: Any) -> "DANN":
        """Learn the directions."""
        X, codes = self._checked(X, y)
        near = np.argsort(cdist(X, X, "sqeuclidean"), axis=1, kind="stable")
        size = min(max(len(X) // 5, 50), len(X))
        B = np.zeros((X.shape[1], X.shape[1]))
        for rows in near[:, :size]:
            means = _class_means(X[rows], np.unique(codes[rows], return_inverse=True)[1])
            B += means.T @ means / size
        vectors = np.linalg.eigh(B / len(X))[1][:, ::-1]
        self.components_ = vectors[:, : self.n_components].T
        return self


def _class_means(X: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Rows ``sqrt(N_c) (mu_c - mu)``: their outer products sum to the scatter between classes."""
    counts = np.bincount(codes)
    means = np.array([X[codes == c].mean(axis=0) for c in range(len(counts))])
    return np.sqrt(counts)[:, None] * (means - X.mean(axis=0))
