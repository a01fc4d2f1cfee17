"""The tasks of a study: who is asked for what, in which words and order."""

import json
import os
from dataclasses import replace

import numpy as np
import pytest

from convexfs.batch.problem_files.load import load_problem_file
from convexfs.batch.tasks import expand
from convexfs.errors import InputError, SolverUnavailable
from convexfs.solving.backends import BACKENDS, integer_variants
from convexfs.study.compare import compare_files
from convexfs.study.plan import Plan, in_random_order, named_solvers, neighbour
from tests.study.test_compare import CONIC, TINY


def order(problem, seed, repeats=3):
    tasks = expand([problem], tol=1e-6, repeats=repeats)
    return in_random_order(tasks, seed)


def test_the_order_is_random_by_the_seed_and_takes_a_problem_at_a_time(file):
    problem = replace(load_problem_file(file(CONIC)), solvers=("native", "CLARABEL", "SCS", "ECOS"))
    first, again, other = order(problem, 0), order(problem, 0), order(problem, 1)
    assert first == again
    assert {task.key for task in first} == {task.key for task in other}
    assert first != other
    assert [task.repeat for task in first] == sorted(task.repeat for task in first)
    solvers = np.array([task.solver for task in first]).reshape(3, 4, 4)
    assert all(len(set(block)) == 4 for repeat in solvers for block in repeat)
    assert len({tuple(block) for repeat in solvers for block in repeat}) > 3
    instances = [(task.data, task.hyper) for task in first]
    for start in range(0, len(instances), 4):
        assert len(set(instances[start : start + 4])) == 1


def test_solvers_are_named_as_in_the_table():
    assert named_solvers("native,clarabel, SCS") == ("native", "CLARABEL", "SCS")
    assert named_solvers(["SCS", "scs"]) == ("SCS",)
    everyone = named_solvers("all")
    assert everyone[0] == "native"
    assert set(everyone[1:]) == {name for name, row in BACKENDS.items() if row.installed}
    with pytest.raises(SolverUnavailable, match="did you mean CLARABEL"):
        named_solvers("CLARABLE")


def test_branching_twins_are_left_out_where_there_are_no_integers(file):
    pytest.importorskip("ecos")
    names, taking_part = named_solvers("all"), Plan()._solvers_of
    assert {"native", "ECOS", "ECOS_BB", "HIGHS", "SCIPY"} <= set(names)
    assert "ECOS_BB" in integer_variants()
    plain, changed = load_problem_file(file(CONIC)), load_problem_file(file(TINY, "tiny.py"))
    assert taking_part(plain) == tuple(name for name in names if name not in integer_variants())
    assert taking_part(changed) == tuple(name for name in names if name != "native")
    integer = file('METHOD = "llfs-exact"\nDATA = ["iris"]\n', "integer.py")
    assert set(taking_part(load_problem_file(integer))) | {"native"} == set(names)


@pytest.mark.parametrize("default", [True, False])
def test_a_solver_that_takes_no_accuracy_runs_at_its_own_only(file, default):
    plan = Plan(solvers=["SCIPY", "CLARABEL"], tols=[1e-6, 1e-8], default=default, repeats=1)
    asked = {(task.solver, task.tol) for task in plan.tasks([load_problem_file(file(CONIC))])}
    assert {tol for solver, tol in asked if solver == "SCIPY"} == {None}
    assert {tol for solver, tol in asked if solver == "CLARABEL"} == {1e-6, 1e-8} | (
        {None} if default else set()
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"repeats": 0}, "repeats must be an integer"),
        ({"tols": [2.0]}, "tol must be a number"),
        ({"tols": [], "default": False}, "nothing to compare at"),
        ({"time_limit": 0}, "time_limit"),
        ({"jobs": 1 + (os.cpu_count() or 1)}, "jobs must be"),
        ({"seed": -1}, "seed"),
    ],
)
def test_bad_settings_are_refused(file, tmp_path, options, message):
    with pytest.raises(InputError, match=message):
        compare_files([file(CONIC)], tmp_path / "run", solvers="native", **options)


def told(tasks, solver, **fields):
    """What a solver is told in the tasks that have these fields."""
    return [
        json.loads(task.options)
        for task in tasks
        if task.solver == solver and all(getattr(task, n) == v for n, v in fields.items())
    ]


def test_a_raw_tolerance_is_the_same_number_for_every_solver(file):
    plan = Plan(solvers=["CLARABEL", "SCS", "OSQP"], tols=[1e-6], asked=["translated", "raw"])
    tasks = plan.tasks([load_problem_file(file(TINY))])
    for solver in plan.solvers:
        names = BACKENDS[solver].tolerances
        raw, own = told(tasks, solver, asked="raw")[0], told(tasks, solver, tol=None)[0]
        assert [raw[name] for name in names] == [1e-6] * len(names)
        assert not set(names) & set(own)
    assert told(tasks, "CLARABEL", asked="translated", tol=1e-6)[0]["tol_feas"] == 1e-8
    assert len({task.key for task in tasks}) == len(tasks) == 3 * 3 * plan.repeats


def test_options_of_a_solver_are_swept(file):
    sweep = [{"acceleration_lookback": value} for value in (0, 10)]
    plan = Plan(
        solvers=["SCS", "CLARABEL"], tols=[1e-6], default=False, repeats=1,
        own_options={"SCS": sweep},
    )  # fmt: skip
    tasks = plan.tasks([load_problem_file(file(TINY))])
    assert sorted(own["acceleration_lookback"] for own in told(tasks, "SCS")) == [0, 10]
    assert len(told(tasks, "CLARABEL")) == 1
    with pytest.raises(InputError, match="options are given to OSQP, which is none of CLARABEL"):
        replace(plan, own_options={"OSQP": sweep}).tasks([load_problem_file(file(TINY))])


@pytest.mark.parametrize(
    ("hyper", "grid", "expected"),
    [
        ({"a": 2}, {"a": [1, 2, 3]}, {"a": 1}),
        ({"a": 1}, {"a": [1, 2, 3]}, {"a": 2}),
        ({"a": 1, "b": 7}, {"a": [1, 2], "b": [7]}, {"a": 2, "b": 7}),
        ({"a": 1, "b": 7}, {"a": [1, 2], "b": [5, 7]}, {"a": 1, "b": 5}),
        ({"a": 1}, {"a": [1]}, None),
        ({}, {}, None),
    ],
)
def test_the_neighbour_is_one_step_away_in_the_last_grid_list(hyper, grid, expected):
    found = neighbour(json.dumps(hyper), grid)
    assert (json.loads(found) if found else None) == expected


def test_warm_starts_stand_beside_cold_ones(file):
    plan = Plan(solvers=["SCS"], tols=[1e-6], default=False, repeats=1, warm=True)
    tasks = plan.tasks([load_problem_file(file(CONIC))])
    cold, warm = ([task for task in tasks if bool(task.warm_from) is how] for how in (False, True))
    assert len(cold) == len(warm) == 4
    assert {(task.hyper, task.warm_from) for task in warm} == {
        ('{"n_neighbors": 1}', '{"n_neighbors": 5}'), ('{"n_neighbors": 5}', '{"n_neighbors": 1}')
    }  # fmt: skip
    with pytest.raises(InputError, match="no GRID has several"):
        plan.tasks([load_problem_file(file(TINY, "tiny.py"))])
