"""RELIEF and RELIEF-F as a scikit-learn selector."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from convexfs.estimators.selector import ANY_SAMPLES, ClassSelector
from convexfs.estimators.validation import Accepts
from convexfs.methods.base.formulation import Step, learned, parameters
from convexfs.methods.relief import METHOD, numbers
from convexfs.methods.relief.fit import Settings, relief
from convexfs.neighbors.hits_misses import is_share
from convexfs.neighbors.shadow_columns import Margins, ShadowDraws


@parameters
class Relief(Settings, ClassSelector):
    r"""Rank features by nearest-neighbour margins (RELIEF-F).

    The weights solve

    .. math::
        \max_w w^T z - \lambda 1^T w \quad\text{s.t.}\quad \|w\|_2 \le 1,\; w \ge 0,

    .. math::
        z = \sum_n |x_n - NM(x_n)| - |x_n - NH(x_n)|,

    where z sums, feature by feature, how much farther the nearest miss of a sample is than its
    nearest hit. The data are not scaled: put them on one scale first. Arrays of int8, bool and
    float16 are not converted to larger numbers. For matrices on disk or on a cluster see
    :class:`~convexfs.estimators.selector.ClassSelector`.

    Parameters
    ----------
    n_neighbors : int, float below 1, "surf" or "multisurf", default=0.25
        Hits and misses averaged per sample. A float is a fraction of each class, so that classes
        of different sizes are treated alike. 1 is the original RELIEF, 10 the usual RELIEF-F.
        "surf" takes all samples nearer than the mean distance, "multisurf" all nearer than the
        mean distance from this sample minus half the deviation.
    miss : {"nearest", "prior", "uniform"}, default="nearest"
        With many classes: the nearest misses of all other classes together, or
        of each class, weighted by its prior (Kononenko) or equally.
    metric : {"manhattan", "sqeuclidean"}, default="manhattan"
        Distance that defines neighbours; its terms are what z sums.
    online : bool, default=False
        Draw samples at random as the original algorithm does.
    n_epochs : int, default=1
        Draws, as a multiple of the number of samples.
    l1 : float in [0, 1], default=0
        Leave out features whose z is below this share of the largest; what is left is then
        the selection, untested.
    keep : int, optional
        Back-selection (TuRF): leave out the share `dropped` of the features, those of least
        margin, and take neighbours anew in the others, until this many are left; what was
        left out weighs 0.
    dropped : float in (0, 1), default=0.5
        Fraction of the features left out per round; used only with `keep`.
    missing : {"hybrid", "class", "observed", "error"}, default="hybrid"
    categorical_features : sequence of int, str or bool, optional
        See :class:`convexfs.estimators.selector.MissingParameters`.
    class_weight : "balanced" or dict of label to number, optional
        As :class:`convexfs.estimators.selector.ClassSelector` says, and what `fit` does with
        its `sample_weight`. Without it the *test* of the features weighs samples by 1 minus the
        share of their class, which compares pairs of classes alike; `weights_` do not.
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
    margin_ : array
        z, of the features that back-selection left.
    rounds_ : tuple of int
        Numbers of features in the rounds of back-selection.
    certificate_ : Certificate
    classes_, n_features_in_, feature_names_in_
        As usual.

    Notes
    -----
    A constant column weighs 0 and is never selected; copies of a column weigh the same.
    Of equally near samples the first rows are the neighbours. Where no feature has a
    positive margin all weights are 0, which is the optimum: certified, with a warning.

    References
    ----------
    Sun and Wu, "Feature Extraction through Local Learning", Statistical
    Analysis and Data Mining 2 (2009), Sec. 2.

    Examples
    --------
    >>> import convexfs
    >>> data = convexfs.load("twonorm:noise=30,seed=1").scaled()
    >>> selector = convexfs.Relief(n_neighbors=10, n_features_to_select=20).fit(data.X, data.y)
    >>> int(selector.get_support()[:20].sum())
    20
    >>> selector.certificate_.ok
    True
    """

    _method: ClassVar = staticmethod(relief)
    _accepts: ClassVar[Accepts] = replace(ANY_SAMPLES, narrow=True)

    margin_: np.ndarray = learned()
    rounds_: tuple[int, ...] = learned()

    @property
    def _sparse(self) -> bool:
        return self.l1 > 0 or self.keep is not None

    def _evidence(self) -> np.ndarray:
        return self.margin_ if self._one_sum else self.weights_

    def _step(self, X: Any, codes: np.ndarray) -> Step:
        if not hasattr(self, "margin_"):
            return super()._step(X, codes)
        # Use the stored margin, which depends on random draws and on back-selection.
        lam = self.l1 * float(max(self.margin_.max(initial=0.0), 0.0))
        formulation = METHOD.formulation("relief")
        return Step(formulation, {"z": self.margin_}, {"lam": lam}, None, self.solution_.primal)

    def _step_options(self, codes: np.ndarray) -> dict[str, Any]:
        weights = self._weights_of(len(codes), getattr(self, "_sample_weight", None))
        return {"seed": self._seed(), "weights": weights}

    @property
    def _one_sum(self) -> bool:
        """Return whether one margin vector gives the weights: printed problem, and no `keep`."""
        return self.formulation is None and self.keep is None

    @property
    def _pairs_alike(self) -> bool:
        return self._one_sum and self.class_weight is None

    def _statistic_at_labels(self, X: Any, seed: int) -> Callable[..., Any] | None:
        if not self._one_sum:
            return None
        return numbers.margin_at_labels(X, self, seed, self._weights_of(len(X), None))

    def _shadow_margins(self, X: Any, codes: np.ndarray, draws: ShadowDraws) -> Margins | None:
        if not self._one_sum:
            return None
        weights = self._weights_of(len(X), draws.sample_weight)
        return numbers.shadow_margin(X, codes, draws, self, weights)

    def _operations(self, X: np.ndarray) -> float | None:
        if not self._one_sum:
            return None
        number = self.n_neighbors
        if isinstance(number, str):
            return X.shape[0] / 2 * X.size
        return (number * X.shape[0] if is_share(number) else 2 * number) * X.size
