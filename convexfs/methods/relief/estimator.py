"""RELIEF and RELIEF-F as a scikit-learn selector."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from convexfs.methods.base.changed import build_of
from convexfs.methods.base.selector import WeightSelector, thread_map
from convexfs.methods.relief.fit import relief


class Relief(WeightSelector):
    r"""Weight features by how much better they tell misses from hits.

    Solves :math:`\max_w w^T z - \lambda 1^T w` over :math:`\|w\|_2 \le 1, w \ge 0`,
    where :math:`z = \sum_n |x_n - NM(x_n)| - |x_n - NH(x_n)|` sums, feature by
    feature, how much farther the nearest miss of a sample is than its nearest
    hit. The data are not scaled: put them on one scale first.

    Parameters
    ----------
    n_neighbors : int, default=1
        Hits and misses averaged per sample; 10 is the usual RELIEF-F.
    miss : {"nearest", "prior", "uniform"}, default="nearest"
        With many classes: the nearest misses of all other classes together, or
        of each class, weighted by its prior (Kononenko) or equally.
    metric : {"manhattan", "sqeuclidean"}, default="manhattan"
        Distance that defines neighbours; its terms are what z sums.
    online : bool, default=False
        Draw samples at random as the original algorithm does.
    n_epochs : int, default=1
        Draws, as a multiple of the number of samples.
    l1 : float in [0, 1], default=0
        Leave out features whose z is below this share of the largest.
    solver : str, default="auto"
        "auto" and "native" use the closed form; a cvxpy name uses that backend.
    solver_tol : float, default=1e-6
    solver_options : dict, optional
    n_features_to_select : int, optional
        Keep this many; by default those above 1 % of the largest weight.
    formulation : callable or path, optional
        A changed problem: ``build(z, lam) -> cvxpy.Problem`` with a variable
        ``w``, or a problem file.
    n_jobs : int, optional
        Threads; the result does not depend on their number.
    random_state : int, RandomState or None
        For ``online``.
    verbose : int, default=0
        Above 0 the backend prints.

    Attributes
    ----------
    weights_ : array (n_features,)
        Also ``feature_importances_``.
    margin_ : array (n_features,)
        z.
    certificate_ : Certificate
    classes_, n_features_in_, feature_names_in_
        As usual.

    Notes
    -----
    A constant column weighs 0 and is never selected; copies of a column weigh the same.
    Of equally near samples the first rows are the neighbours. Where no feature has a
    positive margin all weights are 0, which is the optimum: certified, with a warning.

    References
    ----------
    Sun and Wu, "Feature Extraction through Local Learning", Statistical
    Analysis and Data Mining 2 (2009), Sec. 2.

    Examples
    --------
    >>> import convexfs
    >>> data = convexfs.load("twonorm:noise=30,seed=1").scaled()
    >>> selector = convexfs.Relief(n_neighbors=10, n_features_to_select=20).fit(data.X, data.y)
    >>> int(selector.get_support()[:20].sum())
    20
    >>> selector.certificate_.ok
    True
    """

    def __init__(
        self,
        n_neighbors: int = 1,
        miss: str = "nearest",
        metric: str = "manhattan",
        online: bool = False,
        n_epochs: int = 1,
        l1: float = 0.0,
        solver: str = "auto",
        solver_tol: float = 1e-6,
        solver_options: Mapping[str, Any] | None = None,
        n_features_to_select: int | None = None,
        formulation: Callable[..., Any] | str | Path | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.n_neighbors = n_neighbors
        self.miss = miss
        self.metric = metric
        self.online = online
        self.n_epochs = n_epochs
        self.l1 = l1
        self.solver = solver
        self.solver_tol = solver_tol
        self.solver_options = solver_options
        self.n_features_to_select = n_features_to_select
        self.formulation = formulation
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any) -> "Relief":
        """Weigh the features of `X` by the classes `y`."""
        X, codes = self._checked(X, y)
        with thread_map(self.n_jobs) as map:
            result = relief(
                X,
                codes,
                n_neighbors=self.n_neighbors,
                miss=self.miss,
                metric=self.metric,
                online=self.online,
                n_epochs=self.n_epochs,
                l1=self.l1,
                solver=self.solver,
                solver_tol=self.solver_tol,
                solver_options=self.solver_options,
                build=build_of(self.formulation, "relief"),
                seed=self._seed(),
                map=map,
                verbose=self.verbose > 0,
            )
        self.weights_ = result.weights
        self.margin_ = result.margin
        self.solution_ = result.solution
        self.certificate_ = result.certificate
        return self
