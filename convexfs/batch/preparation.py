"""Work before the tasks of a run: problem files are stated, and what tasks need is loaded.

The mathematics of a problem file is kept with the results that were computed from it. Whoever
reads a run later, perhaps one that somebody else has sent, sees what was solved without running
anything that lies in its folder.
"""

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from convexfs.batch.problem_files.base import printed_aside
from convexfs.batch.problem_files.load import load_problem_file
from convexfs.batch.tasks import Task, dataset_of, first_numbers, first_problem
from convexfs.errors import InputError, ProblemFileError
from convexfs.methods import FORMULATIONS
from convexfs.methods.base.formulation import OWN
from convexfs.methods.base.solve_step import solve_step, stated


@dataclass(frozen=True)
class StatementTask:
    """A request to state a problem file, on the data and grid point of a task."""

    task: Task


def pending_statements(tasks: Iterable[Task], known: Iterable[str]) -> list[StatementTask]:
    """Return one StatementTask per problem file of the tasks whose hash is not in `known`."""
    firsts: dict[str, Task] = {}
    for task in tasks:
        if task.problem_file:
            firsts.setdefault(task.problem_sha256, task)
    return [StatementTask(task) for sha256, task in firsts.items() if sha256 not in set(known)]


def run_or_render(work: Callable[[Task], Any], what: Task | StatementTask) -> Any:
    """Return ``work(what)`` for a Task; for a StatementTask, state its problem file."""
    return render_statement(what.task) if isinstance(what, StatementTask) else work(what)


def render_statement(task: Task) -> dict[str, Any]:
    """State the first convex problem of a task; return its sizes and text, LaTeX and MathML."""
    from convexfs.inspection import show

    problem = load_problem_file(task.problem_file, task.problem_sha256)
    values, hyper = first_numbers(task, problem)
    seen = show(stated(problem.formulation, {**values, **hyper}, problem.build), values)
    return {
        "variables": int(seen.problem.size_metrics.num_scalar_variables),
        "constraints": sum(constraint.size for constraint in seen.problem.constraints),
        "text": seen.text,
        "latex": seen.latex,
        "mathml": seen.mathml,
    }


def file_row(task: Task) -> dict[str, Any]:
    """Return a task's row of the table of problem files, without stating the problem."""
    problem = load_problem_file(task.problem_file, task.problem_sha256)
    return {
        "sha256": problem.sha256,
        "source": problem.text,
        "equation": problem.equation,
        "reference": problem.formulation.reference,
        "data": task.data,
        "hyper": task.hyper,
    }


def warm_up(formulations: Iterable[str]) -> None:
    """Solve a tiny problem of each built-in formulation, so that imports and compilation are done.

    Done before workers are forked, none of them spends half a second on kernels.
    """
    X, codes = np.array([[0.0, 1.0], [1.0, 0.0], [5.0, 7.0], [6.0, 5.0]]), np.array([0, 0, 1, 1])
    for name in sorted(set(formulations) - {OWN.name}):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            formulation = FORMULATIONS[name]
            solve_step(formulation, *formulation.numbers(X, codes))


def state_custom_problems(tasks: Iterable[Task]) -> None:
    """Raise ProblemFileError if a user-defined problem fails to build or is not convex.

    A file whose function fails, or makes something else than a convex problem, is refused
    here, before anything is solved.
    """
    firsts: dict[str, Task] = {}
    for task in tasks:
        if task.formulation == OWN.name and task.problem_file:
            firsts.setdefault(task.problem_file, task)
    for task in firsts.values():
        file = load_problem_file(task.problem_file, task.problem_sha256)
        try:
            with printed_aside():
                problem = first_problem(task, file)
            _check_convex(problem)
        except InputError as error:
            raise ProblemFileError(f"{file.path}: {error}") from error


def _check_convex(problem: Any) -> None:
    from convexfs.solving.dcp_rules import why_not_convex

    if not problem.is_dcp():
        raise InputError(
            f"the problem is not convex by cvxpy's rules (DCP): {why_not_convex(problem)}"
        )


def prepare(what: Task | StatementTask) -> None:
    """Load a task's code, data and problem file into this process, before the task is timed."""
    task = what.task if isinstance(what, StatementTask) else what
    warm_up_once(task.formulation)
    if task.data_sha256:
        dataset_of(task)
    if task.problem_file:
        load_problem_file(task.problem_file, task.problem_sha256)


@cache
def warm_up_once(formulation: str) -> None:
    """Warm up a formulation by solving a tiny problem, once per process."""
    import convexfs.certification.certify
    import convexfs.solving.solve  # noqa: F401

    warm_up([formulation])
