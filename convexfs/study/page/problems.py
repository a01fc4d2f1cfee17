"""The section with the problems of a run as mathematics.

The statements were stored when the problems were solved: nothing is loaded or run here.
"""

import json
from pathlib import Path
from typing import Any

import pandas as pd

from convexfs.report.sanitiser import is_mathml, without_folders
from convexfs.report.sections import Section, escape, facts

#: Number of problems that are unfolded when the page opens.
UNFOLDED = 2
NOT_KEPT = (
    "The statement was not kept by the version that solved it; the same convexfs solve or compare "
    "line, given again, keeps it."
)


def section(tasks: pd.DataFrame, problems: pd.DataFrame) -> Section | None:
    """Return the section that shows each problem file's mathematics as last solved, or None.

    `tasks` are rows of :func:`convexfs.study.outcomes.outcomes`, `problems` the store's.
    """
    rows = _statements(tasks, problems)
    if not rows:
        return None
    lead = (
        "Each problem file, written out from the problem that was built when it was solved: the "
        "first convex problem on the data named with it."
    )
    body = "\n".join(_html(row, number < UNFOLDED) for number, row in enumerate(rows))
    return Section("problems", "Problems", lead, body)


def _statements(tasks: pd.DataFrame, problems: pd.DataFrame) -> list[dict[Any, Any]]:
    problems = problems.drop(columns=["data", "hyper"]).join(_where(problems))
    named = tasks[tasks["problem_file"].notna()].sort_values("finished_utc", kind="stable")
    lasts = named.drop_duplicates(["problem_file", "problem_code"], keep="last")
    lasts = lasts[["problem", "problem_file", "problem_sha256", "problem_class"]]
    rows = lasts.merge(problems, left_on="problem_sha256", right_on="sha256", how="left")
    rows = rows.sort_values("problem", kind="stable").astype(object)
    return rows.where(rows.notna(), None).to_dict("records")


def _where(problems: pd.DataFrame) -> pd.Series:
    """Return a Series of texts: data and hyperparameters on which each problem is stated."""
    words = [
        ", ".join([Path(str(data)).name, *(f"{name} = {value}" for name, value in hyper.items())])
        for data, hyper in zip(problems["data"], map(_read, problems["hyper"]), strict=True)
    ]
    return pd.Series(words, index=problems.index, name="where", dtype="string")


def _read(hyper: Any) -> dict[str, Any]:
    return {} if pd.isna(hyper) else json.loads(hyper)


def _html(one: dict[Any, Any], unfolded: bool) -> str:
    equation = one["equation"] or ""
    return (
        f'<details class="problem"{" open" if unfolded else ""}>'
        f"<summary>{escape(one['problem'])} <span>{escape(one['problem_class'])} · "
        f"{escape(equation)}</span></summary><div>{''.join(_body(one))}</div></details>"
    )


def _body(one: dict[Any, Any]) -> list[str]:
    if one["sha256"] is None:
        return [f'<p class="note">{escape(NOT_KEPT)}</p>']
    parts = []
    if one["failure"]:
        why = without_folders(one["failure"], [f"{Path(one['problem_file']).parent}/"])
        parts.append(f'<p class="note">{escape(f"Could not be stated: {why}")}</p>')
    if one["mathml"] and is_mathml(one["mathml"]):
        parts.append(f'<div class="maths">{one["mathml"]}</div>')
    parts.append(facts(_sizes(one)))
    for title, text in (("The same as text", one["text"]), ("The same in LaTeX", one["latex"])):
        parts += [_folded(title, text)] if text else []
    parts.append(_folded(f"The file {Path(one['problem_file']).name}", one["source"] or ""))
    return parts


def _sizes(one: dict[Any, Any]) -> list[tuple[str, str]]:
    size = ""
    if one["variables"] is not None:
        size = f"{one['variables']:,} variables, constraints of size {one['constraints'] or 0:,}"
    return [
        ("stated on", one["where"] or ""),
        ("size", size),
        ("printed in", one["reference"] or ""),
    ]


def _folded(title: str, text: str) -> str:
    return f"<details><summary>{escape(title)}</summary><pre>{escape(text)}</pre></details>"
