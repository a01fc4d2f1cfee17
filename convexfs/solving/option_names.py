"""The options that solvers know: a misspelt one is an error before any work.

Solvers with a settings object are asked; of the others the names are listed here. Options of
solvers that are neither are not checked.
"""

import importlib
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

from convexfs.errors import InputError, did_you_mean

_ECOS = "max_iters abstol reltol feastol abstol_inacc reltol_inacc feastol_inacc nitref verbose"
#: Options of solvers that have no settings object.
_LISTED = {
    "SCS": "max_iters eps eps_abs eps_rel eps_infeas alpha rho_x scale normalize adaptive_scale "
    "acceleration_lookback acceleration_interval time_limit_secs use_indirect linear_solver "
    "mkl gpu cudss write_data_filename log_csv_filename verbose",
    "ECOS": _ECOS,
    "ECOS_BB": f"{_ECOS} mi_max_iters mi_abs_eps mi_rel_eps mi_int_tol mi_verbose",
    "SCIPY": "scipy_options",
    "CVXOPT": "max_iters maxiters abstol reltol feastol refinement show_progress kktsolver "
    "use_correction debug",
    "GLPK": "glpk max_iters",
    "GLPK_MI": "glpk max_iters tm_lim it_lim msg_lev presolve",
    "PROXQP": "backend eps_abs eps_rel max_iter rho mu_eq mu_in",
    "DAQP": "primal_tol dual_tol zero_tol pivot_tol progress_tol cycle_tol iter_limit "
    "fval_bound eps_prox eta_prox",
    "SDPA": "maxIteration epsilonStar lambdaStar omegaStar lowerBound upperBound betaStar "
    "betaBar gammaStar epsilonDash isSymmetric isDimacs xPrint yPrint sPrint infPrint print "
    "resultFile sdpaResult numThreads convMethod domainMethod rangeMethod frvMethod rho zeroPoint "
    "backend mpfPrecision",
}
#: Module and name of the settings object of the others, and options that cvxpy adds.
_SETTINGS: Mapping[str, tuple[str, str, str]] = {
    "CLARABEL": ("clarabel", "DefaultSettings", "use_quad_obj"),
    "HIGHS": ("highspy", "HighsOptions", "highs_options write_model_file"),
    "OSQP": ("osqp.ext_builtin", "OSQPSettings", "polish polishing warm_start eps"),
    "PIQP": ("piqp", "Settings", "backend"),
    "QOCO": ("qoco.qoco_ext", "QOCOSettings", "algebra"),
    "QPALM": ("qpalm", "Settings", ""),
}


def check_options(solver: str, options: Iterable[str]) -> None:
    """Raise for an option that the solver does not know, naming the nearest one.

    >>> check_options("SCS", ["max_itres"])
    Traceback (most recent call last):
    convexfs.errors.InputError: SCS has no option 'max_itres': did you mean max_iters?
    """
    known = _known(solver)
    for name in options:
        if known and name not in known and not _accepts(solver, name):
            raise InputError(f"{solver} has no option {name!r}: {did_you_mean(str(name), known)}")


def _accepts(solver: str, name: str) -> bool:
    """Ask HiGHS itself, whose settings object does not list all of its options."""
    if solver != "HIGHS":
        return False
    import highspy

    return highspy.Highs().getOptionType(name)[0] == highspy.HighsStatus.kOk


@cache
def _known(solver: str) -> frozenset[str]:
    """Return the names of a solver's options; empty if they are unknown."""
    if solver in _LISTED:
        return frozenset(_LISTED[solver].split())
    if solver not in _SETTINGS:
        return frozenset()
    module, name, more = _SETTINGS[solver]
    try:
        made: Callable[[], Any] = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError):  # another version keeps them elsewhere
        return frozenset()
    own = (each for each in dir(made) if not each.startswith("_"))
    return frozenset([*own, *more.split()])
