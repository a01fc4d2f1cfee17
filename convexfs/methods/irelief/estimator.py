"""I-RELIEF as a scikit-learn selector."""

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from convexfs.estimators.selector import ANY_SAMPLES, ClassSelector
from convexfs.estimators.validation import Accepts
from convexfs.methods.base.formulation import Step, learned, parameters
from convexfs.methods.irelief import METHOD
from convexfs.methods.irelief.fit import Settings, irelief
from convexfs.methods.relief.estimator import Relief
from convexfs.neighbors.shadow_columns import Margins, ShadowDraws


@parameters
class IRelief(Settings, ClassSelector):
    r"""Iterate RELIEF with soft, weighted neighbours.

    The weights are a fixed point: soft nearest hits and misses at w give a
    margin vector :math:`\nu`, and w solves :math:`\max w^T \nu` over
    :math:`\|w\|_2 \le 1, w \ge 0`. Each step is a convex problem, the whole is
    not: ``converged_`` says whether a fixed point was reached. The data are not
    scaled: put them on one scale first. Matrices on disk or on a cluster are read by
    columns, twice an iteration, as :class:`convexfs.estimators.selector.ClassSelector` says.

    Parameters
    ----------
    sigma : float, default=2
        Width of the neighbourhood, in units of the weighted distance. Below
        about 1 on standardised data the iteration may cycle.
    damping : float in [0, 1), default=0.5
        Share of the old weights kept in an iteration; 0 is as printed.
    keep : int, optional
        Back-selection: keep the better half of the features and start again,
        until this many are left; the others weigh 0.
    tol : float, default=1e-4
        Change of the weights, which have length 1, that ends the iteration.
    max_iter : int, default=200
        Most iterations in each round of back-selection.
    start : array (n_features,), optional
        Weights to start from, finite and at least 0; by default all equal.
    n_starts : int, default=1
        Starts tried: `start`, RELIEF's hundred highest weights, then random ones. Of
        the fixed points the one of largest margin is kept, and a warning says when
        another start ended elsewhere. Each costs about a fit.
    missing : {"hybrid", "class", "observed", "error"}, default="hybrid"
    categorical_features : sequence of int, str or bool, optional
        See :class:`convexfs.estimators.selector.MissingParameters`.
    class_weight : "balanced" or dict of label to number, optional
        See :class:`convexfs.estimators.selector.ClassSelector`, also for what `fit` does with
        its `sample_weight`.
    formulation : callable or path, optional
        A changed step: ``change(problem)``, which gets the problem of :meth:`problem` and returns
        another one; ``build(z, lam) -> cvxpy.Problem`` with a variable ``w``, or a problem
        file.
    solver, solver_tol, solver_options, time_limit
    n_features_to_select, n_jobs, random_state, verbose
        As for every selector: :class:`convexfs.estimators.selector.WeightSelector`.

    Attributes
    ----------
    weights_ : array (n_features,)
        Also ``feature_importances_``.
    margin_ : array
        :math:`\nu` of the last step, over the features it had.
    certificate_ : FixedPointCertificate
        Certificate of the last convex step, refuted unless it is a fixed point. It proves
        *a* fixed point, not the only one: see `n_starts`.
    converged_ : bool
    starts_ : list of dict
        Per start: its name, minus its margin as objective, whether its end is
        certified, the relative difference from `weights_`, and whether it is a fixed
        point elsewhere.
    residual_ : float
        Change made by the last step.
    period_ : int
        That of the cycle the iteration ended in, 0 if it did not.
    n_iter_ : int
    iterate_ : array
        Weights at which the last step was taken, of the features it had.
    rounds_ : tuple of int
        Numbers of features in the rounds of back-selection.
    classes_, n_features_in_, feature_names_in_
        As usual.

    Notes
    -----
    A constant column weighs 0 and is never selected; copies of a column weigh the same.
    Equally near samples count alike. Where no feature has a positive margin all weights
    are 0, with a warning.

    References
    ----------
    Sun, "Iterative RELIEF for Feature Weighting: Algorithms, Theories, and
    Applications", IEEE TPAMI 29 (2007).

    Examples
    --------
    >>> import convexfs
    >>> data = convexfs.load("twonorm:n=200,noise=80,seed=1").scaled()
    >>> selector = convexfs.IRelief(n_features_to_select=20).fit(data.X, data.y)
    >>> int(selector.get_support()[:20].sum()), selector.converged_
    (20, True)
    """

    _method: ClassVar = staticmethod(irelief)
    _accepts: ClassVar[Accepts] = replace(ANY_SAMPLES, narrow=True)

    margin_: np.ndarray = learned()
    converged_: bool = learned()
    residual_: float = learned()
    period_: int = learned()
    n_iter_: int = learned()
    rounds_: tuple[int, ...] = learned()
    iterate_: np.ndarray = learned()
    starts_: list[dict[str, Any]] = learned()

    @property
    def _sparse(self) -> bool:
        return self.keep is not None

    @property
    def _one_sum(self) -> bool:
        return self.keep is None and self.formulation is None

    def _step(self, X: Any, codes: np.ndarray) -> Step:
        if self.keep is None or not hasattr(self, "margin_"):
            return super()._step(X, codes)
        values, formulation = {"z": self.margin_}, METHOD.formulation("irelief")
        return Step(formulation, values, {"lam": 0.0}, self.iterate_, self.solution_.primal)

    def _step_options(self, codes: np.ndarray) -> dict[str, Any]:
        at = getattr(self, "iterate_", getattr(self, "weights_", None))
        weights = self._weights_of(len(codes), getattr(self, "_sample_weight", None))
        return {"at": at, "weights": weights}

    def _evidence(self) -> np.ndarray:
        # Weights have norm 1, which all features share, so test margins instead. Features that were
        # left out, and changed problems, have weights only.
        return self.margin_ if self._one_sum else self.weights_

    @property
    def _tested(self) -> Relief:
        """Return an unfitted RELIEF-F estimator, whose margins are tested in place of I-RELIEF's.

        Its own are those of a fixed point, which depends on all columns: with shadow columns
        among them it is another one, and margins of noise exceeded their shadows' too often.
        """
        tested = Relief(missing=self.missing, class_weight=self.class_weight)
        if hasattr(self, "classes_"):  # class_weight may refer to these class labels.
            tested.classes_ = self.classes_
        return tested

    def _shadow_margins(self, X: Any, codes: np.ndarray, draws: ShadowDraws) -> Margins | None:
        return self._tested._shadow_margins(X, codes, draws) if self._one_sum else None

    @property
    def _pairs_alike(self) -> bool:
        return self._one_sum and self._tested._pairs_alike

    def _operations(self, X: np.ndarray) -> float | None:
        return self._tested._operations(X) if self._one_sum else None
