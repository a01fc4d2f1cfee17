"""From an experiment to its numbers: plan the measurements, do them, read them."""

import json
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import pandas as pd

from convexfs.batch.run import Progress
from convexfs.batch.run_results import read_measurements
from convexfs.data import Dataset, load
from convexfs.data.specs import file_behind
from convexfs.errors import InputError
from papers import experiment_named
from papers.experiment import Case, Experiment, Variant
from papers.measurements import Measurement, Numbers, measurement, run_measurements

#: What is said of a quick run.
QUICK = "Quick: generated data, smaller and fewer runs, so that verdicts mean little."


@dataclass(frozen=True)
class Plan:
    """An experiment with its measurements, and why some data sets are not there."""

    experiment: Experiment
    variant: Variant
    tasks: tuple[Measurement, ...]
    missing: Mapping[str, str]
    quick: bool = False

    @property
    def keys(self) -> frozenset[str]:
        return frozenset(task.key for task in self.tasks)

    @property
    def lead(self) -> str:
        """Return where the experiment is printed, and how far ours can be held against it."""
        told = self.experiment.reference
        return f"{told}. {QUICK}" if self.quick else told

    @property
    def cpu_seconds(self) -> float:
        """Return what all of it takes, judged by what it took once."""
        there = {task.data for task in self.tasks}
        return self.variant.runs * sum(self.variant.seconds.get(row, 0.0) for row in there)


def plan(
    name: str, *, data_dir: str | None = None, runs: int | None = None, quick: bool = False
) -> Plan:
    """Return what an experiment has to measure, run by run, and what data it lacks."""
    chosen = experiment_named(name)
    variant = chosen.quick if quick else chosen.full
    if runs is not None:
        variant = replace(variant, runs=runs)
    digests, missing = {}, {}
    for row, spec in variant.sources.items():
        try:
            digests[row] = _data(spec, data_dir).digest
        except InputError as error:
            missing[row] = str(error)
    code = chosen.code
    tasks = tuple(
        measurement(
            code, variant.sources[row], data_dir, variant.settings,
            experiment=name, method=method, data=row, data_sha256=digests[row], run=run,
        )
        for run in range(variant.runs)
        for row in digests
        for method in chosen.methods
        if not chosen.why_left_out(row, method)
    )  # fmt: skip
    return Plan(chosen, variant, tasks, missing, quick)


def run_plan(
    planned: Plan,
    out: Path,
    *,
    jobs: int = 1,
    executor: Executor | None = None,
    watch: Callable[[Progress], None] = lambda progress: None,
) -> Progress:
    """Measure what the folder lacks."""
    return run_measurements(planned.tasks, out, measure, jobs=jobs, executor=executor, watch=watch)


def measure(task: Measurement) -> Numbers:
    """Return the numbers of one measurement."""
    settings = json.loads(task.settings)
    data = _data(task.spec, task.data_dir)
    case = Case(data, task.data, task.method, task.run, settings)
    return experiment_named(task.experiment).measure(case)


def numbers_of(planned: Plan, out: Path) -> pd.DataFrame:
    """Return the numbers of a plan that a folder has; see :mod:`papers.measurements`.

    They come in the order of the plan.
    """
    numbers = read_measurements(out, planned.keys)
    places = {
        "data": list(planned.variant.sources),
        "method": list(planned.experiment.methods),
    }
    for column, order in places.items():
        numbers[column] = pd.Categorical(numbers[column], order)
    ordered = numbers.sort_values(["data", "method", "run"], kind="stable", ignore_index=True)
    return ordered.astype({"data": "object", "method": "object"})


def data_found(variant: Variant, data_dir: str | None) -> Iterator[tuple[str, bool]]:
    """Yield the name of each data set of an experiment and whether it is there."""
    for spec in dict.fromkeys(variant.sources.values()):
        try:
            file_behind(spec, data_dir)
        except InputError:
            yield spec.removeprefix("data:"), False
        else:
            yield spec.removeprefix("data:"), True


@lru_cache(maxsize=16)
def _data(spec: str, data_dir: str | None) -> Dataset:
    """Return a data set, kept: the methods of a run come one after the other."""
    return load(spec, data_dir=data_dir)
