"""Which features are related to the target: tests against shadow columns."""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from convexfs.errors import InputError
from convexfs.estimators.sample_weight import weighted_rows
from convexfs.estimators.validation import Accepts
from convexfs.inference.permutation_tests import checked_samples, reported
from convexfs.inference.selector_tests import run_shadow_test
from convexfs.inference.shadow_statistics import USUAL, ShadowResult, check_shadow_rule
from convexfs.methods.base.progress import narrator


def shadow_test(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    n_permutations: int = USUAL,
    groups: Any = None,
    blocks: Any = None,
    control: str = "fdr",
    level: float = 0.1,
    gate: float = 1.0,
    sample_weight: Any = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> ShadowResult:
    """Test every feature against shadow columns: copies of all columns with permuted rows.

    The rows of the copies are permuted together, so that they keep their values and their
    correlations and lose every relation to the target. Neighbours are sought in the columns and
    their shadows. A feature is significant if its statistic is larger than those of the shadows.
    Unlike permuted labels (:func:`permutation_test`) this tests single features also where others
    separate the classes.

    Parameters
    ----------
    estimator : estimator or callable
        Relief, Simba, Lmba and ReliefRegressor are tested by the margins of the features,
        without fitting them again, IRelief by those of RELIEF-F. Any other estimator is fitted
        to the columns and their shadows once per permutation: by its weights, or its
        ``feature_importances_``, ``scores_`` or ``coef_``. A callable returns the scores of the
        columns of ``(X, y)``.
    X, y : array, sparse matrix or DataFrame (n_samples, n_features), and array (n_samples,)
    n_permutations : int, default=200
        At least 39. More than 200 change little.
    groups : array (n_samples,), optional
        Rows of one label that belong together, such as replicates: whole groups are permuted.
    blocks : array (n_samples,), optional
        Rows are permuted within blocks only, such as batches.
    control : {"fdr", "fwer"}, default="fdr"
        Error rate that `level` bounds: the false discovery rate, by Benjamini and Hochberg on
        pooled p-values; or the family-wise error rate, by max-T.
    level : float, default=0.1
    gate : float, default=1
        With "fdr", select nothing unless the best feature has a max-T p-value up to this.
    sample_weight : array (n_samples,), optional
        Weights of the samples, for estimators that take them.
    random_state : int, RandomState or None
        Permutation b depends on this and b alone.
    n_jobs : int, optional
        Threads, or worker processes where estimators are fitted; the result is the same.
    verbose : int, default=0
        Above 0 fits are counted on stderr.

    Returns
    -------
    ShadowResult
        See :class:`convexfs.inference.shadow_statistics.ShadowResult`.

    Examples
    --------
    >>> import convexfs
    >>> from convexfs.inference import shadow_test
    >>> data = convexfs.load("twonorm:n=100,noise=80,seed=1").scaled()
    >>> result = shadow_test(convexfs.Relief(), data.X, data.y, random_state=0)
    >>> int(result.selected[:20].sum()), int(result.selected[20:].sum())
    (17, 0)
    """
    check_shadow_rule(control, level, gate, n_permutations)
    if sample_weight is not None:
        if not getattr(estimator, "_accepts", Accepts()).sample_weight:
            raise InputError(f"{type(estimator).__name__} takes no sample_weight: leave it out")
        sample_weight, X, y, groups, blocks = weighted_rows(sample_weight, X, y, groups, blocks)
    estimator, X, codes = checked_samples(estimator, X, y)
    seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
    return reported(run_shadow_test(
        estimator, X, codes, n_permutations, seed, groups=groups, blocks=blocks, n_jobs=n_jobs,
        tell=narrator("shadow columns", verbose), sample_weight=sample_weight, control=control,
        level=level, gate=gate, asked=n_permutations,
    ))  # fmt: skip
