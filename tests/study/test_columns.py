"""A column is declared once and computed once; terminal and page follow."""

import io

import pytest
from rich.console import Console

from convexfs.cli.compare_outputs import table_of
from convexfs.report.columns import Column, On
from convexfs.study import columns, summary
from convexfs.study.columns import names
from convexfs.study.page import sections
from convexfs.study.time_to_accuracy import time_to_accuracy
from tests.study.test_summary import rows

#: Two solvers, five problems, three repeats, and a wrong claim.
STUDY = rows(
    *((solver, problem, repeat, seconds + repeat / 100)
      for solver, seconds in (("A", 0.1), ("B", 0.4))
      for problem in ("one", "two", "three", "four", "five")
      for repeat in range(3)),
    ("C", "one", 0, "wrong claim"),
    formulation="relief", key="k", failure="", gap=1e-8, objective_error=1e-9,
)  # fmt: skip


def printed(table):
    text = io.StringIO()
    Console(file=text, width=300).print(table)
    return text.getvalue()


def on_page(study):
    return sections.verdicts(study, 0.01).tables["summary"].as_json()["columns"]


@pytest.mark.parametrize(
    ("declared", "compute"),
    [
        (columns.SUMMARY, summary.summary),
        (columns.RANKING, summary.ranking),
        (columns.LEADERS, summary.leaders),
        (columns.CLAIMS, summary.wrong_claims),
        (columns.CLAIMANTS, lambda study: summary.claimants(summary.wrong_claims(study))),
        (columns.REASONS, summary.reasons),
        (columns.SOLVER_OPTIONS, summary.solver_options_table),
        (columns.ACHIEVED, time_to_accuracy),
    ],
)
def test_what_is_declared_is_computed(declared, compute):
    table = compute(STUDY)
    assert list(table) == names(declared)
    # No answer of this study has them.
    unknown = {"dual_residual", "complementarity", "setup_share"}
    assert not set(table.columns[table.isna().all()]) - unknown


def test_a_new_column_is_a_declaration_and_a_computation(monkeypatch):
    new = Column("slowest_seconds", "seconds", "the longest of all", "slowest")
    speed = summary._speed
    monkeypatch.setattr(columns, "SUMMARY", (*columns.SUMMARY, new))
    monkeypatch.setattr(
        summary,
        "_speed",
        lambda own, shift: speed(own, shift) | {"slowest_seconds": own["charged_seconds"].max()},
    )
    shown = printed(table_of("Verdict", summary.summary(STUDY), columns.SUMMARY))
    assert "slowest: the longest of all" in " ".join(shown.split())
    assert next(line for line in shown.splitlines() if "│ B " in line).rstrip(" │").endswith("0.42")
    (column,) = (own for own in on_page(STUDY) if own["name"] == "slowest_seconds")
    assert (column["label"], column["kind"]) == ("slowest", "seconds")
    assert column["title"] == "the longest of all"
    assert "hidden" not in column


def test_terminal_and_page_say_the_same_of_a_column():
    shown = printed(table_of("Verdict", summary.summary(STUDY), columns.SUMMARY))
    page = {column["name"]: column for column in on_page(STUDY)}
    both = [own for own in columns.SUMMARY if own.on == On.BOTH]
    assert len(both) > 10
    for own in both:
        told = page[own.name]
        assert (told["label"], told.get("title", "")) == (own.heading, own.meaning)
    for own in both:
        # Ends of an interval are told beside their number.
        assert own.name.endswith(("_low", "_high")) or own.heading in shown


def test_an_interval_stands_beside_its_number():
    table = summary.summary(STUDY).set_index("solver").loc["A"]
    shown = printed(table_of("Verdict", summary.summary(STUDY), columns.SUMMARY))
    ends = f"({table['seconds_low']:.3g}…{table['seconds_high']:.3g})"
    assert f"{table['seconds']:.3g} {ends}" in shown
