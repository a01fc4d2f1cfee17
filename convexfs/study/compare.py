"""Comparison studies: every solver on the same problems, under the same conditions.

A study is a batch with other solvers, accuracies, repeats and order, in the same store:

- every solver gets the same numbers, cold unless warm starts are what is studied, in one
  thread, in a separate process that is ended when the task is over its time, so that a
  solver that hangs or crashes costs its own task only;
- before a process measures a solver for the first time it has solved a tiny problem with
  it, which is not recorded: loading a library is not solving;
- each repeat takes the problems, and at each problem the solvers, in a new random order
  that follows from the seed alone, so that a study goes on in the order it began with;
- settings: the solver's default accuracy; one accuracy asked of all of them, in such words
  that their answers are alike; the same number given to all of them as it is. One thread
  and the iteration limits of the solver table hold in all: the time limit, not a count of
  iterations, is to end a solve.
- every optimum is certified to ten times the accuracy that was asked for and, where that succeeds,
  to the accuracy itself, so that a target is met by a proof and not by a guess.

A file with ``FIT = True`` is compared as a whole method: its seconds are those of all steps.
"""

import ctypes
import json
import os
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import asdict, replace
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any

from convexfs.batch.problem_files.load import ProblemFile, load_problem_file
from convexfs.batch.run import GRACE_SECONDS, Progress, command_line, run_tasks
from convexfs.batch.store.shards import Shard
from convexfs.batch.tasks import Result, Task, do, first_problem, skipped_result, solving_of
from convexfs.batch.workers.attempts import held_bytes
from convexfs.certification.certify import EFFORT, certify
from convexfs.errors import InputError, SolverUnsuitable, check_number
from convexfs.methods.base.formulation import check_solver
from convexfs.methods.base.solve_step import VERIFIER
from convexfs.records import NATIVE, OPTIMAL, Certificate, Solution
from convexfs.solving.backends import Needs, backend, check_takes, integer_variants, needs_of
from convexfs.solving.dimacs import measured_errors
from convexfs.solving.direct import START_SECONDS, Environment, called_directly, find_environment
from convexfs.solving.solve import AROUND, solve_tiny_program, warm_starts
from convexfs.study.means import TICK
from convexfs.study.plan import ALL, CVXPY, DIRECT, Plan

#: Id of the process that imported this module; forked workers have another.
MAIN_PROCESS = os.getpid()
#: Time limit of a task, as a multiple of the solve's limit; START_SECONDS are added. It covers the
#: solve, the neighbour of a warm start, stating and compiling, and two certificates on a busy core.
TASK_LIMITS = 7
#: Task fields that do not change the problem, set to blanks to look up its cones.
_SAME_PROBLEM = {
    "solver_version": "", "options": "{}", "own_options": "{}", "tol": None, "asked": "",
    "warm_from": "", "interface": "",
}  # fmt: skip


def compare_files(
    files: Iterable[str | Path],
    out: str | Path,
    *,
    memory_limit: int | None = None,
    jobs: int = 1,
    data_dir: str | None = None,
    read_limit: str | float | None = None,
    shard: Shard | None = None,
    watch: Callable[[Progress], None] = lambda progress: None,
    environments: Mapping[str, str | Path] | None = None,
    **plan: Any,
) -> Progress:
    """Run the plan's solvers on the problems of these files; skip tasks finished earlier.

    Parameters
    ----------
    files : paths or bare names in ``./problems``
        Their data and grids are used; their SOLVERS are not.
    out : path
        Folder of the results; the same folder and arguments resume.
    jobs : int
        Solves at a time, at most one a core; more than one disturb each other's times.
    memory_limit, data_dir, read_limit, shard, watch
        As in :func:`convexfs.batch.run.solve_files`.
    environments : mapping of str to path
        Python interpreters of other environments by name. The solvers there that can be called
        directly are compared as well, each in its own version.
    **plan
        What is compared and how: the fields of :class:`~convexfs.study.plan.Plan`.

    Returns
    -------
    Progress
        Counts; :func:`convexfs.study.outcomes.outcomes` has the results.
    """
    problems = [load_problem_file(file) for file in files]
    reading = {"data_dir": data_dir, "read_limit": read_limit}
    limits = {"memory_limit": memory_limit, "jobs": jobs, "shard": shard, "watch": watch}
    others = find_environments(environments or {})
    plan["interfaces"] = [*plan.get("interfaces", (CVXPY,)), *others]
    return compare_problems(problems, out, Plan(**plan), reading, others, **limits)


def find_environments(pythons: Mapping[str, str | Path]) -> dict[str, Environment]:
    """Return Python environments by name, with the solvers found in each interpreter."""
    for name in pythons:
        if not name.isidentifier() or name == DIRECT:
            raise InputError(f"an environment needs a name of letters and digits, not {name!r}")
    return {name: find_environment(name, python) for name, python in pythons.items()}


def compare_problems(
    problems: Sequence[ProblemFile],
    out: str | Path,
    plan: Plan,
    reading: dict[str, Any],
    environments: Mapping[str, Environment] | None = None,
    *,
    jobs: int = 1,
    **limits: Any,
) -> Progress:
    """Run a plan on loaded problem files, as :func:`compare_files` does."""
    check_number("jobs", jobs, 1, os.cpu_count() or 1, whole=True)
    tasks = plan.tasks(problems, environments, **reading)
    pythons = {name: own.python for name, own in (environments or {}).items()}
    variants = integer_variants() if plan.solvers == ALL else {}
    return run_tasks(
        tasks,
        out,
        study=_record(problems, plan, reading),
        work=partial(measure, pythons=pythons, variants=variants),
        jobs=jobs,
        # An alarm stops solvers at their limit; this one also covers stating, compiling and
        # certifying.
        time_limit=TASK_LIMITS * plan.time_limit + START_SECONDS,
        # Failed solves are not retried: retries would make solvers look better than they are.
        retry_failed=False,
        **limits,
    )


def _record(problems: Iterable[ProblemFile], plan: Plan, reading: dict[str, Any]) -> dict[str, Any]:
    """Return files with their digests, plan, reading options and command, to repeat a study."""
    files = [
        {"path": str(own.path), "sha256": own.sha256, "data": list(own.data)} for own in problems
    ]
    return {"files": files, "plan": asdict(plan), "reading": reading, "command": command_line()}


def measure(task: Task, pythons: Mapping[str, Path], variants: Mapping[str, str]) -> Result:
    """Return the Result of one task, certified, with memory and DIMACS errors; or skipped.

    `pythons` are the interpreters of environments, `variants` the solvers that are left out where
    a problem has no integers, each with its twin that takes part.
    """
    _hush(os.getpid())
    problem = load_problem_file(task.problem_file, task.problem_sha256)
    formulation = problem.formulation
    if task.solver == NATIVE and (problem.build or formulation.native is None):
        return skipped_result(f"there is no native twin of {problem.name}")
    known: dict[str, str] = {}
    try:
        # Skip unsuitable solvers by the solver table, before any numbers are computed.
        check_solver(formulation, solving_of(task, problem.build))
        if problem.is_own and task.solver != NATIVE:
            needs, sense = _needs(replace(task, key="", solver="", repeat=0, **_SAME_PROBLEM))
            known = {"needs": str(needs), "sense": sense}
            check_takes(backend(task.solver), needs)
            if (twin := variants.get(task.solver)) and not needs.integer:
                raise SolverUnsuitable(
                    f"without integers {task.solver} is {twin}, which takes part"
                )
    except SolverUnsuitable as reason:
        return skipped_result(reason, **known)
    _warm_up(task.solver)
    token = VERIFIER.set(partial(certify_to_target, limit=task.time_limit))
    alarm = task.time_limit if task.interface in (CVXPY, DIRECT) else None
    try:
        with (
            observed_calls(alarm) as more,
            measured_errors() as measured,
            _interface(task, pythons),
        ):
            result = _from_neighbour(task) if task.warm_from else do(task)
    finally:
        VERIFIER.reset(token)
    if measured.errors is not None and not task.fit:
        more["dimacs"] = json.dumps(dict(zip("123456", measured.errors, strict=True)))
    if task.interface not in (CVXPY, DIRECT):
        more |= {"peak_bytes": None, "solver_version": task.solver_version}
    return replace(result, row={**result.row, **more})


@lru_cache(maxsize=4)
def _needs(task: Task) -> tuple[Needs, str]:
    """Return the Needs (cones, integers) of a user-defined problem and its sense; cached.

    The solvers of one problem come one after the other, so that it is built once for all that
    do not take it.
    """
    built = first_problem(task, load_problem_file(task.problem_file, task.problem_sha256))
    return needs_of(built), built.objective.NAME[:3]


def _interface(task: Task, pythons: Mapping[str, Path]) -> AbstractContextManager[None]:
    """Return a context that calls solvers by the task's interface: cvxpy, direct, environment."""
    if task.interface == CVXPY:
        return nullcontext()
    if task.interface not in (DIRECT, *pythons):
        raise InputError(f"the environment {task.interface} is not given")
    return called_directly(pythons.get(task.interface))


def certify_to_target(problem: Any, solution: Solution, limit: float | None = None) -> Certificate:
    """Return the certificate to ten times the accuracy, or to the accuracy if that is proven too.

    A proof stops where it suffices: one of ten times the accuracy says nothing about whether the
    accuracy itself was reached. A certificate takes as much CPU time as usual, but at most `limit`
    seconds (and always its least).
    """
    spent = solution.compile_seconds + solution.solve_seconds
    effort = EFFORT if limit is None else min(EFFORT, limit / max(spent, TICK))
    found = certify(problem, solution, effort=effort)
    reached = found.ok and solution.status == OPTIMAL and found.primal_residual <= solution.tol
    if not reached or (found.gap is not None and found.gap <= solution.tol):
        return found
    closer = certify(problem, solution, tol=solution.tol, effort=effort)
    return closer if closer.ok else found


def _from_neighbour(task: Task) -> Result:
    """Solve a task from the (unrecorded) solution of the neighbouring grid point.

    Skip it if the solver starts cold only, for a fit, or if the neighbour is not solved.
    """
    from convexfs.solving.backends import BACKENDS

    if task.solver not in BACKENDS or not BACKENDS[task.solver].warm:
        return skipped_result(f"{task.solver} keeps nothing of one solve for the next")
    if task.fit:
        return skipped_result("a whole fit starts where it wants")
    with warm_starts():
        first = do(replace(task, hyper=task.warm_from))
        if first.row["status"] != OPTIMAL:
            return skipped_result(
                f"the neighbour to start from was not solved: {first.row['status']}"
            )
        return do(task)


@cache
def _hush(process: int) -> None:
    """Discard standard output of a worker, because some solvers print whatever their options."""
    if process != MAIN_PROCESS:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


@cache
def _warm_up(solver: str) -> None:
    if solver != NATIVE:
        solve_tiny_program(solver)


@contextmanager
def observed_calls(seconds: float | None = None) -> Iterator[dict[str, Any]]:
    """Yield {"peak_bytes": memory} of solver calls in the block; in workers, limit their time.

    It is None if the system does not report it, else what the process held at its peak beyond what
    it held when the solver was called. Linux reports it; what an earlier solve has left for reuse
    is given back first. A worker process whose solver takes longer than `seconds` is ended by an
    alarm: many solvers have no time limit.
    """
    peak: dict[str, Any] = {"peak_bytes": None}

    @contextmanager
    def observed() -> Iterator[None]:
        before = _forget_the_peak()
        with _alarm(seconds):
            yield
        if before is not None:
            taken = held_bytes("VmHWM") - before
            peak["peak_bytes"] = max(peak["peak_bytes"] or 0, taken, 0)

    token = AROUND.set(observed)
    try:
        yield peak
    finally:
        AROUND.reset(token)


@contextmanager
def _alarm(seconds: float | None) -> Iterator[None]:
    """End this worker if the block takes longer than `seconds` plus a grace period; None: never."""
    if seconds is None or os.getpid() == MAIN_PROCESS or not hasattr(signal, "setitimer"):
        yield
        return
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds + GRACE_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _forget_the_peak() -> int | None:
    """Reset the process's memory peak; return the bytes in use, None if not possible."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
        with open("/proc/self/clear_refs", "w") as refs:
            refs.write("5")
        return held_bytes("VmRSS")
    return None
