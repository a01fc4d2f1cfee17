"""Hand LLFS's linear and curved steps straight to PIQP or Clarabel, without cvxpy.

These steps are most of a solution path and take a solver a fraction of a millisecond, less than
cvxpy's interface needs to pass them on. Both have one form,

    minimise 1/2 f'Pf + q'f   subject to   G f >= h,  1 <= sum f <= alpha,  0 <= f <= 1,

with ``P = R'R`` and ``q = c - R'r``. cvxpy's form of a curved step has a variable and an equation
for each row of R in addition, which doubles the solver's own time. Solvers are set up anew for
every program, so that no solution depends on an earlier one.
"""

import importlib
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from cvxpy import settings as cvxpy_settings
from cvxpy.reductions.solvers.conic_solvers.clarabel_conif import CLARABEL
from cvxpy.reductions.solvers.qp_solvers.piqp_qpif import PIQP
from scipy import sparse

from convexfs.records import ERROR
from convexfs.solving.backends import backend
from convexfs.solving.parametrized import Answer


class Arrays(NamedTuple):
    """Numbers of one program; `root` is R on the features `curved`, its nonzero columns."""

    q: np.ndarray
    G: np.ndarray
    h: np.ndarray
    root: np.ndarray
    curved: np.ndarray


class CondensedProblem:
    """Linear or curved steps with the paper's constraints, for a solver of `CALLS`.

    It is used as a :class:`convexfs.solving.parametrized.CompiledProblem`.
    """

    def __init__(self, solver: str, max_features: int):
        self.row, self.max_features = backend(solver), max_features
        self._call, self._statuses = CALLS[solver]

    def solve(
        self,
        values: Mapping[str, Any],
        options: Mapping[str, Any],
        memory: dict[str, Any] | None = None,
    ) -> Answer:
        """Solve with these values; solver errors are returned as a status."""
        try:
            found, x = self._call(_condensed(values), self.max_features, options)
        # Solvers raise TypeError, ValueError and their own classes.
        except Exception as failure:
            return Answer(ERROR, {}, f"{type(failure).__name__}: {failure}")
        status = self._statuses.get(found, cvxpy_settings.SOLVER_ERROR)
        f = np.asarray(x)
        present = status in cvxpy_settings.SOLUTION_PRESENT and np.isfinite(f).all()
        return Answer(status, {"f": f} if present else {})


def _condensed(values: Mapping[str, Any]) -> Arrays:
    """Return the arrays of a step, without tangents that are all 0 and restrict nothing."""
    q, G, h = values["c"], values["G"], values["h"]
    used = G.any(axis=1) | (h > 0.0)
    if "R" not in values:
        nothing = np.empty(0, dtype=np.int64)
        return Arrays(q, G[used], h[used], np.empty((0, 0)), nothing)
    curved = np.flatnonzero(values["R"].any(axis=0))
    root = values["R"][:, curved]
    q = q.copy()
    q[curved] -= values["r"] @ root
    return Arrays(q, G[used], h[used], root, curved)


def _call_piqp(step: Arrays, max_features: int, options: Mapping[str, Any]) -> tuple[str, Any]:
    """Solve a step by PIQP's dense interface; return its status and point."""
    solver = importlib.import_module("piqp").DenseSolver()
    for name, value in options.items():
        setattr(solver.settings, name, value)
    n, m = len(step.q), len(step.h)
    P = np.zeros((n, n), order="F")
    if len(step.curved):
        P[np.ix_(step.curved, step.curved)] = step.root.T @ step.root
    G = np.ones((m + 2, n), order="F")
    G[:m] = -step.G
    G[m] = -1.0
    h = np.concatenate([-step.h, (-1.0, max_features)])
    solver.setup(P=P, c=step.q, G=G, h_u=h, x_l=np.zeros(n), x_u=np.ones(n))
    return solver.solve().name, solver.result.x


def _call_clarabel(step: Arrays, max_features: int, options: Mapping[str, Any]) -> tuple[str, Any]:
    """Solve a step by Clarabel; return its status and point."""
    clarabel: Any = importlib.import_module("clarabel")
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    for name, value in options.items():
        setattr(settings, name, value)
    n, m = len(step.q), len(step.h)
    # A column has its entries of G, of the two sums and of the two bounds, in this order.
    columns = np.empty((n, m + 4))
    columns[:, :m] = -step.G.T
    columns[:, m:] = -1.0, 1.0, -1.0, 1.0
    A = sparse.csc_matrix((columns.ravel(), *_pattern(n, m)), shape=(m + 2 + 2 * n, n))
    b = np.concatenate([-step.h, (-1.0, max_features), np.zeros(n), np.ones(n)])
    cones = [clarabel.NonnegativeConeT(len(b))]
    solved = clarabel.DefaultSolver(_upper_triangle(step, n), step.q, A, b, cones, settings).solve()
    return str(solved.status), solved.x


@lru_cache(maxsize=64)
def _pattern(n: int, m: int) -> tuple[np.ndarray, np.ndarray]:
    """Return row indices and column starts of Clarabel's constraint matrix."""
    rows = np.empty((n, m + 4), dtype=np.int32)
    rows[:, : m + 2] = np.arange(m + 2)
    rows[:, m + 2] = m + 2 + np.arange(n)
    rows[:, m + 3] = m + 2 + n + np.arange(n)
    return rows.ravel(), np.arange(0, n * (m + 4) + 1, m + 4, dtype=np.int32)


def _upper_triangle(step: Arrays, n: int) -> Any:
    """Return the upper triangle of P as a sparse matrix by columns."""
    column, row = np.tril_indices(len(step.curved))
    counts = np.zeros(n + 1, dtype=np.int32)
    counts[step.curved + 1] = np.arange(1, len(step.curved) + 1)
    block = step.root.T @ step.root if len(step.curved) else np.empty((0, 0))
    parts = (block[row, column], step.curved[row], np.cumsum(counts, dtype=np.int32))
    return sparse.csc_matrix(parts, shape=(n, n))


#: By solver: the function that calls it, and the names of its statuses in cvxpy.
CALLS: dict[str, tuple[Callable[..., tuple[str, Any]], Mapping[str, str]]] = {
    "PIQP": (_call_piqp, PIQP.STATUS_MAP),
    "CLARABEL": (_call_clarabel, CLARABEL.STATUS_MAP),
}
