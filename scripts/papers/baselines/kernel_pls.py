"""Kernel partial least squares: components of the samples that vary with the classes."""

from typing import Any

import numpy as np
from scipy.linalg import eigh
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import KernelCenterer
from sklearn.utils.validation import check_is_fitted

from convexfs.errors import InputError, check_number
from papers.baselines.checks import checked, standardised

#: Components shorter than this share of the kernel are rounding.
_RANK_SHARE = 1e-10


class KernelPLS(TransformerMixin, BaseEstimator):
    r"""Kernel partial least squares (Rosipal and Trejo 2001) with a Gaussian kernel.

    With K the centred kernel :math:`\exp(-\gamma \|x_n - x_m\|^2)` and Y the
    centred class indicators, one component after the other is

    .. math::
        t = \frac{K u}{\|K u\|},\qquad u = Y c,\qquad
        c = \arg\max_{\|c\| = 1} c^T Y^T K Y c,

    after which K and Y lose their part along t. Samples are projected by
    :math:`K_{new} U (T^T K U)^{-1}`.

    Parameters
    ----------
    n_components : int, default=2
        Fewer are kept when nothing of the kernel is left.
    gamma : float, optional
        By default 1 over the number of features and the variance of the data.

    Attributes
    ----------
    explained_ : array (n_components,)
        Share of the classes' scatter along each component.
    weights_ : array (n_features,)
        :math:`\sum_h e_h\, r^2(x_j, t_h)`: squared correlation of a feature with
        the components, each by what it explains. Components are not linear in the
        features, so this describes them; it is not a part of them.
    """

    def __init__(self, n_components: int = 2, gamma: float | None = None):
        self.n_components = n_components
        self.gamma = gamma

    def fit(self, X: Any, y: Any) -> "KernelPLS":
        """Learn the components."""
        X, codes = checked(X, y)
        check_number("n_components", self.n_components, 1, len(X) - 1, whole=True)
        if self.gamma is not None:
            check_number("gamma", self.gamma, 0, open_ends=True)
        if not np.ptp(X, axis=0).any():
            raise InputError("KernelPLS needs samples that differ: all are the same")
        variance = X.var()
        self.gamma_ = self.gamma or 1.0 / (X.shape[1] * (variance if variance > 0 else 1.0))
        self.samples_ = X
        self.centre_ = KernelCenterer()
        K = self.centre_.fit_transform(rbf_kernel(X, gamma=self.gamma_))
        Y = np.eye(codes.max() + 1)[codes]
        Y -= Y.mean(axis=0)
        T, U = latent_components(K, Y, self.n_components)
        if not T.size:
            raise InputError(
                "KernelPLS has no component to keep, since the kernel does not vary with the "
                "classes: set another gamma, or look for samples that are in every class"
            )
        self.rotation_ = U @ np.linalg.inv(T.T @ K @ U)
        self.explained_ = ((T.T @ Y) ** 2).sum(axis=1) / (Y**2).sum()
        correlation = standardised(X).T @ T / np.sqrt(len(X))
        self.weights_ = correlation**2 @ self.explained_
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Coordinates of samples along the components; of the samples fitted, T."""
        check_is_fitted(self)
        K = rbf_kernel(np.asarray(X, dtype=np.float64), self.samples_, gamma=self.gamma_)
        return self.centre_.transform(K) @ self.rotation_


def latent_components(K: np.ndarray, Y: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Orthonormal T and the U they come from, at most this many, of centred K and Y."""
    least = _RANK_SHARE * np.linalg.norm(K)
    T, U = [], []
    for _ in range(most):
        u = Y @ eigh(Y.T @ K @ Y)[1][:, -1]
        t = K @ u
        length = np.linalg.norm(t)
        if length <= least * np.linalg.norm(u):
            break
        t /= length
        T.append(t)
        U.append(u)
        K = K - np.outer(t, t @ K)
        K = K - np.outer(K @ t, t)
        Y = Y - np.outer(t, t @ Y)
    return np.array(T).T, np.array(U).T


def kpls(X: Any, y: Any, n_components: int = 2) -> np.ndarray:
    r"""Features by their part in kernel PLS, after Sun, Peng and Shakoor (2014).

    .. math:: \sum_h e_h\, r^2(x_j, t_h),

    see :class:`KernelPLS`, on standardised features. The paper chooses the number
    of components itself; here it is given.
    """
    X, codes = checked(X, y)
    return KernelPLS(n_components).fit(standardised(X), codes).weights_
