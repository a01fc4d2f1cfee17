"""Choose Logo's two parameters by cross-validation."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any, ClassVar, Self

import numpy as np
from joblib import effective_n_jobs
from scipy.stats import rankdata
from sklearn.base import ClassifierMixin
from sklearn.model_selection import check_cv

from convexfs.batch.workers import pool
from convexfs.errors import ConvexfsError, InputError
from convexfs.estimators.callbacks import reported_fit, with_callbacks
from convexfs.estimators.selector import WeightSelector
from convexfs.estimators.validation import AS_IT_IS, Accepts
from convexfs.methods.base.formulation import Step, parameters, taken_by
from convexfs.methods.base.progress import joined, narrator
from convexfs.methods.logo.estimator import Logo, class_distances
from convexfs.methods.logo.fit import fit_logo, logo
from convexfs.methods.logo.settings import LogoRequest, Settings


@dataclass(frozen=True)
class FoldScore:
    """Result of a fold: accuracy on held-out samples, seconds to fit and score, convergence."""

    accuracy: float
    fit_seconds: float
    score_seconds: float
    converged: bool


@dataclass(frozen=True)
class SearchData:
    """Samples, folds and requests, shared with forked workers without a copy."""

    X: np.ndarray
    codes: np.ndarray
    folds: Sequence[tuple[np.ndarray, np.ndarray]]
    requests: Sequence[LogoRequest]


def score_fold(task: tuple[int, int], data: SearchData) -> FoldScore:
    """Fit Logo on a fold's training samples; return its accuracy on the held-out ones and times.

    A task has the indices of a fold and of a pair of sigma and lam. Each fit starts from Logo's
    own start and computes its own distances: which fixed point is reached depends on both, and
    scores are to be those of the estimator that is returned.
    """
    (train, test), request = data.folds[task[0]], data.requests[task[1]]
    X = data.X[train]
    present, own_codes = np.unique(data.codes[train], return_inverse=True)
    began = time.perf_counter()
    result = fit_logo(X, own_codes, request)
    fitted = time.perf_counter()
    sigma = float(request.settings.sigma)
    guess = class_distances(data.X[test], X, own_codes, result.weights, sigma).argmin(axis=1)
    accuracy = float(np.mean(present[guess] == data.codes[test]))
    return FoldScore(accuracy, fitted - began, time.perf_counter() - fitted, result.converged)


@parameters
class LogoCV(ClassifierMixin, WeightSelector):
    r"""Choose Logo's sigma and lam by cross-validation.

    The scores are those of ``Logo(sigma=sigma, lam=lam)`` on the same folds, which worker
    processes compute. The best pair is fitted again on all samples.

    Parameters
    ----------
    sigmas, lams : sequences of float
        Kernel widths and penalties to try, every pair.
    cv : int, splitter or iterable, default=10
        As scikit-learn takes it; an int is the number of stratified folds, fewer
        if the smallest class is smaller. A splitter gets the `groups` of ``fit``.
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

    def _fitted(self, X: Any, y: Any) -> Self:
        X, codes = self._validate(X, y)
        data = self._search_data(X, codes)
        self.cv_results_ = tabulate(data, self._scores(data))
        self.best_index_ = int(self.cv_results_["rank_test_score"].argmin())
        self.best_params_ = self.cv_results_["params"][self.best_index_]
        self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])
        self.sigma_, self.lam_ = self.best_params_["sigma"], self.best_params_["lam"]
        best = Logo(**self._shared(), **self.best_params_)
        self.best_estimator_ = best.fit(X, self.classes_[codes])
        for name in ("weights_", "solution_", "certificate_", "n_iter_"):
            setattr(self, name, getattr(self.best_estimator_, name))
        self._remember(X, codes)
        return self

    @property
    def _sparse(self) -> bool:
        return True

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the margins of samples, as :meth:`convexfs.Logo.decision_function`."""
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

    def _shared(self) -> dict[str, Any]:
        names = set(Logo().get_params()) & set(self.get_params())
        return {name: getattr(self, name) for name in names}

    def _search_data(self, X: np.ndarray, codes: np.ndarray) -> SearchData:
        # Put the largest penalty first, so that of equal scores the sparsest model is chosen.
        lams = sorted(_listed("lams", self.lams), reverse=True)
        sigmas = sorted(_listed("sigmas", self.sigmas), reverse=True)
        shared, solving = taken_by(Settings, self), self._solving()
        each = [Settings(sigma=sigma, lam=lam, **shared) for lam in lams for sigma in sigmas]
        requests = [LogoRequest(settings, solving) for settings in each]
        for request in requests:
            request.check()
        splitter: Any = check_cv(_fold_count(self.cv, codes), codes, classifier=True)
        folds = list(splitter.split(X, codes, self._groups))
        if not folds:
            raise InputError("cv makes no folds: give their number, or a splitter that makes some")
        return SearchData(X, codes, folds, requests)

    @with_callbacks
    def _scores(self, data: SearchData) -> list[list[FoldScore]]:
        """Fit every fold at every pair in worker processes; return scores[fold][pair]."""
        folds, pairs = range(len(data.folds)), range(len(data.requests))
        tasks = list(product(folds, pairs))
        jobs = 1 if self.n_jobs is None else effective_n_jobs(self.n_jobs)
        scores = {}
        with reported_fit(self, data.X, data.codes, len(tasks)) as report:
            tell = joined(narrator("logo-cv", self.verbose), report)
            for outcome in pool.run(tasks, partial(score_fold, data=data), jobs=jobs):
                if outcome.status != pool.DONE:
                    raise ConvexfsError(f"a fold of the cross-validation failed: {outcome.failure}")
                scores[outcome.task] = outcome.value
                if tell is not None:
                    tell(f"{len(scores)} of {len(tasks)} fits, one per fold, sigma and lam")
        return [[scores[fold, pair] for pair in pairs] for fold in folds]


def tabulate(data: SearchData, scores: list[list[FoldScore]]) -> dict[str, Any]:
    """Return ``cv_results_`` as scikit-learn has it, one row per pair, largest values first."""
    pairs = [(request.settings.sigma, request.settings.lam) for request in data.requests]

    def gathered(name: str) -> np.ndarray:
        """Return an attribute of all scores as an array, one row per fold, one column per pair."""
        return np.array([[getattr(score, name) for score in row] for row in scores])

    accuracy = gathered("accuracy")
    results: dict[str, Any] = {
        "params": [{"sigma": sigma, "lam": lam} for sigma, lam in pairs],
        "param_sigma": np.ma.array([sigma for sigma, _ in pairs]),
        "param_lam": np.ma.array([lam for _, lam in pairs]),
    }
    for name in ("fit", "score"):
        seconds = gathered(f"{name}_seconds")
        results[f"mean_{name}_time"] = seconds.mean(axis=0)
        results[f"std_{name}_time"] = seconds.std(axis=0)
    results |= {f"split{fold}_test_score": row for fold, row in enumerate(accuracy)}
    results["mean_test_score"] = accuracy.mean(axis=0)
    results["std_test_score"] = accuracy.std(axis=0)
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
    """Limit a number of folds to the smallest class's size, at least 2; return other `cv` as is."""
    if not isinstance(cv, int):
        return cv
    return max(2, min(cv, int(np.bincount(codes).min())))
