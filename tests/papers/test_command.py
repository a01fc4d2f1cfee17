"""The command lists experiments, runs them and says what is missing."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from convexfs.cli import COMMANDS, main
from tests.papers.conftest import tiny_experiment  # noqa: F401


@pytest.fixture(autouse=True)
def alone(tiny_experiment, monkeypatch):  # noqa: F811
    import papers

    monkeypatch.setitem(COMMANDS, "reproduce", "papers.command:reproduce")
    monkeypatch.setattr(papers, "EXPERIMENTS", {"tiny": tiny_experiment.HOME})
    return tiny_experiment


def test_without_a_name_it_lists(capsys):
    assert main(["reproduce"]) == 0
    listed = capsys.readouterr().out
    assert "tiny" in listed
    assert "banana" in listed
    assert "0.0 min" in listed


def test_minutes_are_those_of_data_that_are_there(capsys, tmp_path):
    np.savez(tmp_path / "banana.npz", X=np.eye(4), y=np.arange(4) % 2)
    assert main(["reproduce", "--data", str(tmp_path)]) == 0
    assert "5.0 min" in capsys.readouterr().out


def test_an_experiment_is_run_and_shown(tmp_path, capsys):
    line = ["reproduce", "tiny", "--jobs", "1", "--out", str(tmp_path)]
    assert main(line) == 0
    shown = capsys.readouterr()
    assert "no data" in shown.out
    assert "within" in shown.out
    assert "4 measurements" not in shown.err
    assert "processor minutes" in shown.err
    assert (tmp_path / "tiny" / "report.html").is_file()


def test_its_numbers_are_exported_and_its_page_is_kept(tmp_path, capsys):
    run, table = tmp_path / "tiny", tmp_path / "numbers.csv"
    assert main(["reproduce", "tiny", "--jobs", "1", "--out", str(tmp_path)]) == 0
    assert main(["export", str(run), "--to", str(table)]) == 0
    by = ["data", "method", "run", "measure", "position"]
    exported, written = (
        pd.read_csv(path).sort_values(by, ignore_index=True) for path in (table, run / "runs.csv")
    )
    pd.testing.assert_frame_equal(exported, written)
    page = (run / "report.html").read_bytes()
    capsys.readouterr()
    assert main(["report", str(run)]) == 2
    assert "holds an experiment of scripts/reproduce.py" in capsys.readouterr().err
    assert (run / "report.html").read_bytes() == page
    assert main(["export", str(tmp_path), "--to", str(table)]) == 2
    assert f"give the folder of a run, such as {run}" in capsys.readouterr().err


def test_quick_without_a_name_runs_all(tmp_path, alone):
    assert main(["reproduce", "--quick", "--jobs", "1", "--out", str(tmp_path)]) == 0
    assert len(alone.DONE) == 4


def test_no_data_at_all_is_one_line_and_two(tmp_path, capsys, alone, monkeypatch):
    from dataclasses import replace

    full = replace(alone.EXPERIMENT.full, sources={"banana": "data:banana"})
    monkeypatch.setattr(alone, "EXPERIMENT", replace(alone.EXPERIMENT, full=full))
    assert main(["reproduce", "tiny", "--out", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "no data were found for tiny" in said


@pytest.mark.parametrize("done", [0, 2])
def test_ctrl_c_keeps_and_shows_what_was_computed(tmp_path, capsys, alone, monkeypatch, done):
    from papers import run as running

    whole: Any = running.run_plan

    def interrupted(planned, out, **options):
        def stop(progress):
            if progress.done == done:
                raise KeyboardInterrupt

        return whole(planned, out, **(options | {"watch": stop}))

    monkeypatch.setattr(running, "run_plan", interrupted)
    assert main(["reproduce", "tiny", "--jobs", "1", "--out", str(tmp_path)]) == 130
    assert (tmp_path / "tiny" / "runs.csv").is_file() == (done > 0)
    assert "To resume" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["lfe"], "unknown experiment"),
        (["tiny", "--runs", "0"], "runs"),
        (["tiny", "--jobs", "0"], "jobs"),
    ],
)
def test_bad_lines_end_in_two(tmp_path, capsys, words, said):
    assert main(["reproduce", *words, "--out", str(tmp_path)]) == 2
    assert said in capsys.readouterr().err
