"""The solver table: what each backend takes, and how one knob becomes its own options.

Everything convexfs knows about a solver is a row here: the cones it takes, how
one accuracy and one time limit translate, its licence, where it is installed
from, and the faults measured in it. Code elsewhere asks the table; it never
asks for a solver by name.

Each measured fault is stated for the version named in its row; ``tested`` rows are
exercised by the test-suite, the others are carried as documented by cvxpy.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from importlib import metadata
from typing import Any

import cvxpy as cp
from cvxpy.constraints import PSD, SOC, ExpCone, PowCone3D, PowConeND
from cvxpy.problems.problem_form import ProblemForm

from convexfs.errors import InputError, SolverUnavailable, SolverUnsuitable, did_you_mean

LP, QP, SECOND_ORDER, EXPONENTIAL, POWER, SEMIDEFINITE = "LP", "QP", "SOC", "EXP", "POW", "SDP"
_CONE_NAMES = {SOC: SECOND_ORDER, ExpCone: EXPONENTIAL, PSD: SEMIDEFINITE}
_CONE_NAMES |= dict.fromkeys((PowCone3D, PowConeND), POWER)
Options = dict[str, Any]


def _same(*names: str) -> Callable[[float], Options]:
    """Return a function that gives all these options the one value."""
    return lambda value: dict.fromkeys(names, value)


def _interior(*names: str, least: float = 1e-9) -> Callable[[float], Options]:
    """Ask an interior-point solver for a hundredth of the tolerance, within what it can reach.

    It costs an iteration or two, and an answer errs by the square root of its
    gap wherever the optimum is curved, as RELIEF's weights do.
    """
    return lambda tol: dict.fromkeys(names, min(tol, max(0.01 * tol, least)))


def _paced(least: float, **options: int) -> Callable[[float], Options]:
    """Ask for a hundredth of what can be gained, between `least` and 1e-4."""
    return lambda gain: _same("eps_abs", "eps_rel")(min(max(0.01 * gain, least), 1e-4)) | options


def _nothing(_: float) -> Options:
    return {}


@dataclass(frozen=True)
class Backend:
    """One row of the table.

    Attributes
    ----------
    cones, integer_cones : frozenset of str
        Problem parts it takes, without and with integer variables.
    accuracy : callable
        tol -> options.
    limit : callable or None
        Seconds -> options; None: the solver has no time limit of its own.
    always : dict
        Options every call needs: one thread, or a cure for a known fault.
    duals : bool
        Whether it returns multipliers that can be trusted to be complete.
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
    """

    name: str
    package: str
    licence: str
    cones: frozenset[str]
    integer_cones: frozenset[str] = frozenset()
    accuracy: Callable[[float], Options] = _nothing
    limit: Callable[[float], Options] | None = None
    always: Options = field(default_factory=dict)
    duals: bool = True
    pace: Callable[[float], Options] | None = None
    weak: frozenset[str] = frozenset()
    extra: str | None = None
    tested: bool = False
    faults: tuple[str, ...] = ()

    @property
    def installed(self) -> bool:
        return self.name in _installed(cp.installed_solvers)

    @property
    def version(self) -> str:
        return _version(self.package)

    @property
    def how_to_install(self) -> str:
        if self.extra:
            return f"pip install 'convexfs[{self.extra}]'"
        return f"pip install {self.package}"

    def takes(self, needs: "Needs") -> bool:
        return needs.cones <= (self.integer_cones if needs.integer else self.cones)

    def options(self, tol: float, time_limit: float | None = None) -> Options:
        """Translate one accuracy and one time limit into this solver's own words."""
        translated = self.always | ({} if _own_accuracy.get() else self.accuracy(tol))
        if time_limit is not None and self.limit is not None:
            translated |= self.limit(time_limit)
        return translated


_own_accuracy: ContextVar[bool] = ContextVar("own_accuracy", default=False)


@contextmanager
def own_accuracy() -> Iterator[None]:
    """Let solvers work at their own default accuracy meanwhile."""
    token = _own_accuracy.set(True)
    try:
        yield
    finally:
        _own_accuracy.reset(token)


@cache
def _installed(ask: Callable[[], list[str]]) -> frozenset[str]:
    """Cache what cvxpy finds: it tries to import every missing solver, milliseconds a call."""
    return frozenset(ask())


@cache
def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


_LINEAR = frozenset({LP})
_QUADRATIC = frozenset({LP, QP})
_CONIC = frozenset({LP, QP, SECOND_ORDER})
_ALL = frozenset({LP, QP, SECOND_ORDER, EXPONENTIAL, POWER, SEMIDEFINITE})

_ROWS = (
    Backend(
        "CLARABEL", "clarabel", "Apache-2.0", _ALL,
        accuracy=_interior("tol_gap_abs", "tol_gap_rel", "tol_feas"), limit=_same("time_limit"),
        extra="", tested=True,
        faults=("4 to 5 times slower than ECOS on logistic problems",),
    ),
    Backend(
        "ECOS", "ecos", "GPL-3.0", _CONIC | {EXPONENTIAL},
        accuracy=_interior("abstol", "reltol", "feastol"), always={"max_iters": 500},
        extra="", tested=True,
        faults=("no time limit of its own", "no wheels for Python 3.13 and later"),
    ),
    Backend(
        "SCS", "scs", "MIT", _ALL,
        accuracy=lambda tol: {"eps_abs": 0.1 * tol, "eps_rel": 0.1 * tol},
        limit=_same("time_limit_secs"), always={"max_iters": 200_000}, extra="", tested=True,
        pace=_paced(2e-7, max_iters=10_000),
        faults=(
            "stops at its tolerance exactly, so it is asked for a tenth of it",
            "at an iteration or time limit it says optimal_inaccurate, whatever the point",
        ),
    ),
    Backend(
        "HIGHS", "highspy", "MIT", _QUADRATIC, _LINEAR,
        accuracy=lambda tol: _same(
            "primal_feasibility_tolerance", "dual_feasibility_tolerance")(max(tol, 1e-10)),
        limit=_same("time_limit"), always={"threads": 1}, extra="", tested=True,
        weak=frozenset({QP}),
        faults=("at a time limit the value is 0 and the point is not feasible",
                "ended a fifth of LLFS's small quadratic programs with solver_error"),
    ),
    Backend(
        "SCIPY", "scipy", "BSD-3-Clause", _LINEAR, _LINEAR,
        limit=lambda seconds: {"scipy_options": {"time_limit": seconds}}, extra="", tested=True,
        faults=("a time limit is an exception, not a status", "takes no accuracy"),
    ),
    Backend(
        "OSQP", "osqp", "Apache-2.0", _QUADRATIC,
        accuracy=_same("eps_abs", "eps_rel"), limit=_same("time_limit"),
        always={"max_iter": 200_000}, extra="solvers", tested=True,
        pace=_paced(1e-6, max_iter=4000),
        faults=("may not converge on linear programs: 200,000 iterations did not solve one",),
    ),
    Backend(
        "PIQP", "piqp", "BSD-2-Clause", _QUADRATIC,
        accuracy=_interior("eps_abs", "eps_rel", "eps_duality_gap_abs", "eps_duality_gap_rel"),
        extra="solvers", tested=True,
        faults=("says user_limit for infeasible and unbounded linear programs",
                "no time limit of its own", "holds the GIL"),
    ),
    Backend(
        "QOCO", "qoco", "BSD-3-Clause", _CONIC,
        accuracy=_interior("abstol", "reltol"), extra="solvers", tested=True,
        faults=("says optimal for an unbounded linear program", "no time limit of its own"),
    ),
    Backend(
        "CVXOPT", "cvxopt", "GPL-3.0", _CONIC | {SEMIDEFINITE},
        accuracy=_interior("abstol", "reltol", "feastol", least=1e-8), extra="solvers",
        tested=True,
        faults=("an iteration limit is an exception, not a status", "no time limit of its own",
                "its redundant rows are sought by ARPACK, which may not converge"),
    ),
    Backend(
        "GLPK", "cvxopt", "GPL-3.0", _LINEAR,
        limit=lambda seconds: {"glpk": {"tm_lim": int(1000 * seconds)}}, extra="solvers",
        tested=True,
        faults=("a time limit is an exception, not a status", "takes no accuracy"),
    ),
    Backend(
        "GLPK_MI", "cvxopt", "GPL-3.0", _LINEAR, _LINEAR,
        limit=lambda seconds: {"glpk": {"tm_lim": int(1000 * seconds)}}, extra="solvers",
        duals=False, tested=True, faults=("returns no duals", "takes no accuracy"),
    ),
    Backend(
        "PROXQP", "proxsuite", "BSD-2-Clause", _QUADRATIC,
        accuracy=_same("eps_abs", "eps_rel"), always={"max_iter": 100_000},
        extra="solvers", tested=True,
        faults=("its dense default calls a feasible linear program infeasible",
                "backend='sparse' is a TypeError with cvxpy 1.9.3 and proxsuite 0.8.0",
                "calls an unbounded problem infeasible", "no time limit of its own"),
    ),
    Backend(
        "QPALM", "qpalm", "LGPL-3.0", _QUADRATIC,
        accuracy=_same("eps_abs", "eps_rel"), limit=_same("time_limit"), extra="solvers",
        tested=True,
    ),
    Backend(
        "DAQP", "daqp", "MIT", _QUADRATIC,
        accuracy=_same("primal_tol", "dual_tol"), extra="solvers", tested=True,
        faults=("drops options it does not know without a word", "no time limit of its own",
                "says user_limit for an unbounded problem"),
    ),
    Backend(
        "SCIP", "pyscipopt", "Apache-2.0", _CONIC, _CONIC,
        limit=lambda seconds: {"scip_params": {"limits/time": seconds}}, extra="solvers",
        duals=False, tested=True,
        faults=("a limit without an incumbent is an exception, not a status",
                "multipliers of rows its presolve removes are lost, so none are used",
                "not asked for an accuracy: with 1e-8 it may not end; violates cones by 2e-5"),
    ),
    Backend(
        "SDPA", "sdpa-python", "GPL-2.0", frozenset({LP, SEMIDEFINITE}),
        accuracy=_same("epsilonStar", "epsilonDash"), extra="solvers", tested=True,
        faults=("fails on quadratic objectives", "3 % off on second-order cones"),
    ),
    Backend(
        "ECOS_BB", "ecos", "GPL-3.0", _CONIC | {EXPONENTIAL}, _CONIC | {EXPONENTIAL},
        accuracy=_interior("abstol", "reltol", "feastol"), extra="", tested=True,
        faults=("no time limit of its own",),
    ),
    Backend("CBC", "cylp", "EPL-2.0", _LINEAR, _LINEAR, limit=_same("maximumSeconds"), duals=False,
            faults=("returns no duals", "ignores its time limit on linear programs")),
    Backend("GUROBI", "gurobipy", "commercial", _CONIC, _CONIC,
            accuracy=_same("FeasibilityTol", "OptimalityTol", "BarConvTol"),
            limit=_same("TimeLimit"), always={"Threads": 1},
            faults=("says infeasible_inaccurate at a time limit",)),
    Backend("COPT", "coptpy", "commercial", _CONIC | {EXPONENTIAL, SEMIDEFINITE}, _CONIC,
            accuracy=_same("FeasTol", "DualTol", "RelGap"), limit=_same("TimeLimit"),
            always={"Threads": 1}, faults=("says infeasible_inaccurate at a time limit",)),
    Backend("XPRESS", "xpress", "commercial", _CONIC, _CONIC, limit=_same("timelimit"),
            faults=("a time limit is an exception, not a status",)),
    Backend("CPLEX", "cplex", "commercial", _CONIC, _CONIC,
            limit=lambda seconds: {"cplex_params": {"timelimit": seconds}},
            faults=("the free edition fails above its size limit",)),
    Backend("MOSEK", "mosek", "commercial", _ALL, _CONIC,
            limit=lambda seconds: {
                "mosek_params": {"MSK_DPAR_OPTIMIZER_MAX_TIME": float(seconds)}},
            faults=("without a licence every solve raises mosek.Error",)),
    Backend("MOREAU", "moreau", "commercial", _ALL, limit=_same("time_limit")),
    Backend("KNITRO", "knitro", "commercial", _CONIC, _CONIC,
            faults=("without a licence every solve raises SolverError",)),
    Backend("MPAX", "mpax", "Apache-2.0", _QUADRATIC,
            faults=("6 to 8 s for a tiny linear program", "hung on an infeasible one")),
    Backend("GLOP", "ortools", "Apache-2.0", _LINEAR, limit=_same("time_limit_sec"),
            faults=("cannot be imported once highspy is loaded",)),
    Backend("PDLP", "ortools", "Apache-2.0", _LINEAR, limit=_same("time_limit_sec"),
            faults=("cannot be imported once highspy is loaded",)),
)  # fmt: skip
BACKENDS: dict[str, Backend] = {row.name: row for row in _ROWS}

#: Solvers to prefer, by the hardest cone in the problem, in this order.
_PREFERENCE: dict[str, tuple[str, ...]] = {
    "integer": ("HIGHS", "SCIP", "SCIPY", "ECOS_BB"),
    SEMIDEFINITE: ("SCS", "CLARABEL"),
    EXPONENTIAL: ("ECOS", "CLARABEL", "SCS"),
    POWER: ("CLARABEL", "SCS"),
    SECOND_ORDER: ("CLARABEL", "ECOS", "SCS"),
    QP: ("CLARABEL", "OSQP", "ECOS", "SCS"),
    LP: ("HIGHS", "CLARABEL", "ECOS"),
}


@dataclass(frozen=True)
class Needs:
    """What a problem asks of a solver."""

    cones: frozenset[str]
    integer: bool

    def __str__(self) -> str:
        parts = sorted(self.cones - {LP}) or [LP]
        return " + ".join((["integer"] if self.integer else []) + parts)


def needs_of(problem: cp.Problem) -> Needs:
    """Read the cones of `problem` off its expression tree, without compiling it."""
    form = ProblemForm(problem)
    cones = {_CONE_NAMES[cone] for cone in form.cones(quad_obj=True) if cone in _CONE_NAMES}
    if form.has_quadratic_objective():
        cones.add(QP)
    return Needs(frozenset(cones | {LP}), bool(form.is_mixed_integer()))


def suitable(needs: Needs, installed: bool = True) -> list[str]:
    """List the solvers that take these cones, installed ones or all."""
    able = (row for row in BACKENDS.values() if row.takes(needs))
    return [row.name for row in able if row.installed or not installed]


def backend(name: str) -> Backend:
    """Return the row of an installed solver, or raise an error that says what to do."""
    if name.lower() == "native":
        raise InputError(
            "native solves convexfs's own formulations, not any cvxpy problem: "
            "fit the estimator with solver='native', or name a cvxpy solver here"
        )
    row = BACKENDS.get(name.upper())
    if row is None:
        raise SolverUnavailable(
            f"unknown solver {name!r}: {did_you_mean(name, [*BACKENDS, 'native'])}"
        )
    if not row.installed:
        usable = ", ".join(other for other, r in BACKENDS.items() if r.installed)
        raise SolverUnavailable(
            f"solver {row.name} is not installed: {row.how_to_install}, or use one of {usable}"
        )
    return row


def choose(problem: cp.Problem, solver: str = "auto", time_limit: float | None = None) -> Backend:
    """Return the row of the solver to use, checked against the problem before any work."""
    if not isinstance(solver, str):
        raise InputError(f"solver must be a name such as 'CLARABEL', not {solver!r}")
    needs = needs_of(problem)
    if solver.lower() == "auto":
        return _preferred(needs, time_limit)
    row = backend(solver)
    check_takes(row, needs)
    return row


def check_takes(row: Backend, needs: Needs) -> None:
    """Raise if a solver cannot take these cones, naming those that can."""
    if not row.takes(needs):
        taken = row.integer_cones if needs.integer else row.cones
        lacking = sorted(needs.cones - taken)
        kind = "integer variables with " if needs.integer else ""
        raise SolverUnsuitable(
            f"{row.name} cannot take {kind}{' + '.join(lacking)} in this problem ({needs}): "
            f"{_would_do(needs)}"
        )


def _preferred(needs: Needs, time_limit: float | None) -> Backend:
    parts: Iterable[str] = (["integer"] if needs.integer else []) + [
        part for part in _PREFERENCE if part in needs.cones
    ]
    for part in parts:
        for name in _PREFERENCE[part]:
            row = BACKENDS[name]
            in_time = time_limit is None or row.limit is not None
            if in_time and row.takes(needs) and row.installed:
                return row
    raise SolverUnavailable(f"no installed solver takes this problem ({needs}): {_would_do(needs)}")


def _would_do(needs: Needs) -> str:
    ready = suitable(needs)
    if ready:
        return f"use {', '.join(ready)}"
    able = [BACKENDS[name] for name in suitable(needs, installed=False)]
    if able:
        return "; ".join(f"{row.name}: {row.how_to_install}" for row in able[:4])
    return "no solver in the table takes it"
