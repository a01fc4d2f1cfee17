"""The problems of a run as mathematics, for its page.

All of it was kept when they were solved: nothing is loaded or run here.
"""

import json
from pathlib import Path
from typing import Any

import pandas as pd

from convexfs.batch.store import Store
from convexfs.study.mathml import is_mathml
from convexfs.study.outcomes import Frame
from convexfs.study.page.assemble import Section, escape, facts
from convexfs.study.places import unplaced
from convexfs.study.report_parts import Part

#: Problems that are unfolded when the page opens.
UNFOLDED = 2
NOT_KEPT = (
    "The statement was not kept by the version that solved it; the same convexfs solve or compare "
    "line, given again, keeps it."
)


def statements(folder: str | Path, tasks: Frame) -> list[dict[Any, Any]]:
    """Every problem file of a run as it was solved last, with its statement if that was kept.

    `tasks` are rows of :func:`convexfs.study.outcomes.outcomes`.
    """
    with Store.read(folder) as store:
        kept = store.problems().drop(columns=["data", "hyper"]).join(_where(store.problems()))
    named = tasks[tasks["problem_file"].notna()].sort_values("finished_utc", kind="stable")
    lasts = named.drop_duplicates(["problem_file", "problem_code"], keep="last")
    lasts = lasts[["problem", "problem_file", "problem_sha256", "problem_class"]]
    found = lasts.merge(kept, left_on="problem_sha256", right_on="sha256", how="left")
    rows = found.sort_values("problem", kind="stable").astype(object)
    return rows.where(rows.notna(), None).to_dict("records")


def _where(problems: Frame) -> Frame:
    """The data and hyper-parameters each was stated on."""
    words = [
        ", ".join([Path(str(data)).name, *(f"{name} = {value}" for name, value in hyper.items())])
        for data, hyper in zip(problems["data"], map(_read, problems["hyper"]), strict=True)
    ]
    return pd.Series(words, index=problems.index, name="where", dtype="string")


def _read(hyper: Any) -> dict[str, Any]:
    return {} if pd.isna(hyper) else json.loads(hyper)


def part(found: list[dict[Any, Any]]) -> Part | None:
    """The part of the page that shows them."""
    if not found:
        return None
    lead = (
        "Each problem file, written out from the problem that was built when it was solved: the "
        "first convex problem on the data named with it."
    )
    body = "\n".join(_html(one, number < UNFOLDED) for number, one in enumerate(found))
    return Part(Section("problems", "Problems", lead, body))


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
        why = unplaced(one["failure"], [f"{Path(one['problem_file']).parent}/"])
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
