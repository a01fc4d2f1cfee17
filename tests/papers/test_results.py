"""Tables, figures and the page are made of the exported numbers alone."""

from typing import Any

import pandas as pd
import pytest
from papers import EXPERIMENTS
from papers.paired_tests import comparisons
from papers.results import counted_runs, results, write_results
from papers.run import numbers_of, plan, run_plan

from tests.papers import tiny


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("written")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(EXPERIMENTS, tiny.NAME, tiny.HOME)
        planned = plan("tiny")
        run_plan(planned, folder)
    write_results(results(planned, numbers_of(planned, folder)), folder)
    return folder


def read(path, **options) -> Any:
    return pd.read_csv(path, **options)


def test_tests_can_be_computed_again_from_the_exported_runs(written):
    runs = read(written / "runs.csv")
    again = comparisons(
        runs[runs["position"] == 0], ("ours", "error"),
        [("ours", "nested"), ("worse", "error"), ("lame", "error")],
    )  # fmt: skip
    kept = read(written / "tiny_table-tests.csv").fillna({"result": ""})
    pd.testing.assert_frame_equal(kept, again, check_dtype=False)


def test_the_whole_table_can_be_computed_again_from_the_exported_runs(written, tiny_experiment):
    again = results(plan("tiny"), pd.read_csv(written / "runs.csv"))
    kept = read(written / "tiny_table.csv", keep_default_na=False, na_values=[""])
    own = again.tables["tiny_table"][1]
    pd.testing.assert_series_equal(kept["ours"], own["ours"])


def test_a_table_as_text_marks_the_default_reading_and_counts(written):
    text = (written / "tiny_table.md").read_text()
    assert "|  | waveform | banana |" in text
    assert "| Ours: strict* |" in text
    assert "no data" in text
    assert "Ours: 1 of 1" in text
    assert "worse (error) 0/" in text


def test_the_honest_number_stands_in_square_brackets_and_its_best_is_said(written):
    text = (written / "tiny_table.md").read_text()
    table = read(written / "tiny_table.csv")
    (own,) = table[(table["method"] == "Ours") & table["default"]].to_dict("records")[:1]
    assert own["honest"] > own["ours"]
    assert f"[{own['honest']:.1f}] / 9.8" in text
    assert text.count("[") == 1
    assert "Best with everything chosen on training rows: waveform" in text


def test_figures_are_drawn_and_their_points_kept(written):
    assert (written / "tiny_curve.png").read_bytes()[:4] == b"\x89PNG"
    assert "<svg" in (written / "tiny_curve.svg").read_text()
    assert set(pd.read_csv(written / "tiny_curve.csv")["series"]) == {"ours", "worse"}


def test_the_page_is_whole_and_loads_nothing(written):
    page = (written / "report.html").read_text()
    assert "A tiny &lt;experiment&gt;" in page
    assert page.count("<svg") == 1
    assert "banana: no data" in page
    assert "<script" not in page
    assert "default-src 'none'" in page


def test_the_summary_says_how_it_was_run(written):
    text = (written / "summary.md").read_text()
    assert "    python scripts/reproduce.py tiny --runs 3\n" in text
    assert "6 of 6 measurements" in text
    assert "scikit-learn" in text
    assert "| waveform |" in text


def test_a_quick_run_says_that_verdicts_mean_little(tiny_experiment, tmp_path):
    assert "mean little" in plan("tiny", quick=True).lead
    assert "mean little" not in plan("tiny").lead


def test_runs_are_told_where_they_differ():
    rows = pd.DataFrame({"data": ["a", "a", "b"], "runs": [3, 3, 3]})
    assert counted_runs(rows) == "3"
    assert counted_runs(rows.assign(runs=[1, 3, 0])) == "1 to 3"
    assert counted_runs(rows.assign(runs=[1, 3, 2])) == "a 1 to 3, b 2"
