"""The columns of a study's tables: name, unit, meaning and where they are shown.

A column is declared here once, and computed once where its table is: headings, formats,
explanations and order on the terminal and on the page follow.
"""

from collections.abc import Iterable
from dataclasses import replace

from convexfs.records import DEFAULT_ACCURACY
from convexfs.report.columns import Column, On
from convexfs.study.outcome_rules import SLACK

# fmt: off
PROBLEM, DATA, SOLVER, STATUS = map(Column, ("problem", "data", "solver", "status"))
CLASS = Column("problem_class", "text", "by the largest cone; MI: with integers", "class")
SETTINGS = Column("settings", "text", "accuracy asked for, or each solver's default, verified at "
                  f"{SLACK * DEFAULT_ACCURACY:g}")
INSTANCE = Column("instance", "code", "problem, data and hyper-parameters in a few words")
EXAMPLE = Column("example", "code")
OUTCOME = Column("outcome", "outcome", "by one rule for all solvers, whatever they report")
SUCCESS = Column("success_rate", "share", "solved of tried", "success")
SOLVED = Column("solved", "count", on=On.DEMAND)
SECONDS = Column("seconds", "seconds", "charged, shifted geometric mean, 99 % interval")
LOW = Column("seconds_low", "seconds", "low end of the interval of seconds", "low")
HIGH = Column("seconds_high", "seconds", "high end of the interval of seconds", "high")
LEAD = (
    Column("lead", "number", "how many times as long the next takes, 99 % interval"),
    Column("lead_low", "number", "low end of the interval of the lead"),
    Column("lead_high", "number", "high end of the interval of the lead"),
    Column("lead_unshifted", "number", "the lead without the shift", "unshifted"),
    Column("clear", "flag", "the whole interval is above 1"),
)
ERROR = Column("error", "residual", "", "largest residual")
MEAN_ERROR = replace(ERROR, meaning="geometric mean of the solved")
RESIDUALS = tuple(
    Column(name, "residual")
    for name in ("primal_residual", "dual_residual", "complementarity", "gap")
)
OBJECTIVE_ERROR = Column(
    "objective_error", "residual", "relative distance from a proven objective", "objective off"
)

DIMACS = Column("dimacs_error", "residual", "largest of the six DIMACS errors", "DIMACS")

#: Columns of the summary: one row per solver and settings.
SUMMARY = (
    SETTINGS, SOLVER, SUCCESS,
    Column("undecided", "count", "neither proven nor refuted; charged their own seconds"),
    Column("wrong_claims", "bad", "called optimal, but refuted or far from a better proven one"),
    Column("failed", "count"),
    Column("timeouts", "count"),
    Column("skipped", "count", on=On.DEMAND),
    Column("instances", "count", "problems it can take"),
    Column("of", "count", "problems in the study", on=On.TERMINAL),
    Column("tried", "count", on=On.TERMINAL),
    SOLVED, SECONDS, LOW, HIGH,
    Column("times_best", "number", "times the fastest of the same problem", "× best"),
    Column("times_best_unshifted", "number", "the same without the shift", "unshifted"),
    Column("shift", "seconds", "added before the mean is taken", on=On.DEMAND),
    Column("par10", "seconds", "mean, ten times the limit if not solved", "PAR10"),
    Column("compile_seconds", "seconds", "median of the tried", on=On.DEMAND),
    Column("setup_share", "share", "median share of the solver's seconds", "setup", On.PAGE),
    Column("iterations", "number", "median of the solved, where reported", on=On.PAGE),
    Column("peak_megabytes", "number", "most memory a solver took", "peak MB", On.PAGE),
    Column("busy", "count", "tasks that waited for a core", on=On.PAGE),
    replace(ERROR, meaning="median of the solved"),
    replace(DIMACS, meaning="largest of the six DIMACS errors, median of the solved", on=On.PAGE),
)
#: Columns of the table of solver options: one row per solver, settings and options.
SOLVER_OPTIONS = (
    SETTINGS, SOLVER, Column("solver_version", label="version"),
    Column("told", "long", "by the solver's own names; nothing: its defaults", label="options"),
    Column("tasks", "count"),
)
#: Columns of the time to an accuracy: one row per verified accuracy, problem class and solver.
ACHIEVED = (
    Column("target", "residual", "largest verified residual", "accuracy"), CLASS, SOLVER,
    Column("instances", "count", "problems it can take"),
    Column("reached", "share", "of its problems and repeats, in time"),
    replace(SECONDS, meaning="of its quickest run that got there, else the limit; shifted "
            "geometric mean, 99 % interval over problems"),
    LOW, HIGH,
    Column("times_best", "number", "times the quickest that got there", "× best"),
    Column("times_best_unshifted", "number", "the same without the shift", "unshifted"),
    Column("at", "text", "settings that got there most often", "by asking for"),
)
#: Columns that name a scope, the set of instances that solvers are ranked on.
SCOPE = (
    SETTINGS, CLASS,
    Column("scope", "text", "all instances of the class, or those with a native twin"),
    Column("instances", "count"),
)
#: Columns of the ranking: one row per scope and solver that takes all its instances.
RANKING = (
    *SCOPE[:3], replace(SCOPE[3], on=On.DEMAND), Column("rank", "count"), SOLVER, SOLVED, SUCCESS,
    SECONDS, replace(LOW, on=On.DEMAND), replace(HIGH, on=On.DEMAND), *LEAD,
    replace(MEAN_ERROR, on=On.DEMAND),
)
#: Columns of the leaders: one row per scope, with its fastest and most accurate solver.
LEADERS = (
    *SCOPE, Column("fastest"), SECONDS, Column("second"), *LEAD,
    Column("most_accurate"), MEAN_ERROR,
)
#: Columns of public instances with published results.
PUBLISHED = (
    Column("set"), INSTANCE,
    Column("published", "text", "optimum, or the status of an instance without one"),
    Column("status", "text", "of the most accurate solved task"),
    Column("objective", "number", "of the same"),
    replace(OBJECTIVE_ERROR, meaning="distance from the published one, relative to it or 1"),
    replace(SOLVED, on=On.PAGE),
    Column("contradicting", "bad", "solved here, but against what is published"),
    Column("solvers", "text", "whose tasks these are"),
)
#: Columns of wrong statuses (one row per solver, settings, status and instance), and of their
#: counts per solver.
CLAIMS = (
    SOLVER, SETTINGS, STATUS, INSTANCE, Column("claims", "count", "number of repeats"),
    *RESIDUALS, OBJECTIVE_ERROR,
)
CLAIMANTS = (
    SOLVER, SETTINGS,
    Column("status", "text", "infeasible, unbounded: claimed, but proven to be otherwise"),
    Column("problems", "count"),
    replace(RESIDUALS[0], meaning="the largest, as gap and objective off"),
    RESIDUALS[3], OBJECTIVE_ERROR, EXAMPLE,
)
#: Columns of failure reasons, grouped by message.
REASONS = (
    OUTCOME, Column("solvers"), Column("tasks", "count"), Column("message", "long"), EXAMPLE,
)
#: Columns of the table of all tasks, beside those of the store, which keep their names.
ROWS = (
    PROBLEM, DATA, Column("hyper", "code", label="hyper-parameters"), CLASS, SETTINGS, SOLVER,
    Column("repeat", "count"), OUTCOME, Column("objective", "number"),
    replace(ERROR, meaning="of the worst step"),
    Column("solve_seconds", "seconds", "the solver, and cvxpy's interface to it"),
    Column("wall_seconds", "seconds", "the whole task"),
    Column("busy", "flag", "the task waited for a core that other work had"),
    Column("failure", "long", label="message"),
    *(replace(column, on=On.DEMAND) for column in (INSTANCE, *RESIDUALS, OBJECTIVE_ERROR, DIMACS)),
    Column("set", "text", "public set of the instance", on=On.DEMAND),
    Column("published", "text", "its published optimum or status", on=On.DEMAND),
    Column("interface", "text", "empty: cvxpy's; direct: the solver's own; or its environment",
           on=On.DEMAND),
    Column("told", "code", "options by the solver's own names", label="options", on=On.DEMAND),
    Column("solve_cpu_seconds", "seconds", "processor time of solve seconds", on=On.DEMAND),
    Column("clock_seconds", "seconds", "by the solver's own clock, if it has one", on=On.DEMAND),
    Column("setup_seconds", "seconds", "of them, as the solver says itself", on=On.DEMAND),
    Column("peak_bytes", "count", "memory the solver took at most", on=On.DEMAND),
    Column("tol", "residual", "", "tolerance", On.DEMAND),
    Column("ok", "flag", "no: refuted; empty: undecided", "proven", On.DEMAND),
    Column("fooled", "flag", "proven, but a far better objective is proven too", on=On.DEMAND),
    Column("older", "flag", "the verdict was made by an older version", on=On.DEMAND),
    Column("charged_seconds", "seconds", "of the solve; if the task is not solved, the time "
           "limit or, without one, the longest of the run", on=On.DEMAND),
)
#: Columns that count the points at which a solver's U1 equals, beats or misses that of others.
POINTS = (
    DATA, Column("hyper", "code", label="hyper-parameters"),
    Column("tol", "residual", "", "accuracy"), SOLVER, Column("points", "count"),
    Column("betas", "count", "without 1"),
    Column("same", "count", "U1 within 1e-6 of the best of the other solvers"),
    Column("better", "count"), Column("worse", "count"),
    Column("worst", "residual", label="by at most"),
    Column("failed", "bad", "without an answer"),
    Column("programs", "number", label="programs a point"),
    Column("cpu_seconds", "seconds", label="CPU s a point"),
)
#: Columns of a repeated comparison: one row per solver and settings.
REPEATED = (
    SETTINGS, SOLVER, Column("tasks", "count", "then"),
    Column("again", "count", "of them tried again"),
    Column("other_outcome", "bad", "another outcome"),
    Column("other_objective", "bad", "of those solved both times, farther apart than allowed"),
    Column("other_iterations", "count", "of those solved both times"),
    Column("times", "number", "seconds now by seconds then, median", "× then"),
    Column("example", "code", "the first with another outcome"),
)
# fmt: on


def names(columns: Iterable[Column]) -> list[str]:
    """Return the names of these columns as a list."""
    return [column.name for column in columns]
