"""Random problems whose optimum is known exactly, and the helpers that make them.

All data are integers times powers of two, so that a problem and its optimal point are exact as
doubles: what is true of the integers is true of the numbers that a solver and a certificate
see. Optimal points and multipliers are drawn first, then the data that make them optimal.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

#: Statuses that a problem can truly have.
OPTIMAL, INFEASIBLE, UNBOUNDED = "optimal", "infeasible", "unbounded"
#: Classes by which undecided cases are summed up.
FLAT, CURVED, INTEGER, OTHER = "flat", "curved", "MILP", "other"
#: Powers of two between 1e-10 and 1e10.
POWERS = range(-33, 34)
LINEAR = (
    "HIGHS", "CLARABEL", "ECOS", "SCS", "OSQP", "QPALM", "PIQP", "CVXOPT", "SCIPY", "DAQP",
    "PROXQP", "GLPK", "SCIP", "QOCO",
)  # fmt: skip
QUADRATIC = ("CLARABEL", "OSQP", "SCS", "PIQP", "QPALM", "DAQP", "HIGHS", "PROXQP")
SECOND_ORDER = ("CLARABEL", "ECOS", "SCS", "CVXOPT", "QOCO")
EXPONENTIAL = ("CLARABEL", "ECOS", "SCS")
SEMIDEFINITE = ("CLARABEL", "SCS", "CVXOPT")  # SDPA prints, and ends the process now and then
POWER = ("CLARABEL", "SCS")
MIXED_INTEGER = ("HIGHS", "SCIPY", "GLPK_MI", "SCIP")

Point = Mapping[str, Any]


@dataclass(frozen=True)
class Known:
    """A program that defines ``problem`` from ``np`` and ``cp``, and all that is known of it.

    Attributes
    ----------
    program : str
    solvers : tuple of str
        Those to ask; empty where convexfs.solve does not take the class.
    status : str
    optimum : float
        Means nothing unless the status is optimal.
    point : mapping
        An optimal point, by the names of the variables.
    size : float
        Size of the terms of the objective, against which errors of it are measured.
    unit : float
        Size of the variables, against which violations of rows without terms are measured.
    wrong : tuple of mappings
        Points that are wrong by construction, whatever they look like.
    group : str
        FLAT, CURVED, INTEGER or OTHER.
    movable : bool
        Whether the objective at a point near the optimum tells if the point is right.
    strict : bool
        Whether some point satisfies all conic constraints strictly, in primal and dual.
    """

    program: str
    solvers: tuple[str, ...]
    status: str = OPTIMAL
    optimum: float = float("nan")
    point: Point = field(default_factory=dict)
    size: float = 1.0
    unit: float = 1.0
    wrong: tuple[Point, ...] = ()
    group: str = FLAT
    movable: bool = True
    strict: bool = True


def text(values: Any) -> str:
    """Write numbers so that Python reads the same doubles."""
    values = np.asarray(values, dtype=float)
    return repr(float(values)) if values.ndim == 0 else f"np.array({values.tolist()})"


def integers(rng: np.random.Generator, low: int, high: int, shape: Any = None) -> Any:
    """Draw integers in [low, high], as floats."""
    drawn = rng.integers(low, high + 1, shape)
    return float(drawn) if shape is None else drawn.astype(float)


def power(rng: np.random.Generator, low: int = POWERS[0], high: int = POWERS[-1]) -> float:
    """Draw a power of two; 1 in a third of all cases."""
    return 1.0 if rng.random() < 1 / 3 else 2.0 ** int(rng.integers(low, high + 1))


def complementary(rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw two nonnegative vectors of which one is 0 wherever the other is not."""
    first = rng.random(count) < 0.5
    values = integers(rng, 1, 4, count)
    return np.where(first, values, 0.0), np.where(first, 0.0, values)
