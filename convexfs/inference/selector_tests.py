"""Run the tests of features against shadow columns or permuted labels."""

import warnings
from collections.abc import Callable, Mapping
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from scipy.sparse import issparse
from sklearn.base import clone

from convexfs.batch.workers import pool
from convexfs.errors import ConvexfsError, InputError, warn
from convexfs.estimators.training_cache import Held
from convexfs.inference.label_permutations import PermutationResult, copied_rows, permutation_result
from convexfs.inference.shadow_statistics import LEAST, USUAL, ShadowResult, shadow_result
from convexfs.kernels import thread_map
from convexfs.methods.base.progress import narrator
from convexfs.methods.base.row_permutations import permuted_labels, permuted_rows
from convexfs.neighbors.samples import as_samples, beside, some_rows
from convexfs.neighbors.shadow_columns import ShadowDraws
from convexfs.neighbors.sparse import SparseSamples

#: Limit on the additions of all permutations, about three seconds; beyond it, fewer than 200
#: permutations are used, but at least 39.
_BUDGET = 1e10
#: Limit on additions beyond which a sample of the rows is drawn (about twenty seconds), fewest
#: drawn rows, and relative cost of an addition for sparse samples.
_SAMPLING_BUDGET, _LEAST_DRAWN, _SPARSE_COST = 6e10, 1000, 3.0

#: Attributes with one number per feature (or per class and feature), in order of preference.
_WEIGHTS = ("weights_", "coef_", "feature_importances_")

Tell = Callable[[str], None] | None


def selector_test(selector: Any, held: Held) -> ShadowResult:
    """Test the features of a fitted selector against shadow columns, within seconds."""
    X, codes, number = held.X, held.codes, affordable(selector, held.X)
    result = run_shadow_test(
        selector, X, codes, number, held.seed, groups=held.groups, blocks=held.blocks,
        drawn=drawn_samples(selector, X, codes, held.seed, groups=held.groups), asked=USUAL,
        n_jobs=selector.n_jobs, sample_weight=held.sample_weight,
        tell=narrator(f"{type(selector)._method.__name__}, shadow columns", selector.verbose),
    )  # fmt: skip
    if not result.selected.any():
        warn(f"nothing is selected: {result.why_empty()}; n_features_to_select=k keeps the k best")
    return result


def affordable(estimator: Any, X: Any) -> int:
    """Return how many permutations, 39 to 200, fit the time budget; 39 if each needs a fit."""
    operations = _operations(estimator, X)
    return LEAST if operations is None else int(np.clip(_BUDGET // operations, LEAST, USUAL))


def drawn_samples(
    estimator: Any, X: Any, codes: np.ndarray, seed: int, *, groups: Any = None, tests: int = 1
) -> np.ndarray | None:
    """Draw row indices for a test in seconds; None means all rows, as with groups or costly fits.

    Every class gets the same number of rows, or all that it has. Rows are drawn by class alone,
    so that features unrelated to the class stay unrelated, and error rates hold. With groups all
    rows are used.

    Parameters
    ----------
    estimator, X, codes, seed, groups
        As :func:`run_shadow_test` takes them.
    tests : int, default=1
        Number of tests that share the time.
    """
    operations = _operations(estimator, X)
    if operations is None or groups is not None:
        return None
    share = np.sqrt(_SAMPLING_BUDGET / (tests * LEAST * operations))
    number = max(int(share * len(codes)), _LEAST_DRAWN)
    if number >= len(codes):
        return None
    rng, chosen = np.random.default_rng(seed), []
    strata = [np.arange(len(codes))]
    if codes.dtype.kind != "f":
        strata = sorted((np.flatnonzero(codes == c) for c in np.unique(codes)), key=len)
    for place, members in enumerate(strata):
        size = min(len(members), number // (len(strata) - place))
        chosen.append(rng.choice(members, size, replace=False))
        number -= size
    return np.sort(np.concatenate(chosen))


def _operations(estimator: Any, X: Any) -> float | None:
    """Return the additions per permutation, times a factor if sparse; None if each needs a fit."""
    operations = getattr(estimator, "_operations", lambda _: None)(X)
    thin = issparse(X) or isinstance(X, SparseSamples)
    return operations if operations is None or not thin else _SPARSE_COST * operations


def run_shadow_test(
    estimator: Any,
    X: Any,
    codes: np.ndarray,
    number: int,
    seed: int,
    *,
    groups: Any = None,
    blocks: Any = None,
    n_jobs: int | None = None,
    tell: Tell = None,
    sample_weight: Any = None,
    drawn: np.ndarray | None = None,
    **rule: Any,
) -> ShadowResult:
    """Test an estimator's statistic of every feature against shadow columns.

    Only the rows `drawn` are used, if given.
    """
    framed = hasattr(X, "iloc")
    samples = X if framed else as_samples(X)
    if drawn is not None:
        rule["sampled"] = len(drawn), len(codes)
        samples, codes = some_rows(samples, drawn), codes[drawn]
        blocks = None if blocks is None else np.asarray(blocks)[drawn]
        sample_weight = None if sample_weight is None else sample_weight[drawn]
    rows = permuted_rows(codes, number, seed, groups, blocks)
    plain = X.select_dtypes("number") if framed else samples
    if groups is None and (copies := copied_rows(plain)):
        warn(copies)
    fast: Any = getattr(estimator, "_shadow_margins", lambda *_: None)
    with thread_map(n_jobs) as map:
        found = fast(samples, codes, ShadowDraws(rows, seed, sample_weight, map))
    if found is None:
        options = {} if sample_weight is None else {"sample_weight": sample_weight}
        seeded = with_seed(estimator, seed)
        work = partial(_shadow_fit, estimator=seeded, X=samples, codes=codes, options=options)
        both = np.array(work_in_order(work, rows, n_jobs, "a fit to permuted data", tell))
        found = both[:, : X.shape[1]].mean(axis=0), both[:, X.shape[1] :]
    units = getattr(estimator, "_evidence_units", lambda X: np.ones(X.shape[1]))(samples)
    mean, shadows = found
    return shadow_result(mean, shadows, units, **rule)


def _shadow_fit(
    order: np.ndarray, estimator: Any, X: Any, codes: np.ndarray, options: Mapping[str, Any]
) -> np.ndarray:
    """Fit columns and shadow columns together; return the evidence of both, in this order."""
    if hasattr(X, "iloc"):
        both = X.join(X.iloc[order].set_axis(X.index).add_prefix("shadow of "))
    else:
        both = beside(X, some_rows(X, order))
    if isinstance(both, SparseSamples):
        both = both.by_rows
    evidence = _quiet_evidence(codes, estimator, both, **options)[0]
    if len(evidence) != 2 * X.shape[1]:
        raise InputError(
            f"the estimator scores {len(evidence)} of {2 * X.shape[1]} columns: shadow_test needs "
            "one that scores every column it is given; permutation_test tests any"
        )
    return evidence


def run_permutation_test(
    estimator: Any,
    X: Any,
    codes: np.ndarray,
    number: int,
    seed: int,
    *,
    groups: Any = None,
    blocks: Any = None,
    n_jobs: int | None = None,
    tell: Tell = None,
    **rule: Any,
) -> PermutationResult:
    """Test an estimator's statistic at the true labels against permuted labels."""
    labels = np.vstack([codes, permuted_labels(codes, number, seed, groups, blocks)])
    samples = as_samples(X)
    if groups is None and (copies := copied_rows(samples)):
        warn(copies)
    statistic = getattr(estimator, "_statistic_at_labels", lambda *_: None)(samples, seed)
    if statistic is not None:
        with thread_map(n_jobs) as map:
            found = np.array(list(map(statistic, labels)))
        return permutation_result(found[0], found[1:], **rule)
    if isinstance(samples, SparseSamples):
        X = samples.by_rows
    work = partial(_quiet_evidence, estimator=with_seed(estimator, seed), X=X)
    rows = work_in_order(work, labels, n_jobs, "a fit to permuted data", tell)
    found, whole = np.array([row[0] for row in rows]), [row[1] for row in rows]
    known = None if whole[0] is None else np.array(whole)
    return permutation_result(found[0], found[1:], whole=known, **rule)


def work_in_order(
    work: Callable[[Any], Any], tasks: Any, n_jobs: int | None, name: str, tell: Tell = None
) -> list[Any]:
    """Apply `work` to all tasks, in processes if `n_jobs` is not 1; return results in order.

    If a task fails, raise, and call it by this `name`.
    """
    jobs = 1 if n_jobs is None else effective_n_jobs(n_jobs)
    rows: list[Any] = [None] * len(tasks)
    done = pool.run(range(len(tasks)), partial(_task, work=work, tasks=tasks), jobs=jobs)
    for count, outcome in enumerate(done, 1):
        if outcome.status != pool.DONE:
            raise ConvexfsError(f"{name} failed: {outcome.failure}")
        rows[outcome.task] = outcome.value
        if tell is not None:
            tell(f"{count} of {len(tasks)} fits")
    return rows


def _task(number: int, work: Callable[[Any], Any], tasks: Any) -> Any:
    return work(tasks[number])


def _quiet_evidence(
    labels: np.ndarray, estimator: Any, X: Any, **options: Any
) -> tuple[np.ndarray, float | None]:
    with warnings.catch_warnings():
        # Suppress warnings, which a hundred fits to permuted data would repeat.
        warnings.simplefilter("ignore")
        return fit_evidence(estimator, X, labels, **options)


def fit_evidence(
    estimator: Any, X: Any, labels: np.ndarray, **options: Any
) -> tuple[np.ndarray, float | None]:
    """Fit to these labels; return evidence per feature (more is better) and one for all, or None.

    The second is None where the features themselves have to speak.
    """
    fitted = fitted_to(estimator, X, labels, **options)
    return feature_evidence(fitted), getattr(last_step(fitted), "_whole_evidence", lambda: None)()


def fitted_to(estimator: Any, X: Any, labels: np.ndarray, **options: Any) -> Any:
    """Return a fitted copy; for a scoring function, an object with its scores as ``scores_``."""
    if hasattr(estimator, "fit"):
        return unfitted_copy(estimator).fit(X, labels, **options)
    return SimpleNamespace(scores_=estimator(X, labels))


def unfitted_copy(estimator: Any) -> Any:
    """Return an unfitted copy with the same parameters."""
    return clone(estimator)


def feature_evidence(fitted: Any) -> np.ndarray:
    """Return one score per feature: own evidence, importances, ``scores_`` or max abs(coef_)."""
    last = last_step(fitted)
    if hasattr(last, "_evidence"):
        return last._evidence()
    for name in ("feature_importances_", "scores_"):
        if getattr(last, name, None) is not None:
            return np.nan_to_num(np.asarray(getattr(last, name), dtype=np.float64))
    if hasattr(last, "coef_"):
        return np.abs(np.atleast_2d(last.coef_)).max(axis=0)
    raise InputError(
        f"{type(last).__name__} says nothing of single features: it has no weights_, "
        "feature_importances_, scores_ or coef_"
    )


def last_step(estimator: Any) -> Any:
    """Return the last step of a pipeline, or the estimator itself."""
    while steps := getattr(estimator, "steps", None):
        estimator = steps[-1][1]
    return estimator


def estimator_weights(fitted: Any, n_features: int) -> np.ndarray:
    """Return absolute weights, the largest over classes, of an estimator or pipeline's last step.

    Raise if the estimator has no weights, or not one finite number per feature.
    """
    fitted = last_step(fitted)
    name = next((name for name in _WEIGHTS if hasattr(fitted, name)), None)
    if name is None:
        raise InputError(
            f"{type(fitted).__name__} has none of {', '.join(_WEIGHTS)} after its fit: give an "
            "estimator that weighs features, such as Logo() or an l1-penalised "
            "LogisticRegression"
        )
    weights = np.abs(np.atleast_2d(np.asarray(getattr(fitted, name), dtype=np.float64))).max(axis=0)
    if weights.shape != (n_features,) or not np.isfinite(weights).all():
        raise InputError(
            f"{name} of {type(fitted).__name__} is not one finite number for each of the "
            f"{n_features} features it was given"
        )
    return weights


def estimator_support(fitted: Any, n_features: int) -> np.ndarray:
    """Return the mask of selected features: by get_support, else features of nonzero weight."""
    fitted = last_step(fitted)
    if hasattr(fitted, "get_support"):
        return np.asarray(fitted.get_support(), dtype=bool)
    return estimator_weights(fitted, n_features) > 0


def with_seed(estimator: Any, seed: int) -> Any:
    """Return a copy of the estimator with `seed` wherever a ``random_state`` is None."""
    if not hasattr(estimator, "get_params"):
        return estimator
    without = {
        name: seed
        for name, value in estimator.get_params().items()
        if name.split("__")[-1] == "random_state" and value is None
    }
    return unfitted_copy(estimator).set_params(**without)
