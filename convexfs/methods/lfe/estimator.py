"""LFE, local feature extraction, as a scikit-learn transformer."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from sklearn.model_selection import check_cv
from sklearn.utils.validation import check_is_fitted

from convexfs.errors import InputError
from convexfs.estimators.projection import BY_CROSS_VALIDATION, Projection
from convexfs.methods.base.formulation import Step, learned, parameters
from convexfs.methods.lfe.fit import Settings, lfe

#: Numbers of neighbours that cross-validation tries, and most folds: fewer in small classes.
ODD_NEIGHBORS = tuple(range(1, 32, 2))
FOLDS = 10


@parameters
class LFE(Settings, Projection):
    r"""Project samples by RELIEF with a full matrix (LFE).

    Solves :math:`\max_W \mathrm{tr}(W \Sigma)` over :math:`\|W\|_F \le 1, W \succeq 0`,
    where :math:`\Sigma = \sum_n m_n m_n^T - h_n h_n^T` sums the differences of every
    sample to its nearest miss and hit, and projects on the eigenvectors of W, each
    scaled by the root of its eigenvalue: Euclidean distance of projected samples is
    the distance of W. The data are not scaled: put them on one scale first.

    Parameters
    ----------
    n_components : int, "cv" or None, default=None
        Components kept, at most those with a positive eigenvalue, which None
        keeps all; "cv" keeps as many as serve a nearest-neighbour classifier
        best in 10 folds, see :func:`convexfs.methods.lfe.estimator.choose_components`.
    n_neighbors : int, default=1
        Hits and misses averaged per sample.
    miss : {"nearest", "prior", "uniform"}, default="nearest"
        With many classes: the nearest misses of all other classes together
        (eq. 25), or of each class, weighted by its prior or equally.
    form : {"closed", "trace", "row-sparse"}, default="closed"
        The problem as printed; with a penalty on the trace of W, for fewer
        components; with a penalty on its rows, for fewer features.
    lam : float in [0, 1], default=0
        The penalty, as a share of Sigma's largest eigenvalue.
    formulation : callable or path, optional
        A changed problem: ``change(problem)``, which gets the problem of :meth:`problem` and
        returns another one; ``build(Sigma, lam) -> cvxpy.Problem`` with a variable ``W``, or a
        problem file.
    solver, solver_tol, solver_options, time_limit, n_jobs, random_state, verbose
        As for every estimator: :class:`convexfs.estimators.method_estimator.MethodEstimator`.

    Attributes
    ----------
    components_ : array (n_components_, n_features)
        Rows :math:`p_i = \sqrt{\beta_i}\,\bar p_i`.
    metric_ : array (n_features, n_features)
        W of the components kept, ``components_.T @ components_``.
    eigenvalues_ : array (T,)
        Positive eigenvalues of Sigma; for "row-sparse" :math:`\bar p_i^T \Sigma \bar p_i`.
    power_loss_, renormalised_loss_ : arrays (T + 1,)
        Discriminant power lost with the first t components, t = 0..T: as printed
        in eq. 22, and with the kept weights scaled back to length 1.
    choice_ : ComponentChoice
        With ``n_components="cv"``.
    certificate_ : Certificate
    classes_, n_features_in_, feature_names_in_
        As usual.

    Notes
    -----
    A constant column has no part in the components; copies of a column have the same.
    Of equally near samples the first rows are the neighbours. Where no direction has a
    positive margin W = 0 is the optimum: certified, with a warning, and there are no
    components.

    References
    ----------
    Sun and Wu, "Feature Extraction through Local Learning", Statistical
    Analysis and Data Mining 2 (2009), Sec. 3.

    Examples
    --------
    >>> import convexfs
    >>> data = convexfs.load("twonorm:noise=10,seed=1").scaled()
    >>> model = convexfs.LFE(n_components=2, n_neighbors=10).fit(data.X, data.y)
    >>> model.transform(data.X).shape
    (400, 2)
    >>> bool(model.metric_[:20, :20].diagonal().min() > model.metric_[20:, 20:].diagonal().max())
    True
    """

    _method: ClassVar = staticmethod(lfe)

    eigenvalues_: np.ndarray = learned()
    power_loss_: np.ndarray = learned()
    renormalised_loss_: np.ndarray = learned()
    choice_: "ComponentChoice" = learned()

    n_components: int | str | None = None

    def _remember(self, X: np.ndarray, codes: np.ndarray) -> None:
        count = self.n_components
        if count == BY_CROSS_VALIDATION:
            self.choice_ = choose_components(X, codes, self)
            count = self.choice_.n_components
        self.components_ = self.components_[:count]

    def _step(self, X: Any, codes: np.ndarray) -> Step:
        step = super()._step(X, codes)
        native = step.formulation.native
        if not step.primal or native is None:
            return step
        if step.primal["W"].shape == step.values["Sigma"].shape:
            return step
        # The fit was solved in the span of the samples: solve again in the original features.
        return replace(step, primal=native(**step.values, **step.hyper).primal)

    def _check_parameters(self, n_features: int) -> None:
        # Compare only texts, because comparing an array gives many truth values.
        if not isinstance(self.n_components, str) or self.n_components != BY_CROSS_VALIDATION:
            super()._check_parameters(n_features)

    @property
    def metric_(self) -> np.ndarray:
        check_is_fitted(self)
        return self.components_.T @ self.components_


@dataclass(frozen=True)
class ComponentChoice:
    """Result of the cross-validation of n_components.

    Attributes
    ----------
    n_components : int
        With the least error on average over all numbers of neighbours tried: one
        cell of a table of errors is too noisy to choose by.
    n_neighbors : int
        With the least error at that number of components; the most of several.
    errors : array (T, len(tried))
        Share of held-out samples a nearest-neighbour classifier gets wrong, by
        number of components, from 1, and by number of neighbours in ``tried``.
    tried : tuple of int
    """

    n_components: int
    n_neighbors: int
    errors: np.ndarray
    tried: tuple[int, ...]

    @property
    def error(self) -> float:
        """Return the error at the chosen number of components, averaged over neighbour numbers."""
        return float(self.errors[self.n_components - 1].mean())


def choose_components(
    X: np.ndarray,
    codes: np.ndarray,
    model: LFE,
    tried: Sequence[int] = ODD_NEIGHBORS,
    cv: Any = FOLDS,
) -> ComponentChoice:
    """Choose numbers of components and of voting neighbours by cross-validated KNN error.

    The projection is learned once a fold; its components are then taken one
    after the other, the most powerful first.

    Parameters
    ----------
    X, codes : arrays
        Samples and classes, 0 to K - 1.
    model : LFE
        Its settings but for ``n_components``.
    tried : sequence of int
        Numbers of neighbours that vote.
    cv : int, splitter or iterable of splits
        As in scikit-learn, stratified; fewer folds where a class is smaller.
    """
    counts = np.bincount(codes)
    if counts.min() < 2 or counts.max() < 3:
        raise InputError(
            "n_components='cv' holds samples out, for which every class needs two and one of them "
            f"three; they have {', '.join(str(n) for n in counts)}: give a number of components"
        )
    if cv == FOLDS:
        cv = int(np.clip(counts.min(), 2, FOLDS))
    folds = []
    settings: dict[str, Any] = model.get_params() | {"n_components": None}
    splitter: Any = check_cv(cv, codes, classifier=True)
    for train, held_out in splitter.split(X, codes):
        fold = LFE(**settings).fit(X[train], codes[train])
        wrong = knn_mistakes(
            fold.transform(X[train]), codes[train], fold.transform(X[held_out]), codes[held_out],
            [k for k in tried if k <= len(train)],
        )  # fmt: skip
        folds.append(wrong)
    most = max(len(wrong) for wrong in folds)
    votes = min(wrong.shape[1] for wrong in folds)
    # If a fold has fewer components, its error stays constant beyond them.
    padded = [np.pad(wrong, ((0, most - len(wrong)), (0, 0)), "edge")[:, :votes] for wrong in folds]
    errors = np.sum(padded, axis=0) / len(X)
    best = int(errors.mean(axis=1).argmin())
    votes_at = votes - 1 - int(errors[best, ::-1].argmin())
    return ComponentChoice(best + 1, tried[votes_at], errors, tuple(tried[:votes]))


def knn_mistakes(
    known: np.ndarray, codes: np.ndarray, new: np.ndarray, truth: np.ndarray, tried: Sequence[int]
) -> np.ndarray:
    """Return counts of wrong KNN predictions from the first t columns, per t (row) and K (column).

    Of classes with equally many votes the first is taken.

    Returns
    -------
    int array (T, len(tried))
    """
    if not known.shape[1]:
        known, new = np.zeros((len(known), 1)), np.zeros((len(new), 1))
    distances = np.zeros((len(new), len(known)))
    mistakes = []
    for t in range(known.shape[1]):
        distances += (new[:, t, None] - known[:, t]) ** 2
        mistakes.append(mistakes_at(distances, codes, truth, tried))
    return np.array(mistakes)


def mistakes_at(
    distances: np.ndarray, codes: np.ndarray, truth: np.ndarray, tried: Sequence[int]
) -> np.ndarray:
    """Count wrong KNN predictions for each K tried, from distances of new to known samples.

    Of equally near samples the first rows are the neighbours, of classes with equally many
    votes the first is taken.
    """
    votes_of = np.eye(codes.max() + 1)[codes]
    counted = np.cumsum(votes_of[_nearest(distances, max(tried))], axis=1)[:, np.array(tried) - 1]
    return (counted.argmax(axis=2) != truth[:, None]).sum(axis=0)


def _nearest(distances: np.ndarray, count: int) -> np.ndarray:
    """Return column indices of each row's `count` smallest entries, in order; ties by index."""
    if count >= distances.shape[1]:
        return np.argsort(distances, axis=1, kind="stable")[:, :count]
    near = np.sort(np.argpartition(distances, count - 1, axis=1)[:, :count], axis=1)
    ordered = np.argsort(np.take_along_axis(distances, near, axis=1), axis=1, kind="stable")
    near = np.take_along_axis(near, ordered, axis=1)
    # A partition may have taken any of the entries tied at the last place.
    last = np.take_along_axis(distances, near[:, -1:], axis=1)
    rivals = (distances <= last).sum(axis=1) > count
    near[rivals] = np.argsort(distances[rivals], axis=1, kind="stable")[:, :count]
    return near
