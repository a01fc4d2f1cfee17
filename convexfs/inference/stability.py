"""Stability selection: select features that are chosen in most halves of the samples."""

import math
import warnings
from bisect import bisect_left
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from sklearn.base import MetaEstimatorMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.validation import check_is_fitted

from convexfs.errors import ConvexfsWarning, InputError, check_choice, check_number, warn
from convexfs.estimators.callbacks import reported_fit, with_callbacks
from convexfs.estimators.method_estimator import MethodEstimator
from convexfs.inference.selector_tests import estimator_support, unfitted_copy, with_seed
from convexfs.kernels import thread_map
from convexfs.methods.base.formulation import learned, parameters
from convexfs.methods.stability.fit import largest_tail, meinshausen_buhlmann, stability

UNIMODAL, MEINSHAUSEN_BUHLMANN = "unimodal", "meinshausen-buhlmann"
#: Half-width of a 95 % normal interval, in standard errors.
_NORMAL_95 = 1.96


@dataclass(frozen=True)
class StabilityIndex:
    """Nogueira's stability index with its interval: 1 for identical selections, 0 for chance.

    Not a number where every set is empty, or all of them everything.
    """

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.2f} (95 % interval {self.low:.2f} to {self.high:.2f})"


@parameters
class StabilitySelector(MetaEstimatorMixin, SelectorMixin, MethodEstimator):
    r"""Select the features that an estimator selects from most halves of the samples.

    The samples are parted into two halves again and again, class by class if there are classes;
    the estimator selects from each half, missing values and categories as it takes them. With J
    features, B pairs of halves and q features selected by a half on average, the expected number
    of selected features that a half would select with at most the mean probability q/J is bounded:

    - "unimodal": J times the largest tail at :math:`2\tau - 1` of a unimodal law of mean
      :math:`(q/J)^2` on 0, 1/B, ..., 1, a linear program (``convexfs show
      stability-unimodal``), whose answer is certified. It assumes that the share of pairs
      that select such a feature in both halves has a unimodal law (Shah & Samworth 2013).
    - "meinshausen-buhlmann": :math:`q^2 / ((2\tau - 1) J)`, without that assumption.

    The threshold :math:`\tau` is the smallest share of halves with a bound of at most
    `expected_false`.

    Parameters
    ----------
    estimator : estimator
        One that selects: by ``get_support``, else features of any weight. It should select
        few, such as ``Relief(n_features_to_select=20)``.
    n_pairs : int, default=50
        B; there are two fits a pair.
    expected_false : float, default=1
        Falsely selected features that are accepted, on average.
    bound : {"unimodal", "meinshausen-buhlmann"}, default="unimodal"
    formulation, solver, solver_tol, solver_options, time_limit
        How the linear program is solved, as for every estimator.
    n_jobs : int, optional
        Threads, one fit each; the result does not depend on their number.
    random_state : int, RandomState or None
        Seed of the halves, and of an estimator whose `random_state` is not set.
    verbose : int, default=0

    Attributes
    ----------
    probabilities_ : array (n_features,)
        Share of the halves that select a feature.
    threshold_ : float
        Infinite if no share of halves has so small a bound.
    bound_ : float
        Bound on the expected number of falsely selected features at the threshold.
    selected_ : int array
        Also ``get_support``.
    n_selected_ : float
        q, the mean over the halves.
    selections_ : bool array (2 n_pairs, n_features)
        Features that each half selects; the two halves of a pair are consecutive rows.
    stability_ : StabilityIndex
        How alike they are (Nogueira, Sechidis & Brown 2018). Halves of one data set are not
        independent: the interval is a guide.
    local_probabilities_ : array (n_samples, n_features)
        For an estimator with ``local_support_``, such as LLFS: the share of the halves with a
        sample in which the sample's own support holds a feature. No bound is claimed for them:
        average them over regions, :meth:`region_probabilities`.
    certificate_, solution_ : Certificate, Solution
        Certificate and solution of the linear program; None for "meinshausen-buhlmann".
    classes_, n_features_in_, feature_names_in_
        As usual.

    Notes
    -----
    A significant fit need not be a stable list. Of the 2000 genes of a colon cancer set
    RELIEF-F, keeping 45 of each half, selects 10 (stability 0.37; 0.12 with permuted labels, and
    none selected); Logo at its default penalty selects one, with a stability of 0.11 against 0.06
    with permuted labels: its list of genes is hardly more stable than one made by chance.

    References
    ----------
    Shah and Samworth, "Variable Selection with Error Control: Another Look at Stability
    Selection", JRSS B 75 (2013). Nogueira, Sechidis and Brown, "On the Stability of Feature
    Selection Algorithms", JMLR 18 (2018).

    Examples
    --------
    >>> import convexfs
    >>> from convexfs.inference import StabilitySelector
    >>> data = convexfs.load("twonorm:noise=80,seed=1").scaled()
    >>> relief = convexfs.Relief(n_neighbors=10, n_features_to_select=20)
    >>> selector = StabilitySelector(relief, random_state=0).fit(data.X, data.y)
    >>> bool((selector.selected_ < 20).all()), selector.bound_ <= 1, selector.certificate_.ok
    (True, True, True)
    """

    _method: ClassVar = staticmethod(stability)

    estimator: Any = field(kw_only=False)
    n_pairs: int = 50
    expected_false: float = 1.0
    bound: str = UNIMODAL

    probabilities_: np.ndarray = learned()
    threshold_: float = learned()
    bound_: float = learned()
    selected_: np.ndarray = learned()
    n_selected_: float = learned()
    selections_: np.ndarray = learned()
    stability_: StabilityIndex = learned()
    local_probabilities_: np.ndarray = learned()

    @with_callbacks
    def fit(self, X: Any, y: Any) -> Self:
        """Fit the estimator to halves of the samples and count how often it selects features."""
        X, codes = self._validate(X, y)
        rng = np.random.default_rng(self._seed())
        parted = codes if codes.dtype.kind == "i" else np.zeros(len(codes), np.int64)
        halves = [half for _ in range(self.n_pairs) for half in complementary_pair(parted, rng)]
        seeds = rng.integers(np.iinfo(np.int32).max, size=len(halves))
        labels = self.classes_[codes] if parted is codes else codes

        def fitted(half: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray | None]:
            model = with_seed(self.estimator, int(seed)).fit(_safe_indexing(X, half), labels[half])
            return estimator_support(model, X.shape[1]), getattr(model, "local_support_", None)

        with (
            reported_fit(self, X, codes, len(halves)) as report,
            warnings.catch_warnings(),
            thread_map(self.n_jobs) as map,
        ):
            # Suppress warnings, which a hundred fits would repeat.
            warnings.simplefilter("ignore", ConvexfsWarning)
            found = []
            for supports_of_half in map(fitted, halves, seeds):
                found.append(supports_of_half)
                if report is not None:
                    report()
            supports, local = zip(*found, strict=True)
        self.selections_ = np.array(supports)
        self.selections_[:, self._constant] = False
        if local[0] is not None:
            self.local_probabilities_ = _shares_of_samples(halves, local, len(codes))
            self._codes = codes
        self._choose()
        return self

    def _validate(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        """Return samples as rows that can be indexed, and class codes, checked by the estimator."""
        if not hasattr(self.estimator, "_validate"):
            return super()._validate(X, y)
        own = unfitted_copy(self.estimator)
        _, codes = own._validate(X, y)
        for name in ("classes_", "n_features_in_", "feature_names_in_", "_constant"):
            if hasattr(own, name):
                setattr(self, name, getattr(own, name))
        self._check_parameters(self.n_features_in_)
        rows = X.tocsr() if hasattr(X, "tocsr") else X if hasattr(X, "iloc") else np.asarray(X)
        return rows, codes

    def region_probabilities(self, groups: Any) -> pd.DataFrame:
        """Return the mean of ``local_probabilities_`` over the samples of each group.

        Parameters
        ----------
        groups : array (n_samples,)
            The region of each sample that was fitted: a class, or a cluster.

        Returns
        -------
        DataFrame
            A row a group, a column a feature.
        """
        labels, region = np.unique(self._groups(groups), return_inverse=True)
        inside = (self.local_probabilities_[region == number] for number in range(len(labels)))
        means = [np.nanmean(rows, axis=0) for rows in inside]
        return pd.DataFrame(means, index=labels, columns=self._names())

    def summary(self) -> str:
        """Return a summary of the selection, its error bound, stability and certificate."""
        check_is_fitted(self)
        proof = "none: a formula" if self.certificate_ is None else (
            f"{self.certificate_}: the bound is the program's optimum; it says nothing about "
            "the features"
        )  # fmt: skip
        return "\n".join([
            f"selected     {len(self.selected_)} of {len(self.probabilities_)} features, in a "
            f"share of {self.threshold_:g} of {len(self.selections_)} halves or more",
            f"false        at most {self.bound_:.2g} expected of those that a half selects by "
            f"chance ({self.bound} bound, {self.n_selected_:.3g} selected a half)",
            f"stability    {self.stability_}",
            f"certificate  {proof}",
        ])  # fmt: skip

    def plot(self, groups: Any = None) -> Any:
        """Draw the 40 largest selection probabilities, or a map of samples if supports are local.

        Parameters
        ----------
        groups : array (n_samples,), optional
            By which the rows of a map are sorted within a class.

        Returns
        -------
        matplotlib.figure.Figure
        """
        from convexfs.report.pictures import sample_map, weight_bars

        check_is_fitted(self)
        if hasattr(self, "local_probabilities_"):
            groups = None if groups is None else self._groups(groups)
            classes = [str(name) for name in self.classes_]
            shares, names = self.local_probabilities_, self._names()
            figure = sample_map(shares, self._codes, groups, names, classes)
            title = "how often each sample selects a feature, of the halves that hold it"
            figure.axes[0].set_title(title, loc="left")
            return figure
        figure = weight_bars(self.probabilities_, self._names(), self._get_support_mask())
        figure.axes[0].set(xlabel="share of halves that select it")
        if math.isfinite(self.threshold_):
            figure.axes[0].axvline(self.threshold_, color="tab:red")
        return figure

    def _choose(self) -> None:
        """Set probabilities, threshold, error bound and selected features from ``selections_``."""
        n_features = self.selections_.shape[1]
        self.probabilities_ = self.selections_.mean(axis=0)
        self.n_selected_ = float(self.selections_.sum(axis=1).mean())
        self.stability_ = stability_index(self.selections_)
        n_halves = 2 * self.n_pairs

        def suffices(number: int) -> bool:
            return self._bounded(number / n_halves, n_features)[0] <= self.expected_false

        # The threshold is the smallest share with a small enough error bound. Compare counts, not
        # fractions, to avoid rounding: 0.6 of 100 halves is 60.
        needed = bisect_left(range(n_halves), True, self.n_pairs + 1, key=suffices)
        if needed == n_halves and not suffices(n_halves):
            needed = math.inf
        self.threshold_ = needed / n_halves
        self.bound_, proven = self._bounded(min(self.threshold_, 1.0), n_features)
        self.solution_: Any = None if proven is None else proven.solution
        self.certificate_: Any = None if proven is None else proven.certificate
        self.selected_ = np.flatnonzero(self.selections_.sum(axis=0) >= needed)
        self._explain_nothing(n_features)

    def _bounded(self, threshold: float, n_features: int) -> tuple[float, Any]:
        """Return a bound on expected false features at a threshold, and its result, or None."""
        if self.bound == MEINSHAUSEN_BUHLMANN:
            return meinshausen_buhlmann(self.n_selected_, n_features, threshold), None
        eta = (self.n_selected_ / n_features) ** 2
        proven = largest_tail(self.n_pairs, threshold, eta, self._solving())
        return n_features * proven.probability, proven

    def _explain_nothing(self, n_features: int) -> None:
        if len(self.selected_):
            return
        if math.isinf(self.threshold_):
            warn(
                f"nothing is selected: a half selects {self.n_selected_:.3g} of {n_features} "
                f"features, so that {self.bound_:.3g} false ones may be in all halves, more than "
                f"expected_false={self.expected_false:g}: let the estimator select fewer"
            )
            return
        warn(
            f"nothing is selected: no feature is in a share of {self.threshold_:g} of the halves, "
            f"the most frequent one in {self.probabilities_.max():.2f}"
        )

    def _check_parameters(self, n_features: int) -> None:
        super()._check_parameters(n_features)
        check_number("n_pairs", self.n_pairs, 1, whole=True)
        check_number("expected_false", self.expected_false, 0, open_ends=True)
        check_choice("bound", self.bound, [UNIMODAL, MEINSHAUSEN_BUHLMANN])
        if not (hasattr(self.estimator, "fit") and hasattr(self.estimator, "get_params")):
            raise InputError(
                f"estimator must be one that fits, such as Logo(), not {self.estimator!r}"
            )

    def _groups(self, groups: Any) -> np.ndarray:
        check_is_fitted(self)
        if not hasattr(self, "local_probabilities_"):
            raise InputError(
                f"{type(self.estimator).__name__} selects the same features for all samples: "
                "regions take one whose samples select their own, such as LLFS()"
            )
        groups = np.asarray(groups)
        if groups.shape != self._codes.shape:
            raise InputError(
                f"groups must name the region of each of the {len(self._codes)} samples fitted, "
                f"not have shape {groups.shape}"
            )
        return groups

    def _feature_weights(self) -> np.ndarray:
        return self.probabilities_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        if hasattr(self.estimator, "_validate"):
            taken = get_tags(self.estimator).input_tags
            tags.input_tags.allow_nan, tags.input_tags.sparse = taken.allow_nan, taken.sparse
        return tags

    def _get_support_mask(self) -> Any:
        check_is_fitted(self)
        return np.isin(np.arange(len(self.probabilities_)), self.selected_)


def complementary_pair(
    codes: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return row indices of two disjoint halves, equal in each class; odd samples are left out."""
    first, second = [], []
    for code in range(codes.max() + 1):
        members = rng.permutation(np.flatnonzero(codes == code))
        size = len(members) // 2
        if not size:
            raise InputError(f"class {code + 1} has one sample: there are no two halves of it")
        first.append(members[:size])
        second.append(members[size : 2 * size])
    return np.sort(np.concatenate(first)), np.sort(np.concatenate(second))


def stability_index(selections: np.ndarray) -> StabilityIndex:
    r"""Return Nogueira's stability index of feature sets and its 95 % interval; NaN if undefined.

    .. math::
        \Phi = 1 - \frac{J^{-1} \sum_j \tfrac{M}{M-1} p_j (1 - p_j)}
            {\tfrac{\bar k}{J} (1 - \tfrac{\bar k}{J})}

    for M sets of mean size :math:`\bar k`, a share :math:`p_j` of which has feature j; its
    interval is that of a normal law (Nogueira, Sechidis & Brown 2018).

    Parameters
    ----------
    selections : bool array (M, J)
    """
    M, J = selections.shape
    p, sizes = selections.mean(axis=0), selections.sum(axis=1) / J
    mean_size = float(sizes.mean())
    by_chance = mean_size * (1.0 - mean_size)
    if by_chance == 0 or M < 2:
        return StabilityIndex(math.nan, math.nan, math.nan)
    value = 1.0 - M / (M - 1) * float((p * (1.0 - p)).mean()) / by_chance
    each = (
        (selections * p).mean(axis=1)
        - sizes * mean_size
        + value / 2.0 * (2.0 * mean_size * sizes - sizes - mean_size + 1.0)
    ) / by_chance
    error = _NORMAL_95 * 2.0 / M * math.sqrt(float(((each - each.mean()) ** 2).sum()))
    return StabilityIndex(value, value - error, value + error)


def _shares_of_samples(halves: Any, local: Any, n_samples: int) -> np.ndarray:
    """Return, per sample and feature, the fraction of its halves in which the sample selects it."""
    selected = np.zeros((n_samples, local[0].shape[1]))
    drawn = np.zeros((n_samples, 1))
    for half, supports in zip(halves, local, strict=True):
        selected[half] += supports
        drawn[half] += 1
    return np.divide(selected, drawn, out=np.full_like(selected, np.nan), where=drawn > 0)
