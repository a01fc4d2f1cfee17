"""Held-out error over the number of features, and the smallest number that predicts as well."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import is_regressor
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing, check_random_state

from convexfs.data.dataset import SCALES
from convexfs.data.targets import as_numbers
from convexfs.data.validation import as_labels, check_classes
from convexfs.errors import ConvexfsWarning, InputError, check_choice, check_number
from convexfs.estimators.regression import NumberSelector
from convexfs.estimators.validation import refuse_numbers
from convexfs.inference.cross_validation import (
    ClassErrors,
    Errors,
    SquaredErrors,
    as_rows,
    imputation_of,
    scaled_rows,
    taking_gaps,
)
from convexfs.inference.selector_tests import (
    feature_evidence,
    fitted_to,
    last_step,
    unfitted_copy,
    with_seed,
    work_in_order,
)
from convexfs.methods.base.row_permutations import permuted_labels

#: Default number of sizes to try, evenly spaced on a logarithmic scale.
_SIZES = 10
_RELABELLINGS, _BOOTSTRAPS = 999, 200
#: Most classes whose errors are printed, and the longest printed name.
_CLASSES_TOLD, _LETTERS = 4, 20


@dataclass(frozen=True, eq=False, repr=False)
class SelectionCurve:
    """Held-out error over the number of features.

    Attributes
    ----------
    sizes, errors, se : arrays
        Numbers of features; error of held-out predictions with each, which is the balanced error
        for classes and the squared error divided by the variance for a numeric target; standard
        error over the folds.
    chosen : int
        Smallest number of features whose error is within one standard error of the least.
    held_out_error : float
        Expected error of the whole procedure, choice of the number included, by the bootstrap
        of held-out predictions (BBC-CV). The entry of `errors` for `chosen` is too low, since
        the number was chosen by it. `honest_error` is its former name.
    interval : tuple of float
        95 % interval of `held_out_error`, by the same bootstrap; of classes at least Wilson's
        interval of a share.
    chance : float
        Error of guessing.
    pvalue : float
        Of the least error against the least at permuted labels, for the same predictions.
        Deviations of the permuted errors are multiplied by sqrt(1 + k / (k - 1)) for k folds
        (Nadeau and Bengio 2003), because the folds share training rows.
    permuted : array (3, n_sizes)
        5, 50 and 95 % quantiles of the errors at permuted labels, for the same predictions.
    predictions : array (n_samples, n_sizes)
        Predicted class codes, or numbers, of the held-out rows.
    target : array (n_samples,)
        True class codes, or numbers.
    folds : int array (n_samples,)
    measure, unit : str
        What the errors are, in full and after a number.
    imputation : str
        How the classifier treated missing values and categories, if there were any.
    """

    sizes: np.ndarray
    errors: np.ndarray
    se: np.ndarray
    chosen: int
    held_out_error: float
    interval: tuple[float, float]
    chance: float
    pvalue: float
    permuted: np.ndarray
    predictions: np.ndarray
    target: np.ndarray
    folds: np.ndarray
    measure: str
    unit: str
    imputation: str = ""

    @property
    def honest_error(self) -> float:
        """Return `held_out_error`; this is its former name."""
        return self.held_out_error

    @property
    def confusion(self) -> np.ndarray | None:
        """Return counts of true (rows) and predicted (columns) classes held out; None for numbers.

        Predictions are those with `chosen` features.
        """
        if self.target.dtype.kind != "i":
            return None
        predicted = self.predictions[:, int(np.searchsorted(self.sizes, self.chosen))]
        number = int(self.target.max()) + 1
        table = np.zeros((number, number), dtype=int)
        np.add.at(table, (self.target, predicted), 1)
        return table

    def lines(self, class_names: Sequence[str] | None = None) -> dict[str, str]:
        """Return the report lines of the curve, by topic."""
        low, high = self.interval
        found = {
            "held-out error": f"{self.held_out_error:.2f} [{low:.2f}, {high:.2f}] {self.unit}, "
            f"chance {self.chance:.2f} ({self.folds.max() + 1} folds, p = {self.pvalue:.2g})"
        }
        if (table := self.confusion) is not None:
            found["errors by class"] = _class_errors(table, class_names)
        if self.imputation:
            found["held-out rows"] = self.imputation
        return found

    def __str__(self) -> str:
        return "\n".join(f"{name:17} {text}" for name, text in self.lines().items())

    __repr__ = __str__

    def plot(self) -> Any:
        """Draw the errors over the number of features."""
        from convexfs.report.inference_pictures import curve_picture

        return curve_picture(self)


def selection_curve(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    classifier: Any = None,
    cv: Any = 5,
    sizes: Sequence[int] | None = None,
    scale: str = "none",
    groups: Any = None,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> SelectionCurve:
    """Cross-validate the number of features, with ranking and scaling inside the folds.

    In each fold the features are ranked by the training rows alone, and a classifier of
    their first 1, 2, ... predicts the rows held out; a regressor where the estimator learns
    from numbers. It costs one fit per fold; the held-out error and the p-value need no more.
    Missing values and categories go to the estimator as they are; what predicts has the
    medians of the training rows for the former, and a column each for the latter.

    Parameters
    ----------
    estimator : estimator or callable
        Ranks the features by its weights, margins or importances; those of weight 0 are
        never used. In a pipeline the steps before it are fitted inside the folds too. A
        callable returns the scores of ``(X, y)``.
    X : array, sparse matrix or DataFrame (n_samples, n_features)
    y : array (n_samples,)
    classifier : classifier or regressor, optional
        By default three nearest neighbours, of numbers five.
    cv : int, splitter or iterable, default=5
        Folds; a number is lowered to the size of the smallest class.
    sizes : sequence of int, optional
        Numbers of features; by default ten from 1 to all.
    scale : {"none", "zscore", "minmax"}, default="none"
        Scale the features by the training rows of each fold.
    groups : array (n_samples,), optional
        Rows that belong together, such as replicates: they are held out together.
    random_state : int, RandomState or None
        For the folds, the bootstrap and the permutations.
    n_jobs : int, optional
        Worker processes; the answer does not depend on their number.

    References
    ----------
    Tsamardinos, Greasidou and Borboudakis, "Bootstrapping the out-of-sample predictions for
    efficient and accurate cross-validation", Machine Learning 107 (2018). Nadeau and Bengio,
    "Inference for the generalization error", Machine Learning 52 (2003).

    Examples
    --------
    >>> import convexfs
    >>> from convexfs.inference import selection_curve
    >>> data = convexfs.load("twonorm:n=100,noise=80,seed=1").scaled()
    >>> curve = selection_curve(convexfs.Relief(n_neighbors=0.25), data.X, data.y, random_state=0)
    >>> curve.chance, curve.pvalue, curve.held_out_error < 0.2
    (0.5, 0.001, True)
    """
    X, (errors, y) = as_rows(X), _target(estimator, y)
    numbers = _checked_sizes(sizes, X.shape[1])
    check_choice("scale", scale, SCALES)
    seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
    folds = list(_splitter(cv, errors, y, groups, seed).split(X, y, groups))
    fold_of = np.full(len(y), -1)
    for fold, (_, held_out) in enumerate(folds):
        fold_of[held_out] = fold
    if (fold_of < 0).any():
        raise InputError("cv never holds some rows out: use folds that cover all rows")
    model = errors.predictor() if classifier is None else classifier
    work = partial(
        _fold, folds=folds, estimator=with_seed(estimator, seed), classifier=with_seed(model, seed),
        X=X, y=y, sizes=numbers, scale=scale,
    )  # fmt: skip
    predictions = np.full((len(y), len(numbers)), -1, dtype=y.dtype)
    predicted = work_in_order(work, range(len(folds)), n_jobs, "a fold")
    for (_, held_out), found in zip(folds, predicted, strict=True):
        predictions[held_out] = found
    curve = _summed_up(errors, numbers, predictions, y, fold_of, groups, seed)
    return replace(curve, imputation=imputation_of(X))


def _class_errors(table: np.ndarray, class_names: Sequence[str] | None) -> str:
    """Describe the errors of each class; with more than four classes, of the four worst."""
    sizes, wrong = table.sum(axis=1), table.sum(axis=1) - table.diagonal()
    names = [str(c) for c in range(len(table))] if class_names is None else class_names
    shown = list(range(len(table)))
    if len(table) > _CLASSES_TOLD:
        shown = np.argsort(-wrong / sizes, kind="stable")[:_CLASSES_TOLD].tolist()
    listed = ", ".join(f"{str(names[c])[:_LETTERS]} {wrong[c]}/{sizes[c]}" for c in shown)
    more = len(table) - len(shown)
    return f"wrong: {listed}" + (f" and {more} classes with a smaller share" if more else "")


def _target(estimator: Any, y: Any) -> tuple[Errors, np.ndarray]:
    """Return the error measure and the encoded target for the estimator's kind of target."""
    last = last_step(estimator)
    if isinstance(last, NumberSelector) or (hasattr(last, "fit") and is_regressor(last)):
        return SquaredErrors(), as_numbers(y, "Input y")
    labels = as_labels(y, "Input y")
    refuse_numbers(labels)
    classes, codes = np.unique(labels, return_inverse=True)
    check_classes(codes, [str(label) for label in classes])
    return ClassErrors(), codes


def _summed_up(
    errors: Errors,
    sizes: np.ndarray,
    predictions: np.ndarray,
    y: np.ndarray,
    folds: np.ndarray,
    groups: Any,
    seed: int,
) -> SelectionCurve:
    losses = errors.losses(predictions, y)
    found, each = errors.mean(losses, y), (folds == fold for fold in np.unique(folds))
    by_fold = [errors.mean(losses[held_out], y[held_out]) for held_out in each]
    se = np.std(by_fold, axis=0, ddof=1) / np.sqrt(len(by_fold))
    labels = permuted_labels(y, _RELABELLINGS, seed, groups)
    relabelled = np.array([errors.mean(errors.losses(predictions, row), row) for row in labels])
    expected, interval = _bootstrapped(errors, losses, y, groups, seed)
    return SelectionCurve(
        sizes=sizes, errors=found, se=se, chosen=int(sizes[_within_one_se(found, se)]),
        held_out_error=expected, interval=interval, chance=errors.chance(y),
        pvalue=_curve_pvalue(found.min(), relabelled.min(axis=1), len(by_fold)),
        permuted=np.quantile(relabelled, [0.05, 0.5, 0.95], axis=0), predictions=predictions,
        target=y, folds=folds, measure=errors.measure, unit=errors.unit,
    )  # fmt: skip


def _fold(
    fold: int,
    folds: Sequence[tuple[np.ndarray, np.ndarray]],
    estimator: Any,
    classifier: Any,
    X: Any,
    y: np.ndarray,
    sizes: np.ndarray,
    scale: str,
) -> np.ndarray:
    """Rank features on a fold's training rows; return test predictions, one column per size."""
    train, test = folds[fold]
    X = scaled_rows(X, scale, train)
    known, asked = (_safe_indexing(X, rows) for rows in (train, test))
    with warnings.catch_warnings():
        # Suppress warnings: a fit to all samples already warned about the data.
        warnings.simplefilter("ignore", ConvexfsWarning)
        fitted = fitted_to(estimator, known, y[train])
    if getattr(fitted, "steps", [None])[1:]:
        X = fitted[:-1].transform(X)
        known, asked = (_safe_indexing(X, rows) for rows in (train, test))
    evidence = feature_evidence(fitted)
    order = np.argsort(-evidence, kind="stable")
    usable = max(int((evidence != 0).sum()), 1)
    predictor, predictions = taking_gaps(classifier, X), np.empty((len(test), len(sizes)), y.dtype)
    for column, size in enumerate(sizes):
        first = order[: min(size, usable)]
        model = unfitted_copy(predictor).fit(_safe_indexing(known, first, axis=1), y[train])
        predictions[:, column] = model.predict(_safe_indexing(asked, first, axis=1))
    return predictions


def _curve_pvalue(least: float, permuted: np.ndarray, n_folds: int) -> float:
    """Return the p-value of the least error among those at permuted labels, spread wider.

    Folds share training rows, so that their errors vary together; permuted labels of fixed
    predictions do not. Nadeau and Bengio's factor of the variance makes up for it.
    """
    middle, factor = np.median(permuted), np.sqrt(1.0 + n_folds / (n_folds - 1.0))
    spread = middle + factor * (permuted - middle)
    return float((1 + (spread <= least + 1e-12).sum()) / (1 + len(permuted)))


def _within_one_se(errors: np.ndarray, se: np.ndarray) -> int:
    best = int(errors.argmin())
    return int(np.flatnonzero(errors <= errors[best] + se[best])[0])


def _bootstrapped(
    errors: Errors, losses: np.ndarray, y: np.ndarray, groups: Any, seed: int
) -> tuple[float, tuple[float, float]]:
    """Return the bootstrapped error of the chosen size (BBC-CV) and its 95 % interval, or NaN.

    BBC-CV chooses the size on rows drawn with replacement and evaluates it on the rows not drawn.
    """
    rng, held_out = np.random.default_rng(seed), []
    units = np.arange(len(y))
    if groups is not None:
        units = np.unique(np.asarray(groups).astype(str), return_inverse=True)[1]
    n_units = units.max() + 1
    for _ in range(_BOOTSTRAPS):
        drawn = rng.integers(n_units, size=n_units)
        times = np.bincount(drawn, minlength=n_units)[units].astype(float)
        left = times == 0
        # Both parts must contain all classes, else no balanced error exists.
        if not errors.enough(y[left], y) or not errors.enough(y[~left], y):
            continue
        found = errors.mean(losses, y, times)
        chosen = _within_one_se(found, errors.spread(found, losses))
        held_out.append(errors.mean(losses[left], y[left])[chosen])
    if not held_out:
        return float("nan"), (float("nan"), float("nan"))
    mean, ends = float(np.mean(held_out)), np.quantile(held_out, [0.025, 0.975])
    # Without any observed error the bootstrap interval would end at 0, so widen it.
    low, high = errors.interval(mean, y[np.unique(units, return_index=True)[1]])
    return mean, (float(min(ends[0], low)), float(max(ends[1], high)))


def _splitter(cv: Any, errors: Errors, y: np.ndarray, groups: Any, seed: int) -> Any:
    if not isinstance(cv, int | np.integer):
        return check_cv(cv, y, classifier=isinstance(errors, ClassErrors))
    check_number("cv", cv, 2, len(y), whole=True)
    return errors.folds(int(cv), y, groups, seed)


def _checked_sizes(sizes: Sequence[int] | None, n_features: int) -> np.ndarray:
    if sizes is None:
        return np.unique(np.round(np.geomspace(1, n_features, _SIZES)).astype(int))
    for size in sizes:
        check_number(f"sizes, of {n_features} features,", size, 1, n_features, whole=True)
    if not len(sizes):
        raise InputError("sizes must have numbers of features to try, not none")
    return np.unique(np.asarray(sizes, dtype=int))
