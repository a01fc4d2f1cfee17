"""What a random problem with a known optimum is, and who can solve which kind."""

from dataclasses import dataclass

import numpy as np

#: Statuses that a problem can truly have.
OPTIMAL, INFEASIBLE, UNBOUNDED = "optimal", "infeasible", "unbounded"


@dataclass(frozen=True)
class Known:
    """A program that defines ``problem`` from ``np``, ``cp``, ``s`` and ``c``, and its optimum."""

    program: str
    optimum: float  #: in units of s c; of no meaning unless the status is optimal
    solvers: tuple[str, ...]
    status: str = OPTIMAL
    unit: float = 0.0  #: size of numbers in it, in units of s, if its optimum is 0


LINEAR = ("HIGHS", "CLARABEL", "ECOS", "SCS", "OSQP", "QPALM", "PIQP", "CVXOPT", "SCIPY")
QUADRATIC = ("CLARABEL", "OSQP", "SCS", "PIQP", "QPALM", "DAQP", "HIGHS")
SECOND_ORDER = ("CLARABEL", "ECOS", "SCS", "CVXOPT", "QOCO")
EXPONENTIAL = ("CLARABEL", "ECOS", "SCS")
SEMIDEFINITE = ("CLARABEL", "SCS", "CVXOPT")  # SDPA prints, and ends the process now and then


def as_text(values: np.ndarray) -> str:
    return f"np.array({values.tolist()})"
