"""Experiments are planned, run, resumed and read."""

import sys
from pathlib import Path

import pytest
from papers import EXPERIMENTS, experiment_named
from papers.experiment import Case, _what_measures, printed
from papers.run import data_found, measure, numbers_of, plan, run_plan

from convexfs.errors import InputError


def test_a_plan_goes_run_by_run_and_names_what_is_missing(tiny_experiment):
    planned = plan("tiny")
    assert [(task.run, task.method) for task in planned.tasks[:3]] == [
        (0, "ours"), (0, "worse"), (1, "ours"),
    ]  # fmt: skip
    assert set(planned.missing) == {"banana"}
    assert "data folder" in planned.missing["banana"]
    assert planned.cpu_seconds == pytest.approx(0.03)
    assert len(plan("tiny", runs=5).tasks) == 10


def test_an_unknown_experiment_names_the_nearest():
    with pytest.raises(InputError, match="lfe-table2"):
        plan("lfe-table")


def test_what_was_measured_is_not_measured_again(tiny_experiment, tmp_path):
    first = run_plan(plan("tiny", runs=1), tmp_path)
    assert (first.done, first.failed) == (2, [])
    again = run_plan(plan("tiny"), tmp_path)
    assert (again.resumed, again.done) == (2, 4)
    assert len(tiny_experiment.DONE) == 6


def test_numbers_come_back_as_they_were_measured(tiny_experiment, tmp_path):
    planned = plan("tiny", runs=1)
    run_plan(planned, tmp_path)
    numbers = numbers_of(planned, tmp_path)
    ours = numbers[numbers["method"] == "ours"]
    expected = measure(planned.tasks[0])
    assert ours[ours["measure"] == "error"]["value"].tolist() == [expected["error"]]
    assert ours[ours["measure"] == "curve"]["value"].tolist() == expected["curve"]


def test_other_settings_are_other_measurements(tiny_experiment):
    assert not plan("tiny").keys & plan("tiny", quick=True).keys


def test_what_stops_in_the_middle_keeps_what_it_has(tiny_experiment, tmp_path):
    planned = plan("tiny")

    def stop(progress):
        if progress.done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_plan(planned, tmp_path, watch=stop)
    assert len(numbers_of(planned, tmp_path).groupby(["method", "run"])) == 3
    assert run_plan(planned, tmp_path).resumed == 3


def test_all_methods_of_a_run_draw_the_same(tiny_experiment):
    def drawn(method, run, purpose):
        return Case(None, "row", method, run, {}).random(purpose).random()  # type: ignore[arg-type]

    assert drawn("a", 0, "split") == drawn("b", 0, "split")
    assert len({drawn("a", run, of) for run in (0, 1) for of in ("split", "noise")}) == 4


def test_data_are_found_where_they_are(tiny_experiment, tmp_path):
    assert dict(data_found(tiny_experiment.EXPERIMENT.full, str(tmp_path))) == {
        "waveform:n=30": True,
        "banana": False,
    }


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_is_whole(name):
    own = experiment_named(name)
    assert own.name == name
    assert own.quick.sources.keys() == own.quick.seconds.keys()
    assert own.full.sources.keys() == own.full.seconds.keys()
    assert not [spec for spec in own.quick.sources.values() if spec.startswith("data:")]
    assert {column.method for table in own.tables for column in table.columns} <= {*own.methods}
    for table in own.tables:
        known = set(printed(table.printed).columns) if table.printed else set()
        assert {column.printed for column in table.columns} <= known | {""}


def test_what_is_shown_does_not_change_what_is_measured(monkeypatch):
    own = experiment_named("lfe-table2")
    source = Path(str(sys.modules[own.measure.__module__].__file__)).read_text(encoding="utf-8")
    shown = source.replace("LFE Table 3: processor time", "Another title")
    measures = source.replace("FOLDS = 10", "FOLDS = 5")
    assert source not in (shown, measures)
    assert _what_measures(shown) == _what_measures(source)
    assert _what_measures(measures) != _what_measures(source)
