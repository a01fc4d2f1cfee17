"""Hand small programs over the unit box straight to PIQP or Clarabel, without cvxpy.

    minimise 1/2 |R f - r|^2 + c'f   subject to   G f >= h,  1 <= sum f <= total,  0 <= f <= 1

LLFS solves hundreds of these for each sample. They take a solver a fraction of a millisecond, less
than cvxpy's interface needs to pass them on. The solver gets ``P = R'R``; cvxpy's form has a
variable and an equation for each row of R instead, which doubles the solver's own time. Solvers
are set up anew for every program, so that no solution depends on an earlier one.
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


class BoxProgram:
    """Programs with this `total` for a solver of `CALLS`; used as a :class:`CompiledProblem`."""

    def __init__(self, solver: str, total: float):
        self.row, self.total = backend(solver), float(total)
        self._call, self._statuses = CALLS[solver]

    def solve(
        self,
        values: Mapping[str, Any],
        options: Mapping[str, Any],
        memory: dict[str, Any] | None = None,
    ) -> Answer:
        """Solve with these c, G, h and, if there is curvature, R and r; errors are a status."""
        try:
            found, x = self._call(_arrays(values), self.total, options)
        except (KeyboardInterrupt, SystemExit):
            raise
        # Solvers raise many classes; panics of those in Rust do not derive from Exception.
        except BaseException as failure:
            return Answer(ERROR, {}, f"{type(failure).__name__}: {failure}")
        status = self._statuses.get(found, cvxpy_settings.SOLVER_ERROR)
        f = np.asarray(x)
        present = status in cvxpy_settings.SOLUTION_PRESENT and np.isfinite(f).all()
        return Answer(status, {"f": f} if present else {})


def _arrays(values: Mapping[str, Any]) -> Arrays:
    """Return the arrays of a program, without rows of G that are 0 and restrict nothing."""
    q, G, h = values["c"], values["G"], values["h"]
    used = G.any(axis=1) | (h > 0.0)
    if "R" not in values:
        return Arrays(q, G[used], h[used], np.empty((0, 0)), np.empty(0, dtype=np.int64))
    curved = np.flatnonzero(values["R"].any(axis=0))
    root = values["R"][:, curved]
    q = q.copy()
    q[curved] -= values["r"] @ root
    return Arrays(q, G[used], h[used], root, curved)


def _call_piqp(program: Arrays, total: float, options: Mapping[str, Any]) -> tuple[str, Any]:
    """Solve a program by PIQP's dense interface; return its status and point."""
    solver = importlib.import_module("piqp").DenseSolver()
    for name, value in options.items():
        setattr(solver.settings, name, value)
    n, m = len(program.q), len(program.h)
    P = np.zeros((n, n), order="F")
    if len(program.curved):
        P[np.ix_(program.curved, program.curved)] = program.root.T @ program.root
    G = np.ones((m + 2, n), order="F")
    G[:m] = -program.G
    G[m] = -1.0
    h = np.concatenate([-program.h, (-1.0, total)])
    solver.setup(P=P, c=program.q, G=G, h_u=h, x_l=np.zeros(n), x_u=np.ones(n))
    return solver.solve().name, solver.result.x


def _call_clarabel(program: Arrays, total: float, options: Mapping[str, Any]) -> tuple[str, Any]:
    """Solve a program by Clarabel; return its status and point."""
    clarabel: Any = importlib.import_module("clarabel")
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    for name, value in options.items():
        setattr(settings, name, value)
    n, m = len(program.q), len(program.h)
    # A column has its entries of G, of the two sums and of the two bounds, in this order.
    columns = np.empty((n, m + 4))
    columns[:, :m] = -program.G.T
    columns[:, m:] = -1.0, 1.0, -1.0, 1.0
    A = sparse.csc_matrix((columns.ravel(), *_pattern(n, m)), shape=(m + 2 + 2 * n, n))
    b = np.concatenate([-program.h, (-1.0, total), np.zeros(n), np.ones(n)])
    cones = [clarabel.NonnegativeConeT(len(b))]
    P = _upper_triangle(program, n)
    solved = clarabel.DefaultSolver(P, program.q, A, b, cones, settings).solve()
    return str(solved.status), solved.x


@lru_cache(maxsize=64)
def _pattern(n: int, m: int) -> tuple[np.ndarray, np.ndarray]:
    """Return row indices and column starts of Clarabel's constraint matrix."""
    rows = np.empty((n, m + 4), dtype=np.int32)
    rows[:, : m + 2] = np.arange(m + 2)
    rows[:, m + 2] = m + 2 + np.arange(n)
    rows[:, m + 3] = m + 2 + n + np.arange(n)
    return rows.ravel(), np.arange(0, n * (m + 4) + 1, m + 4, dtype=np.int32)


def _upper_triangle(program: Arrays, n: int) -> Any:
    """Return the upper triangle of P as a sparse matrix by columns."""
    column, row = _triangle(len(program.curved))
    counts = np.zeros(n + 1, dtype=np.int32)
    counts[program.curved + 1] = np.arange(1, len(program.curved) + 1)
    block = program.root.T @ program.root if len(program.curved) else np.empty((0, 0))
    parts = (block[row, column], program.curved[row], np.cumsum(counts, dtype=np.int32))
    return sparse.csc_matrix(parts, shape=(n, n))


@lru_cache(maxsize=64)
def _triangle(k: int) -> tuple[np.ndarray, ...]:
    return np.tril_indices(k)


#: By solver: the function that calls it, and the names of its statuses in cvxpy.
CALLS: dict[str, tuple[Callable[..., tuple[str, Any]], Mapping[str, str]]] = {
    "PIQP": (_call_piqp, PIQP.STATUS_MAP),
    "CLARABEL": (_call_clarabel, CLARABEL.STATUS_MAP),
}
