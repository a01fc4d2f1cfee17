"""Every number of a comparison's page follows from its export."""

from typing import Any

import pytest

from convexfs.study.compare import compare_files
from convexfs.study.outcomes import export
from convexfs.study.page import gather
from tests.report.pages import frame_of, numbers_in
from tests.study.recomputed import exported, page_differences
from tests.study.test_compare import GRID

PRINTED = 'METHOD = "relief"\nDATA = ["iris"]\n'


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A comparison with all that can be asked for, as a page and as rows."""
    folder = tmp_path_factory.mktemp("study")
    for name, text in (("printed", PRINTED), ("changed", GRID)):
        (folder / f"{name}.py").write_text(text)
    compare_files(
        [folder / "printed.py", folder / "changed.py"], folder / "run",
        solvers=["native", "SCS"], tols=[1e-3, 1e-8], default=False,
        asked=["translated", "raw"], own_options={"SCS": [{"max_iters": 50}, {"max_iters": 9999}]},
        warm=True, repeats=2, time_limit=20.0,
    )  # fmt: skip
    export(folder / "run", folder / "rows.parquet")
    return gather(folder / "run").html, exported(folder / "rows.parquet")


def test_all_of_them(study):
    page, rows = study
    assert {row["outcome"] for row in rows} >= {"solved", "failed", "skipped"}
    assert page_differences(page, rows) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [("charged_seconds", 1.0), ("outcome", "failed"), ("error", 1e-1), ("iterations", 10**6),
     ("peak_bytes", 10**12), ("setup_seconds", 9.0), ("busy", True), ("solve_seconds", 10.0)],
)  # fmt: skip
def test_another_export_would_be_noticed(study, name, value):
    page, rows = study
    forged = [{**row, name: value} if row["outcome"] == "solved" else row for row in rows]
    assert page_differences(page, forged)


def test_what_solvers_were_told_is_on_the_page(study):
    page, rows = study
    table = frame_of(numbers_in(page)["tables"]["told"])
    expected = {
        (row["settings"], row["solver"], row["told"] or "nothing")
        for row in rows
        if row["outcome"] != "skipped"
    }
    assert set(zip(table["settings"], table["solver"], table["told"], strict=True)) == expected
    asked = table.set_index(["settings", "solver"])["told"]
    assert "eps_abs=1e-09" in asked["1e-08", "SCS max_iters=50"]
    assert "eps_abs=1e-08" in asked["1e-08 raw", "SCS max_iters=50"]


def test_shares_in_time_are_counted(study):
    page, rows = study
    drawn = frame_of(numbers_in(page)["figures"]["time-to-accuracy"]["table"])
    assert drawn["share"].between(0, 1).all()
    for _, own in drawn.groupby(["panel", "solver"], sort=False):
        assert own["share"].is_monotonic_increasing
        assert own["seconds"].is_monotonic_increasing
    last = drawn[drawn["panel"].str.startswith("1e-08, all")]
    best: Any = last.groupby("solver")["share"].max()
    for solver, share in best.items():
        runs = [r for r in rows if r["solver"] == solver and "warm" not in r["settings"]]
        tried = {(r["instance"], r["repeat"]) for r in runs if r["outcome"] != "skipped"}
        there = {
            (r["instance"], r["repeat"])
            for r in runs
            if r["gap"] is not None and max(r["error"], r["objective_error"] or 0.0) <= 1e-8
        }
        assert share == pytest.approx(len(there) / len(tried))
