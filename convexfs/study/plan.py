"""The plan of a study: solvers, conditions, and the order of its tasks."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from convexfs.batch.problem_files.load import ProblemFile, canonical
from convexfs.batch.solver_options import solver_fields
from convexfs.batch.tasks import Task, expand, keyed
from convexfs.errors import InputError, check_number, check_seed
from convexfs.records import NATIVE, RAW, TRANSLATED
from convexfs.solving.backends import BACKENDS, backend, integer_variants
from convexfs.solving.direct import SOLVERS, Environment

ALL = "all"
#: How solvers are called: through cvxpy, or directly; other Python environments go by name.
CVXPY, DIRECT = "", "direct"
#: Tolerances of ``--tol ladder``, which show a solver's time for almost every accuracy.
LADDER = tuple(10.0**-power for power in range(2, 11))


@dataclass(frozen=True)
class Plan:
    """The conditions of a study: solvers, tolerances, options, repeats, seed, time limit.

    Attributes
    ----------
    solvers : "all" or list of names
        ``native`` and installed backends. One that cannot take a problem is skipped there,
        with the reason. ``"all"`` leaves out mixed-integer variants of another solver where
        a formulation as printed has no integers.
    tols : list of float
        Accuracies asked of all solvers.
    default : bool
        Whether to run the solvers' own default accuracies too. Solvers that take no accuracy
        run at their own in any case, and at no other: they cannot be asked.
    asked : list of str
        How accuracies are put to solvers: ``translated`` so that answers are alike, ``raw``
        as the same number for every tolerance a solver has, or both.
    own_options : mapping of str to list of mappings
        Options of single solvers in their own words; each of the list is one to compare.
    warm : bool
        Whether to solve a second time from the solution at the neighbouring value of the
        grid: the value before it in the last list of GRID that has several.
    interfaces : list of str
        How solvers are called: CVXPY, DIRECT, or the names of other Python environments, whose
        solvers are called directly there. Of solvers that have no direct call, CVXPY alone.
    repeats, seed : int
        How often to measure, and what the order and anything random follow from.
    time_limit : float
        Seconds a solver may take. Stating, compiling and verifying may take as long again.
    """

    solvers: str | Sequence[str] = ALL
    tols: Sequence[float] = (1e-6, 1e-8)
    default: bool = True
    asked: Sequence[str] = (TRANSLATED,)
    own_options: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    warm: bool = False
    interfaces: Sequence[str] = (CVXPY,)
    repeats: int = 5
    seed: int = 0
    time_limit: float = 60.0

    def __post_init__(self) -> None:
        check_number("repeats", self.repeats, 1, whole=True)
        check_seed("seed", self.seed)
        check_number("time_limit, in seconds,", self.time_limit, 0, open_ends=True)
        for tol in self.tols:
            check_number("tol", tol, 0, 1, open_ends=True)
        if not self.accuracies:
            raise InputError("there is nothing to compare at: give an accuracy or the default one")
        unknown = sorted(set(self.asked) - {TRANSLATED, RAW})
        if unknown or not self.asked:
            raise InputError(f"tolerances are {TRANSLATED} or {RAW}, not {unknown or 'nothing'}")
        if not self.interfaces:
            raise InputError("there is no way to call solvers: give cvxpy's, direct or both")

    @property
    def accuracies(self) -> list[float | None]:
        """The requested tolerances, each once; None stands for the solver's default."""
        return [None] * self.default + list(dict.fromkeys(self.tols))

    def tasks(
        self,
        problems: Iterable[ProblemFile],
        environments: Mapping[str, Environment] | None = None,
        **reading: Any,
    ) -> list[Task]:
        """Return the tasks of these problem files in the random order in which they run.

        `environments` are those that the interfaces name.
        """
        there = environments or {}
        for name in self.interfaces:
            if name not in (CVXPY, DIRECT) and name not in there:
                raise InputError(f"the environment {name} is not given: add --env {name}=PYTHON")
        chosen = [replace(own, solvers=self._solvers_of(own)) for own in problems]
        self._check_own_options(chosen)
        shared = {"time_limit": self.time_limit, "repeats": self.repeats, "seed": self.seed}
        grids = {str(own.path): own.grid for own in chosen}
        tasks = [
            variant
            for tol in dict.fromkeys([None, *self.accuracies])
            for task in expand(chosen, tol=tol, **shared, **reading)
            if self._is_asked(task.solver, tol)
            for called in self._called(task, there)
            for variant in self._variants(called, grids[task.problem_file])
        ]
        if self.warm and not any(task.warm_from for task in tasks):
            raise InputError(
                "a warm start begins at the neighbouring value of a grid: no GRID has several"
            )
        return in_random_order(tasks, self.seed)

    def _is_asked(self, solver: str, tol: float | None) -> bool:
        """Return whether to run a solver at `tol`; one without tolerances runs once, at None."""
        takes_none = solver in BACKENDS and not BACKENDS[solver].tolerances
        return tol is None if takes_none else tol in self.accuracies

    def _solvers_of(self, problem: ProblemFile) -> tuple[str, ...]:
        """Return the solvers of a problem; of "all", without twins that surely add nothing.

        Whether a changed problem has integers is known only once it is built: there all stay.
        """
        names, formulation = named_solvers(self.solvers), problem.formulation
        if self.solvers != ALL:
            return names
        changed = problem.build is not None
        absent = {NATIVE} if changed or formulation.native is None else set()
        absent |= set() if changed or formulation.integer else integer_variants().keys()
        return tuple(name for name in names if name not in absent)

    def _check_own_options(self, problems: Iterable[ProblemFile]) -> None:
        taking_part = {name for problem in problems for name in problem.solvers} - {NATIVE}
        absent = sorted(set(self.own_options) - taking_part)
        if absent:
            names = ", ".join(sorted(taking_part))
            raise InputError(f"options are given to {absent[0]}, which is none of {names}")

    def _called(self, task: Task, environments: Mapping[str, Environment]) -> Iterator[Task]:
        """Yield the task for each of the plan's interfaces that can call its solver.

        Fits are called by cvxpy only.
        """
        for name in dict.fromkeys(self.interfaces):
            if name == CVXPY:
                yield task
            elif task.solver not in SOLVERS or task.fit:
                continue
            elif name == DIRECT:
                yield _changed(task, interface=name)
            elif task.solver in environments[name].versions:
                version = environments[name].versions[task.solver]
                yield _changed(task, interface=name, solver_version=version)

    def _variants(self, task: Task, grid: Mapping[str, list[Any]]) -> Iterator[Task]:
        """Yield the task's variants in tolerance mode, user-set options and warm start."""
        warm = self.warm and task.interface == CVXPY
        starts = ["", neighbour(task.hyper, grid)] if warm else [""]
        for asked in (TRANSLATED,) if task.tol is None else self.asked:
            for own in self.own_options.get(task.solver, [{}]):
                for warm_from in dict.fromkeys(starts):
                    options = canonical(own)
                    told = solver_fields(task.solver, task.tol, task.time_limit, asked, options)
                    how = {"asked": asked, "own_options": options, "warm_from": warm_from}
                    yield _changed(task, options=told["options"], **how)


def _changed(task: Task, **changed: str) -> Task:
    """Return the task with changed fields and a new key; itself if nothing changes."""
    fields = asdict(task)
    if all(fields[name] == value for name, value in changed.items()):
        return task
    del fields["key"]
    return keyed(**fields | changed)


def neighbour(hyper: str, grid: Mapping[str, list[Any]]) -> str:
    """Return the neighbouring hyperparameters in a grid, as JSON; "" if there are none.

    They differ in the last name of several values: it has the value before, or the second
    for the first.
    """
    values = json.loads(hyper)
    for name in reversed([*grid]):
        choices = grid[name]
        if len(choices) > 1:
            place = choices.index(values[name])
            return canonical(values | {name: choices[place - 1 if place else 1]})
    return ""


def named_solvers(solvers: str | Sequence[str]) -> tuple[str, ...]:
    """Return solver names as the solver table spells them; "all": native and all installed."""
    if isinstance(solvers, str):
        solvers = solvers.split(",")
    if [name.strip().lower() for name in solvers] == [ALL]:
        return (NATIVE, *(name for name, row in BACKENDS.items() if row.installed))
    names = (name.strip() for name in solvers)
    spelt = (NATIVE if name.lower() == NATIVE else backend(name).name for name in names)
    return tuple(dict.fromkeys(spelt))


def in_random_order(tasks: Iterable[Task], seed: int) -> list[Task]:
    """Return tasks repeat by repeat, problems shuffled and, within each, solvers and settings."""
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
