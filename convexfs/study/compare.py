"""Comparison studies: every solver on the same problems, under the same conditions.

A study is a batch with other solvers, accuracies, repeats and order, in the same store:

- every solver gets the same numbers, cold, in one thread, in a process of its own that is
  ended when the task is over its time, so that a solver that hangs or crashes costs its
  own task only;
- before a process measures a solver for the first time it has solved a tiny problem with
  it, which is not recorded: loading a library is not solving;
- each repeat takes the problems, and at each problem the solvers, in a new random order
  that follows from the seed alone, so that a study goes on in the order it began with;
- two settings: the solver's default accuracy, and one accuracy asked of all of them. One
  thread and the iteration limits of the solver table hold in both: the time limit, not a
  count of iterations, is to end a solve.

A file with ``FIT = True`` is compared as a whole method: its seconds are those of all steps.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

from convexfs.batch.problem_file import ProblemFile, load_problem_file
from convexfs.batch.run import GRACE_SECONDS, Progress, run_tasks
from convexfs.batch.tasks import Result, Task, do, expand, skipped, solving_of
from convexfs.errors import InputError, SolverUnsuitable, check_number
from convexfs.methods.base.step import check_solver
from convexfs.records import NATIVE
from convexfs.solving.solve import solve_tiny_program

ALL = "all"
#: Forked workers have another one.
MAIN_PROCESS = os.getpid()


def compare_files(
    files: Iterable[str | Path],
    out: str | Path,
    *,
    solvers: str | Sequence[str] = ALL,
    tols: Sequence[float] = (1e-6, 1e-8),
    default: bool = True,
    repeats: int = 5,
    time_limit: float = 60.0,
    memory_limit: int | None = None,
    jobs: int = 1,
    seed: int = 0,
    data_dir: str | None = None,
    read_limit: str | float | None = None,
    watch: Callable[[Progress], None] = lambda progress: None,
) -> Progress:
    """Run every solver on every problem of some files; go on where an earlier call stopped.

    Parameters
    ----------
    files : paths or bare names in ``./problems``
        Their data and grids are used; their SOLVERS are not.
    out : path
        Folder of the results; the same folder and arguments resume.
    solvers : "all" or list of names
        ``native`` and installed backends. One that cannot take a problem is skipped there,
        with the reason. ``"all"`` leaves out what differs from another solver by integer
        variables only where a formulation as printed has none.
    tols : list of float
        Accuracies asked of all solvers.
    default : bool
        Whether to run the solvers' own default accuracies too.
    repeats, seed : int
        How often to measure, and what the order and anything random follow from.
    time_limit : float
        Seconds a solver may take. Stating, compiling and judging may take as long again.
    jobs : int
        Solves at a time, at most one a core; more than one disturb each other's times.
    memory_limit, data_dir, read_limit, watch
        As in :func:`convexfs.batch.run.solve_files`.

    Returns
    -------
    Progress
        Counts; :func:`convexfs.study.outcomes.outcomes` has the results.
    """
    check_number("repeats", repeats, 1, whole=True)
    check_number("seed", seed, 0, whole=True)
    check_number("time_limit, in seconds,", time_limit, 0, open_ends=True)
    check_number("jobs", jobs, 1, os.cpu_count() or 1, whole=True)
    for tol in tols:
        check_number("tol", tol, 0, 1, open_ends=True)
    settings = [None] * default + list(dict.fromkeys(tols))
    if not settings:
        raise InputError("there is nothing to compare at: give an accuracy or the default one")
    named = [(load_problem_file(file), named_solvers(solvers)) for file in files]
    if solvers == ALL:
        named = [(problem, without_twins(names, problem)) for problem, names in named]
    problems = [replace(problem, solvers=names) for problem, names in named]
    reading = {"data_dir": data_dir, "read_limit": read_limit}
    shared = {"time_limit": time_limit, "repeats": repeats, "seed": seed, **reading}
    tasks = [task for tol in settings for task in expand(problems, tol=tol, **shared)]
    return run_tasks(
        in_random_order(tasks, seed),
        out,
        work=measure,
        jobs=jobs,
        time_limit=2 * time_limit + GRACE_SECONDS,
        memory_limit=memory_limit,
        # Tried until they succeed, solvers would look better than they are.
        retry_failed=False,
        watch=watch,
    )


def named_solvers(solvers: str | Sequence[str]) -> tuple[str, ...]:
    """Return names as the solver table spells them; ``"all"`` is what is installed."""
    from convexfs.solving.backends import BACKENDS, backend

    if isinstance(solvers, str):
        solvers = solvers.split(",")
    if [name.strip().lower() for name in solvers] == [ALL]:
        return (NATIVE, *(name for name, row in BACKENDS.items() if row.installed))
    names = (name.strip() for name in solvers)
    spelt = (NATIVE if name.lower() == NATIVE else backend(name).name for name in names)
    return tuple(dict.fromkeys(spelt))


def without_twins(names: Sequence[str], problem: ProblemFile) -> tuple[str, ...]:
    """Drop mixed-integer variants (GLPK_MI, ECOS_BB) when the problem has no integers."""
    from convexfs.solving.backends import BACKENDS

    plain = {(row.package, row.cones) for row in BACKENDS.values() if not row.integer_cones}
    twins = {
        name
        for name, row in BACKENDS.items()
        if row.integer_cones and (row.package, row.cones) in plain
    }
    keep = problem.build is not None or problem.formulation.integer
    return tuple(name for name in names if keep or name not in twins)


def in_random_order(tasks: Iterable[Task], seed: int) -> list[Task]:
    """Shuffle within each repeat: problems, and at each its solvers and settings."""
    grouped: dict[int, dict[tuple, list[Task]]] = {}
    for task in tasks:
        problem = (task.problem_file, task.data, task.hyper)
        grouped.setdefault(task.repeat, {}).setdefault(problem, []).append(task)
    ordered = []
    for repeat, problems in sorted(grouped.items()):
        draw = np.random.default_rng([seed, repeat])
        groups = list(problems.values())
        for i in draw.permutation(len(groups)):
            ordered += [groups[i][j] for j in draw.permutation(len(groups[i]))]
    return ordered


def measure(task: Task) -> Result:
    """Do one task with a solver that this process has used before."""
    _hush(os.getpid())
    problem = load_problem_file(task.problem_file, task.problem_sha256)
    formulation = problem.formulation
    if task.solver == NATIVE and (problem.build or formulation.native is None):
        return skipped(f"there is no native twin of {problem.name}")
    try:
        # Told by the table where it can be, before any numbers are computed.
        check_solver(formulation, solving_of(task, problem.build))
    except SolverUnsuitable as reason:
        return skipped(reason)
    _warm_up(task.solver)
    return do(task)


@cache
def _hush(process: int) -> None:
    """Silence a worker: some solvers print from C, whatever they are told."""
    if process != MAIN_PROCESS:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


@cache
def _warm_up(solver: str) -> None:
    if solver != NATIVE:
        solve_tiny_program(solver)
