"""What tasks need, loaded and compiled before there are workers to wait for it."""

import warnings
from collections.abc import Iterable
from functools import cache

import numpy as np

from convexfs.batch.tasks import Task, dataset_of
from convexfs.methods import FORMULATIONS
from convexfs.methods.base.parameters import Solving
from convexfs.methods.base.step import solve_step


def rehearse(formulations: Iterable[str], solver: str = "auto") -> None:
    """Solve tiny problems, so that what is loaded or compiled at first use is there.

    Done before workers are forked, none of them spends half a second on kernels.
    """
    X, codes = np.array([[0.0, 1.0], [1.0, 0.0], [5.0, 7.0], [6.0, 5.0]]), np.array([0, 0, 1, 1])
    for name in sorted(set(formulations)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            formulation = FORMULATIONS[name]
            solve_step(formulation, *formulation.numbers(X, codes), Solving(solver=solver))


def prepare(task: Task) -> None:
    """Load what this task and others like it need, so that forked workers have it."""
    dataset_of(task)
    _rehearsed(task.formulation)


@cache
def _rehearsed(formulation: str) -> None:
    import convexfs.solving.solve  # noqa: F401

    rehearse([formulation])
