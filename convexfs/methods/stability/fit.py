"""Error bounds of stability selection: the expected number of false selections."""

import math
from dataclasses import dataclass

import numpy as np

from convexfs.errors import check_number
from convexfs.methods.base.formulation import DEFAULT_SOLVING, Solving, parameters
from convexfs.methods.base.solve_step import require_answer, solve_step
from convexfs.methods.stability import METHOD
from convexfs.methods.stability.numbers import last_mode, stability_unimodal, tail_problem
from convexfs.records import Certificate, Solution


@parameters
class Settings:
    """Parameters of the bound: number of pairs, threshold, and selections per half."""

    n_pairs: int = 50
    threshold: float = 0.75
    n_selected: float | None = None


@dataclass(frozen=True)
class StabilityResult:
    """Bound on the probability that a feature is selected by chance, and its certificate.

    Attributes
    ----------
    probability : float
        Most that a feature, selected by a half with the mean probability, reaches the threshold.
    mode : int
        Of the law that does.
    solution : Solution
        Of that mode.
    certificate : Certificate
        The worst over all modes: each has its own linear program.
    """

    probability: float
    mode: int
    solution: Solution
    certificate: Certificate


def stability(
    X: np.ndarray,
    codes: np.ndarray,
    settings: Settings | None = None,
    solving: Solving = DEFAULT_SOLVING,
) -> StabilityResult:
    """Bound the chance that a rarely selected feature passes `threshold`; uses only X.shape[1]."""
    settings = settings or Settings()
    hyper = stability_unimodal(
        X, codes, n_pairs=settings.n_pairs, threshold=settings.threshold,
        n_selected=settings.n_selected,
    )[1]  # fmt: skip
    return largest_tail(settings.n_pairs, settings.threshold, hyper["eta"], solving)


def largest_tail(
    n_pairs: int, threshold: float, eta: float, solving: Solving = DEFAULT_SOLVING
) -> StabilityResult:
    """Bound P(share >= 2 threshold - 1) over unimodal laws of mean at most `eta`; one LP per mode.

    Laws of so small a mean have their mode at ``2 n_pairs eta`` or below, most often at 0.
    """
    formulation = METHOD.formulation("stability-unimodal", solving)
    best, proofs = None, []
    for mode in range(last_mode(n_pairs, eta) + 1):
        values, hyper = tail_problem(n_pairs, threshold, eta, mode)
        solution, certificate = solve_step(formulation, values, hyper, solving)
        p = require_answer(solution, formulation.symbol)
        proofs.append(certificate)
        tail = float(values["tail"] @ p)
        if best is None or tail > best[0]:
            best = (tail, mode, solution)
    worst = max(proofs, key=lambda proof: math.inf if math.isnan(proof.worst) else proof.worst)
    assert best is not None  # Mode 0 is always tried.
    return StabilityResult(*best, worst)


def meinshausen_buhlmann(n_selected: float, n_features: int, threshold: float) -> float:
    r"""Return Meinshausen & Buhlmann's bound on false selections, :math:`q^2 / ((2 \tau - 1) J)`.

    It holds for complementary pairs without any assumption on the law, whatever their number.
    """
    check_number("threshold", threshold, 0.5, 1.0)
    certain = 2.0 * threshold - 1.0
    return math.inf if certain == 0 else n_selected**2 / (certain * n_features)
