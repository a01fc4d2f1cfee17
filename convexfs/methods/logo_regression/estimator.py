"""Logo for regression, as a scikit-learn selector and regressor."""

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin

from convexfs.estimators.regression import NumberSelector
from convexfs.estimators.validation import AS_IT_IS, Accepts
from convexfs.methods.base.formulation import parameters
from convexfs.methods.logo.estimator import NULL, LogoFitted
from convexfs.methods.logo_regression.fit import Settings, logo_regression
from convexfs.neighbors.missing_values import MixedSamples
from convexfs.neighbors.queries import distances_to, known_to
from convexfs.neighbors.soft import softmin


@parameters
class LogoRegressor(Settings, RegressorMixin, NumberSelector, LogoFitted):
    r"""Select a small set of features for a numeric target.

    The weights are a fixed point, as Logo's: every sample is a miss of another by the share
    :math:`\delta_{ni}` that their targets differ, and a hit by :math:`1 - \delta_{ni}`. Soft
    nearest misses and hits, taken at w, give margin vectors :math:`\bar z_n`, and w solves

    .. math::
        \min_w \sum_n \log(1 + \exp(-w^T \bar z_n)) + \lambda 1^T w,\quad w \ge 0.

    Classes are the case of :math:`\delta` 0 and 1: :class:`convexfs.Logo`. The data are neither
    scaled nor copied: put them on one scale first.

    Parameters
    ----------
    difference : {"rank", "range"}, default="rank"
        :math:`\delta` is the share of samples nearer in the target, which does not ask how the
        target is scaled, or the difference of targets over their range.
    missing : {"expected", "error"}, default="expected"
    categorical_features : sequence of int, str or bool, optional
        Missing values and categories, as
        :class:`convexfs.estimators.regression.NumberSelector` and its base say.
    sigma, lam, n_permutations, beta, algorithm, damping, tol, max_iter, prune, start, n_starts
    time_limit, formulation
        As for :class:`convexfs.Logo`.
    solver, solver_tol, solver_options
    n_features_to_select, n_jobs, random_state, verbose
        As for every selector: :class:`convexfs.estimators.selector.WeightSelector`.

    Attributes
    ----------
    weights_ : array (n_features,)
        Also ``feature_importances_``.
    certificate_ : FixedPointCertificate
        Gap of the last convex step over all features, residual of the fixed point, number of
        violated features.
    converged_ : bool
        Whether a fixed point was reached and proven; a warning says so where it was not.
    starts_, lam_, n_iter_, history_, period_
        As for :class:`convexfs.Logo`.
    n_features_in_, feature_names_in_
        As usual.

    Notes
    -----
    ``predict`` is the mean target of the soft nearest neighbours in the weighted space.

    References
    ----------
    Sun, Todorovic and Goodison, "Local-Learning-Based Feature Selection for
    High-Dimensional Data Analysis", IEEE TPAMI 32 (2010); the soft misses are convexfs's.

    Examples
    --------
    >>> import convexfs
    >>> data = convexfs.load("product:noise=50").scaled()
    >>> model = convexfs.LogoRegressor().fit(data.X, data.y)
    >>> sorted(model.weights_.argsort()[-2:].tolist()), model.certificate_.ok
    ([0, 1], True)
    """

    lam: float | str = NULL

    _method: ClassVar = staticmethod(logo_regression)
    _accepts: ClassVar[Accepts] = replace(NumberSelector._accepts, dtype=AS_IT_IS)

    def predict(self, X: Any) -> np.ndarray:
        """Predict the mean target of the soft nearest neighbours."""
        new = self._queries(X)[:, self._used]
        # Models pickled by earlier versions store the target under another name.
        targets = self._codes if hasattr(self, "_codes") else vars(self)["_numbers"]
        known, weights = known_to(new, self._known), self.weights_[self._used]
        return soft_means(new, known, targets, weights, self.sigma_)


#: Most distances held in memory at a time; 16 MB.
_BLOCK_CELLS = 2_000_000


def soft_means(
    new: np.ndarray,
    known: np.ndarray | MixedSamples,
    y: np.ndarray,
    weights: np.ndarray,
    sigma: float,
) -> np.ndarray:
    r"""Return the expected target of each new sample's soft nearest neighbour.

    .. math:: \sum_i y_i P_i(x),\quad P_i(x) \propto \exp(-d_w(x, x_i) / \sigma)

    Parameters
    ----------
    new : array (M, J)
    known : array (N, J), or MixedSamples
    y : array (N,)
        Of the known ones.
    weights : array (J,)
    sigma : float
    """
    step, distances_of = max(1, _BLOCK_CELLS // len(known)), distances_to(known, weights)
    blocks = []
    for start in range(0, len(new), step):
        distances = distances_of(new[start : start + step])
        blocks.append(softmin(distances, np.ones(distances.shape, dtype=bool), sigma) @ y)
    return np.concatenate(blocks)
