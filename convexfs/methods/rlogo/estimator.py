"""Logo for a target of numbers, as a scikit-learn selector and regressor."""

from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin

from convexfs.methods.base.parameters import learned, parameters
from convexfs.methods.base.regressor import NumberSelector
from convexfs.methods.logo.estimator import NULL, NUMERIC, LogoFitted
from convexfs.methods.rlogo.fit import Settings, rlogo
from convexfs.methods.rlogo.prediction import soft_means
from convexfs.neighbors.new_samples import known_to
from convexfs.neighbors.samples import as_samples


@parameters
class LogoRegressor(Settings, RegressorMixin, NumberSelector, LogoFitted):
    r"""Weight features so that samples are nearer to those of like targets, locally.

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
        :class:`convexfs.methods.base.regressor.NumberSelector` and its base say.
    sigma, lam, n_permutations, beta, algorithm, damping, tol, max_iter, prune, start, n_starts
    time_limit, formulation
        As for :class:`convexfs.Logo`.
    solver, solver_tol, solver_options
    n_features_to_select, n_jobs, random_state, verbose
        As for every selector: :class:`convexfs.methods.base.selector.WeightSelector`.

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

    _method: ClassVar = staticmethod(rlogo)
    _takes_sparse: ClassVar[bool] = True
    _layout: ClassVar[dict[str, Any]] = {"dtype": NUMERIC}

    sigma_: float = learned()

    @property
    def _sparse(self) -> bool:
        return True

    def predict(self, X: Any) -> np.ndarray:
        """The mean target of the soft nearest neighbours."""
        new = self._queries(X)[:, self._used]
        known, weights = known_to(new, self._known), self.weights_[self._used]
        return soft_means(new, known, self._numbers, weights, self.sigma_)

    def _remember(self, X: np.ndarray, codes: np.ndarray) -> None:
        """Keep what predictions need: the samples in the features that have weight."""
        super()._remember(X, codes)
        self.sigma_ = float(self.sigma)
        self._used = np.flatnonzero(self.weights_)
        self._known, self._numbers = as_samples(X[:, self._used]), codes
