"""Fit Lmba: feature weights that minimise a nearest-neighbour loss."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from convexfs.data.column_ranges import constant_columns, varying_columns
from convexfs.errors import InputError, check_choice, check_number, warn
from convexfs.methods.base.formulation import (
    AUTO,
    DEFAULT_SOLVING,
    Formulation,
    Solving,
    Step,
    parameters,
    runs_natively,
    taken_by,
)
from convexfs.methods.base.solve_step import require_answer, solve_step
from convexfs.methods.lmba import METHOD, numbers
from convexfs.methods.lmba.gradient import descend
from convexfs.methods.lmba.native import least_useful_c, program_of
from convexfs.records import NATIVE, Certificate, Solution

#: Formulation name of each form; for "gradient", the one whose loss it descends.
FORMS = {"simplex": "lmba-simplex", "box": "lmba-box", "gradient": "lmba-box"}
#: With more hinges, which take a cvxpy solver up to hours, a fit without a time limit raises.
_MOST_HINGES = 100_000
#: Weights this close to 0, or to 1, count as equal to it.
_TIED = 1e-6


@parameters
class Settings:
    """Parameters of Lmba; see :class:`convexfs.Lmba`."""

    c: float = 1.0
    n_neighbors: int = 3
    form: str = "simplex"
    n_epochs: int = 1
    step: float = 0.1
    decay: float = 0.0


@dataclass(frozen=True)
class LmbaResult:
    """Weights ``w = sqrt(u)``, the loss e(w), and their certificate."""

    weights: np.ndarray
    loss: float
    solution: Solution
    certificate: Certificate


def lmba(
    X: np.ndarray,
    codes: np.ndarray,
    settings: Settings | None = None,
    solving: Solving = DEFAULT_SOLVING,
    *,
    seed: Any = None,
) -> LmbaResult:
    r"""Compute feature weights by Lmba (Pattern Recognition 2009).

    With :math:`\|z\|_w^2 = \sum_f w_f^2 z_f^2` the loss of sample i is

    .. math::
        \sum_j t_{ij} \|x_i - x_j\|_w^2 + c \sum_{j,p} t_{ij} (1 - b_{ip})
        [\theta_i + \|x_i - x_j\|_w^2 - \|x_i - x_p\|_w^2]_+

    over its target neighbours j, the nearest hits, and the impostors p, samples
    of other classes that come nearer than a target plus the margin theta. In
    :math:`u = w^2` this is convex.

    Constant features, which cost nothing and would take up the sum of the weights, are
    left out and weigh 0; a changed `build` gets all, and they weigh 0 whatever it gives
    them. Copies of a feature may share its weight in any way. Of equally near hits the
    first in the data are the targets.

    Parameters
    ----------
    X : array (N, J)
    codes : int array (N,)
        Classes, 0 to K - 1.
    settings : Settings
        ``form`` is "simplex", weights whose squares sum to the number of features; "box",
        weights in [0, 1], which may all be tied; or "gradient", the paper's stochastic descent,
        which visits every sample ``n_epochs`` times with steps of length ``step / i**decay``.
    solving : Solving
        How the problem is solved.
    seed
        For the order of the visits.
    """
    settings = settings or Settings()
    form, build = settings.form, solving.build
    formulation = _checked_formulation(settings, solving)
    # A changed problem may refer to features by position, so it gets constant columns too.
    columns = varying_columns(X) if build is None else np.arange(X.shape[1])
    chosen = taken_by(numbers.lmba_simplex, settings)
    values, hyper = numbers.lmba_simplex(X[:, columns], codes, **chosen)
    if form == "gradient":
        solution, certificate = _descended(values, hyper, settings, seed)
    else:
        _check_size(formulation, values, solving)
        solution, certificate = solve_step(formulation, values, hyper, solving)
    u_varying = np.maximum(require_answer(solution, formulation.symbol, solving), 0.0)
    if build is None and form != "gradient":
        _explain(u_varying, values, settings.c)
    loss = evaluation(np.sqrt(u_varying), values, hyper)
    u = np.zeros(X.shape[1])
    u[columns] = u_varying
    solution = replace(solution, primal={**solution.primal, formulation.symbol: u})
    return LmbaResult(np.where(constant_columns(X), 0.0, np.sqrt(u)), loss, solution, certificate)


def _checked_formulation(settings: Settings, solving: Solving) -> Formulation:
    """Return the formulation of ``settings.form``; raise for incompatible settings."""
    form = settings.form
    check_choice("form", form, FORMS)
    formulation = METHOD.formulation(FORMS[form], solving)
    check_number("n_epochs", settings.n_epochs, 1, whole=True)
    check_number("step", settings.step, 0, open_ends=True)
    check_number("decay", settings.decay, 0)
    changed = solving.build is not None or solving.solver.lower() not in (AUTO, NATIVE)
    if form == "gradient" and changed:
        raise InputError(
            "form='gradient' is the paper's own descent, which no solver or formulation "
            "changes: use form='box' or 'simplex'"
        )
    return formulation


def _check_size(formulation: Formulation, values: Mapping[str, Any], solving: Solving) -> None:
    """Raise if a cvxpy solver would get over 100,000 hinges (printed problem, no time limit)."""
    if solving.build is not None or solving.time_limit is not None:
        return
    if runs_natively(formulation, solving):
        return
    codes, targets = values["codes"], values["targets"]
    impostors = len(codes) - np.bincount(codes)[codes]
    n_hinges = int((targets >= 0).sum(axis=1) @ impostors)
    if n_hinges > _MOST_HINGES:
        raise InputError(
            f"Lmba of {len(codes)} samples is a linear program of {n_hinges} hinges, which takes "
            f"{solving.solver} from many minutes to hours: use solver='native', which takes "
            "seconds, fewer samples, or a time_limit"
        )


def step(X: np.ndarray, codes: np.ndarray, settings: Settings, solving: Solving) -> Step:
    """Return Lmba's linear program (Step) of these samples without constant columns."""
    columns = varying_columns(X) if solving.build is None else np.arange(X.shape[1])
    chosen = taken_by(numbers.lmba_simplex, settings)
    values, hyper = numbers.lmba_simplex(X[:, columns], codes, **chosen)
    return Step(_checked_formulation(settings, solving), values, hyper)


def lmba_loss(
    X: np.ndarray,
    codes: np.ndarray,
    weights: np.ndarray | None = None,
    *,
    c: float = Settings.c,
    n_neighbors: int = Settings.n_neighbors,
) -> float:
    """Return Lmba's loss, the evaluation function e(w) (Definition 6); weights default to 1.

    Targets and margins are those of all columns of `X`, whatever the weights.
    With weights 0 and 1 it scores subsets, less being better.
    """
    values, hyper = numbers.lmba_simplex(X, codes, c=c, n_neighbors=n_neighbors)
    weights = np.ones(X.shape[1]) if weights is None else np.asarray(weights, dtype=np.float64)
    if weights.shape != (X.shape[1],):
        raise InputError(f"weights must be {X.shape[1]} numbers, one a feature")
    return evaluation(weights, values, hyper)


def evaluation(weights: np.ndarray, values: Mapping[str, Any], hyper: Mapping[str, Any]) -> float:
    """Return Lmba's loss e(w) from the data of its problem."""
    return program_of(**values, c=hyper["c"], simplex=False).value(weights**2)


def _descended(
    values: Mapping[str, Any], hyper: Mapping[str, Any], settings: Settings, seed: Any
) -> tuple[Solution, Certificate]:
    chosen = taken_by(descend, settings) | {"c": hyper["c"]}
    w = descend(**values, **chosen, seed=seed)
    loss, visits = evaluation(w, values, hyper), settings.n_epochs
    solution = Solution("local", NATIVE, primal={"u": w**2}, objective=loss, iterations=visits)
    # The method claims only a ranking, and any weights are one.
    return solution, Certificate.of(solution, tol=0.0, basis="stochastic descent")


def _explain(u: np.ndarray, values: Mapping[str, Any], c: float) -> None:
    """Warn if all weights are 0, or all (at least two) are 1: neither ranks the features."""
    if np.all(u <= _TIED):
        c0 = least_useful_c(values)
        warn(
            f"all weights are 0: impostors cost too little at c={c:g} (up to c={c0:.3g} no feature "
            "pays); use a larger c or form='simplex'"
        )
    elif len(u) > 1 and np.all(np.abs(u - 1.0) <= _TIED):
        warn(
            "all weights are 1, so no feature is ranked: with so many impostors every feature "
            "pays; use a smaller c or form='simplex'"
        )
