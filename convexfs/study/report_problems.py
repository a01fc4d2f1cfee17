"""The problems of a run as mathematics, for its page."""

import inspect
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from convexfs.batch.problem_file import ProblemFile, load_problem_file
from convexfs.data import Dataset, load
from convexfs.errors import ConvexfsError
from convexfs.inspection import Inspection, show
from convexfs.methods.step import stated
from convexfs.study.outcomes import Frame
from convexfs.study.page.assemble import Section, escape, facts
from convexfs.study.report_parts import Part

#: Problems that are unfolded when the page opens.
UNFOLDED = 2


@dataclass(frozen=True)
class Statement:
    """A problem file as it was solved, or why it cannot be stated."""

    name: str
    problem_class: str
    file: ProblemFile | None
    where: str = ""
    seen: Inspection | None = None
    note: str = ""


def statements(tasks: Frame, data_dir: str | None = None) -> list[Statement]:
    """Every problem file of a run, stated on the first data and grid point it was solved on.

    `tasks` are rows of :func:`convexfs.study.outcomes.outcomes`.
    """
    named = tasks[tasks["problem_file"].notna()]
    firsts = named.drop_duplicates("problem_file").sort_values("problem")
    return [_statement(row, data_dir) for row in firsts.to_dict("records")]


def _statement(row: dict[Any, Any], data_dir: str | None) -> Statement:
    name, problem_class = str(row["problem"]), str(row["problem_class"])
    try:
        file = load_problem_file(Path(str(row["problem_file"])))
    except ConvexfsError as error:
        return Statement(name, problem_class, None, note=f"Cannot be stated: {error}.")
    note = ""
    if file.sha256 != row["problem_sha256"]:
        note = "The file has changed since the run; this is how it reads now."
    hyper = json.loads(str(row["hyper"]))
    where = ", ".join([str(row["data"]), *(f"{key} = {value}" for key, value in hyper.items())])
    # A changed file may do anything, and data may have gone.
    try:
        seen = show(*_problem(file, load(str(row["data"]), data_dir=data_dir), hyper))
    except Exception as error:
        return Statement(name, problem_class, file, where, note=f"Cannot be stated now: {error}")
    return Statement(name, problem_class, file, where, seen, note)


def _problem(file: ProblemFile, data: Dataset, hyper: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The first convex problem of a file on some data, and the values it is made of."""
    samples = data.training.scaled()
    numbers = file.formulation.numbers
    takes = inspect.signature(numbers).parameters
    chosen = {name: value for name, value in hyper.items() if name in takes}
    values, more = numbers(samples.X, samples.y, **chosen)
    return stated(file.formulation, {**values, **more, **hyper}, file.build), values


def part(found: list[Statement]) -> Part | None:
    """The part of the page that shows them."""
    if not found:
        return None
    lead = (
        "Each problem file, written out from the problem that was built: the first convex "
        "problem on the data named with it."
    )
    body = "\n".join(_html(one, number < UNFOLDED) for number, one in enumerate(found))
    return Part(Section("problems", "Problems", lead, body))


def _html(one: Statement, unfolded: bool) -> str:
    equation = one.file.equation if one.file else ""
    parts = []
    if one.note:
        parts.append(f'<p class="note">{escape(one.note)}</p>')
    if one.seen:
        parts += [f'<div class="maths">{one.seen.mathml}</div>', facts(_sizes(one, one.seen))]
        parts.append(_folded("The same as text", one.seen.text))
    if one.file:
        parts.append(_folded(f"The file {one.file.path.name}", one.file.path.read_text("utf-8")))
    return (
        f'<details class="problem"{" open" if unfolded else ""}>'
        f"<summary>{escape(one.name)} <span>{escape(one.problem_class)} · {escape(equation)}</span>"
        f"</summary><div>{''.join(parts)}</div></details>"
    )


def _sizes(one: Statement, seen: Inspection) -> list[tuple[str, str]]:
    size = seen.problem.size_metrics
    rows = sum(constraint.size for constraint in seen.problem.constraints)
    return [
        ("stated on", one.where),
        ("size", f"{size.num_scalar_variables:,} variables, constraints of size {rows:,}"),
        ("printed in", one.file.formulation.reference if one.file else ""),
    ]


def _folded(title: str, text: str) -> str:
    return f"<details><summary>{escape(title)}</summary><pre>{escape(text)}</pre></details>"
