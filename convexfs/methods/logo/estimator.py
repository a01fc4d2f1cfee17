"""Logo as a scikit-learn selector and classifier."""

from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from convexfs.estimators.selector import ANY_SAMPLES, ClassSelector, WeightSelector
from convexfs.estimators.validation import AS_IT_IS, Accepts
from convexfs.methods.base.formulation import learned, parameters
from convexfs.methods.base.row_permutations import permuted_labels
from convexfs.methods.logo.fit import logo
from convexfs.methods.logo.settings import NULL, Settings
from convexfs.neighbors.missing_values import MixedSamples
from convexfs.neighbors.queries import distances_to, known_to
from convexfs.neighbors.samples import as_samples
from convexfs.neighbors.shadow_columns import feature_deviations
from convexfs.neighbors.soft import expected_distances


@parameters
class LogoFitted(WeightSelector):
    """Base class of Logo and LogoRegressor: their learned attributes and shared methods."""

    sigma: float
    n_permutations: int

    sigma_: float = learned()
    converged_: bool = learned()
    period_: int = learned()
    n_iter_: int = learned()
    history_: list[dict[str, Any]] = learned()
    starts_: list[dict[str, Any]] = learned()
    lam_: float | None = learned()
    iterate_: np.ndarray = learned()

    @property
    def _sparse(self) -> bool:
        return True

    def _remember(self, X: np.ndarray, codes: np.ndarray) -> None:
        """Store the training samples, only the features of nonzero weight, and their labels."""
        self.sigma_ = float(self.sigma)
        super()._remember(X, codes)
        self._used = np.flatnonzero(self.weights_)
        self._known, self._codes = as_samples(X[:, self._used]), codes

    def _step_options(self, codes: np.ndarray) -> dict[str, Any]:
        permuted = partial(permuted_labels, **self._permutations())
        # Models pickled by earlier versions lack the iterate; use a weight vector near it.
        at = getattr(self, "iterate_", getattr(self, "weights_", None))
        known = {"at": at, "lam": getattr(self, "lam_", None)}
        return {**known, "permuted": permuted}

    @property
    def objective_pvalue_(self) -> None:
        """Return None: deprecated, because permuted labels now set the penalty without fits."""

    @property
    def null_counts_(self) -> None:
        """Return None: deprecated, because permuted labels now set the penalty without fits."""

    def _evidence_units(self, X: Any) -> np.ndarray:
        # Weights are per unit of the feature: their scale is one over its standard deviation.
        size = feature_deviations(X)
        return np.divide(1.0, size, out=np.zeros_like(size), where=size > 0)

    def _whole_evidence(self) -> float:
        """Return minus the objective (-inf if unknown), which tests all features at once."""
        value = self.solution_.objective
        return -np.inf if value is None else -value


@parameters
class Logo(Settings, ClassifierMixin, ClassSelector, LogoFitted):
    r"""Select a small set of features by local learning.

    The weights are a fixed point: the soft nearest neighbours of all samples,
    taken at w, give margin vectors :math:`\bar z_n`, and w solves

    .. math::
        \min_w \sum_n \log(1 + \exp(-w^T \bar z_n)) + \lambda 1^T w,\quad w \ge 0.

    A million features are no trouble. The data are neither scaled nor copied:
    put them on one scale first; float16 and float32, integers and memory-mapped files stay
    what they are, and matrices on disk or on a cluster where they are, as
    :class:`convexfs.estimators.selector.ClassSelector` says.

    Parameters
    ----------
    sigma : float, default=2
        Width of the neighbourhood, in units of weighted Manhattan distance.
    lam : float or "null", default="null"
        Penalty: larger means fewer features. "null" lowers it as far as permuted labels let one
        feature enter the weights 0 on average, which keeps the number of false features near
        one if no feature matters. It costs about as much as one to five fits. The paper has 1.
    n_permutations : int, default=19
        Permutations of the labels for "null". Without `random_state` they are those of seed 0.
        They respect the `groups` and `blocks` of `fit`.
    beta : float, optional
        Bound of the total weight, instead of the penalty (eq. 8).
    algorithm : {"certified", "paper"}, default="certified"
        "paper" is Algorithm 1 as printed, for comparison: it may cycle.
    damping : float in [0, 1), default=0.5
        Share of the old weights kept in an iteration of "certified".
    tol : float, default=1e-3
        Relative change of the weights that ends the iteration.
    max_iter : int, default=1000
    solver : str, default="auto"
        "auto" and "native" use the built-in solver; a cvxpy name has that
        backend solve the convex steps, on the features that matter.
    prune : bool, default=False
        Whether "paper" leaves out for good features whose weight falls below 1e-8, as
        Sec. 3.2 of the paper suggests: it may then stop where they are violated.
    start : array (n_features,), optional
        Weights to start from, finite and at least 0; by default all 1.
    n_starts : int, default=1
        Starts tried: `start`, RELIEF's hundred highest weights, then random ones. Of
        the proven fixed points the one of least objective is kept, and a warning says
        when another start ended elsewhere. One start does not show whether others agree; a
        second one costs about a fit more, so that it must be asked for.
    time_limit : float, optional
        Seconds after which the iteration ends, wherever it is: `converged_` is then
        False and the certificate is not proven. A pass over all features is finished first.
    missing : {"hybrid", "class", "observed", "error"}, default="hybrid"
    categorical_features : sequence of int, str or bool, optional
        See :class:`convexfs.estimators.selector.MissingParameters`.
    class_weight : "balanced" or dict of label to number, optional
        See :class:`convexfs.estimators.selector.ClassSelector`, also for what `fit` does with
        its `sample_weight`. A changed problem is then to take ``counts``, a number a sample.
    formulation : callable or path, optional
        A changed problem: ``change(problem)``, which gets the problem of :meth:`problem` and
        returns another one; ``build(Z, lam) -> cvxpy.Problem`` with a variable ``w``, or a
        problem file. It is solved over all features. It may take ``counts``: how much the
        term of each sample counts.
    solver, solver_tol, solver_options, time_limit
    n_features_to_select, n_jobs, random_state, verbose
        As for every selector: :class:`convexfs.estimators.selector.WeightSelector`.

    Attributes
    ----------
    weights_ : array (n_features,)
        Also ``feature_importances_``.
    certificate_ : FixedPointCertificate
        Gap of the last convex step over all features, residual of the fixed
        point, number of violated features. It proves *a* fixed point, not the only
        one: see `n_starts`.
    converged_ : bool
        Whether a fixed point was reached and proven.
    starts_ : list of dict
        Per start: its name, objective, whether its end is certified, the relative
        difference from `weights_`, and whether it is a fixed point elsewhere.
    lam_ : float or None
        The penalty, None with `beta`.
    n_iter_ : int
    iterate_ : array (n_features,)
        Weights at which the last convex step was taken; `weights_` solve that step.
    history_ : list of dict
        Per iteration: objective, gap, residual, support, and an estimate of the
        contraction factor with its error bound (Theorem 2, eq. 19).
    classes_, n_features_in_, feature_names_in_
        As usual.

    Notes
    -----
    A constant column weighs 0 and is never selected; copies of a column share its weight,
    in no particular way. Equally near samples count alike.

    How far the true risk may exceed the training loss, and how many samples a bound asks
    for, are :func:`convexfs.methods.logo.theory.risk_bound` and ``sample_size`` (Sec. 5).

    Weights are no evidence: at ``lam=1`` permuted labels select as many features, as heavy,
    with a certificate as good. :func:`convexfs.inference.permutation_test` tests the objective.
    Features that go together take each other's place, so that the selection of a half of the
    samples may hardly agree with that of the other half.

    References
    ----------
    Sun, Todorovic and Goodison, "Local-Learning-Based Feature Selection for
    High-Dimensional Data Analysis", IEEE TPAMI 32 (2010).

    Examples
    --------
    >>> import convexfs
    >>> data = convexfs.load("spiral:noise=50")
    >>> model = convexfs.Logo().fit(data.X, data.y)
    >>> model.get_support(indices=True)
    array([0, 1])
    >>> model.certificate_.ok, model.score(data.X, data.y) > 0.9
    (True, True)
    """

    lam: float | str = NULL

    _method: ClassVar = staticmethod(logo)
    _accepts: ClassVar[Accepts] = replace(ANY_SAMPLES, dtype=AS_IT_IS)

    def decision_function(self, X: Any) -> np.ndarray:
        """Return margins (positive for ``classes_[1]``), or one column per class if there are more.

        With more than two classes, one column each: minus the expected distance
        to the soft nearest neighbour in that class.
        """
        nearness = -self._class_distances(X)
        return nearness if len(self.classes_) > 2 else nearness[:, 1] - nearness[:, 0]

    def predict(self, X: Any) -> np.ndarray:
        """Predict the class with the smallest expected distance to its soft nearest neighbour."""
        nearest = self._class_distances(X).argmin(axis=1)
        return self.classes_[nearest]

    def _class_distances(self, X: Any) -> np.ndarray:
        X = self._queries(X)
        weights, X = self.weights_[self._used], X[:, self._used]
        known = known_to(X, self._known)
        rows = getattr(self, "_sample_weight", None)
        return class_distances(X, known, self._codes, weights, self.sigma_, rows)

    def plot(self) -> Any:
        """Draw the 40 largest weights with names, and the change of the weights per iteration.

        Returns
        -------
        matplotlib.figure.Figure
        """
        from convexfs.methods.logo.pictures import fit_picture

        check_is_fitted(self)
        return fit_picture(self.weights_, self._names(), self._get_support_mask(), self.history_)

    def _step_options(self, codes: np.ndarray) -> dict[str, Any]:
        weights = self._weights_of(len(codes), getattr(self, "_sample_weight", None))
        return super()._step_options(codes) | {"weights": weights}


#: Most distances held in memory at a time; 16 MB.
_BLOCK_CELLS = 2_000_000


def class_distances(
    new: np.ndarray,
    known: np.ndarray | MixedSamples,
    codes: np.ndarray,
    weights: np.ndarray,
    sigma: float,
    rows: np.ndarray | None = None,
) -> np.ndarray:
    r"""Return each new sample's expected distance to its soft nearest neighbour in each class.

    .. math::
        E_c(x) = \sum_{i \in c} P_i(x)\, d_w(x, x_i),\quad
        P_i(x) \propto \exp(-d_w(x, x_i) / \sigma),\quad
        d_w(x, x_i) = \sum_j w_j |x_j - x_{ij}|

    The margin of x between two classes is the difference of their E (Sun,
    Todorovic and Goodison 2010, eq. 3); the class of least E is the nearest.

    Parameters
    ----------
    new : array (M, J)
    known : array (N, J), or MixedSamples
        Training samples.
    codes : int array (N,)
        Their classes, 0 to K - 1.
    weights : array (J,)
    sigma : float
    rows : array (N,), optional
        How many equal rows each training sample stands for.

    Returns
    -------
    array (M, K)
    """
    distances = distances_to(known, weights)
    step = max(1, _BLOCK_CELLS // len(known))
    cuts = (slice(start, start + step) for start in range(0, len(new), step))
    blocks = (expected_distances(distances(new[cut]), codes, sigma, rows) for cut in cuts)
    return np.concatenate(list(blocks))
