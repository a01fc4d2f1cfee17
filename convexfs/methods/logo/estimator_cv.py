"""Logo with its two parameters chosen by cross-validation."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from joblib import effective_n_jobs
from scipy.stats import rankdata
from sklearn.base import ClassifierMixin
from sklearn.model_selection import check_cv

from convexfs.batch.workers import pool
from convexfs.errors import ConvexfsError, InputError
from convexfs.estimators.sample_weight import refuse_unknown
from convexfs.estimators.selector import WeightSelector
from convexfs.estimators.validation import AS_IT_IS, Accepts
from convexfs.kernels import thread_map
from convexfs.methods.base.formulation import Step
from convexfs.methods.base.parameters import parameters, taken_by
from convexfs.methods.base.progress import narrator
from convexfs.methods.logo.estimator import Logo, class_distances
from convexfs.methods.logo.fit import fit_logo, logo
from convexfs.methods.logo.settings import LogoRequest, Settings
from convexfs.neighbors.feature_blocks import all_distances


@dataclass(frozen=True)
class PathTask:
    """One fold at one sigma: a path along lam."""

    fold: int
    sigma_index: int


@dataclass(frozen=True)
class PathResult:
    """Along lam: share of right predictions, seconds to fit and to score, convergence."""

    accuracy: np.ndarray
    fit_seconds: np.ndarray
    score_seconds: np.ndarray
    converged: np.ndarray


@dataclass(frozen=True)
class PathData:
    """What all paths share; a forked worker sees it without a copy.

    ``distances`` are those of all samples with every weight 1: a fold's are a part
    of them.
    """

    X: np.ndarray
    codes: np.ndarray
    distances: np.ndarray
    folds: Sequence[tuple[np.ndarray, np.ndarray]]
    sigmas: Sequence[float]
    lams: Sequence[float]
    requests: Mapping[tuple[float, float], LogoRequest]


def follow_path(task: PathTask, data: PathData) -> PathResult:
    """Fit one fold along lam, each fit started where the last one ended."""
    train, test = data.folds[task.fold]
    sigma = float(data.sigmas[task.sigma_index])
    X, codes = data.X[train], data.codes[train]
    present, own_codes = np.unique(codes, return_inverse=True)
    distances = data.distances[np.ix_(train, train)]
    start, rows = None, []
    for lam in data.lams:
        began = time.perf_counter()
        request = data.requests[data.sigmas[task.sigma_index], lam]
        result = fit_logo(X, own_codes, request, distances=distances, start=start)
        fitted = time.perf_counter()
        guess = class_distances(data.X[test], X, own_codes, result.weights, sigma).argmin(axis=1)
        accuracy = float(np.mean(present[guess] == data.codes[test]))
        rows.append((accuracy, fitted - began, time.perf_counter() - fitted, result.converged))
        # From w = 0 nothing is near or far: such a fit starts nobody.
        start = result.weights if result.weights.any() else None
    return PathResult(*(np.array(column) for column in zip(*rows, strict=True)))


@parameters
class LogoCV(ClassifierMixin, WeightSelector):
    r"""Choose Logo's sigma and lam by cross-validation.

    Distances with all weights 1 are computed once for all folds, fits along lam
    start from one another, and folds go to worker processes. The best pair is
    fitted again on all samples.

    Parameters
    ----------
    sigmas, lams : sequences of float
        Kernel widths and penalties to try, every pair.
    cv : int, splitter or iterable, default=10
        As scikit-learn takes it; an int is the number of stratified folds, fewer
        if the smallest class is smaller.
    algorithm, damping, tol, max_iter, time_limit
        As in :class:`convexfs.Logo`.
    n_jobs : int, optional
        Worker processes; the result does not depend on their number.
    solver, solver_tol, solver_options, formulation
    n_features_to_select, random_state, verbose
        As for every selector: :class:`convexfs.estimators.selector.WeightSelector`.

    Attributes
    ----------
    sigma_, lam_ : float
        The best pair: highest mean accuracy; of equals the largest lam, then the
        largest sigma.
    cv_results_ : dict of arrays
        As in scikit-learn's searches, with the share of converged fits.
    best_index_, best_params_, best_score_
        Index, parameters and mean accuracy of the best pair.
    best_estimator_ : Logo
        Fitted on all samples; its ``weights_`` and ``certificate_`` are these too.
    weights_, certificate_, classes_, n_features_in_, feature_names_in_
        As in :class:`convexfs.Logo`.

    Examples
    --------
    >>> import convexfs
    >>> data = convexfs.load("spiral:noise=20,n=60")
    >>> model = convexfs.LogoCV(sigmas=[2.0], lams=[1.0, 5.0], cv=3).fit(data.X, data.y)
    >>> model.get_support(indices=True)
    array([0, 1])
    """

    _method: ClassVar = staticmethod(logo)
    _accepts: ClassVar[Accepts] = Accepts(dtype=AS_IT_IS)

    algorithm: str = Settings.algorithm
    damping: float = Settings.damping
    tol: float = Settings.tol
    max_iter: int = Settings.max_iter
    sigmas: Sequence[float] = (0.5, 2.0, 5.0)
    lams: Sequence[float] = (0.5, 1.0, 5.0)
    cv: Any = 10

    def fit(
        self, X: Any, y: Any, *, groups: Any = None, blocks: Any = None, **unknown: Any
    ) -> Self:
        """Choose sigma and lam by cross-validation on `X`, `y`, then fit them all.

        A splitter `cv` gets the `groups`.
        """
        refuse_unknown(self, unknown)
        self._groups, self._blocks = groups, blocks
        X, codes = self._validate(X, y)
        data = self._path_data(X, codes)
        paths = self._paths(data)
        self.cv_results_ = tabulate(data, paths)
        self.best_index_ = int(self.cv_results_["rank_test_score"].argmin())
        self.best_params_ = self.cv_results_["params"][self.best_index_]
        self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])
        self.sigma_, self.lam_ = self.best_params_["sigma"], self.best_params_["lam"]
        best = Logo(**self._shared(), **self.best_params_)
        self.best_estimator_ = best.fit(X, self.classes_[codes])
        self._take(self.best_estimator_)
        self._remember(X, codes)
        return self

    @property
    def _sparse(self) -> bool:
        return True

    def decision_function(self, X: Any) -> np.ndarray:
        """Margins of samples, as of :meth:`convexfs.Logo.decision_function`."""
        X = self._queries(X)
        return self.best_estimator_.decision_function(X)

    def predict(self, X: Any) -> np.ndarray:
        """Predict the class with the smallest expected distance to its soft nearest neighbour."""
        X = self._queries(X)
        return self.best_estimator_.predict(X)

    def _step(self, X: Any, codes: np.ndarray) -> Step:
        best = getattr(self, "best_estimator_", None)
        if best is None:
            sigma, lam = _listed("sigmas", self.sigmas)[0], _listed("lams", self.lams)[0]
            best = Logo(**self._shared(), sigma=sigma, lam=lam)
        return best._step(X, codes)

    def _take(self, best: Logo) -> None:
        self.weights_ = best.weights_
        self.solution_ = best.solution_
        self.certificate_ = best.certificate_
        self.n_iter_ = best.n_iter_

    def _shared(self) -> dict[str, Any]:
        names = set(Logo().get_params()) & set(self.get_params())
        return {name: getattr(self, name) for name in names}

    def _path_data(self, X: np.ndarray, codes: np.ndarray) -> PathData:
        # Largest first: of equal scores the first is the best, and that is the sparsest.
        lams = sorted(_listed("lams", self.lams), reverse=True)
        sigmas = sorted(_listed("sigmas", self.sigmas), reverse=True)
        requests = {
            (sigma, lam): LogoRequest(
                Settings(sigma=sigma, lam=lam, **taken_by(Settings, self)), self._solving()
            )
            for sigma in sigmas
            for lam in lams
        }
        for request in requests.values():
            request.check()
        splitter: Any = check_cv(_fold_count(self.cv, codes), codes, classifier=True)
        folds = list(splitter.split(X, codes, self._groups))
        if not folds:
            raise InputError("cv makes no folds: give their number, or a splitter that makes some")
        with thread_map(self.n_jobs) as map:
            distances = all_distances(X, map)
        return PathData(X, codes, distances, folds, sigmas, lams, requests)

    def _paths(self, data: PathData) -> dict[PathTask, PathResult]:
        tasks = [
            PathTask(fold, sigma)
            for fold in range(len(data.folds))
            for sigma in range(len(data.sigmas))
        ]
        jobs = 1 if self.n_jobs is None else effective_n_jobs(self.n_jobs)
        outcomes = pool.run(tasks, partial(follow_path, data=data), jobs=jobs)
        paths, tell = {}, narrator("logo-cv", self.verbose)
        for outcome in outcomes:
            if outcome.status != pool.DONE:
                raise ConvexfsError(f"a fold of the cross-validation failed: {outcome.failure}")
            paths[outcome.task] = outcome.value
            if tell is not None:
                tell(f"{len(paths)} of {len(tasks)} paths, one a fold and sigma")
        return paths


def tabulate(data: PathData, paths: Mapping[PathTask, PathResult]) -> dict[str, Any]:
    """``cv_results_`` as scikit-learn has it, one row a pair, largest values first."""
    pairs = [(sigma, lam) for lam in data.lams for sigma in data.sigmas]

    def gathered(name: str) -> np.ndarray:
        """Return a table of folds by pairs."""
        table = [
            [getattr(paths[PathTask(fold, s)], name) for s in range(len(data.sigmas))]
            for fold in range(len(data.folds))
        ]
        return np.array(table).transpose(0, 2, 1).reshape(len(data.folds), -1)

    scores = gathered("accuracy")
    results: dict[str, Any] = {
        "params": [{"sigma": sigma, "lam": lam} for sigma, lam in pairs],
        "param_sigma": np.ma.array([sigma for sigma, _ in pairs]),
        "param_lam": np.ma.array([lam for _, lam in pairs]),
    }
    for name in ("fit", "score"):
        seconds = gathered(f"{name}_seconds")
        results[f"mean_{name}_time"] = seconds.mean(axis=0)
        results[f"std_{name}_time"] = seconds.std(axis=0)
    results |= {f"split{fold}_test_score": row for fold, row in enumerate(scores)}
    results["mean_test_score"] = scores.mean(axis=0)
    results["std_test_score"] = scores.std(axis=0)
    ranks = rankdata(-np.round(results["mean_test_score"], 12), method="min")
    results["rank_test_score"] = ranks.astype(np.int32)
    results["mean_converged"] = gathered("converged").mean(axis=0)
    return results


def _listed(name: str, values: Any) -> list[float]:
    try:
        listed = [] if isinstance(values, str) else list(values)
    except TypeError:
        listed = []
    if not listed:
        raise InputError(f"{name} must be a list of numbers to try, not {values!r}")
    return listed


def _fold_count(cv: Any, codes: np.ndarray) -> Any:
    """Return the number of folds, at most the size of the smallest class."""
    if not isinstance(cv, int):
        return cv
    return max(2, min(cv, int(np.bincount(codes).min())))
