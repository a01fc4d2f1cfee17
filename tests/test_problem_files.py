"""Every problem file that is dropped into problems/ keeps the contract and can be solved."""

from pathlib import Path

import pytest

from convexfs.batch.problem_files.load import load_problem_file
from convexfs.batch.tasks import do, expand, failure_kind

FILES = sorted((Path(__file__).parents[1] / "problems").glob("*.py"))


@pytest.mark.slow(cases=4)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_solver_answers_the_first_grid_point_of_the_first_data_set(path):
    file = load_problem_file(path)
    assert file.equation, "the docstring says what the problem is"
    tasks = expand([file])
    first = [task for task in tasks if (task.data, task.hyper) == (tasks[0].data, tasks[0].hyper)]
    assert len(first) == len(file.solvers)
    results = {task.solver: do(task).row for task in first}
    for solver, row in results.items():
        assert not failure_kind(row["status"], row.get("ok")), (solver, row)
        # Points of LLFS are local optima.
        assert row["status"] != "optimal" or row["ok"] or file.fit == "points", (solver, row)
    objectives = [row["objective"] for row in results.values() if row["status"] == "optimal"]
    assert objectives, "no solver could try it"
    assert max(objectives) == pytest.approx(min(objectives), rel=1e-4, abs=1e-6)
