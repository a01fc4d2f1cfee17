"""Parameters of Logo, checked, with the solver settings of its steps."""

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from convexfs.errors import InputError, check_choice, check_flag, check_number
from convexfs.methods.base.formulation import (
    Formulation,
    Solving,
    check_solver,
    parameters,
    runs_natively,
    taken_by,
)
from convexfs.methods.base.solve_step import NATIVE_TOL
from convexfs.methods.logo import METHOD
from convexfs.methods.logo.newton import Constrained, Objective, Penalised
from convexfs.neighbors.soft import check_sigma

ALGORITHMS = ("certified", "paper")
#: Value of the parameter lam that has permuted labels set the penalty.
NULL = "null"
#: Largest relative gap that is accepted of a cvxpy solver, as a multiple of its tolerance. The dual
#: point is made from w alone, so that 1e-6 on the cone program becomes 1e-4 here.
_BACKEND_SLACK = 100.0
#: Relative duality gap at which the native solver stops; the certificate accepts up to NATIVE_TOL.
_NATIVE_GAP = 1e-10


@parameters
class Settings:
    """Parameters of Logo; see :class:`convexfs.Logo`."""

    algorithm: str = "certified"
    damping: float = 0.5
    tol: float = 1e-3
    max_iter: int = 1000
    sigma: float = 2.0
    lam: float | str = 1.0
    n_permutations: int = 19
    beta: float | None = None
    prune: bool = False
    start: Any = None
    n_starts: int = 1


@dataclass(frozen=True)
class LogoRequest:
    """A fit's parameters: the method's settings, and the solver settings."""

    settings: Settings
    solving: Solving

    def check(self) -> None:
        """Raise if a parameter is invalid, or if parameters contradict each other."""
        settings, limit = self.settings, self.solving.time_limit
        check_sigma(settings.sigma)
        check_choice("algorithm", settings.algorithm, ALGORITHMS)
        check_number("damping", settings.damping, 0, 0.999)
        check_number("tol", settings.tol, 0)
        check_number("max_iter", settings.max_iter, 1, whole=True)
        if limit is not None:
            check_number("time_limit, in seconds,", limit, 0, open_ends=True)
        check_flag("prune", settings.prune)
        if settings.prune and not self.printed:
            raise InputError(
                "prune=True is of algorithm='paper': 'certified' prunes and asks again"
            )
        check_number("n_permutations", settings.n_permutations, 1, 1_000_000, whole=True)
        if settings.beta is not None:
            check_number("beta", settings.beta, 0, open_ends=True)
        elif not self.searches:
            check_number("lam", settings.lam, 0)
        if self.printed and (settings.beta is not None or self.solving.build is not None):
            raise InputError(
                "algorithm='paper' is printed for eq. 7 only: leave beta and formulation out, "
                "or use algorithm='certified'"
            )
        check_solver(self.formulation, self.solving)

    @property
    def printed(self) -> bool:
        return self.settings.algorithm == "paper"

    @property
    def searches(self) -> bool:
        """Return whether permuted labels set the penalty: lam is "null" and beta is None."""
        lam = self.settings.lam
        return isinstance(lam, str) and lam == NULL and self.settings.beta is None

    def changed(self, **settings: Any) -> "LogoRequest":
        """Return a copy of the request with other settings, such as another penalty lam."""
        return replace(self, settings=Settings(**taken_by(Settings, self.settings) | settings))

    def objective(self, counts: np.ndarray | None = None) -> Objective:
        """Return the objective, with `counts` of the samples' terms unless all are 1."""
        lam, beta = self.settings.lam, self.settings.beta
        if beta is None:
            return Penalised(float(lam), counts=counts)
        return Constrained(float(beta), counts=counts)

    @property
    def formulation(self) -> Formulation:
        penalised = self.settings.beta is None
        return METHOD.formulation("logo-penalised" if penalised else "logo-constrained")

    @property
    def native(self) -> bool:
        """Return whether the fit needs no cvxpy solver."""
        return self.printed or runs_natively(self.formulation, self.solving)

    @property
    def step_tol(self) -> float:
        """Return the relative duality gap at which the solver of a convex step stops."""
        return _NATIVE_GAP if self.native else self.solving.tol

    @property
    def gap_tol(self) -> float:
        """Return the largest relative duality gap that the certificate accepts."""
        exact = self.native and not self.printed
        return NATIVE_TOL if exact else _BACKEND_SLACK * self.solving.tol

    @property
    def deadline(self) -> float:
        """Return now plus the time limit, by ``time.perf_counter``; infinity without a limit."""
        limit = self.solving.time_limit
        return np.inf if limit is None else time.perf_counter() + limit
