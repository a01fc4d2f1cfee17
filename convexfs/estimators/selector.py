"""Base classes of selectors: feature weights, sample weights, tests of features, support."""

from collections.abc import Callable, Mapping
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from convexfs.data.out_of_core import ColumnSource, column_source
from convexfs.data.readers.options import MISSING_RULES
from convexfs.errors import InputError, check_choice, check_number
from convexfs.estimators.method_estimator import MethodEstimator
from convexfs.estimators.sample_weight import BALANCED, weighted_rows
from convexfs.estimators.training_cache import Held
from convexfs.estimators.validation import Accepts, refuse_unknown
from convexfs.methods.base.formulation import learned, parameters
from convexfs.methods.base.row_permutations import check_units
from convexfs.neighbors.sample_weight import SampleWeights
from convexfs.neighbors.shadow_columns import Margins, ShadowDraws, feature_deviations
from convexfs.neighbors.sparse import SparseSamples
from convexfs.records import NOT_TESTED, NOTHING_SHARE, RELEVANT_SHARE

if TYPE_CHECKING:
    from convexfs.inference.shadow_statistics import ShadowResult


@parameters
class MissingParameters:
    """Parameters of selectors that accept missing values and categorical columns.

    Samples without missing values and categories are taken as ever, unless `missing` is
    "observed"; :mod:`convexfs.neighbors.missing_values` says what differences others have.

    Parameters
    ----------
    missing : {"hybrid", "class", "observed", "error"}, default="hybrid"
        What stands for a difference of which a value is missing.
    categorical_features : sequence of int, str or bool, optional
        Positions, names or a mask of the categories. By default pandas' categoricals, and
        columns of text that have few values.
    """

    missing: str = "hybrid"
    categorical_features: Any = None


@parameters
class WeightSelector(SelectorMixin, MethodEstimator):
    """Base of the estimators that give every feature a nonnegative weight.

    A constant column is never selected, however many features are asked for.

    Parameters
    ----------
    n_features_to_select : int, float below 1, "auto" or "relative", optional
        Number of features, or fraction of all features, to select. "auto" selects the smallest
        number that predicts held-out samples as well as any, by
        :func:`convexfs.inference.selection_curve`. "relative" selects weights above 1 % of the
        largest, which is no evidence of relevance. By default (None) a method with sparse
        weights selects the features of nonzero weight, without a test. Any other method selects
        the features that are significant at a false discovery rate of 10 % against shadow
        columns, by :func:`convexfs.inference.shadow_test`. If there are none it warns.
    keep_data : bool, default=False
        Whether pickles hold the samples of a fit that selects by a test, and the statistics of
        single permutations. By default pickling computes the selection and leaves them out.

    Notes
    -----
    The test runs when ``get_support`` or ``transform`` is first called, and its result is
    stored. Until then the estimator holds a copy of the samples. RELIEF, Simba, Lmba and
    RReliefF are tested by their margins with 200 permutations, or fewer on large data: about
    half a second for 62 samples of 2000 features. Other methods are fitted again for each of
    39 permutations. Without `random_state` the permutations are those of seed 0: the same data
    give the same selection.

    The test finds every feature that is related to the target. On gene expression data these
    may be thousands, where a few predict as well: "auto" selects those few.
    """

    n_features_to_select: float | str | None = None
    keep_data: bool = False

    weights_: np.ndarray = learned()
    _held: Held | None = learned()
    _groups: Any = learned()
    _blocks: Any = learned()

    @property
    def feature_importances_(self) -> np.ndarray:
        """Return the weights under scikit-learn's name."""
        check_is_fitted(self)
        return self.weights_

    def fit(
        self, X: Any, y: Any, *, groups: Any = None, blocks: Any = None, **unknown: Any
    ) -> Self:
        """Learn from the samples `X` with target `y`.

        Parameters
        ----------
        X : array (n_samples, n_features)
        y : array (n_samples,)
        groups : array (n_samples,), optional
            Rows that belong together, such as replicates of a subject. The test of the features
            permutes whole groups, and ``n_features_to_select="auto"`` holds them out together.
        blocks : array (n_samples,), optional
            Batches. The test of the features permutes rows within a block only.
        **unknown
            Refused by name: only some estimators have ``sample_weight``.
        """
        if unknown:
            refuse_unknown(self, unknown)
        self._groups, self._blocks = groups, blocks
        return self._fitted(X, y)

    @property
    def permutation_test_(self) -> "ShadowResult | None":
        """Return `shadow_test_`; this is its former name."""
        return self.shadow_test_

    @property
    def shadow_test_(self) -> "ShadowResult | None":
        """Test against shadow columns; None for sparse methods or a set ``n_features_to_select``.

        See :class:`convexfs.inference.shadow_statistics.ShadowResult`.
        """
        check_is_fitted(self)
        if self._sparse or self.n_features_to_select is not None:
            return None
        from convexfs.inference.selector_tests import selector_test

        held = self._samples()
        return held.answer("test", lambda: selector_test(self, held))

    @property
    def _sparse(self) -> bool:
        """Return whether a weight of 0 means that the method does not select the feature."""
        return False

    def summary(self) -> str:
        """Return a summary of the selection, its test and its certificate, one line each."""
        check_is_fitted(self)
        test = self.shadow_test_
        lines = {} if test is None else test.lines()
        if test is None:
            kept = self._get_support_mask()
            lines["permuted labels"] = NOT_TESTED
            lines["selected"] = f"{kept.sum()} of {len(kept)}; {NOT_TESTED}"
        lines["certificate"] = self.certificate_.covers
        return "\n".join(f"{name:17} {text}" for name, text in lines.items())

    def _evidence(self) -> np.ndarray:
        """Return one statistic per feature, which tests compare with shadows or permuted labels."""
        return self.weights_

    def _statistic_at_labels(self, X: Any, seed: int) -> Callable[..., Any] | None:
        """Return a function from class codes to a statistic per feature; None if a fit is needed.

        It is `_evidence`, or what stands for that where weights are none.
        """
        return None

    def _shadow_margins(self, X: Any, codes: np.ndarray, draws: ShadowDraws) -> Margins | None:
        """Return margins of features and of their shadow columns; None if fits are needed.

        See :func:`convexfs.neighbors.shadow_columns.shadow_margins`.
        """
        return None

    @property
    def _pairs_alike(self) -> bool:
        """Return whether the test weights samples so that all pairs of classes count the same."""
        return False

    def _evidence_units(self, X: Any) -> np.ndarray:
        """Return the scale that divides each feature's evidence: its standard deviation."""
        return feature_deviations(X)

    def _operations(self, X: np.ndarray) -> float | None:
        """Return the number of additions per permutation; None if each permutation needs a fit."""
        return None

    def _remember(self, X: Any, codes: np.ndarray) -> None:
        wanted = self.n_features_to_select
        if wanted == "auto" and isinstance(X, SparseSamples):
            raise InputError(
                "n_features_to_select='auto' classifies held-out samples and needs dense ones: "
                "give a number of features, or X.toarray()"
            )
        self._held = None
        if wanted == "auto" or (wanted is None and not self._sparse):
            check_units(codes, getattr(self, "_groups", None), getattr(self, "_blocks", None))
            weights = getattr(self, "_sample_weight", None)
            in_memory = getattr(X, "in_memory", None)
            samples = X if in_memory is None else in_memory
            permutations = self._permutations()
            self._held = Held(samples, codes, sample_weight=weights, **permutations)

    def _samples(self) -> Held:
        if self._held is None:
            raise InputError("n_features_to_select was changed after fit: fit again")
        if isinstance(self._held.X, ColumnSource):
            raise InputError(
                "columns that lie elsewhere can be neither tested nor held out: pass "
                "n_features_to_select=k or 'relative', or fit an array in memory"
            )
        return self._held

    def plot(self) -> Any:
        """Draw the 40 largest weights in order with names, selected features in colour.

        Returns
        -------
        matplotlib.figure.Figure
        """
        from convexfs.report.pictures import weight_bars

        check_is_fitted(self)
        return weight_bars(self.weights_, self._names(), self._get_support_mask())

    def _feature_weights(self) -> np.ndarray:
        return self.weights_

    def _selection(self, *, at_once: bool = False) -> np.ndarray | None:
        waits = at_once and self._held is not None and not self._held.answered
        return None if waits else super()._selection()

    def __copy__(self) -> Self:
        new = object.__new__(type(self))
        vars(new).update(vars(self))
        return new

    def __getstate__(self) -> dict[str, Any]:
        state: Any = super().__getstate__()
        held = state.get("_held")
        # Pickles of earlier versions lack this parameter.
        if held is None or held.X is None or getattr(self, "keep_data", True):
            return state
        if isinstance(held.X, ColumnSource):
            return state
        self._get_support_mask()
        return state | {"_held": held.packed()}

    def _shown(self) -> Self:
        held = getattr(self, "_held", None)
        if held is None:
            return self
        shown = copy(self)
        shown._held = held.unasked()
        return shown

    def _get_support_mask(self) -> Any:
        check_is_fitted(self)
        weights, wanted = self.weights_, self.n_features_to_select
        if wanted is None and self._sparse:
            return (weights > NOTHING_SHARE * weights.max(initial=0.0)) & ~self._constant
        if wanted == "relative":
            return (weights > RELEVANT_SHARE * weights.max(initial=0.0)) & ~self._constant
        if wanted is None:
            assert self.shadow_test_ is not None
            return self.shadow_test_.selected & ~self._constant
        mask = np.zeros(len(weights), dtype=bool)
        # Constant columns come last, even if the other weights are 0.
        mask[np.lexsort((-weights, self._constant))[: self._number()]] = True
        return mask & ~self._constant

    def _refittable(self) -> Any:
        """Return an estimator that can be fitted to subsets of the stored samples."""
        if not self._accepts.missing:
            return self
        # The stored samples contain their categories but no column names.
        again: Any = clone(self)
        return again.set_params(categorical_features=None)

    def _number(self) -> int:
        """Return the number of features to select; "auto" chooses it by cross-validation."""
        wanted = self.n_features_to_select
        if isinstance(wanted, float | np.floating) and wanted < 1:
            return max(int(wanted * len(self.weights_)), 1)
        if wanted != "auto":
            return int(wanted)  # type: ignore[arg-type]
        from convexfs.inference import selection_curve

        held = self._samples()
        curve = partial(
            selection_curve, self._refittable(), held.X, held.codes, groups=held.groups,
            random_state=held.seed,
        )  # fmt: skip
        return held.answer("curve", curve).chosen

    def _check_parameters(self, n_features: int) -> None:
        super()._check_parameters(n_features)
        wanted = self.n_features_to_select
        if isinstance(wanted, str):
            check_choice("n_features_to_select", wanted, ("auto", "relative"))
        elif isinstance(wanted, float | np.floating) and wanted < 1:
            check_number("n_features_to_select, a fraction,", wanted, 0, 1, open_ends=True)
        elif wanted is not None:
            name = f"n_features_to_select, of {n_features} features,"
            check_number(name, wanted, 1, n_features, whole=True)


#: Input that RELIEF, I-RELIEF and Logo accept.
ANY_SAMPLES = Accepts(sparse=True, missing=MISSING_RULES, out_of_core=True, sample_weight=True)


@parameters
class ClassSelector(MissingParameters, WeightSelector):
    """Base of classification selectors that use differences between samples only.

    ``fit`` takes any matrix that can be sliced by columns, without a copy. That is an array of
    h5py, zarr or dask (its blocks stay on the workers of a ``distributed`` client, where there
    is one), the X of a backed AnnData, an ``open_bed`` of bed-reader, or any object with a
    ``shape`` and slices ``[:, start:stop]``. ``transform`` of one reads the selected columns
    alone. :mod:`convexfs.neighbors.sample_weight` says what weights mean.

    Parameters
    ----------
    class_weight : "balanced" or dict of label to number, optional
        How much more the terms of samples of a class count, 1 if it is not named; "balanced":
        so that every class counts the same in all. Neighbours are what they are without it.
    """

    class_weight: str | Mapping[Any, float] | None = None

    _accepts: ClassVar[Accepts] = ANY_SAMPLES

    _sample_weight: np.ndarray | None = learned()

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        groups: Any = None,
        blocks: Any = None,
        **unknown: Any,
    ) -> Self:
        """Learn from the samples `X` of classes `y`.

        Parameters
        ----------
        X, y : arrays
        sample_weight : array (n_samples,), optional
            Weights of the samples, in the objective and as neighbours of others. Integers are
            counts: a sample of weight 2 stands for two equal rows. Other weights are relative
            and scaled to a mean of 1, so that weights of 1 / n equal none. Samples of weight 0
            are left out.
        groups : array (n_samples,), optional
            Rows that belong together, such as replicates of a subject. The test of the features
            permutes whole groups, and ``n_features_to_select="auto"`` holds them out together.
        blocks : array (n_samples,), optional
            Batches. The test of the features permutes rows within a block only.
        **unknown
            Refused by name.
        """
        self._sample_weight = None
        if sample_weight is not None:
            found = weighted_rows(sample_weight, X, y, groups, blocks)
            self._sample_weight, X, y, groups, blocks = found
        return super().fit(X, y, groups=groups, blocks=blocks, **unknown)

    def _weights_of(self, number: int, sample_weight: np.ndarray | None) -> SampleWeights | None:
        rows = np.ones(number) if sample_weight is None else sample_weight
        if self.class_weight is None and (rows == 1).all():
            return None
        if not isinstance(self.class_weight, Mapping):
            return SampleWeights(rows, self.class_weight == BALANCED)
        classes = [float(self.class_weight.get(label, 1.0)) for label in self.classes_.tolist()]
        return SampleWeights(rows, classes=np.array(classes))

    def transform(self, X: Any) -> Any:
        """Reduce X to the selected features; out-of-core columns are read into memory."""
        source = column_source(X)
        if source is None:
            return super().transform(X)
        check_is_fitted(self)
        if source.shape[1] != self.n_features_in_:
            raise InputError(
                f"X has {source.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )
        return source.take(np.flatnonzero(self._get_support_mask()))
