"""The method: one convex problem, no outer loop."""

from dataclasses import dataclass

import numpy as np

from convexfs.plugin import (
    DEFAULT_SOLVING,
    Certificate,
    Solution,
    Solving,
    check_solver,
    parameters,
    require_answer,
    solve_step,
)
from soft_margin import METHOD, numbers


@parameters
class Settings:
    """Parameters: the l2 penalty."""

    lam: float = 1.0


@dataclass(frozen=True)
class SoftMarginResult:
    """Weights and their certificate."""

    weights: np.ndarray
    solution: Solution
    certificate: Certificate


def soft_margin(
    X: np.ndarray,
    codes: np.ndarray,
    settings: Settings | None = None,
    solving: Solving = DEFAULT_SOLVING,
) -> SoftMarginResult:
    """Compute the feature weights."""
    settings = settings or Settings()
    formulation = METHOD.formulation("soft-margin")
    check_solver(formulation, solving)
    values, hyper = numbers.soft_margin(X, codes, lam=settings.lam)
    solution, certificate = solve_step(formulation, values, hyper, solving)
    weights = np.maximum(require_answer(solution, "w"), 0.0)
    return SoftMarginResult(weights, solution, certificate)
