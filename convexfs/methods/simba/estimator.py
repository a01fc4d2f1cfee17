"""Simba as a scikit-learn selector."""

from collections.abc import Mapping
from typing import Any

from convexfs.errors import InputError
from convexfs.methods.base.progress import narrator
from convexfs.methods.base.selector import WeightSelector
from convexfs.methods.simba.fit import simba


class Simba(WeightSelector):
    r"""Weight features by stochastic ascent on the nearest-neighbour margin.

    Maximises :math:`\sum_n u(\theta_n)` with
    :math:`\theta_n = \frac12 (\|x_n - NM\|_w - \|x_n - NH\|_w)` and
    :math:`\|z\|_w^2 = \sum_i w_i^2 z_i^2`, neighbours taken in the weighted
    space. Not a convex problem: the best of several starts is returned without
    proof. The data are not scaled, and here their scale is that of the step: put
    them on one scale first.

    Parameters
    ----------
    n_starts : int, default=5
        Random orders of the samples tried.
    n_epochs : int, default=1
        Visits to every sample a start.
    utility : {"linear", "sigmoid"}, default="linear"
    solver : {"auto", "native"}, default="auto"
        There is no convex problem another solver could take.
    solver_tol, solver_options
        Not used.
    n_features_to_select : int, optional
        Keep this many; by default those above 1 % of the largest weight.
    n_jobs : int, optional
        Not used.
    random_state : int, RandomState or None
        For the orders.
    verbose : int, default=0
        Above 0 stderr is told of finished starts, twice a second at most.

    Attributes
    ----------
    weights_ : array (n_features,)
        :math:`w^2 / \max w^2`; also ``feature_importances_``.
    evaluations_ : array (n_starts,)
        What every start reached.
    certificate_ : Certificate
        Says that nothing is certified.
    classes_, n_features_in_, feature_names_in_
        As usual.

    Notes
    -----
    A constant column weighs 0 and is never selected; copies of a column weigh the same.
    Of equally near samples the first row is the neighbour; at a copy of a sample, where
    the margin has no gradient, no step is made. A start may lose all weight; if every one
    does, all weights are 0, with a warning.

    References
    ----------
    Gilad-Bachrach, Navot and Tishby, "Margin Based Feature Selection", ICML 2004.

    Examples
    --------
    >>> import convexfs
    >>> data = convexfs.load("sign_bits:seed=1").scaled()
    >>> model = convexfs.Simba(n_features_to_select=2, random_state=0).fit(data.X, data.y)
    >>> model.get_support(indices=True)
    array([0, 1])
    """

    def __init__(
        self,
        n_starts: int = 5,
        n_epochs: int = 1,
        utility: str = "linear",
        solver: str = "auto",
        solver_tol: float = 1e-6,
        solver_options: Mapping[str, Any] | None = None,
        n_features_to_select: int | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.n_starts = n_starts
        self.n_epochs = n_epochs
        self.utility = utility
        self.solver = solver
        self.solver_tol = solver_tol
        self.solver_options = solver_options
        self.n_features_to_select = n_features_to_select
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any) -> "Simba":
        """Weigh the features of `X` by the classes `y`."""
        X, codes = self._checked(X, y)
        if self.solver not in ("auto", "native"):
            raise InputError(
                "simba climbs a utility that is not convex, which no solver can do for it: "
                f"leave the solver {self.solver!r} out"
            )
        result = simba(
            X,
            codes,
            utility=self.utility,
            n_starts=self.n_starts,
            n_epochs=self.n_epochs,
            seed=self._seed(),
            watch=narrator("simba", self.verbose),
        )
        self.weights_ = result.weights
        self.evaluations_ = result.evaluations
        self.solution_ = result.solution
        self.certificate_ = result.certificate
        return self
