"""Tasks of others that return plain numbers."""

from papers.measurements import measurement, run_measurements

from convexfs.batch.run_results import read_measurements


def task(run, code="code"):
    fields = {"experiment": "e", "method": "m", "data": "d", "data_sha256": "0", "run": run}
    return measurement(code, "iris", None, {"noise": 1}, **fields)


def numbers(one):
    return {"error": 1.5 + one.run, "curve": [1.0, 2.0]}


def test_numbers_are_kept_by_name_and_place(tmp_path):
    tasks = [task(0), task(1)]
    assert run_measurements(tasks, tmp_path, numbers).done == 2
    found = read_measurements(tmp_path, frozenset({tasks[1].key}))
    assert found["value"].tolist() == [2.5, 1.0, 2.0]
    assert found["position"].tolist() == [0, 0, 1]
    assert set(found["run"]) == {1}


def test_worker_processes_give_the_same(tmp_path):
    tasks = [task(run) for run in range(4)]
    assert run_measurements(tasks, tmp_path, numbers, jobs=2).failed == []
    assert len(read_measurements(tmp_path, frozenset(own.key for own in tasks))) == 12


def test_what_failed_is_told_and_tried_again(tmp_path):
    def fails(one):
        raise ValueError("no number")

    ((failed, why),) = run_measurements([task(0)], tmp_path, fails).failed
    assert (failed.run, why) == (0, "ValueError: no number")
    again = run_measurements([task(0)], tmp_path, numbers)
    assert (again.done, again.failed) == (1, [])


def test_other_code_is_another_measurement():
    assert task(0).key == task(0).key
    assert len({task(0).key, task(1).key, task(0, code="changed").key}) == 3


def test_of_what_was_measured_twice_the_last_counts(tmp_path):
    run_measurements([task(0), task(1)], tmp_path, numbers)
    run_measurements([task(0, code="changed")], tmp_path, lambda one: {"error": 9.0})
    found = read_measurements(tmp_path)
    assert found["run"].tolist() == [1, 1, 1, 0]
    assert found["value"].tolist() == [2.5, 1.0, 2.0, 9.0]
