"""LLFS as a scikit-learn selector and classifier."""

from collections.abc import Callable
from copy import copy
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from convexfs.data.column_ranges import check_largest
from convexfs.data.validation import check_finite
from convexfs.errors import InputError, check_choice, check_flag, check_number
from convexfs.estimators.callbacks import reported_fit, with_callbacks
from convexfs.estimators.selector import WeightSelector
from convexfs.estimators.validation import Accepts
from convexfs.methods.base.formulation import learned, parameters
from convexfs.methods.llfs.fit import PointWork, last_pass, llfs, point_work, warn_contradictions
from convexfs.methods.llfs.from_run import stored_model
from convexfs.methods.llfs.hyperspheres import Hyperspheres
from convexfs.methods.llfs.numbers import checked_max_features
from convexfs.methods.llfs.settings import Settings
from convexfs.methods.llfs.tasks import changes_of, kept_map, points_map, progress, pruned
from convexfs.records import Certificate

if TYPE_CHECKING:
    from convexfs.methods.llfs.stage_problems import Trace


@parameters
class LLFS(Settings, ClassifierMixin, WeightSelector):
    r"""Select features for each region, and classify.

    For each training sample, with G a sigmoid and U1, U2 its means over the distances
    :math:`a_j^T f` to the own class and to the others,

    .. math::
        \min_f U_1(f)\quad\text{s.t.}\quad U_2(f) \ge \beta \max U_2,\;
        0 \le f \le 1,\; 1 \le 1^T f \le \alpha

    is solved for every beta and rounded; the set of features whose hypersphere tells the
    classes best apart is kept. A query is classified by the spheres that hold it. The
    problem is not quasi-convex, so its solutions are *local* optima; ``points_`` says
    what is known of each. The data are not scaled: put the features on one scale first.

    Parameters
    ----------
    max_features : int, optional
        Features a sample may select, the paper's alpha; by default the square root of
        the number of those that vary, rounded up.
    gamma : float in (0, 1), default=0.2
        Impurity a sphere may have.
    betas : int or list, default=21
        Values in [0, 1], or how many evenly spaced ones.
    form : {"compactness", "linear", "lfs", "bisection", "ratio", "exact"}
        The problem above (the default), its linear form, LFS (2016), from which LLFS grew
        (see the notes), the same with a bisection first, the least ratio of the
        mean distance to U2 (these three by cvxpy), or the binary problem searched through
        (small sizes only).
    rounding : {"enumerate", "random"}, default="enumerate"
    n_roundings : int, default=1000
        Random roundings.
    swap : bool, default=False
        Improve each rounding by exchanges.
    sigma_init : {"feasible", "literal"}, default="feasible"
        Initial f that sets the sigmoid's width: within the budget, or as printed.
    impurity, vote : {"normalised", "raw"}, default="normalised"
        Whether counts in a sphere, and votes, are divided by the sizes of the classes.
    neighbor_vote : bool, default=True
        A sphere votes only if the query's nearest sample in its features agrees.
    support : {"frequent", "union"}, default="frequent"
        Features that ``get_support`` returns: the `max_features` selected by most samples, or
        all selected by any.
    prune_to : int, optional
        Keep at most this many features, by Logo's weights, before anything else.
    bound : bool, default=False
        Add a lower bound to every row of ``points_``.
    n_passes : int, default=2
        For form="lfs": passes over all samples, with weights from the pass before.
    width : float, default=1
        For form="lfs": how fast weights fall with the distance, in squared units of X.
    run_dir : path, optional
        Store finished points here; the same fit resumes after an interruption, as does
        ``convexfs solve`` of a problem file with ``FIT = "points"`` that asks for the same,
        and the reverse. Other data, settings or code begin anew. The same draws are made
        each time: without a `random_state` those of seed 0. :meth:`from_run` reads it.
    solver : str, default="auto"
        "auto" and "native" use the built-in solver; a cvxpy name uses that backend. A
        program that fails is tried again, at last by another solver, and counted in
        ``points_``, as is a beta at which a solver of linear programs only leaves more than
        1e-6 to be gained: one of quadratic programs ends it. A beta that stays unsolved is
        dropped.
    time_limit : float, optional
        Seconds in which a sample may begin programs of a backend.
    formulation : callable or path, optional
        ``change(problem)``, which gets a step's problem and returns another one: constraints on f
        hold in every stage and rounding; a function ``constraints(f, max_features)``, added to
        the paper's; any other function of f, instead of the paper's; a changed step ``build``; or
        a problem file with one of these. cvxpy solves what is changed.
    n_jobs : int, optional
        Processes, one task a sample; the result does not depend on their number.
    verbose : int, default=0
        Above 0 a terminal shows a progress bar, on stderr, and progress is logged (logger
        ``convexfs.methods.llfs.tasks``, level INFO). The first fit of an installation
        compiles kernels, which takes up to a minute.
    solver_tol, solver_options, n_features_to_select, random_state
        As for every selector: :class:`convexfs.estimators.selector.WeightSelector`.

    Attributes
    ----------
    local_support_ : bool array (n_samples, n_features)
    weights_ : array (n_features,)
        Share of the samples that select a feature; also ``feature_importances_``.
    radii_, betas_ : array (n_samples,)
        Radius and beta of each sample's sphere.
    points_ : structured array (n_samples, n_betas)
        beta, status, u1, u2, level, residual, bound, rounded_u1, score, and the programs
        and failures of a backend.
    pruned_ : bool array (n_features,)
        Features left out beforehand: by `prune_to`, and constant ones.
    certificate_ : Certificate
        Worst residuals of all points; it proves local optima at most.
    classes_, n_features_in_, feature_names_in_
        As usual.

    Notes
    -----
    A constant column is left out beforehand (``pruned_``) and never selected: it would draw
    all samples together. Of copies of a column any may be chosen. Samples equally far from
    a sphere's centre are in it together or not at all. A sphere that cannot grow holds its
    centre only, with half the distance to the nearest sample as radius, 0 if that is a copy
    of another class.

    ``form="lfs"`` is local feature selection (Armanfard, Reilly & Komeili, TPAMI 2016) as its
    authors' code has it: two linear programs a sample, of which samples near to it, in the
    features chosen in the pass before, count most (:mod:`convexfs.methods.llfs.lfs`), then
    rounding, sphere and vote as here. Each program is certified by its dual bound; the passes
    are no optimisation. A count of `betas` leaves 0 out, as printed. ``sigma_init`` has no
    meaning there.

    The paper calls its problem quasi-convex; :mod:`convexfs.methods.llfs.problem` shows that it is
    not. Its bounds of the risk are in :mod:`convexfs.methods.llfs.theory` (Sec. III-D).

    With 100 noise features and 100 training rows of breast and sonar, at the paper's alpha (chosen
    by test errors), its mean error over 10 splits was 5.1 and 20.1 %, that of a random forest 6.2
    and 22.9 %. ``scripts/benchmarks/bench_llfs.py`` has other methods too.

    References
    ----------
    Armanfard, Reilly and Komeili, "Logistic Localized Modeling of the Sample Space for
    Feature Selection and Classification", IEEE TNNLS (2017).

    Examples
    --------
    >>> import convexfs
    >>> data = convexfs.load("subclasses:noise=20").scaled()
    >>> model = convexfs.LLFS(max_features=2).fit(data.X, data.y)
    >>> squares, triangles = (model.local_support_[data.groups == g].mean(axis=0) for g in (0, 1))
    >>> bool(squares[0] > 0.9), bool(triangles[1] > 0.9)
    (True, True)
    """

    _method: ClassVar = staticmethod(llfs)
    _accepts: ClassVar[Accepts] = Accepts(lone_samples=False)

    vote: str = "normalised"
    neighbor_vote: bool = True
    support: str = "frequent"
    prune_to: int | None = None
    run_dir: str | Path | None = None

    local_support_: np.ndarray = learned()
    pruned_: np.ndarray = learned()
    radii_: np.ndarray = learned()
    betas_: np.ndarray = learned()
    points_: np.ndarray = learned()

    @classmethod
    def from_run(
        cls, run_dir: str | Path, data: Any = None, solver: str | None = None, **hyper: Any
    ) -> Self:
        """Load the model whose points a batch or a fit stored in a folder.

        It is the one that ``fit`` would have made, bit by bit.

        Parameters
        ----------
        run_dir : path
            The ``--out`` of ``convexfs solve`` on a problem file with ``FIT = "points"``,
            or the `run_dir` of a fit.
        data : str, Dataset or (X, y), optional
            Data of the run; they must be the same numbers. By default the run's own, if these
            are bundled or generated. A folder does not choose which files are read.
        solver, **hyper
            Which model, if the folder holds several; further parameters of the estimator,
            such as `vote`, are those of the model. Give the problem file of a run that has one
            as `formulation`: it is code, and a folder does not choose what is run.
        """
        parameters, X, y, points = stored_model(cls, run_dir, data, solver, hyper)
        return cls(**parameters)._fitted(X, y, points)

    @with_callbacks
    def _fitted(self, X: Any, y: Any, stored: Callable[..., Any] | None = None) -> Self:
        """Fit to samples; a map `stored` supplies points that are already known."""
        X, codes = self._validate(X, y)
        warn_contradictions(X, codes)
        check_choice("vote", self.vote, ("normalised", "raw"))
        check_choice("support", self.support, ("frequent", "union"))
        check_flag("neighbor_vote", self.neighbor_vote)
        columns = pruned(X, codes, self.prune_to)
        considered, jobs = X[:, columns], effective_n_jobs(self.n_jobs or 1)
        with (
            reported_fit(self, X, codes, len(X)) as report,
            progress(self.verbose > 0, report) as watch,
        ):
            if self.run_dir is None:
                computed = points_map(jobs, watch)
            else:
                computed = kept_map(self, considered, codes, jobs, watch)
            feasible = changes_of(self.formulation).get("feasible")
            result = llfs(
                considered, codes, self, self._solving(), feasible=feasible, seed=self._seed(),
                map=stored or computed,
            )  # fmt: skip
        self.local_support_, self.pruned_ = np.zeros(X.shape, bool), np.ones(X.shape[1], bool)
        self.local_support_[:, columns] = result.support
        self.pruned_[columns[result.considered]] = False
        self.weights_ = self.local_support_.mean(axis=0)
        self.radii_ = np.array([point.radius for point in result.points])
        self.betas_ = np.array([point.beta for point in result.points])
        self.points_ = np.array([point.table for point in result.points])
        self.solution_, self.certificate_ = result.solution, result.certificate
        self._work = result.work
        self._spheres = Hyperspheres(
            X, codes, self.local_support_, self.radii_, self.neighbor_vote,
            self.vote == "normalised",
        )  # fmt: skip
        self._remember(X, codes)
        return self

    def _changed_build(self) -> Callable[..., Any] | None:
        return changes_of(self.formulation).get("build")

    def predict(self, X: Any) -> np.ndarray:
        """Return each sample's class by votes; ties go to the largest class, then to the first."""
        queries = self._queries(X)
        return self.classes_[self._spheres.classify(queries)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return each class's share of the votes."""
        queries = self._queries(X)
        votes = self._spheres.votes(queries)
        return votes / votes.sum(axis=1, keepdims=True)

    def explain(self, x: Any) -> list[dict[str, Any]]:
        """Return a dict per sphere that votes on one sample, nearest first; empty if none votes.

        Returns
        -------
        list of dict
            sample (row of the training data), class, features (indices), distance of x
            and radius. Empty if no sphere holds x: then all nearest neighbours vote.
        """
        check_is_fitted(self)
        row = np.asarray(x, dtype=np.float64).ravel()
        if row.shape != (self.n_features_in_,):
            raise InputError(
                f"x must be one sample with the {self.n_features_in_} features of the fit, "
                f"not of shape {np.shape(x)}"
            )
        names = getattr(self, "feature_names_in_", None)
        check_finite(row[None], "x", names)
        check_largest(row[None], "x", names)
        spheres, voters = self._spheres, []
        for i in spheres.voters(row):
            features = np.flatnonzero(self.local_support_[i])
            voters.append({
                "sample": int(i), "class": self.classes_[spheres.codes[i]], "features": features,
                "distance": float(np.linalg.norm(row[features] - spheres.X[i, features])),
                "radius": float(self.radii_[i]),
            })  # fmt: skip
        return sorted(voters, key=lambda voter: voter["distance"])

    def plot(self) -> Any:
        """Draw which sample selects which of the 40 most selected features, sorted by class."""
        from convexfs.methods.llfs.pictures import support_map

        check_is_fitted(self)
        names, classes = self._names(), [str(name) for name in self.classes_]
        return support_map(self.local_support_, self._spheres.codes, None, names, classes)

    def problem(  # pyright: ignore[reportIncompatibleMethodOverride]
        self,
        i: int,
        beta: float | None = None,
        stage: str | None = None,
        iterate: Any = None,
        *,
        X: Any = None,
        y: Any = None,
    ) -> Any:
        """Return a stage of sample i as a ``cvxpy.Problem``, to read, change and solve.

        By default it is the last convex step, linearised at the local optimum of `beta`, over the
        features that were not pruned. The local optimum solves it and is in its variables:
        ``convexfs.certify(model.problem(i))`` proves it. ``eps``, the level of U2, and ``alpha``,
        the budget, are Parameters; another alpha leaves eps as it is.

        Parameters
        ----------
        beta : float, optional
            By default the one that sample i chose; before a fit, 0.5.
        stage : str, optional
            "separation" (6); a step of (7), "compactness" (the default), or "curved" with
            curvature; "bisection", "ratio", "linear" or "exact". LFS has one stage, "lfs".
        iterate : array, optional
            Linearise there instead.
        X, y : arrays, optional
            Samples, before a fit; by default those of the fit.
        """
        from convexfs.inspection import StatedProblem
        from convexfs.methods.llfs.stage_problems import point_problem

        work = self._work_on(X, y)
        check_number("i, a sample,", i, 0, len(work.X) - 1, whole=True)
        if beta is None:
            beta = 0.5 if X is not None else float(self.betas_[i])
        problem = point_problem(work, i, beta, stage, iterate)
        return StatedProblem(problem.objective, problem.constraints)

    def _shown_problem(self) -> Any:
        # Do not show a changed problem: stating it would need a solve first.
        return None if self._work.settings.changed else self.problem(0)

    def _work_on(self, X: Any, y: Any) -> PointWork:
        """Return the work on the points of these samples, or of the training samples."""
        if (X is None) != (y is None):
            raise InputError("give both X and y, or neither")
        if X is None:
            check_is_fitted(self)
            return self._work
        samples, codes = copy(self)._validate(X, y)
        warn_contradictions(samples, codes)
        feasible = changes_of(self.formulation).get("feasible")
        return last_pass(point_work(samples, codes, self, self._solving(), feasible, self._seed()))

    def _certify(self, **options: Any) -> Certificate:
        """Certify every sample's last step; return the worst. Raise for forms "exact" and "ratio".

        Steps of (7) that are proven show local optima, of linear programs the optimum.
        """
        from convexfs.methods.llfs.stage_problems import certify_points

        check_is_fitted(self)
        return certify_points(self, options)

    def trace(self, i: int, beta: float | None = None) -> "Trace":
        """Return all subproblems on the way to the local optimum of sample i at `beta`.

        Each has its problem, iterate, answer and objective; printed, the trace is a table,
        and :func:`convexfs.methods.llfs.pictures.trace_picture` draws it.
        """
        from convexfs.methods.llfs.stage_problems import trace

        check_is_fitted(self)
        check_number("i, a sample,", i, 0, len(self.betas_) - 1, whole=True)
        beta = float(self.betas_[i]) if beta is None else beta
        return trace(self._work.values(i), self._work.settings, beta)

    @property
    def _sparse(self) -> bool:
        return True

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self)
        if self.n_features_to_select == "relative":
            return super()._get_support_mask()
        if self.n_features_to_select is None and self.support == "union":
            return self.weights_ > 0
        n_left = int((~self.pruned_).sum())
        wanted = checked_max_features(self.max_features, self.n_features_in_, n_left)
        if self.n_features_to_select is not None:
            wanted = self._number()
        mask = np.zeros(len(self.weights_), dtype=bool)
        mask[np.argsort(-self.weights_, kind="stable")[:wanted]] = True
        return mask & (self.weights_ > 0)

    def _seed(self) -> int:
        """Return an integer ``random_state`` as it is, 0 for None with ``run_dir``, else a draw.

        Points that are kept are found again by a seed that is fixed.
        """
        if self.run_dir is not None and self.random_state is None:
            return 0
        drawn = super()._seed()
        return int(self.random_state) if isinstance(self.random_state, Integral) else drawn
