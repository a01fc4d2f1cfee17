"""The solver table: what each backend takes, and how one knob becomes its own options.

Everything convexfs knows about a solver is a row here: the cones it takes, how
one accuracy and one time limit translate, its licence, where it is installed
from, and the faults measured in it. Code elsewhere asks the table; it never
asks for a solver by name.

Each measured fault is stated for the version named in its row; ``tested`` rows are
exercised by the test-suite, the others are carried as documented by cvxpy.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import cvxpy as cp
from cvxpy.constraints import PSD, SOC, ExpCone, PowCone3D, PowConeND
from cvxpy.problems.problem_form import ProblemForm

from convexfs.errors import InputError, SolverUnavailable, SolverUnsuitable, did_you_mean
from convexfs.solving.backend import PLAN, POINT, Backend, adaptive_tolerance, same_value, tighten

LP, QP, SECOND_ORDER, EXPONENTIAL, POWER, SEMIDEFINITE = "LP", "QP", "SOC", "EXP", "POW", "SDP"
_CONE_NAMES = {SOC: SECOND_ORDER, ExpCone: EXPONENTIAL, PSD: SEMIDEFINITE}
_CONE_NAMES |= dict.fromkeys((PowCone3D, PowConeND), POWER)

_LINEAR = frozenset({LP})
_QUADRATIC = frozenset({LP, QP})
_CONIC = frozenset({LP, QP, SECOND_ORDER})
_ALL = frozenset({LP, QP, SECOND_ORDER, EXPONENTIAL, POWER, SEMIDEFINITE})

_ROWS = (
    Backend(
        "CLARABEL", "clarabel", "Apache-2.0", _ALL,
        tolerances=("tol_gap_abs", "tol_gap_rel", "tol_feas"), translate=tighten(),
        limit=same_value("time_limit"), warm=PLAN, extra="", tested=True,
        faults=("up to 4 times slower than ECOS on logistic problems",),
    ),
    Backend(
        "ECOS", "ecos", "GPL-3.0", _CONIC | {EXPONENTIAL},
        tolerances=("abstol", "reltol", "feastol"), translate=tighten(),
        always={"max_iters": 500}, extra="", tested=True,
        faults=("has no time limit", "no wheels for Python 3.13 and later",
                "ended a fit of Logo on wdbc with solver_error"),
    ),
    Backend(
        "SCS", "scs", "MIT", _ALL,
        tolerances=("eps_abs", "eps_rel"), translate=lambda tol: 0.1 * tol,
        limit=same_value("time_limit_secs"), always={"max_iters": 200_000}, warm=POINT, extra="",
        tested=True, pace=adaptive_tolerance(2e-7, max_iters=10_000), needs_rows=True,
        faults=(
            "stops at its tolerance exactly, so it is asked for a tenth of it",
            "at an iteration or time limit it says optimal_inaccurate, whatever the point",
        ),
    ),
    Backend(
        "HIGHS", "highspy", "MIT", _QUADRATIC, _LINEAR,
        tolerances=("primal_feasibility_tolerance", "dual_feasibility_tolerance", "mip_rel_gap"),
        translate=lambda tol: max(tol, 1e-10), limit=same_value("time_limit"),
        always={"threads": 1}, warm=POINT, extra="", tested=True,
        weak=frozenset({QP}),
        faults=("at a time limit the value is 0 and the point is not feasible",
                "ended a fifth of LLFS's small quadratic programs with solver_error",
                "crashes the process (SIGSEGV) on some badly scaled quadratic programs"),
    ),
    Backend(
        "SCIPY", "scipy", "BSD-3-Clause", _LINEAR, _LINEAR,
        limit=lambda seconds: {"scipy_options": {"time_limit": seconds}}, extra="", tested=True,
        faults=("a time limit is an exception, not a status", "takes no accuracy"),
    ),
    Backend(
        "OSQP", "osqp", "Apache-2.0", _QUADRATIC,
        tolerances=("eps_abs", "eps_rel"), limit=same_value("time_limit"),
        always={"max_iter": 200_000}, warm=POINT, extra="solvers", tested=True,
        pace=adaptive_tolerance(1e-6, max_iter=4000),
        faults=("may not converge on linear programs: 200,000 iterations did not solve one",),
    ),
    Backend(
        "PIQP", "piqp", "BSD-2-Clause", _QUADRATIC,
        tolerances=("eps_abs", "eps_rel", "eps_duality_gap_abs", "eps_duality_gap_rel"),
        translate=tighten(), warm=PLAN, extra="solvers", tested=True,
        faults=("says user_limit for infeasible and unbounded linear programs",
                "has no time limit", "holds the GIL"),
    ),
    Backend(
        "QOCO", "qoco", "BSD-3-Clause", _CONIC,
        tolerances=("abstol", "reltol"), translate=tighten(), warm=PLAN, extra="solvers",
        tested=True,
        faults=("says optimal for an unbounded linear program", "has no time limit"),
    ),
    Backend(
        "CVXOPT", "cvxopt", "GPL-3.0", _CONIC | {SEMIDEFINITE},
        tolerances=("abstol", "reltol", "feastol"), translate=tighten(1e-8), extra="solvers",
        tested=True,
        faults=("an iteration limit is an exception, not a status", "has no time limit",
                "its redundant rows are sought by ARPACK, which may not converge"),
    ),
    Backend(
        "GLPK", "cvxopt", "GPL-3.0", _LINEAR,
        limit=lambda seconds: {"glpk": {"tm_lim": int(1000 * seconds)}}, extra="solvers",
        tested=True, aborts=True, bundled=True,
        faults=("a time limit is an exception, not a status", "takes no accuracy",
                "aborts its process on options it cannot take"),
    ),
    Backend(
        "GLPK_MI", "cvxopt", "GPL-3.0", _LINEAR, _LINEAR,
        limit=lambda seconds: {"glpk": {"tm_lim": int(1000 * seconds)}}, extra="solvers",
        duals=False, tested=True, aborts=True, bundled=True,
        faults=("returns no duals", "takes no accuracy",
                "aborts its process on numbers it cannot take"),
    ),
    Backend(
        "PROXQP", "proxsuite", "BSD-2-Clause", _QUADRATIC,
        tolerances=("eps_abs", "eps_rel"), always={"max_iter": 100_000}, warm=PLAN,
        extra="solvers", tested=True,
        faults=("a warm start saves it no iteration",
                "its dense default calls a feasible linear program infeasible",
                "backend='sparse' is a TypeError with cvxpy 1.9.3 and proxsuite 0.8.0",
                "calls an unbounded problem infeasible", "has no time limit"),
    ),
    Backend(
        "QPALM", "qpalm", "LGPL-3.0", _QUADRATIC,
        tolerances=("eps_abs", "eps_rel"), limit=same_value("time_limit"), warm=POINT,
        extra="solvers", tested=True,
    ),
    Backend(
        "DAQP", "daqp", "MIT", _QUADRATIC,
        tolerances=("primal_tol", "dual_tol"), extra="solvers", tested=True,
        faults=("drops options it does not know without a word", "has no time limit",
                "says user_limit for an unbounded problem"),
    ),
    Backend(
        "SCIP", "pyscipopt", "Apache-2.0", _CONIC, _CONIC,
        limit=lambda seconds: {"scip_params": {"limits/time": seconds}}, extra="solvers",
        duals=False, tested=True, bundled=True,
        faults=("a limit without an incumbent is an exception, not a status",
                "multipliers of rows its presolve removes are lost, so none are used",
                "not asked for an accuracy: with 1e-8 it may not end; violates cones by 2e-5"),
    ),
    Backend(
        "SDPA", "sdpa-python", "GPL-2.0", frozenset({LP, SEMIDEFINITE}),
        tolerances=("epsilonStar", "epsilonDash"), extra="solvers", tested=True,
        faults=("fails on quadratic objectives", "3 % off on second-order cones"),
    ),
    Backend(
        "ECOS_BB", "ecos", "GPL-3.0", _CONIC | {EXPONENTIAL}, _CONIC | {EXPONENTIAL},
        tolerances=("abstol", "reltol", "feastol", "mi_rel_eps"), translate=tighten(), extra="",
        tested=True,
        faults=("has no time limit",),
    ),
    Backend("CBC", "cylp", "EPL-2.0", _LINEAR, _LINEAR, limit=same_value("maximumSeconds"),
            duals=False, faults=("returns no duals", "ignores its time limit on linear programs")),
    Backend("GUROBI", "gurobipy", "commercial", _CONIC, _CONIC,
            tolerances=("FeasibilityTol", "OptimalityTol", "BarConvTol"),
            limit=same_value("TimeLimit"), always={"Threads": 1},
            faults=("says infeasible_inaccurate at a time limit",)),
    Backend("COPT", "coptpy", "commercial", _CONIC | {EXPONENTIAL, SEMIDEFINITE}, _CONIC,
            tolerances=("FeasTol", "DualTol", "RelGap"), limit=same_value("TimeLimit"),
            always={"Threads": 1}, faults=("says infeasible_inaccurate at a time limit",)),
    Backend("XPRESS", "xpress", "commercial", _CONIC, _CONIC, limit=same_value("timelimit"),
            faults=("a time limit is an exception, not a status",)),
    Backend("CPLEX", "cplex", "commercial", _CONIC, _CONIC,
            limit=lambda seconds: {"cplex_params": {"timelimit": seconds}},
            faults=("the free edition fails above its size limit",)),
    Backend("MOSEK", "mosek", "commercial", _ALL, _CONIC,
            limit=lambda seconds: {
                "mosek_params": {"MSK_DPAR_OPTIMIZER_MAX_TIME": float(seconds)}},
            faults=("without a licence every solve raises mosek.Error",)),
    Backend("MOREAU", "moreau", "Apache-2.0", _ALL,
            tolerances=("tol_gap_abs", "tol_gap_rel", "tol_feas"), translate=tighten(),
            inside="ipm_settings", limit=same_value("time_limit"), always={"device": "cpu"},
            warm=POINT, duals=False,
            faults=("cvxpy keeps cones on single variables apart from its rows, so that their "
                    "multipliers are not used",)),
    Backend("KNITRO", "knitro", "commercial", _CONIC, _CONIC,
            faults=("without a licence every solve raises SolverError",)),
    Backend("MPAX", "mpax", "Apache-2.0", _QUADRATIC,
            faults=("6 to 8 s for a tiny linear program", "hung on an infeasible one")),
    Backend("GLOP", "ortools", "Apache-2.0", _LINEAR, limit=same_value("time_limit_sec"),
            faults=("cannot be imported once highspy is loaded",)),
    Backend("PDLP", "ortools", "Apache-2.0", _LINEAR, limit=same_value("time_limit_sec"),
            faults=("cannot be imported once highspy is loaded",)),
    Backend("CUOPT", "cuopt", "Apache-2.0", _CONIC, _LINEAR, tolerances=("optimality",),
            limit=same_value("time_limit"), faults=("needs an NVIDIA card",)),
    Backend("CUCLARABEL", "cupy", "Apache-2.0", _ALL - {SEMIDEFINITE},
            faults=("needs an NVIDIA card and Julia", "takes no options through cvxpy")),
    Backend("COSMO", "cosmopy", "Apache-2.0", _ALL, tolerances=("eps_abs", "eps_rel"),
            limit=same_value("time_limit"), faults=("needs Julia",)),
    Backend("PDCS", "cupy", "MIT", _CONIC | {EXPONENTIAL}, tolerances=("abs_tol", "rel_tol"),
            limit=same_value("time_limit_secs"), faults=("needs an NVIDIA card and Julia",)),
    Backend("NAG", "naginterfaces", "commercial", _CONIC,
            faults=("takes options inside nag_params only",)),
    Backend("DIFFCP", "diffcp", "Apache-2.0", _ALL - {POWER}, tolerances=("eps_abs", "eps_rel"),
            translate=lambda tol: 0.1 * tol, faults=("is SCS with derivatives",)),
)  # fmt: skip
BACKENDS: dict[str, Backend] = {row.name: row for row in _ROWS}

#: Solvers to prefer, in order, for problems whose hardest property (first key that applies) is
#: this.
_PREFERENCE: dict[str, tuple[str, ...]] = {
    "integer": ("HIGHS", "SCIP", "SCIPY", "ECOS_BB"),
    SEMIDEFINITE: ("SCS", "CLARABEL"),
    EXPONENTIAL: ("CLARABEL", "ECOS", "SCS"),
    POWER: ("CLARABEL", "SCS"),
    SECOND_ORDER: ("CLARABEL", "ECOS", "SCS"),
    QP: ("CLARABEL", "OSQP", "ECOS", "SCS"),
    LP: ("HIGHS", "CLARABEL", "ECOS"),
}


@dataclass(frozen=True)
class Needs:
    """What a problem needs of a solver: its cones (LP, QP, SOC, ...), and integer variables."""

    cones: frozenset[str]
    integer: bool

    def __str__(self) -> str:
        parts = sorted(self.cones - {LP}) or [LP]
        return " + ".join((["integer"] if self.integer else []) + parts)


def needs_of(problem: cp.Problem) -> Needs:
    """Return the Needs of a problem from its expression tree, without compiling it."""
    form = ProblemForm(problem)
    cones = {_CONE_NAMES[cone] for cone in form.cones(quad_obj=True) if cone in _CONE_NAMES}
    if form.has_quadratic_objective():
        cones.add(QP)
    return Needs(frozenset(cones | {LP}), bool(form.is_mixed_integer()))


def suitable(needs: Needs, installed: bool = True) -> list[str]:
    """Return the names of the solvers that take these cones: installed ones, or all."""
    able = (row for row in BACKENDS.values() if row.takes(needs))
    return [row.name for row in able if row.installed or not installed]


def backend(name: str) -> Backend:
    """Return the table's row of an installed solver; raise, with the remedy, if it is none."""
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
    """Return the row of the named solver if it takes the problem, else raise; "auto" chooses."""
    if not isinstance(solver, str):
        raise InputError(f"solver must be a name such as 'CLARABEL', not {solver!r}")
    needs = needs_of(problem)
    if solver.lower() == "auto":
        return _preferred(needs, time_limit)
    row = backend(solver)
    check_takes(row, needs)
    return row


def check_takes(row: Backend, needs: Needs) -> None:
    """Raise SolverUnsuitable if a solver cannot take these cones, naming solvers that can."""
    lacking = lacking_in(row, needs)
    if lacking:
        raise SolverUnsuitable(
            f"{row.name} cannot take {lacking} in this problem ({needs}): {_would_do(needs)}"
        )


def lacking_in(row: Backend, needs: Needs) -> str:
    """Return what a solver lacks for a problem, such as "integer variables"; "" if nothing."""
    if row.takes(needs):
        return ""
    if needs.integer and not row.integer_cones:
        return "integer variables"
    taken = row.integer_cones if needs.integer else row.cones
    kind = "integer variables with " if needs.integer else ""
    return kind + " + ".join(sorted(needs.cones - taken))


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


def integer_variants() -> dict[str, str]:
    """Return {solver with branching: the same without}, such as GLPK_MI: GLPK."""
    plain = {
        (row.package, row.cones): name for name, row in BACKENDS.items() if not row.integer_cones
    }
    return {
        name: plain[row.package, row.cones]
        for name, row in BACKENDS.items()
        if row.integer_cones and (row.package, row.cones) in plain
    }
