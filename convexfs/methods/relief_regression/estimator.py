"""RReliefF as a scikit-learn selector."""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from convexfs.estimators.regression import NumberSelector
from convexfs.methods.base.formulation import learned, parameters
from convexfs.methods.relief_regression import numbers
from convexfs.methods.relief_regression.fit import Settings, relief_regression
from convexfs.neighbors.hits_misses import is_share
from convexfs.neighbors.shadow_columns import Margins, ShadowDraws


@parameters
class ReliefRegressor(Settings, NumberSelector):
    r"""Rank features for a numeric target (RReliefF).

    Solves :math:`\max_w w^T z - \lambda 1^T w` over :math:`\|w\|_2 \le 1, w \ge 0`, where z
    are the weights of RReliefF: how much nearest samples differ in a feature if they differ in
    the target, minus how much if they do not. It selects and does not predict. The data are
    not scaled: put them on one scale first; on features between 0 and 1 z is as printed.

    Parameters
    ----------
    n_neighbors : int, or float below 1, default=10
        Nearest samples of each, or a share of all.
    spread : float, optional
        The neighbour of rank r counts ``exp(-(r / spread)^2)``; by default all count alike.
    sigma : float, optional
        Soft misses and hits instead: every sample is a miss of another by the share
        :math:`\delta` and a hit by :math:`1 - \delta`, with a kernel of this width in
        Manhattan distance. With :math:`\delta` 1 for other classes and a small width this is
        RELIEF.
    difference : {"rank", "range"}, default="rank"
        For soft misses: :math:`\delta` is the share of samples nearer in the target, or the
        difference of targets over their range, which RReliefF has.
    l1 : float in [0, 1], default=0
        Leave out features whose z is below this share of the largest; what is left is then
        the selection, untested.
    missing : {"expected", "error"}, default="expected"
    categorical_features : sequence of int, str or bool, optional
        Missing values and categories, as
        :class:`convexfs.estimators.regression.NumberSelector` and its base say.
    formulation : callable or path, optional
        A changed problem: ``change(problem)``, which gets the problem of :meth:`problem` and
        returns another one; ``build(z, lam) -> cvxpy.Problem`` with a variable ``w``, or a
        problem file.
    solver, solver_tol, solver_options, time_limit
    n_features_to_select, n_jobs, random_state, verbose
        As for every selector: :class:`convexfs.estimators.selector.WeightSelector`.

    Attributes
    ----------
    weights_ : array (n_features,)
        Also ``feature_importances_``.
    margin_ : array (n_features,)
        z.
    certificate_ : Certificate
    n_features_in_, feature_names_in_
        As usual.

    References
    ----------
    Robnik-Sikonja and Kononenko, "Theoretical and Empirical Analysis of ReliefF and
    RReliefF", Machine Learning 53 (2003).

    Examples
    --------
    >>> import convexfs
    >>> data = convexfs.load("product:noise=50").scaled()
    >>> selector = convexfs.ReliefRegressor(n_features_to_select=2).fit(data.X, data.y)
    >>> selector.get_support(indices=True), selector.certificate_.ok
    (array([0, 1]), True)
    """

    _method: ClassVar = staticmethod(relief_regression)

    margin_: np.ndarray = learned()

    @property
    def _sparse(self) -> bool:
        return self.l1 > 0

    def _evidence(self) -> np.ndarray:
        # A changed problem gives weights only; otherwise the evidence is the margin.
        return self.margin_ if self.formulation is None else self.weights_

    def _statistic_at_labels(self, X: Any, seed: int) -> Callable[..., Any] | None:
        if self.formulation is not None:
            return None
        if self.sigma is None:
            return numbers.ranked_margin(X, self.n_neighbors, self.spread)
        return numbers.soft_margin(X, self.sigma, self.difference)

    def _shadow_margins(self, X: Any, codes: np.ndarray, draws: ShadowDraws) -> Margins | None:
        if self.formulation is not None:
            return None
        return numbers.shadow_margin(X, np.asarray(codes, np.float64), draws, self)

    def _operations(self, X: np.ndarray) -> float | None:
        if self.formulation is not None:
            return None
        if self.sigma is not None:
            return X.shape[0] * X.size / 2
        share, k = is_share(self.n_neighbors), self.n_neighbors
        return (k * X.shape[0] if share else k) * X.size
