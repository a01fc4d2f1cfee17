"""Linear projections by the scatter of classes or by a learned metric."""

from typing import Any

import numpy as np
import sklearn.decomposition
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.utils.validation import check_is_fitted

from convexfs.baselines.checks import checked
from convexfs.errors import InputError, check_number
from convexfs.methods.lmnn.fit import lmnn
from convexfs.methods.mmc.fit import mmc

#: Eigenvalues of a metric below this share of the largest are a solver's inaccuracy.
_NEGLIGIBLE = 1e-5


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
    r"""Maximum margin criterion (Li, Jiang and Zhang 2006).

    .. math:: \max_W \mathrm{tr}(W (S_b - S_w)),\quad 0 \preceq W \preceq I,\; \mathrm{tr}(W) = q,

    the scatter between classes minus that within: q orthonormal directions, by
    default those with a positive eigenvalue, at most K - 1 and at least one.
    """

    def __init__(self, n_components: int | None = None):
        self.n_components = n_components

    def fit(self, X: Any, y: Any) -> "MMC":
        """Learn the directions."""
        X, codes = self._checked(X, y)
        q = min(codes.max(), X.shape[1]) if self.n_components is None else self.n_components
        result = mmc(X, codes, q=int(q))
        rising = max(int((result.eigenvalues > 0).sum()), 1)
        kept = rising if self.n_components is None else self.n_components
        self.components_ = result.components[:kept]
        self.eigenvalues_ = result.eigenvalues[:kept]
        self.solution_, self.certificate_ = result.solution, result.certificate
        return self


class LMNN(_Projection):
    r"""Large margin nearest neighbours (Weinberger and Saul 2009), the semidefinite program.

    .. math::
        \min_{M \succeq 0} \sum_{i,j} d_M(x_i, x_j)
        + c \sum_{i,j,p} [1 + d_M(x_i, x_j) - d_M(x_i, x_p)]_+

    over samples, their nearest hits j and all samples p of other classes. Samples
    are projected on the eigenvectors of M, each scaled by the root of its
    eigenvalue. See :func:`convexfs.methods.lmnn.fit.lmnn`, also for its limits.
    """

    def __init__(
        self,
        n_components: int | None = None,
        n_neighbors: int = 3,
        c: float = 1.0,
        solver: str = "auto",
    ):
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.c = c
        self.solver = solver

    def fit(self, X: Any, y: Any) -> "LMNN":
        """Learn the metric."""
        X, codes = self._checked(X, y)
        result = lmnn(X, codes, c=self.c, n_neighbors=self.n_neighbors, solver=self.solver)
        eigenvalues, vectors = np.linalg.eigh(result.metric)
        used = np.flatnonzero(eigenvalues > _NEGLIGIBLE * eigenvalues[-1])[::-1]
        used = used[: self.n_components]
        self.eigenvalues_ = eigenvalues[used]
        self.components_ = (vectors[:, used] * np.sqrt(eigenvalues[used])).T
        self.solution_, self.certificate_ = result.solution, result.certificate
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
        eigenvalues, vectors = np.linalg.eigh(B / len(X))
        self.components_ = vectors[:, ::-1][:, : self.n_components].T
        self.eigenvalues_ = eigenvalues[::-1][: self.n_components]
        return self


class PCA(sklearn.decomposition.PCA):
    """Principal components (scikit-learn), the classes not used."""

    def fit(self, X: Any, y: Any) -> "PCA":
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
