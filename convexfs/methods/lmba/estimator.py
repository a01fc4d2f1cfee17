"""Lmba as a scikit-learn selector, and its loss as a score for subset search."""

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_X_y

from convexfs.estimators.margin_test import MarginTested
from convexfs.methods.base.formulation import Step, learned, parameters
from convexfs.methods.lmba.fit import Settings, lmba, lmba_loss


@parameters
class Lmba(Settings, MarginTested):
    r"""Weight features so that other classes keep a margin.

    With :math:`u = w^2`, minimises

    .. math::
        \sum_{i,j} d_u(i, j) + c \sum_{i,j,p} [\theta_i + d_u(i, j) - d_u(i, p)]_+,
        \qquad d_u(i, j) = \sum_f u_f (x_{if} - x_{jf})^2

    over samples i, their target neighbours j (nearest hits) and all samples p of
    other classes: a linear program in u. The data are not scaled: put them on one
    scale first.

    Parameters
    ----------
    c : float, default=1
        Price of impostors against distance to targets. The paper's experiments use
        1; it advises cross-validation.
    n_neighbors : int, default=3
        Target neighbours a sample, as in the paper's experiments.
    form : {"simplex", "box", "gradient"}, default="simplex"
        u of the same sum as all ones; u in [0, 1] as printed, which often is 1
        for many features or all, and then ranks nothing; the paper's stochastic
        descent, without certificate.
    n_epochs : int, default=1
        For the descent: how often it visits every sample. The paper's I is the number of
        visits; it sets it to the number of samples, which is 1 here.
    step, decay : float, default=0.1 and 0
        For the descent: the i-th visit moves the weights by ``step / i**decay``, the paper's
        beta_i, of which it says that it decays, not how, and that 1 converges too.
    formulation : callable or path, optional
        A changed problem: ``change(problem)``, which gets the problem of :meth:`problem` and
        returns another one; ``build(X, codes, targets, theta, c) -> cvxpy.Problem`` with a
        variable ``u``, or a problem file.
    solver, solver_tol, solver_options, time_limit
    n_features_to_select, n_jobs, random_state, verbose
        As for every selector: :class:`convexfs.estimators.selector.WeightSelector`.

    Attributes
    ----------
    weights_ : array (n_features,)
        w, the roots of u; also ``feature_importances_``.
    loss_ : float
        e(w).
    certificate_ : Certificate
    classes_, n_features_in_, feature_names_in_
        As usual.

    Notes
    -----
    A constant column weighs 0 and is never selected: it is left out of the problem, of
    whose sum it would take a part at no cost. Copies of a column share its weight, in no
    particular way. Of equally near samples the first rows are the targets.

    Hardly any weight is 0, whatever the labels, and they share one sum: they are no evidence.
    By default the test uses the margin of each feature: how much farther the nearest quarter of
    the other classes is than that of the own class, in squares. Of several features that say
    the same, Lmba may give one all the weight; the test selects them all.

    References
    ----------
    "Feature selection based on loss-margin of nearest neighbor classification",
    Pattern Recognition 42 (2009).

    Examples
    --------
    >>> import convexfs
    >>> data = convexfs.load("iris").scaled()
    >>> model = convexfs.Lmba(n_features_to_select=2).fit(data.X, data.y)
    >>> model.get_support(indices=True), model.certificate_.ok
    (array([2, 3]), True)
    """

    _method: ClassVar = staticmethod(lmba)

    loss_: float = learned()

    def _step(self, X: Any, codes: np.ndarray) -> Step:
        step = super()._step(X, codes)
        if not step.primal or self.formulation is not None:
            return step
        return replace(step, primal={"u": step.primal["u"][~self._constant]})


class LmbaCriterion(ClassifierMixin, BaseEstimator):
    """Minus Lmba's loss of the columns given, as the score of a subset search.

    Nothing is learned: ``score`` is minus the evaluation function e of the columns
    it is given, all weights 1, over the mean squared distance of two samples, so
    that subsets of different spread compare.

    Examples
    --------
    >>> import convexfs
    >>> from sklearn.feature_selection import SequentialFeatureSelector
    >>> from convexfs.methods.lmba.estimator import LmbaCriterion
    >>> data = convexfs.load("iris").scaled()
    >>> rows = list(range(len(data.y)))
    >>> search = SequentialFeatureSelector(
    ...     LmbaCriterion(), n_features_to_select=2, cv=[(rows, rows)]
    ... )
    >>> search.fit(data.X, data.y).get_support(indices=True)
    array([2, 3])
    """

    def __init__(self, c: float = 1.0, n_neighbors: int = 3):
        self.c = c
        self.n_neighbors = n_neighbors

    def fit(self, X: Any, y: Any) -> "LmbaCriterion":
        """Store the classes of `y`; nothing else is learned."""
        self.classes_ = np.unique(y)
        return self

    def score(self, X: Any, y: Any, sample_weight: None = None) -> float:
        """Return minus the loss at weights 1, over the mean squared distance of two samples."""
        X, y = check_X_y(X, y)
        codes = np.unique(y, return_inverse=True)[1]
        spread = 2.0 * float(X.var(axis=0).sum())
        loss = lmba_loss(X, codes, c=self.c, n_neighbors=self.n_neighbors)
        return -loss / spread if spread > 0 else -np.inf
