"""Statistics at permuted labels, and the test of a fitted selector that is run when needed."""

import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import clone

from convexfs.batch import pool
from convexfs.errors import ConvexfsError, InputError, warn
from convexfs.methods.base.held import Held
from convexfs.methods.base.permutation import (
    PermutationResult,
    copied_rows,
    judged,
    permuted_labels,
)
from convexfs.methods.base.progress import narrator
from convexfs.methods.base.selector import thread_map
from convexfs.neighbors.samples import as_samples
from convexfs.neighbors.sparse_samples import SparseSamples

#: Permutations where each is fast, and where each costs a fit.
FAST, REFITTED = 1000, 39
#: Additions that fast permutations may take together before there are fewer of them: about
#: three seconds.
_BUDGET = 1e10

Tell = Callable[[str], None] | None


def selector_test(selector: Any, held: Held) -> PermutationResult:
    """Test the features of a fitted selector, with as many permutations as are cheap."""
    number = affordable(selector, held.X)
    tell = narrator(f"{selector._title}, permuted labels", selector.verbose)
    result = permutations_judged(
        selector,
        held.X,
        held.codes,
        number,
        held.seed,
        n_jobs=selector.n_jobs,
        tell=tell,
        sample_weight=held.sample_weight,
    )
    if not result.selected.any():
        warn(f"nothing is selected: {result.why_empty()}; n_features_to_select=k keeps the k best")
    return result


def affordable(estimator: Any, X: np.ndarray) -> int:
    """Permutations that take seconds where each is fast, and that are fewest where it is a fit."""
    operations = getattr(estimator, "_operations", lambda _: None)(X)
    return REFITTED if operations is None else int(np.clip(_BUDGET // operations, REFITTED, FAST))


def permutations_judged(
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
    **rule: Any,
) -> PermutationResult:
    """Hold an estimator's statistic at the true labels against those at permuted ones."""
    labels = np.vstack([codes, permuted_labels(codes, number, seed, groups, blocks)])
    samples = as_samples(X)
    if groups is None and (copies := copied_rows(samples)):
        warn(copies)
    fast = getattr(estimator, "_statistic_at_labels", None)
    told = {} if sample_weight is None else {"sample_weight": sample_weight}
    statistic = fast(samples, seed, **told) if fast is not None else None
    if statistic is not None:
        with thread_map(n_jobs) as map:
            found = np.array(list(map(statistic, labels)), dtype=np.float32)
        return judged(found[0], found[1:], **rule)
    if isinstance(samples, SparseSamples):
        X = samples.by_rows
    rows = list(_refitted(estimator, X, labels, seed, n_jobs, tell, told))
    found, whole = np.array([row[0] for row in rows]), [row[1] for row in rows]
    return judged(found[0], found[1:], whole=None if whole[0] is None else np.array(whole), **rule)


def _refitted(
    estimator: Any,
    X: Any,
    labels: np.ndarray,
    seed: int,
    n_jobs: int | None,
    tell: Tell,
    told: Mapping[str, Any],
) -> Iterable[tuple[np.ndarray, float | None]]:
    """Evidence at each row of labels, each from a fit of its own."""
    jobs = 1 if n_jobs is None else effective_n_jobs(n_jobs)
    rows: list[Any] = [None] * len(labels)
    work = partial(_refit, estimator=seeded(estimator, seed), X=X, labels=labels, told=told)
    done = pool.run(range(len(labels)), work, jobs=jobs)
    for count, outcome in enumerate(done):
        if outcome.status != pool.DONE:
            raise ConvexfsError(f"a fit to permuted labels failed: {outcome.failure}")
        rows[outcome.task] = outcome.value
        if tell is not None:
            tell(f"{count} of {len(labels) - 1} permutations")
    return rows


def _refit(
    row: int, estimator: Any, X: Any, labels: np.ndarray, told: Mapping[str, Any]
) -> tuple[np.ndarray, float | None]:
    with warnings.catch_warnings():
        # What is strange about permuted labels need not be told of each of them.
        warnings.simplefilter("ignore")
        return evidence_of(estimator, X, labels[row], **told)


def evidence_of(
    estimator: Any, X: Any, labels: np.ndarray, **told: Any
) -> tuple[np.ndarray, float | None]:
    """Fit to these labels; return a number a feature, more being better, and one for all.

    The second is None where the features themselves have to speak.
    """
    fitted = fitted_to(estimator, X, labels, **told)
    return feature_evidence(fitted), getattr(last_step(fitted), "_whole_evidence", lambda: None)()


def fitted_to(estimator: Any, X: Any, labels: np.ndarray, **told: Any) -> Any:
    """Fit a copy; of a function that only scores features, keep the scores."""
    if hasattr(estimator, "fit"):
        return unfitted(estimator).fit(X, labels, **told)
    return SimpleNamespace(scores_=estimator(X, labels))


def unfitted(estimator: Any) -> Any:
    """A copy of the same parameters."""
    return clone(estimator)


def feature_evidence(fitted: Any) -> np.ndarray:
    """A fitted estimator's number a feature, under any of the names that scikit-learn has."""
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
    """The last step of a pipeline, which weighs the features; anything else itself."""
    while steps := getattr(estimator, "steps", None):
        estimator = steps[-1][1]
    return estimator


def seeded(estimator: Any, seed: int) -> Any:
    """The estimator with a seed, if it is random and has none: all its fits draw alike."""
    if not hasattr(estimator, "get_params"):
        return estimator
    without = {
        name: seed
        for name, value in estimator.get_params().items()
        if name.split("__")[-1] == "random_state" and value is None
    }
    return unfitted(estimator).set_params(**without)
