"""I-RELIEF as a scikit-learn selector."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from convexfs.methods.base.changed import build_of
from convexfs.methods.base.progress import narrator
from convexfs.methods.base.selector import WeightSelector, thread_map
from convexfs.methods.irelief.fit import irelief


class IRelief(WeightSelector):
    r"""RELIEF whose neighbours are soft and taken in the space it weighs.

    The weights are a fixed point: soft nearest hits and misses at w give a
    margin vector :math:`\nu`, and w solves :math:`\max w^T \nu` over
    :math:`\|w\|_2 \le 1, w \ge 0`. Each step is a convex problem, the whole is
    not: ``converged_`` says whether a fixed point was reached. The data are not
    scaled: put them on one scale first.

    Parameters
    ----------
    sigma : float, default=2
        Width of the neighbourhood, in units of the weighted distance. Below
        about 1 on standardised data the iteration may cycle.
    damping : float in [0, 1), default=0.5
        Share of the old weights kept in an iteration; 0 is as printed.
    keep : int, optional
        Back-selection: keep the better half of the features and start again,
        until this many are left; the others weigh 0.
    tol : float, default=1e-4
        Change of the weights, which have length 1, that ends the iteration.
    max_iter : int, default=200
        Of each round of back-selection.
    solver : str, default="auto"
        "auto" and "native" use the closed form; a cvxpy name has that backend
        solve every step.
    solver_tol : float, default=1e-6
    solver_options : dict, optional
    n_features_to_select : int, optional
        Keep this many; by default those above 1 % of the largest weight.
    formulation : callable or path, optional
        A changed step: ``build(z, lam) -> cvxpy.Problem`` with a variable ``w``,
        or a problem file.
    n_jobs : int, optional
        Threads; the result does not depend on their number.
    random_state : int, RandomState or None
        For the third and later starts.
    verbose : int, default=0
        Above 0 stderr is told of the iterations, twice a second at most, and a backend
        prints.
    start : array (n_features,), optional
        Weights to start from, finite and at least 0; by default all equal.
    n_starts : int, default=1
        Starts tried: `start`, RELIEF's hundred highest weights, then random ones. Of
        the fixed points the one of largest margin is kept, and a warning says when
        another start ended elsewhere. Each costs about a fit.

    Attributes
    ----------
    weights_ : array (n_features,)
        Also ``feature_importances_``.
    margin_ : array
        :math:`\nu` of the last step, over the features it had.
    certificate_ : FixedPointCertificate
        Of the last convex step, refused unless it leads back to its start. It proves
        *a* fixed point, not the only one: see `n_starts`.
    converged_ : bool
    starts_ : list of dict
        Per start: its name, minus its margin as objective, whether its end is
        certified, the relative difference from `weights_`, and whether it is a fixed
        point elsewhere.
    residual_ : float
        Change made by the last step.
    period_ : int
        That of the cycle the iteration ended in, 0 if it did not.
    n_iter_ : int
    rounds_ : tuple of int
        Numbers of features in the rounds of back-selection.
    classes_, n_features_in_, feature_names_in_
        As usual.

    Notes
    -----
    A constant column weighs 0 and is never selected; copies of a column weigh the same.
    Equally near samples count alike. Where no feature has a positive margin all weights
    are 0, with a warning.

    References
    ----------
    Sun, "Iterative RELIEF for Feature Weighting: Algorithms, Theories, and
    Applications", IEEE TPAMI 29 (2007).

    Examples
    --------
    >>> import convexfs
    >>> data = convexfs.load("twonorm:n=200,noise=80,seed=1").scaled()
    >>> selector = convexfs.IRelief(n_features_to_select=20).fit(data.X, data.y)
    >>> int(selector.get_support()[:20].sum()), selector.converged_
    (20, True)
    """

    def __init__(
        self,
        sigma: float = 2.0,
        damping: float = 0.5,
        keep: int | None = None,
        tol: float = 1e-4,
        max_iter: int = 200,
        solver: str = "auto",
        solver_tol: float = 1e-6,
        solver_options: Mapping[str, Any] | None = None,
        n_features_to_select: int | None = None,
        formulation: Callable[..., Any] | str | Path | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        start: Any = None,
        n_starts: int = 1,
    ):
        self.sigma = sigma
        self.damping = damping
        self.keep = keep
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver
        self.solver_tol = solver_tol
        self.solver_options = solver_options
        self.n_features_to_select = n_features_to_select
        self.formulation = formulation
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.start = start
        self.n_starts = n_starts

    def fit(self, X: Any, y: Any) -> "IRelief":
        """Weigh the features of `X` by the classes `y`."""
        X, codes = self._checked(X, y)
        with thread_map(self.n_jobs) as map:
            result = irelief(
                X,
                codes,
                sigma=self.sigma,
                damping=self.damping,
                keep=self.keep,
                tol=self.tol,
                max_iter=self.max_iter,
                solver=self.solver,
                solver_tol=self.solver_tol,
                solver_options=self.solver_options,
                build=build_of(self.formulation, "irelief"),
                map=map,
                verbose=self.verbose > 0,
                start=self.start,
                n_starts=self.n_starts,
                seed=self._seed(),
                watch=narrator("irelief", self.verbose),
            )
        self.weights_ = result.weights
        self.margin_ = result.margin
        self.solution_ = result.solution
        self.certificate_ = result.certificate
        self.converged_ = result.converged
        self.residual_ = result.residual
        self.period_ = result.period
        self.n_iter_ = result.n_iter
        self.rounds_ = result.kept
        self.starts_ = result.starts
        return self
