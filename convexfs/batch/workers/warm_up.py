"""Import and compile what tasks need, before workers start."""

import warnings
from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np

from convexfs.batch.problem_files.base import printed_aside
from convexfs.batch.problem_files.load import load_problem_file
from convexfs.batch.problem_files.statements import StatementTask
from convexfs.batch.tasks import Task, dataset_of, first_numbers
from convexfs.errors import InputError, ProblemFileError
from convexfs.methods import FORMULATIONS
from convexfs.methods.base.formulation import OWN
from convexfs.methods.base.solve_step import solve_step, stated


def warm_up(formulations: Iterable[str]) -> None:
    """Solve tiny problems, so that imports and compilations at first use are done.

    Done before workers are forked, none of them spends half a second on kernels.
    """
    X, codes = np.array([[0.0, 1.0], [1.0, 0.0], [5.0, 7.0], [6.0, 5.0]]), np.array([0, 0, 1, 1])
    for name in sorted(set(formulations) - {OWN.name}):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            formulation = FORMULATIONS[name]
            solve_step(formulation, *formulation.numbers(X, codes))


def state_custom_problems(tasks: Iterable[Task]) -> None:
    """State the first problem of each file with a user-defined problem.

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
                problem = stated(OWN, first_numbers(task, file)[1], file.build)
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
    """Load the data and files of a task that a forked worker inherits from its parent."""
    task = what.task if isinstance(what, StatementTask) else what
    warm_up_once(task.formulation)
    if task.data_sha256:
        dataset_of(task)
    if task.problem_file:
        load_problem_file(task.problem_file, task.problem_sha256)


@cache
def warm_up_once(formulation: str) -> None:
    """Load all that solves and certifies this formulation, once per process."""
    import convexfs.certification.certify
    import convexfs.solving.solve  # noqa: F401

    warm_up([formulation])
