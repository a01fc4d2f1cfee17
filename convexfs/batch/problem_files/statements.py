"""Store the mathematical statement of each problem file with its results.

Whoever reads a run later sees what was solved without running any code from its folder.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from convexfs.batch.problem_files.load import load_problem_file
from convexfs.batch.tasks import Task, first_numbers
from convexfs.methods.base.solve_step import stated


@dataclass(frozen=True)
class StatementTask:
    """A request to state a problem file, on the data and grid point of a task."""

    task: Task


def pending_statements(tasks: Iterable[Task], known: Iterable[str]) -> list[StatementTask]:
    """Return one statement request per problem file whose hash is not in `known`."""
    firsts: dict[str, Task] = {}
    for task in tasks:
        if task.problem_file:
            firsts.setdefault(task.problem_sha256, task)
    return [StatementTask(task) for sha256, task in firsts.items() if sha256 not in set(known)]


def run_or_render(work: Callable[[Task], Any], what: Task | StatementTask) -> Any:
    """Run a task, or state a problem file."""
    return render_statement(what.task) if isinstance(what, StatementTask) else work(what)


def render_statement(task: Task) -> dict[str, Any]:
    """Return the size and the statement of the first convex problem of a task."""
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
    """Return the row about a task's problem file, as far as no problem must be built."""
    problem = load_problem_file(task.problem_file, task.problem_sha256)
    return {
        "sha256": problem.sha256,
        "source": problem.text,
        "equation": problem.equation,
        "reference": problem.formulation.reference,
        "data": task.data,
        "hyper": task.hyper,
    }
