"""What all estimators share: parameters, checked input, one way to fit, support."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from copy import copy
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from joblib import effective_n_jobs
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from convexfs.errors import InputError, check_choice, check_number
from convexfs.estimators.convex_step import StatesProblem, TrainingSamples
from convexfs.estimators.custom_formulation import build_of
from convexfs.estimators.training_cache import Held
from convexfs.methods.base.parameters import Solving, learned, parameters
from convexfs.methods.base.progress import heard, narrator
from convexfs.methods.base.row_permutations import check_units, permuted_labels
from convexfs.neighbors.samples import warn_of_scales
from convexfs.neighbors.shadow_columns import Margins, ShadowDraws, feature_deviations
from convexfs.neighbors.sparse import SparseSamples
from convexfs.records import NOT_TESTED, NOTHING_SHARE, RELEVANT_SHARE, Certificate, Solution

if TYPE_CHECKING:
    from convexfs.inference.shadow_statistics import ShadowResult

#: More threads or processes than any machine runs at once.
_MOST_JOBS = 10_000


@parameters
class MethodEstimator(StatesProblem):
    """Parameters and ``fit`` that the estimators of all methods have in common.

    A subclass names its method's function as ``_method``, inherits the parameters of that
    function's settings, and adds what it learns: each field of the method's result becomes
    an attribute, with the underscore that scikit-learn gives what was learned.

    Parameters
    ----------
    solver : str, default="auto"
        "auto" takes the built-in solver where there is one; a cvxpy name, such as
        "CLARABEL", has that backend solve the convex problems.
    solver_tol : float, default=1e-6
        Accuracy that cvxpy backends are asked for.
    solver_options : dict, optional
        More options of the backend, in its own words.
    time_limit : float, optional
        Seconds a backend may take for a convex problem.
    formulation : callable or path, optional
        A changed problem. A function with an argument named ``problem`` gets the convex step as
        :meth:`problem` states it, and returns the changed one. Any other function builds the
        problem from the method's numbers, which it is given by name. Or a problem file.
    n_jobs : int, optional
        Threads; the result does not depend on their number.
    random_state : int, RandomState or None
        For whatever is random.
    verbose : int, default=0
        Above 0 the backend prints, and long work shows its progress.
    """

    #: ``method(X, codes, settings, solving, ...) -> result``.
    _method: ClassVar[Callable[..., Any]]

    solver: str = "auto"
    solver_tol: float = 1e-6
    solver_options: Mapping[str, Any] | None = None
    time_limit: float | None = None
    formulation: Callable[..., Any] | str | Path | None = None
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0

    n_features_in_: int = learned()
    solution_: Solution = learned()
    certificate_: Certificate = learned()

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from the samples `X` of classes `y`."""
        X, codes = self._checked(X, y)
        self._training = TrainingSamples(X, codes)
        warn_of_scales(X, getattr(self, "feature_names_in_", None))
        with thread_map(self.n_jobs) as map:
            result = self._result(X, codes, map)
        for name, value in vars(result).items():
            setattr(self, f"{name}_", value)
        self._remember(X, codes)
        return self

    def _result(self, X: np.ndarray, codes: np.ndarray, map: Callable[..., Any]) -> Any:
        method = type(self)._method
        offered = {
            "seed": self._seed(),
            "map": map,
            "watch": narrator(self._title, self.verbose),
            "weights": self._weights_at(codes),
            "permuted": partial(permuted_labels, seed=self._null_seed(), **self._units()),
        }
        taken = inspect.signature(method).parameters
        more = {name: value for name, value in offered.items() if name in taken}
        with heard(self._title, method.__module__.rpartition(".")[0], self.verbose):
            return method(X, codes, self, self._solving(), **more)

    def _weights_at(self, codes: np.ndarray) -> Any:
        """What samples of these classes count; None if all count the same."""
        return None

    @property
    def _title(self) -> str:
        """What lines about the progress of a fit begin with."""
        return type(self)._method.__name__

    def _remember(self, X: np.ndarray, codes: np.ndarray) -> None:
        """Keep what later calls need beside the result: nothing, in most."""

    def _solving(self) -> Solving:
        return Solving(
            solver=self.solver,
            tol=self.solver_tol,
            options=self.solver_options,
            time_limit=self.time_limit,
            build=self._changed_build(),
            verbose=self.verbose > 0,
        )

    def _changed_build(self) -> Callable[..., Any] | None:
        return build_of(self.formulation, type(self)._method.__name__)

    def _check_parameters(self, n_features: int) -> None:
        """Raise for what all estimators have; each method checks its own."""
        if not isinstance(self.solver, str):
            raise InputError(f"solver must be a name such as 'CLARABEL', not {self.solver!r}")
        if self.n_jobs is not None:
            check_number("n_jobs", self.n_jobs, -_MOST_JOBS, _MOST_JOBS, whole=True)
            if self.n_jobs == 0:
                raise InputError("n_jobs must be a number of threads, or -1 for all cores, not 0")
        if self.solver_options is not None and not isinstance(self.solver_options, Mapping):
            kind = type(self.solver_options).__name__
            raise InputError(f"solver_options must be a dict of options, not {kind}")
        check_number("verbose", self.verbose, 0)
        self._seed()

    def _units(self) -> dict[str, Any]:
        """Return the groups and blocks that `fit` was given."""
        return {name: getattr(self, f"_{name}", None) for name in ("groups", "blocks")}

    def _null_seed(self) -> int:
        """Return the seed of permutations: without `random_state` the same for all fits."""
        return 0 if self.random_state is None else self._seed()

    def _seed(self) -> int:
        try:
            return check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        except ValueError as error:
            raise InputError(f"random_state: {error}") from error


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

    weights_: np.ndarray = learned()
    _held: Held | None = learned()
    _groups: Any = learned()
    _blocks: Any = learned()

    @property
    def feature_importances_(self) -> np.ndarray:
        """The weights, under scikit-learn's name."""
        check_is_fitted(self)
        return self.weights_

    def fit(self, X: Any, y: Any, *, groups: Any = None, blocks: Any = None) -> Self:
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
        """
        self._groups, self._blocks = groups, blocks
        return super().fit(X, y)

    @property
    def permutation_test_(self) -> "ShadowResult | None":
        """Former name of `shadow_test_`."""
        return self.shadow_test_

    @property
    def shadow_test_(self) -> "ShadowResult | None":
        """Test of the features against shadow columns; None if nothing is tested.

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
        """Whether weights of 0 are what the method means by leaving features out."""
        return False

    def summary(self) -> str:
        """What was selected, and what each line of evidence does and does not say."""
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
        """The number a feature that is held against permuted labels."""
        return self.weights_

    def _statistic_at_labels(
        self, X: Any, seed: int, sample_weight: Any = None
    ) -> Callable[..., Any] | None:
        """Return a function from class codes to a number a feature, if that is faster than to fit.

        It is `_evidence`, or what stands for that where weights are none.
        """
        return None

    def _shadow_margins(self, X: Any, codes: np.ndarray, draws: ShadowDraws) -> Margins | None:
        """Return margins beside shadow columns and those of the shadows, if there is a fast way.

        See :func:`convexfs.neighbors.shadow_columns.shadow_margins`.
        """
        return None

    @property
    def _pairs_alike(self) -> bool:
        """Whether the test weighs samples so that pairs of classes are compared alike."""
        return False

    def _evidence_units(self, X: Any) -> np.ndarray:
        """Return the scale of each feature's evidence: that of its differences."""
        return feature_deviations(X)

    def _operations(self, X: np.ndarray) -> float | None:
        """Additions that a permutation takes; None if each is a fit."""
        return None

    def _remember(self, X: np.ndarray, codes: np.ndarray) -> None:
        wanted = self.n_features_to_select
        if wanted == "auto" and isinstance(X, SparseSamples):
            raise InputError(
                "n_features_to_select='auto' classifies held-out samples and needs dense ones: "
                "give a number of features, or X.toarray()"
            )
        self._held = None
        if wanted == "auto" or (wanted is None and not self._sparse):
            check_units(codes, **self._units())
            weights = getattr(self, "_sample_weight", None)
            self._held = Held(X, codes, self._null_seed(), weights, **self._units())

    def _samples(self) -> Held:
        if self._held is None:
            raise InputError("n_features_to_select was changed after fit: fit again")
        return self._held

    def plot(self) -> Any:
        """Draw the weights by name, the heaviest first and those selected in colour.

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
        # Constant columns come last, also where others weigh nothing.
        mask[np.lexsort((-weights, self._constant))[: self._number()]] = True
        return mask & ~self._constant

    def _refittable(self) -> Any:
        """What may be fitted to some of the samples that were kept."""
        return self

    def _number(self) -> int:
        """Number of features to select; "auto" takes it from the curve of held-out errors."""
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


@contextmanager
def thread_map(n_jobs: int | None) -> Iterator[Callable[..., Any]]:
    """Yield a ``map`` over `n_jobs` threads; the kernels it runs release the GIL."""
    workers = 1 if n_jobs is None else effective_n_jobs(n_jobs)
    if workers == 1:
        yield map
        return
    with ThreadPoolExecutor(workers) as pool:
        yield pool.map
