"""The answers of a stored run judged anew, without solving anything.

Stating a problem runs its file, and a folder must not choose what is run: whoever asks names
the files, and those of another text than the run's are refused.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from convexfs.batch.problem_file import ProblemFile, load_problem_file
from convexfs.batch.store import Store, unpack
from convexfs.batch.tasks import Task, first_numbers
from convexfs.errors import ConvexfsError, InputError
from convexfs.methods.base.step import stated
from convexfs.records import DEFAULT_ACCURACY, Certificate, Solution


@dataclass(frozen=True)
class Judged:
    """A stored answer: its task in words, what it claims, the old verdict and the new one.

    `certificate` is None where it cannot be judged, for a `reason`.
    """

    task: str
    status: str
    before: bool | None
    certificate: Certificate | None
    reason: str = ""


def judged_again(
    folder: Path,
    files: Sequence[str | Path],
    tol: float | None = None,
    data_dir: str | None = None,
) -> Iterator[Judged]:
    """Yield a new verdict for every task of a run that has an answer."""
    with Store.read(folder) as store:
        tasks, solutions = store.tasks(), store.solutions()
    named = {file.sha256: file for file in map(load_problem_file, files)}
    lacking = tasks.loc[~tasks["problem_sha256"].isin(list(named)), "problem_file"].unique()
    if len(lacking):
        raise InputError(
            f"{folder} was solved from {', '.join(map(str, lacking))}: name it with --problem, as "
            "it was then; a problem file is code, and a folder does not choose what is run"
        )
    last = solutions.drop_duplicates("key", keep="last").set_index("key")
    for row in tasks.to_dict("records"):
        if row["key"] in last.index:
            answer = last.loc[row["key"]]
            yield _judged(row, answer, named[row["problem_sha256"]], tol, data_dir)


def _judged(
    row: dict[Any, Any], answer: Any, file: ProblemFile, tol: float | None, data_dir: str | None
) -> Judged:
    words = "{problem} on {data} {hyper} with {solver}".format(**row)
    before = None if answer["ok"] is None or answer["ok"] != answer["ok"] else bool(answer["ok"])
    status = str(row["status"])
    if file.fit:
        return Judged(words, status, before, None, "a fit is more than one convex problem")
    try:
        certificate = _certified(_task(row, file, data_dir), file, answer, tol)
    except ConvexfsError as error:
        return Judged(words, status, before, None, str(error))
    return Judged(words, status, before, certificate)


def _task(row: dict[Any, Any], file: ProblemFile, data_dir: str | None) -> Task:
    known: dict[str, Any] = {each.name: row.get(each.name) for each in fields(Task)}
    return Task(**known | {"fit": file.fit, "data_dir": data_dir, "read_limit": None})


def _certified(task: Task, file: ProblemFile, answer: Any, tol: float | None) -> Certificate:
    from convexfs.solving.certify import certify

    values, hyper = first_numbers(task, file)
    problem = stated(file.formulation, {**values, **hyper}, file.build)
    solution = Solution(
        status=str(answer["status"]),
        solver="",
        primal={} if answer["primal"] is None else unpack(answer["primal"]),
        objective=None if answer["objective"] != answer["objective"] else answer["objective"],
        tol=DEFAULT_ACCURACY if task.tol is None or task.tol != task.tol else task.tol,
    )
    return certify(problem, solution, tol)
