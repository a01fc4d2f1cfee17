"""Model-X knockoffs: select features that outweigh a synthetic copy of themselves."""

import math
import warnings
from dataclasses import field
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import MetaEstimatorMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from convexfs.errors import ConvexfsWarning, InputError, check_flag, check_number, warn
from convexfs.estimators.callbacks import reported_fit, with_callbacks
from convexfs.estimators.method_estimator import MethodEstimator
from convexfs.inference.selector_tests import estimator_weights, with_seed
from convexfs.methods.base.formulation import learned, parameters
from convexfs.methods.knockoffs.fit import KnockoffsResult, Settings, knockoffs

#: With fewer samples per feature, an estimated covariance raises, or warns if forced: it gave
#: too many false features.
ENOUGH_SAMPLES = 2
#: Weights of other packages' estimators count as dense if a larger fraction is nonzero.
_DENSE = 0.9
#: Tolerance that makes one in five equal to 0.2 in floating point.
_ROUNDING = 1e-9
#: Most iterations of the default statistic, Logo; twice as many found no more features.
_ITERATIONS = 8


@parameters
class KnockoffSelector(Settings, MetaEstimatorMixin, SelectorMixin, MethodEstimator):
    r"""Select features at a chosen false discovery rate, by model-X knockoffs.

    Every feature gets a knockoff: a random copy that has the same correlations with all
    others, drawn without looking at the classes. An estimator weighs features and knockoffs
    together; a feature is selected if it outweighs its knockoff clearly, and how often
    knockoffs outweigh features as clearly says how many of the selected are false. False means
    that a feature adds no information about the class to the others: *conditional*
    relevance, of which no marginal test speaks.

    .. math::
        W_j = |w_j| - |\tilde w_j|,\qquad
        T = \min\Big\{t > 0 : \frac{1 + \#\{W_j \le -t\}}{\#\{W_j \ge t\} \vee 1} \le q\Big\},
        \qquad \text{select } W_j \ge T

    holds the expected share of false features at q (knockoff+), whatever the estimator, if
    the features are Gaussian of the covariance given. How far knockoffs may be from their
    features is a convex problem in s, whose answer is certified: the certificate says that s
    is optimal, not that the features are Gaussian.

    Parameters
    ----------
    estimator : estimator, default=Logo(lam=1, max_iter=8)
        Anything that has ``weights_``, ``coef_`` or ``feature_importances_`` after its fit.
    fdr : float in (0, 1), default=0.2
        q. No set of fewer than 1/q features can be selected.
    covariance : "ledoit-wolf" or array (n_features, n_features), default="ledoit-wolf"
        Estimated from the samples, which must be at least twice as many as the features, or
        known.
    s : {"me", "mvr", "sdp", "equi"}, default="me"
        Maximum entropy, least reconstructability, least total correlation, or one correlation
        for all: `convexfs show knockoffs-me` and so on.
    force : bool, default=False
        Go on with a warning where the false discovery rate was seen to fail: too few samples
        for an estimated covariance, or dense weights with one. Shrinkage makes knockoffs less
        correlated with the signal than features are, and weights that look at one feature at
        a time take that for evidence.
    formulation, solver, solver_tol, solver_options, time_limit
        How the problem in s is solved, as for every estimator.
    n_jobs, random_state, verbose
        As for every estimator; knockoffs are drawn at random. An estimator without a
        `random_state` gets it from here.

    Attributes
    ----------
    W_ : array (n_features,)
        Weight of a feature minus that of its knockoff; 0 for a constant column.
    threshold_ : float
        T; infinite if nothing can be selected at this `fdr`.
    selected_ : int array
        Selected features; also ``get_support``.
    s_ : array
        One minus the correlation of each feature that is not constant with its knockoff.
    certificate_, solution_ : Certificate, Solution
        Certificate and solution of the problem in s.
    estimator_ : estimator
        Fitted to features and knockoffs.
    classes_, n_features_in_, feature_names_in_
        As usual.

    Notes
    -----
    Measured by ``bench_knockoffs.py`` over 60 to 200 data sets a design: from two
    samples a feature on the false discovery rate of Logo and of l1-penalised logistic
    regression is at most q, give or take a standard error, the covariance known or estimated,
    correlations weak or strong. It is a mean: from list to list the share of false features
    varies by as much again. At two samples a feature Logo finds a quarter of what matters at
    q = 0.2, or less the stronger the correlations are. Thirty iterations of Logo find more
    products of features, but no more of other signals. With 12 features to be found a q of 0.1
    leaves little power. On 100 genes of 102 samples, which are refused, RELIEF reaches a rate
    of 0.6 at q = 0.2, and sparse estimators find next to nothing.

    References
    ----------
    Candes, Fan, Janson and Lv, "Panning for Gold: Model-X Knockoffs for High Dimensional
    Controlled Variable Selection", JRSS B 80 (2018).

    Examples
    --------
    >>> import convexfs
    >>> from convexfs.inference import KnockoffSelector
    >>> data = convexfs.load("twonorm:noise=20,seed=1").scaled()
    >>> selector = KnockoffSelector(fdr=0.2, random_state=0)
    >>> selector.fit(data.X, data.y).certificate_.ok
    True
    >>> bool((selector.selected_ < 20).mean() > 0.7)
    True
    """

    _method: ClassVar = staticmethod(knockoffs)

    estimator: Any = field(default=None, kw_only=False)
    fdr: float = 0.2
    force: bool = False

    W_: np.ndarray = learned()
    threshold_: float = learned()
    selected_: np.ndarray = learned()
    s_: np.ndarray = learned()
    estimator_: Any = learned()

    @with_callbacks
    def fit(self, X: Any, y: Any) -> Self:
        """Draw knockoffs of `X`, weigh features and knockoffs with classes `y`, and select."""
        X, codes = self._validate(X, y)
        with reported_fit(self, X, codes):
            self._select_beside_knockoffs(X, codes)
        self._explain_nothing()
        return self

    def _select_beside_knockoffs(self, X: np.ndarray, codes: np.ndarray) -> None:
        kept = ~self._constant
        self._check_samples(len(X), int(kept.sum()))
        rng = np.random.default_rng(self._seed())
        made = self._copied(X[:, kept], codes, kept)
        copies = X.copy()
        copies[:, kept] = made.copies(X[:, kept], rng)
        self.s_, self.solution_, self.certificate_ = made.s, made.solution, made.certificate
        found = knockoff_statistics(self._statistic(), X, copies, self.classes_[codes], rng)
        self.W_, self.estimator_ = found
        self.W_[self._constant] = 0.0
        self._check_density()
        self.threshold_ = knockoff_threshold(self.W_, self.fdr)
        self.selected_ = np.flatnonzero(self.threshold_ <= self.W_)

    @property
    def fewest_(self) -> int:
        """Return the smallest number of features, other than 0, that this `fdr` can select."""
        return math.ceil((1.0 - _ROUNDING) / self.fdr)

    def summary(self) -> str:
        """Return a summary of the selection, its assumptions and its certificate, one line each."""
        check_is_fitted(self)
        return "\n".join([
            f"selected     {len(self.selected_)} of {len(self.W_)} features at a false discovery "
            f"rate of {self.fdr:g} (knockoff+; none or at least {self.fewest_})",
            f"assumed      Gaussian features, covariance {self._covariance_is}; relevance given "
            "all other features",
            f"certificate  {self.certificate_}: the knockoffs' s is optimal; it says nothing "
            "about the features",
        ])  # fmt: skip

    def plot(self) -> Any:
        """Draw the 40 largest W in order, selected features in colour; return the figure."""
        from convexfs.report.pictures import weight_bars

        check_is_fitted(self)
        figure = weight_bars(self.W_, self._names(), self._get_support_mask())
        figure.axes[0].set(xlabel="weight of the feature minus that of its knockoff")
        return figure

    def _feature_weights(self) -> np.ndarray:
        return self.W_

    @property
    def _covariance_is(self) -> str:
        return "estimated" if self._estimated else "as given"

    @property
    def _estimated(self) -> bool:
        return isinstance(self.covariance, str)

    def _copied(self, X: np.ndarray, codes: np.ndarray, kept: np.ndarray) -> KnockoffsResult:
        covariance = self.covariance
        if not self._estimated and not kept.all():
            covariance = np.asarray(covariance)[np.ix_(kept, kept)]
        return knockoffs(X, codes, Settings(covariance=covariance, s=self.s), self._solving())

    def _statistic(self) -> Any:
        from convexfs import Logo

        chosen = Logo(lam=1.0, max_iter=_ITERATIONS) if self.estimator is None else self.estimator
        return with_seed(chosen, self._seed())

    def _check_parameters(self, n_features: int) -> None:
        super()._check_parameters(n_features)
        check_number("fdr", self.fdr, 0, 1, open_ends=True)
        check_flag("force", self.force)
        if n_features < self.fewest_:
            warn(
                f"fdr={self.fdr:g} cannot select fewer than {self.fewest_} features, and there "
                f"are only {n_features}: nothing can be selected; raise fdr"
            )

    def _check_samples(self, n_samples: int, n_features: int) -> None:
        if not n_features:
            raise InputError("all columns are constant: there is nothing to select")
        if self._estimated and n_samples < ENOUGH_SAMPLES * n_features:
            self._refuse(
                f"{n_samples} samples are too few to estimate the covariance of {n_features} "
                f"features for knockoffs, which need {ENOUGH_SAMPLES * n_features} at least and "
                "do well from three times that: select some features first without looking at "
                "the classes, or give covariance as a matrix"
            )

    def _check_density(self) -> None:
        """Raise (warn if forced) if weights are dense and the covariance is estimated."""
        if self._estimated and _is_dense(self.estimator_, 2 * len(self.W_)):
            self._refuse(
                f"{type(self.estimator_).__name__} gives dense weights, by which knockoffs of an "
                "estimated covariance select false features: use a sparse estimator, such as "
                "Logo() or an l1-penalised LogisticRegression, or give covariance as a matrix"
            )

    def _refuse(self, reason: str) -> None:
        if not self.force:
            raise InputError(f"{reason}; force=True goes on all the same")
        warn(f"{reason}; forced, so that fdr={self.fdr:g} may not hold")

    def _explain_nothing(self) -> None:
        if len(self.selected_) or len(self.W_) < self.fewest_:
            return
        warn(
            f"nothing is selected: fdr={self.fdr:g} cannot select fewer than {self.fewest_} "
            f"features, and of the {int((self.W_ != 0).sum())} that differ from their knockoffs "
            f"{int((self.W_ < 0).sum())} weigh less; a larger fdr or more samples may help"
        )

    def _get_support_mask(self) -> Any:
        check_is_fitted(self)
        return np.isin(np.arange(len(self.W_)), self.selected_)


def _is_dense(fitted: Any, n_columns: int) -> bool:
    """Return whether an estimator's weights are dense: margins of single features, or rarely 0."""
    if hasattr(fitted, "margin_"):
        return True
    # An estimator of convexfs declares whether its weights are sparse.
    if hasattr(fitted, "_sparse"):
        return not fitted._sparse
    return bool((estimator_weights(fitted, n_columns) > 0).mean() > _DENSE)


def knockoff_statistics(
    estimator: Any, X: np.ndarray, copies: np.ndarray, y: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, Any]:
    """Return W, the weights of features minus those of their knockoffs, and the fitted estimator.

    Features and knockoffs change places at random before the fit, so that an estimator that
    prefers first columns favours neither. Where two columns change places in the arguments, W
    of that feature changes its sign, and that of no other, as far as the fit is accurate; by
    the change of places W has that law however inaccurate the fit is.
    """
    J = X.shape[1]
    swapped = rng.random(J) < 0.5
    both = np.hstack([np.where(swapped, copies, X), np.where(swapped, X, copies)])
    with warnings.catch_warnings():
        # Ignore warnings, such as an early end of the iteration: the comparison stays valid.
        warnings.simplefilter("ignore", ConvexfsWarning)
        fitted = estimator.fit(both, y)
    weights = estimator_weights(fitted, 2 * J)
    return np.where(swapped, -1.0, 1.0) * (weights[:J] - weights[J:]), fitted


def knockoff_threshold(W: np.ndarray, fdr: float) -> float:
    """Return the least t with (1 + #{W <= -t}) / #{W >= t} at most `fdr`; infinity if none.

    This is the knockoff+ threshold.

    >>> import numpy as np
    >>> knockoff_threshold(np.array([6.0, 5.0, 4.0, 3.0, 2.0, -1.0]), 0.2)
    2.0
    >>> knockoff_threshold(np.array([6.0, 5.0, 4.0, 3.0, -2.0, -1.0]), 0.2)
    inf
    """
    for t in np.unique(np.abs(W[W != 0])):
        above, below = np.sum(t <= W), np.sum(-t >= W)
        if 1 + below <= fdr * above * (1 + _ROUNDING):
            return float(t)
    return math.inf
