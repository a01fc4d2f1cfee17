"""Certify the solutions of a stored run again, without solving.

Stating a problem runs its file, and a folder must not choose which code is run. So the caller names
the files, and files whose text differs from the run's are rejected.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import pandas as pd

from convexfs.batch.problem_files.load import ProblemFile, load_problem_file
from convexfs.batch.store.schema import CERTIFICATES
from convexfs.batch.store.store import Store, unpack
from convexfs.batch.tasks import CERTIFICATE, Task, certificate_columns, first_problem, objection
from convexfs.errors import ConvexfsError, InputError
from convexfs.records import DEFAULT_ACCURACY, INFEASIBLE, UNBOUNDED, Certificate, Solution

#: Statuses infeasible and unbounded: such tasks have no solution, even if nothing failed.
UNSOLVED = (INFEASIBLE, UNBOUNDED, f"{INFEASIBLE}_inaccurate", f"{UNBOUNDED}_inaccurate")


@dataclass(frozen=True)
class Recertified:
    """A stored solution with its task, its status, the stored verdict and the new certificate.

    `older` says whether the stored verdict was made by an older version of the certificates.
    `certificate` is None where the solution cannot be certified, for a `reason`.
    """

    key: str
    step: int
    task: str
    status: str
    before: bool | None
    older: bool
    failure: str
    certificate: Certificate | None
    reason: str = ""


def certify_again(
    folder: Path, files: Sequence[str | Path], tol: float | None = None, data_dir: str | None = None
) -> Iterator[Recertified]:
    """Yield a Recertified for the last stored solution of each task of a run that has one."""
    with Store.read(folder) as store:
        tasks, solutions = store.tasks(), store.solutions()
    named = _named_files(folder, files, tasks)
    last = solutions.drop_duplicates("key", keep="last").set_index("key")
    for row in tasks.to_dict("records"):
        if row["key"] in last.index:
            answer = last.loc[row["key"]]
            yield _certify_row(row, answer, named[row["problem_sha256"]], tol, data_dir)


def failed_problems(
    folder: Path, files: Sequence[str | Path], data_dir: str | None = None
) -> Iterator[tuple[str, Any]]:
    """Yield (text, cvxpy problem) of every task that failed, or is infeasible or unbounded."""
    with Store.read(folder) as store:
        tasks = store.tasks()
    named = _named_files(folder, files, tasks)
    unsolved = tasks["status"].isin(UNSOLVED) | (tasks["failure"].fillna("") != "")
    for row in tasks.loc[unsolved].to_dict("records"):
        file = named[row["problem_sha256"]]
        yield _words(row), first_problem(_task(row, file, data_dir), file)


def _words(row: dict[Any, Any]) -> str:
    return "{problem} on {data} {hyper} with {solver}".format(**row)


def _named_files(
    folder: Path, files: Sequence[str | Path], tasks: pd.DataFrame
) -> dict[str, ProblemFile]:
    """Load `files`; return them by hash, and raise if one of the run's files is missing."""
    named = {file.sha256: file for file in map(load_problem_file, files)}
    lacking = tasks.loc[~tasks["problem_sha256"].isin(list(named)), "problem_file"].unique()
    if len(lacking):
        raise InputError(
            f"{folder} was solved from {', '.join(map(str, lacking))}: name it with --problem, as "
            "it was then; a problem file is code, and a folder does not choose what is run"
        )
    return named


def _certify_row(
    row: dict[Any, Any], answer: Any, file: ProblemFile, tol: float | None, data_dir: str | None
) -> Recertified:
    checked = Recertified(
        key=row["key"],
        step=int(answer["step"]),
        task=_words(row),
        status=str(row["status"]),
        before=None if pd.isna(answer["ok"]) else bool(answer["ok"]),
        older=bool(pd.isna(answer["certificates"]) or answer["certificates"] < CERTIFICATES),
        failure="" if pd.isna(row["failure"]) else row["failure"],
        certificate=None,
    )
    if file.fit:
        return replace(checked, reason="a fit is more than one convex problem")
    try:
        certificate = _certified(_task(row, file, data_dir), file, answer, tol)
    except ConvexfsError as error:
        return replace(checked, reason=str(error))
    return replace(checked, certificate=certificate)


def _task(row: dict[Any, Any], file: ProblemFile, data_dir: str | None) -> Task:
    known: dict[str, Any] = {each.name: row.get(each.name) for each in fields(Task)}
    return Task(**known | {"fit": file.fit, "data_dir": data_dir, "read_limit": None})


def _certified(task: Task, file: ProblemFile, answer: Any, tol: float | None) -> Certificate:
    from convexfs.certification.certify import certify

    solution = Solution(
        status=str(answer["status"]),
        solver="",
        primal={} if answer["primal"] is None else unpack(answer["primal"]),
        objective=None if answer["objective"] != answer["objective"] else answer["objective"],
        tol=DEFAULT_ACCURACY if task.tol is None or task.tol != task.tol else task.tol,
    )
    return certify(first_problem(task, file), solution, tol)


def renew(folder: Path, found: Sequence[Recertified]) -> None:
    """Overwrite the verdicts stored in a run's folder where there is a new certificate."""
    with Store(folder) as store:
        for one in found:
            if one.certificate is not None:
                # Failures that are not about the certificate stay as they are.
                keeps = one.failure and not one.failure.startswith(CERTIFICATE)
                failure = one.failure if keeps else objection(one.certificate)
                store.renew(one.key, one.step, certificate_columns(one.certificate), failure)
