"""Base class of all estimators: parameters, ``fit``, the convex step and the ranking."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from convexfs.data.categorical import Coding
from convexfs.data.validation import warn_constant_columns
from convexfs.errors import InputError, check_number
from convexfs.estimators import convex_step
from convexfs.estimators.callbacks import CallbackSupportMixin, reported_fit, with_callbacks
from convexfs.estimators.custom_formulation import build_of
from convexfs.estimators.ranking import fit_html, ranking_frame
from convexfs.estimators.validation import Accepts, validate, validate_queries
from convexfs.kernels import thread_map
from convexfs.methods.base.formulation import Solving, Step, argument_names, learned, parameters
from convexfs.methods.base.progress import heard, joined, narrator
from convexfs.methods.base.row_permutations import permuted_labels
from convexfs.neighbors.missing_values import MixedSamples
from convexfs.neighbors.samples import warn_of_scales
from convexfs.records import Certificate, Solution

#: Upper limit of n_jobs, above the number of threads or processes of any machine.
_MOST_JOBS = 10_000


@parameters
class MethodEstimator(CallbackSupportMixin, BaseEstimator):
    """Base class of all estimators: common parameters and ``fit``.

    A subclass names its method's function as ``_method``, inherits the parameters of that
    function's settings, and adds what it learns: each field of the method's result becomes
    an attribute, with the underscore that scikit-learn gives what was learned. What samples it
    takes it declares as ``_accepts``.

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

    #: The method's fit function: ``method(X, codes, settings, solving, ...) -> result``.
    _method: ClassVar[Callable[..., Any]]
    _accepts: ClassVar[Accepts] = Accepts()

    solver: str = "auto"
    solver_tol: float = 1e-6
    solver_options: Mapping[str, Any] | None = None
    time_limit: float | None = None
    formulation: Callable[..., Any] | str | Path | None = None
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0

    classes_: np.ndarray = learned()
    n_features_in_: int = learned()
    solution_: Solution = learned()
    certificate_: Certificate = learned()
    #: Mask of the columns that were constant in `fit`.
    _constant: np.ndarray = learned()
    _coding: Coding = learned()
    _training: convex_step.TrainingSamples = learned()

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from the samples `X` of classes `y`."""
        return self._fitted(X, y)

    def _fitted(self, X: Any, y: Any) -> Self:
        X, codes = self._validate(X, y)
        warn_of_scales(X, getattr(self, "feature_names_in_", None), self._training.spread)
        with thread_map(self.n_jobs) as map:
            watched = self.verbose > 0 or hasattr(self, "_skl_callbacks")
            result = (self._watched_result if watched else self._result)(X, codes, map)
        for name, value in vars(result).items():
            setattr(self, f"{name}_", value)
        self._remember(X, codes)
        return self

    def _validate(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        """Return samples and target as the method accepts them; record classes and names."""
        samples = validate(X, y, self._accepts, self)
        self._constant, self._coding = samples.constant, samples.coding
        if samples.classes is not None:
            self.classes_ = samples.classes
        self._check_parameters(self.n_features_in_)
        # MixedSamples are fitted again: their constant columns were reported before.
        if samples.constant.any() and not isinstance(X, MixedSamples):
            warn_constant_columns(samples.constant, getattr(self, "feature_names_in_", None))
        self._training = convex_step.TrainingSamples(samples.X, samples.y, samples.spread)
        return samples.X, samples.y

    def _queries(self, X: Any) -> Any:
        """Validate new samples against those of `fit`, and convert them in the same way."""
        return validate_queries(X, self._accepts, self)

    @with_callbacks
    def _watched_result(self, X: np.ndarray, codes: np.ndarray, map: Callable[..., Any]) -> Any:
        """Run the method, and report its iterations to the terminal and to callbacks."""
        method = type(self)._method
        with reported_fit(self, X, codes) as report:
            watch = joined(narrator(method.__name__, self.verbose), report)
            with heard(method.__module__.rpartition(".")[0], watch):
                return self._result(X, codes, map, watch)

    def _result(
        self, X: np.ndarray, codes: np.ndarray, map: Callable[..., Any], watch: Any = None
    ) -> Any:
        """Run the method, with the seed, threads, weights and other arguments it takes."""
        method = type(self)._method
        offered = {
            "seed": self._seed(), "map": map, "watch": watch, "spread": self._training.spread,
            "weights": self._weights_of(len(codes), getattr(self, "_sample_weight", None)),
            "permuted": partial(permuted_labels, **self._permutations()),
        }  # fmt: skip
        taken = argument_names(method)
        more = {name: value for name, value in offered.items() if name in taken}
        return method(X, codes, self, self._solving(), **more)

    def _weights_of(self, number: int, sample_weight: np.ndarray | None) -> Any:
        """Return None; subclasses that accept sample weights override this."""
        return None

    def _remember(self, X: np.ndarray, codes: np.ndarray) -> None:
        """Store data that later calls need beside the result; most estimators store nothing."""

    def _solving(self) -> Solving:
        build = None if self.formulation is None else self._changed_build()
        return Solving(
            self.solver, self.solver_tol, self.solver_options, self.time_limit, build,
            self.verbose > 0,
        )  # fmt: skip

    def _changed_build(self) -> Callable[..., Any] | None:
        return build_of(self.formulation, type(self)._method.__name__)

    def _check_parameters(self, n_features: int) -> None:
        """Raise if a parameter that all estimators have is invalid; methods check their own."""
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

    def _permutations(self) -> dict[str, Any]:
        """Return seed, groups and blocks of permutations; by default all fits share one seed."""
        units = {name: getattr(self, f"_{name}", None) for name in ("groups", "blocks")}
        return {"seed": 0 if self.random_state is None else self._seed(), **units}

    def _seed(self) -> int:
        try:
            return check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        except ValueError as error:
            raise InputError(f"random_state: {error}") from error

    def problem(self, *, X: Any = None, y: Any = None) -> Any:
        """Return the convex step as a ``cvxpy.Problem``, to read, change and solve.

        After a fit it is the step that the fitted weights solve, on the samples of the fit, and
        its variables hold that solution: ``convexfs.certify(model.problem())`` proves it. Before
        a fit, give `X` and `y`: it is then the first step. Scalars such as ``lam`` are Parameters
        (``problem.param_dict``), so that a sweep over their values compiles the problem once.
        Constraints have labels. A changed `formulation` is in it. Columns that the fit leaves out
        because they are constant are not in it.

        Parameters
        ----------
        X, y : arrays, optional
            Samples to state it on; by default those of the fit. A model that was pickled does
            not hold its samples.

        Returns
        -------
        cvxpy.Problem

        Examples
        --------
        >>> import cvxpy as cp
        >>> import convexfs
        >>> data = convexfs.load("iris").scaled()
        >>> problem = convexfs.Logo(lam=5.0).fit(data.X, data.y).problem()
        >>> w, lam = problem.var_dict["w"], problem.param_dict["lam"]
        >>> smooth = cp.Problem(problem.objective + cp.Minimize(lam * cp.sum_squares(w)),
        ...                     problem.constraints)
        >>> convexfs.certify(smooth, convexfs.solve(smooth)).ok
        True
        """
        return self._stated(X, y)[0]

    def _stated(self, X: Any = None, y: Any = None) -> tuple[Any, Step]:
        """Return the convex step as a cvxpy problem, and the step itself."""
        return convex_step.stated_problem(self, X, y)

    def _step(self, X: Any, codes: np.ndarray) -> Step:
        """Return the step at the fitted weights or, before a fit, at the initial weights."""
        return convex_step.method_step(self, X, codes)

    def _step_options(self, codes: np.ndarray) -> dict[str, Any]:
        """Return the keyword arguments of the method's `step` function beside its settings."""
        return {}

    def _certify(self, **options: Any) -> Certificate:
        """Certify the fit's convex step again and, if it is one, its fixed point."""
        return convex_step.certify_fit(self, **options)

    def ranking(self) -> pd.DataFrame:
        """Return all features as a table, by decreasing weight.

        Returns
        -------
        DataFrame
            name; weight; rank, which features of equal weight share; selected, as by
            ``get_support``, and missing of a projection, which selects none.
        """
        check_is_fitted(self)
        return ranking_frame(self._names(), self._feature_weights(), self._selection())

    def _names(self) -> list[str]:
        numbered = (f"feature {j + 1}" for j in range(self.n_features_in_))
        return list(map(str, getattr(self, "feature_names_in_", numbered)))

    def _feature_weights(self) -> np.ndarray:
        """Return one score per feature, by which features are ranked."""
        raise NotImplementedError

    def _selection(self, *, at_once: bool = False) -> np.ndarray | None:
        """Return the mask of selected features, or None.

        Return None if the estimator does not select features, or if `at_once` and it takes long.
        """
        get_support = getattr(self, "get_support", None)
        return None if get_support is None else get_support()

    def _repr_html_inner(self) -> str:
        return BaseEstimator._repr_html_inner(self._shown()) + self._fit_html()

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        shown = BaseEstimator._repr_mimebundle_(self._shown(), **options)
        if "text/html" in shown:
            shown["text/html"] += self._fit_html()
        return shown

    def _shown(self) -> Self:
        """Return the estimator to display; subclasses return a copy without slow attributes."""
        return self

    def _fit_html(self) -> str:
        """Return the HTML that a notebook shows below scikit-learn's; empty before `fit`."""
        if not hasattr(self, "n_features_in_") or not hasattr(self, "certificate_"):
            return ""
        known = self._selection(at_once=True)
        ranking = ranking_frame(self._names(), self._feature_weights(), known)
        html, problem = fit_html(ranking, self.certificate_), self._shown_problem()
        if problem is None:
            return html
        from convexfs.inspection import show

        return f"{html}<div class='convexfs-problem'>{show(problem).mathml}</div>"

    def _shown_problem(self) -> Any:
        """Return the problem that a notebook shows; None if stating it might take long."""
        return self._stated()[0] if convex_step.is_quickly_stated(self) else None

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = self._accepts.sparse
        if self._accepts.missing:
            tags.input_tags.categorical = True
            tags.input_tags.allow_nan = getattr(self, "missing", "error") != "error"
        return tags
