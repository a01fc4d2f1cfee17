"""A row of the solver table, and the translation of one accuracy to solver options."""

import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from importlib import metadata
from typing import TYPE_CHECKING, Any

import cvxpy as cp

from convexfs.errors import InputError, did_you_mean
from convexfs.records import OWN, RAW, TRANSLATED

if TYPE_CHECKING:
    from convexfs.solving.backends import Needs

Options = dict[str, Any]
#: What a solver reuses in a warm start: the last point, or only the factorisation's structure.
POINT, PLAN = "point", "plan"

_asked: ContextVar[str] = ContextVar("asked", default=TRANSLATED)


@contextmanager
def tolerance_mode(how: str) -> Iterator[None]:
    """Set how solvers get tolerances in this block: TRANSLATED, RAW, or OWN (their defaults)."""
    token = _asked.set(how)
    try:
        yield
    finally:
        _asked.reset(token)


def same_value(*names: str) -> Callable[[float], Options]:
    """Return a function from a value to a dict of these option names, all with that value."""
    return lambda value: dict.fromkeys(names, value)


def tighten(least: float = 1e-9) -> Callable[[float], float]:
    """Return a function from tol to 0.01 tol, but at least `least` (and at most tol).

    It costs an iteration or two, and an answer errs by the square root of its
    gap wherever the optimum is curved, as RELIEF's weights do.
    """
    return lambda tol: min(tol, max(0.01 * tol, least))


def adaptive_tolerance(least: float, **options: int) -> Callable[[float], Options]:
    """Return a function from a gain to options: eps of 0.01 gain, within `least` and 1e-4."""
    accuracy = same_value("eps_abs", "eps_rel")
    return lambda gain: accuracy(min(max(0.01 * gain, least), 1e-4)) | options


@dataclass(frozen=True)
class Backend:
    """A row of the solver table: cones it takes, tolerances, limits, installation and faults.

    Attributes
    ----------
    cones, integer_cones : frozenset of str
        Problem parts it takes, without and with integer variables.
    tolerances : tuple of str
        Options that take an accuracy.
    translate : callable
        The accuracy that is wanted -> the number that these options are given.
    inside : str
        The option, a dict, that the tolerances stand in; empty: they are options themselves.
    limit : callable or None
        Seconds -> options; None if the solver has no time limit.
    always : dict
        Options every call needs: one thread, or a cure for a known fault.
    duals : bool
        Whether it returns multipliers that can be trusted to be complete.
    warm : str
        What it keeps of an earlier solve for the next, POINT or PLAN; empty: nothing.
    pace : callable or None
        In a sequence of small programs, what an outer loop can still gain -> options: a
        first-order solver is asked for no more accuracy than that, nor for more than it
        reaches, and gains by a warm start. None: full accuracy costs little, cold.
    weak : frozenset of str
        Problem parts it takes but often fails on.
    package, extra : str
        What to install, and the convexfs extra that does ("" where it is a
        dependency of convexfs, None where no extra installs it).
    faults : tuple of str
        What was measured to go wrong.
    aborts : bool
        Whether it may abort the process it runs in, and is called in a child process.
    bundled : bool
        Whether another package contains the solver, so that versions differ.
    needs_rows : bool
        Whether it refuses problems without constraints.
    """

    name: str
    package: str
    licence: str
    cones: frozenset[str]
    integer_cones: frozenset[str] = frozenset()
    tolerances: tuple[str, ...] = ()
    translate: Callable[[float], float] = float
    inside: str = ""
    limit: Callable[[float], Options] | None = None
    always: Options = field(default_factory=dict)
    duals: bool = True
    warm: str = ""
    pace: Callable[[float], Options] | None = None
    weak: frozenset[str] = frozenset()
    extra: str | None = None
    tested: bool = False
    faults: tuple[str, ...] = ()
    aborts: bool = False
    bundled: bool = False
    needs_rows: bool = False

    @property
    def installed(self) -> bool:
        return self.name in _installed(cp.installed_solvers)

    @property
    def version(self) -> str:
        """Version of the solver, or name and version of the package that bundles it; "" if none."""
        version = _version(self.package)
        return f"{self.package} {version}" if self.bundled and version else version

    @property
    def how_to_install(self) -> str:
        if self.extra:
            return f"pip install 'convexfs[{self.extra}]'"
        return f"pip install {self.package}"

    def takes(self, needs: "Needs") -> bool:
        return needs.cones <= (self.integer_cones if needs.integer else self.cones)

    def accuracy(self, tol: float) -> Options:
        """Return the solver's tolerance options for an accuracy, in the current tolerance mode."""
        if _asked.get() == OWN or not self.tolerances:
            return {}
        number = tol if _asked.get() == RAW else self.translate(tol)
        options = dict.fromkeys(self.tolerances, number)
        return {self.inside: options} if self.inside else options

    def options(self, tol: float, time_limit: float | None = None) -> Options:
        """Return all options the table sets for an accuracy and a time limit, by solver's names."""
        told = self.always | self.accuracy(tol)
        if time_limit is not None and self.limit is not None:
            told |= self.limit(time_limit)
        return told


@cache
def _installed(ask: Callable[[], list[str]]) -> frozenset[str]:
    """Return the names from `ask`; cached, because cvxpy tries to import every missing solver."""
    return frozenset(ask())


@cache
def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


_ECOS = "max_iters abstol reltol feastol abstol_inacc reltol_inacc feastol_inacc nitref verbose"
#: Option names of solvers that have no settings object to inspect.
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
#: Module and class of other solvers' settings objects, and options that cvxpy adds.
_SETTINGS: Mapping[str, tuple[str, str, str]] = {
    "CLARABEL": ("clarabel", "DefaultSettings", "use_quad_obj"),
    "HIGHS": ("highspy", "HighsOptions", "highs_options write_model_file"),
    "OSQP": ("osqp.ext_builtin", "OSQPSettings", "polish polishing warm_start eps"),
    "PIQP": ("piqp", "Settings", "backend"),
    "QOCO": ("qoco.qoco_ext", "QOCOSettings", "algebra"),
    "QPALM": ("qpalm", "Settings", ""),
}


def check_options(solver: str, options: Iterable[str]) -> None:
    """Raise InputError for an option that a solver lacks, if its names are known.

    >>> check_options("SCS", ["max_itres"])
    Traceback (most recent call last):
    convexfs.errors.InputError: SCS has no option 'max_itres': did you mean max_iters?
    """
    known = _known(solver)
    for name in options:
        if known and name not in known and not _accepts(solver, name):
            raise InputError(f"{solver} has no option {name!r}: {did_you_mean(str(name), known)}")


def _accepts(solver: str, name: str) -> bool:
    """Return whether HiGHS knows an option that its settings object does not list."""
    if solver != "HIGHS":
        return False
    import highspy

    return highspy.Highs().getOptionType(name)[0] == highspy.HighsStatus.kOk


@cache
def _known(solver: str) -> frozenset[str]:
    """Return the option names of a solver; empty if they are unknown."""
    if solver in _LISTED:
        return frozenset(_LISTED[solver].split())
    if solver not in _SETTINGS:
        return frozenset()
    module, name, more = _SETTINGS[solver]
    try:
        made: Callable[[], Any] = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError):  # Another version keeps them elsewhere.
        return frozenset()
    own = (each for each in dir(made) if not each.startswith("_"))
    return frozenset([*own, *more.split()])
