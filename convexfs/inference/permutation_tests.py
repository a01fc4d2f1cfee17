"""Test by permuted labels whether the data contain any signal."""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from convexfs.data.out_of_core import ColumnSource
from convexfs.data.validation import as_labels, check_classes
from convexfs.errors import InputError, warn
from convexfs.inference.label_permutations import PermutationResult, check_rule
from convexfs.inference.selector_tests import run_permutation_test, unfitted_copy
from convexfs.methods.base.progress import narrator


def permutation_test(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    n_permutations: int = 1000,
    groups: Any = None,
    blocks: Any = None,
    control: str = "fdr",
    level: float = 0.1,
    gate: float = 0.05,
    random_state: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> PermutationResult:
    """Test whether any feature is related to the labels, by permuting the labels.

    The global p-value is exact. Values of single features are not, where some features separate
    the classes: use :func:`shadow_test` to select features.

    Parameters
    ----------
    estimator : estimator or callable
        :class:`convexfs.Relief` is tested by its margins, at distances sorted once: 1000
        permutations take about a second for 62 samples of 2000 features. Anything else is
        fitted once per permutation, in one task each: :class:`convexfs.IRelief` is tested by its
        margins, since its weights share one length; :class:`convexfs.Logo` as a whole by its
        objective, since its weights are no evidence; estimators of other packages by
        ``feature_importances_``, ``scores_`` or ``coef_``; of a pipeline, its last step. A
        callable returns the scores of ``(X, y)``.
    X, y : arrays (n_samples, n_features), (n_samples,)
    n_permutations : int, default=1000
        No p-value is below one over this number plus one. Where each costs a fit, 39 are
        enough for the gate.
    groups : array (n_samples,), optional
        Rows that belong together and share their label, such as replicates of a subject:
        whole groups are permuted. Without them you get a warning if rows are copies of others.
    blocks : array (n_samples,), optional
        Labels are permuted within blocks only, such as batches that differ and are tied to
        the labels.
    control : {"fdr", "fwer"}, default="fdr"
        What `level` bounds: the expected share of false features among the selected, by
        Benjamini and Hochberg on pooled p-values; or the probability of any, by max-T.
    level : float, default=0.1
    gate : float, default=0.05
        With "fdr" nothing is selected unless the best feature has a max-T p-value up to this;
        1 leaves the gate open.
    random_state : int, RandomState or None
        Permutation b depends on this and b alone: the same seed gives the same answer,
        whatever `n_jobs`.
    n_jobs : int, optional
        Threads, or worker processes where estimators are fitted.
    verbose : int, default=0
        Above 0 fits to permuted labels are counted on stderr.

    Returns
    -------
    PermutationResult
        See :class:`convexfs.inference.label_permutations.PermutationResult`.

    Examples
    --------
    >>> import convexfs
    >>> from convexfs.inference import permutation_test
    >>> data = convexfs.load("twonorm:n=100,noise=80,seed=1").scaled()
    >>> result = permutation_test(
    ...     convexfs.Relief(n_neighbors=0.25), data.X, data.y, n_permutations=199, random_state=0
    ... )
    >>> result.global_pvalue, int(result.selected[:20].sum()), int(result.selected[20:].sum())
    (0.005, 17, 1)
    """
    check_rule(control, level, gate, n_permutations)
    estimator, X, codes = checked_samples(estimator, X, y)
    seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
    return reported(run_permutation_test(
        estimator, X, codes, n_permutations, seed, groups=groups, blocks=blocks, n_jobs=n_jobs,
        tell=narrator("permuted labels", verbose), control=control, level=level, gate=gate,
    ))  # fmt: skip


def reported(result: Any) -> Any:
    """Return the result of a test; warn, with the reason, if it selects nothing."""
    if not result.selected.any():
        warn(f"nothing is selected: {result.why_empty()}")
    return result


def checked_samples(estimator: Any, X: Any, y: Any) -> tuple[Any, Any, np.ndarray]:
    """Return the estimator (a checked copy if of convexfs), samples in memory, and class codes.

    A method of this package checks them as its fit does.
    """
    if hasattr(estimator, "_validate"):
        aware = unfitted_copy(estimator)
        X, codes = aware._validate(X, y)
        if isinstance(X, ColumnSource):
            X = getattr(X, "in_memory", None)
        if X is None:
            raise InputError("columns that lie elsewhere cannot be tested: pass an array in memory")
        return aware, X, codes
    classes, codes = np.unique(as_labels(y, "Input y"), return_inverse=True)
    check_classes(codes, [str(label) for label in classes])
    return estimator, X, codes.astype(np.int64)
