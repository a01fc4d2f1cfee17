"""Linear projections by the scatter of classes or by a learned metric."""

from typing import Any

import numpy as np
import sklearn.decomposition
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.utils.validation import check_is_fitted

from convexfs.errors import InputError, check_number
from papers.baselines.checks import checked


class DANN(TransformerMixin, BaseEstimator):
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
        X, codes = checked(X, y)
        if self.n_components is not None:
            check_number("n_components", self.n_components, 1, X.shape[1], whole=True)
        near = np.argsort(cdist(X, X, "sqeuclidean"), axis=1, kind="stable")
        size = min(max(len(X) // 5, 50), len(X))
        B = np.zeros((X.shape[1], X.shape[1]))
        for rows in near[:, :size]:
            means = _class_means(X[rows], np.unique(codes[rows], return_inverse=True)[1])
            B += means.T @ means / size
        eigenvalues, vectors = np.linalg.eigh(B / len(X))
        self.components_ = vectors[:, ::-1][:, : self.n_components].T
        self.eigenvalues_ = eigenvalues[::-1][: self.n_components]
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the coordinates of samples along the components."""
        check_is_fitted(self)
        return np.asarray(X, dtype=np.float64) @ self.components_.T


class PCA(sklearn.decomposition.PCA):
    """Principal components (scikit-learn), the classes not used."""

    def fit(self, X: Any, y: Any = None) -> "PCA":
        """Learn the directions."""
        X, _ = checked(X, y)
        if not X.var(axis=0).any():
            raise InputError("PCA needs samples that differ: all are the same")
        return super().fit(X)


class NCA(NeighborhoodComponentsAnalysis):
    """Neighbourhood components analysis (Goldberger et al. 2005; scikit-learn)."""

    def fit(self, X: Any, y: Any) -> "NCA":
        """Learn the directions."""
        X, codes = checked(X, y)
        try:
            return super().fit(X, codes)
        except (ValueError, IndexError) as error:  # its start, where classes do not differ
            raise InputError(
                f"NCA finds no start ({error}): it needs samples that differ, more than classes, "
                "or another init"
            ) from error


def _class_means(X: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Rows ``sqrt(N_c) (mu_c - mu)``: their outer products sum to the scatter between classes."""
    counts = np.bincount(codes)
    means = np.array([X[codes == c].mean(axis=0) for c in range(len(counts))])
    return np.sqrt(counts)[:, None] * (means - X.mean(axis=0))
