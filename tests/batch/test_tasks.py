import json
import pickle
from dataclasses import replace

import numpy as np
import pytest

from convexfs import FORMULATIONS, load
from convexfs.batch import tasks as module
from convexfs.batch.problem_files.load import load_problem_file
from convexfs.batch.tasks import do, expand, failure_kind
from convexfs.errors import ProblemFileError, RunError
from convexfs.methods.relief import fit as relief_module
from convexfs.methods.relief.fit import Settings, relief
from convexfs.records import Solution
from convexfs.solving.backends import BACKENDS
from tests.batch.problem_files.test_load import GOOD

relief_problem = FORMULATIONS["relief"].numbers

PLAIN = """
METHOD = "relief"
DATA = ["iris", "wine"]
GRID = {"n_neighbors": [1, 5]}
SOLVERS = ["native", "CLARABEL", "HIGHS", "MOSEK"]
"""


@pytest.fixture
def problem(tmp_path):
    def problem(text=PLAIN, name="plain.py"):
        path = tmp_path / name
        path.write_text(text)
        return load_problem_file(path)

    return problem


def capped(problem, **changes):
    text = GOOD.replace(', "near.csv"', "")
    for old, new in changes.items():
        text = text.replace(old, new)
    return problem(text, "capped.py")


def test_data_grid_and_solvers_are_multiplied_out(problem):
    tasks = expand([problem()], repeats=2)
    assert len(tasks) == 2 * 2 * 4 * 2
    assert len({task.key for task in tasks}) == len(tasks)
    assert {task.hyper for task in tasks} == {'{"n_neighbors": 1}', '{"n_neighbors": 5}'}


def test_the_same_task_twice_is_one_task(problem):
    file = problem()
    assert len(expand([file, file])) == len(expand([file]))


def keys(*files, **options):
    return [task.key for task in expand(files, **options)]


def test_keys_do_not_depend_on_place_comments_or_company(problem):
    first = keys(problem())
    assert first == keys(problem())
    assert first == keys(problem(PLAIN, "elsewhere.py"))
    assert first == keys(problem('"""Now with words."""' + PLAIN + "# and a comment"))
    assert set(first) < set(keys(problem(PLAIN.replace("[1, 5]", "[1, 5, 6]"))))
    assert set(first) < set(keys(problem(PLAIN.replace('"MOSEK"', '"MOSEK", "SCS"'))))


def test_keys_depend_on_all_that_makes_a_result(problem, monkeypatch):
    file, edited = problem(), problem(PLAIN + "WEIGHT = 3\n", "edited.py")
    first = set(keys(file))
    for changed in (
        keys(edited),
        keys(file, tol=1e-5),
        keys(file, seed=1),
        keys(file, time_limit=9),
        keys(problem(PLAIN + "FIT = True\n", "whole.py")),
    ):
        assert not first & set(changed)
    monkeypatch.setattr(module, "versions", lambda: {"cvxpy": "another"})
    assert not first & set(keys(file))


def test_the_code_that_makes_results_is_part_of_the_key(problem, monkeypatch):
    first = set(keys(problem()))
    monkeypatch.setattr(module, "code_sha256", lambda package: "edited")
    assert not first & set(keys(problem()))


def test_the_options_a_solver_is_given_are_part_of_the_key(problem, monkeypatch):
    file = problem()
    first = {task.solver: task for task in expand([file])}
    assert json.loads(first["CLARABEL"].options)["tol_feas"] <= 1e-6
    changed = replace(BACKENDS["CLARABEL"], always={"max_iter": 7})
    monkeypatch.setitem(BACKENDS, "CLARABEL", changed)
    second = {task.solver: task for task in expand([file])}
    assert first["CLARABEL"].key != second["CLARABEL"].key
    assert first["native"].key == second["native"].key


def test_the_automatic_choice_is_recorded_and_depends_on_what_is_installed(problem, monkeypatch):
    file = problem(PLAIN.replace('["native", "CLARABEL", "HIGHS", "MOSEK"]', '["auto"]'))
    (task, *_) = expand([file])
    assert do(task).row["solver"] == "native"
    custom = capped(problem, **{'["CLARABEL", "SCS"]': '["auto"]'})
    (task, *_) = expand([custom])
    row = do(task).row
    assert (row["solver"], row["solver_version"]) == ("CLARABEL", BACKENDS["CLARABEL"].version)
    first = set(keys(custom))
    fewer = {name: row for name, row in BACKENDS.items() if name != "SCS"}
    monkeypatch.setattr("convexfs.solving.backends.BACKENDS", fewer)
    assert not first & set(keys(custom))


def test_data_that_changed_between_two_calls_are_loaded_again(problem, tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(20) % 2
    text = 'METHOD = "relief"\nDATA = ["own.npz"]\nSOLVERS = ["native"]\n'
    digests = set()
    for _ in range(2):
        np.savez(tmp_path / "own.npz", X=rng.standard_normal((20, 3)), y=y)
        (task,) = expand([problem(text, "on_own.py")])
        digests.add(task.data_sha256)
        do(task)
    assert len(digests) == 2


def test_what_only_build_takes_does_not_change_the_draws(problem):
    file = capped(problem, **{'"n_neighbors": [1]': '"online": [True]', "[0.3, 0.6]": "[0.9, 1.0]"})
    objectives = [do(task).row["objective"] for task in expand([file]) if task.solver == "SCS"]
    assert objectives[0] == pytest.approx(objectives[1], rel=1e-4)


def test_a_time_limit_reaches_the_solver_in_a_whole_fit_too(problem, monkeypatch):
    seen, step = [], relief_module.solve_step

    def noted(formulation, values, hyper, solving):
        seen.append(solving.time_limit)
        return step(formulation, values, hyper, solving)

    monkeypatch.setattr(relief_module, "solve_step", noted)
    file = problem(PLAIN + "FIT = True\n")
    do(expand([file], time_limit=7.0)[1])
    assert seen == [7.0]


def test_unknown_data_name_the_file_that_asks_for_them(problem):
    with pytest.raises(ProblemFileError, match=r"plain\.py, DATA: no data set is called 'irisx'"):
        expand([problem(PLAIN.replace('"iris"', '"irisx"'))])


def test_tasks_are_small_and_hold_no_arrays(problem):
    for task in expand([problem()]):
        assert len(pickle.dumps(task)) < 2000


def test_every_solver_gets_the_same_problem_and_answers_it(problem):
    data = load("iris").scaled()
    expected = relief(data.X, data.y, Settings(n_neighbors=5))
    found = {
        task.solver: do(task)
        for task in expand([problem()])
        if task.data == "iris" and json.loads(task.hyper) == {"n_neighbors": 5}
    }
    for solver in ("native", "CLARABEL"):
        row, (answer,) = found[solver].row, found[solver].solutions
        assert row["status"] == "optimal"
        assert row["ok"] is True
        assert row["objective"] == pytest.approx(expected.solution.objective, rel=1e-6)
        np.testing.assert_allclose(answer["primal"]["w"], expected.weights, atol=1e-4)
        assert answer["gap"] < 1e-5


def test_a_solver_that_cannot_be_tried_is_skipped_with_the_reason(problem):
    rows = {task.solver: do(task).row for task in expand([problem()])[:4]}
    assert rows["HIGHS"]["status"] == rows["MOSEK"]["status"] == "skipped"
    assert "HIGHS cannot take SOC" in rows["HIGHS"]["failure"]
    assert "MOSEK is not installed" in rows["MOSEK"]["failure"]


def test_a_changed_build_gets_its_grid_values(problem):
    for task in expand([capped(problem)]):
        (answer,) = do(task).solutions
        cap = json.loads(task.hyper)["cap"]
        assert answer["primal"]["w"].max() == pytest.approx(cap, abs=1e-4)
        assert answer["ok"]


def test_the_whole_method_can_be_fitted_with_a_changed_step(problem):
    file = capped(problem, **{"LIMIT = 7": "FIT = True"})
    for task in expand([file]):
        (answer,) = do(task).solutions
        assert answer["primal"]["w"].max() == pytest.approx(json.loads(task.hyper)["cap"], abs=1e-4)


def test_only_training_rows_are_used(problem, tmp_path):
    rng = np.random.default_rng(0)
    X, y, split = rng.standard_normal((40, 3)), np.arange(40) % 2, np.arange(40) // 30
    np.savez(tmp_path / "split.npz", X=X, y=y, split=split)
    file = problem('METHOD = "relief"\nDATA = ["split.npz"]\nSOLVERS = ["native"]\n', "on_split.py")
    (task,) = expand([file])
    train = X[:30]
    z = relief_problem((train - train.mean(0)) / train.std(0), y[:30])[0]["z"]
    assert do(task).row["objective"] == pytest.approx(np.linalg.norm(np.maximum(z, 0)))


def test_random_numbers_come_from_seed_and_task_not_from_the_solver(problem):
    text = PLAIN.replace('"n_neighbors": [1, 5]', '"online": [True]')
    text = text.replace('"HIGHS", "MOSEK"', "")
    tasks = [task for task in expand([problem(text)], repeats=2, seed=3) if task.data == "iris"]
    objectives = {(task.solver, task.repeat): do(task).row["objective"] for task in tasks}
    for repeat in (0, 1):
        native = objectives["native", repeat]
        assert native == pytest.approx(objectives["CLARABEL", repeat], rel=1e-6)
    assert objectives["native", 0] != pytest.approx(objectives["native", 1], rel=1e-6)
    again = {(t.solver, t.repeat): do(t).row["objective"] for t in tasks}
    assert again == objectives


def test_a_worker_without_the_registry_loads_the_data_again(problem, monkeypatch):
    (task, *_) = expand([problem()])
    monkeypatch.setattr(module, "DATASETS", {})
    assert do(task).row["status"] == "optimal"
    assert task.data_sha256 in module.DATASETS


def test_data_that_changed_meanwhile_are_refused(problem, monkeypatch):
    (task, *_) = expand([problem()])
    with pytest.raises(RunError, match="iris is not the data the run started with"):
        do(replace(task, data_sha256="0" * 64))


def test_a_problem_file_that_changed_meanwhile_is_refused(problem, tmp_path):
    (task, *_) = expand([problem()])
    (tmp_path / "plain.py").write_text(PLAIN + "# changed")
    with pytest.raises(RunError, match=r"changed while the run was going; .* put the file back"):
        do(task)
    (tmp_path / "plain.py").unlink()
    with pytest.raises(RunError, match="the run cannot go on: there is no problem file"):
        do(task)


def test_a_solver_stopped_by_its_own_limit_has_timed_out():
    slow = Solution(status="user_limit", solver="HIGHS", solve_seconds=2.1)
    assert module.over_time(slow, 2.0).status == "timeout"
    assert "HIGHS stopped at its limit of 2 s: user_limit" in module.over_time(slow, 2.0).failure
    assert module.over_time(slow, None).status == "user_limit"
    solved = Solution(status="optimal", solver="HIGHS", solve_seconds=2.1)
    assert module.over_time(solved, 2.0).status == "optimal"


@pytest.mark.parametrize(
    ("status", "ok", "kind"),
    [
        ("optimal", True, ""),
        ("optimal", None, ""),
        ("optimal", False, "refuted"),
        ("skipped", None, ""),
        ("timeout", None, "timeout"),
        ("infeasible", False, "refuted"),
        ("infeasible", None, ""),
        ("infeasible", True, ""),
        ("unbounded", False, "refuted"),
        ("unbounded", None, ""),
        ("unbounded", True, ""),
        ("optimal_inaccurate", True, "optimal_inaccurate"),
        ("optimal_inaccurate", False, "optimal_inaccurate"),
    ],
)
def test_kinds_of_failure(status, ok, kind):
    assert failure_kind(status, ok) == kind
