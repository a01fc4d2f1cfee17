"""Solvers compared by whole points: local optima against the best of the others."""

import numpy as np
import pandas as pd
import pytest

import convexfs
from convexfs.batch.run import solve_files
from convexfs.batch.store.store import Store
from convexfs.cli import main
from convexfs.study import llfs_points
from convexfs.study.page import gather
from tests.report.pages import readable

FILE = """METHOD = "llfs"
DATA = ["subclasses:noise=5,n=4"]
GRID = {"max_features": [2], "betas": [5], "point": [0, 4]}
SOLVERS = ["native", "CLARABEL"]
FIT = "points"
"""
TABLE = np.dtype([("beta", float), ("u1", float), ("programs", int)])


def kept(solver, u1, point=0, **more):
    betas = np.linspace(0, 1, len(u1))
    table = np.array(list(zip(betas, u1, [3] * len(u1), strict=True)), dtype=TABLE)
    row = {"data": "d", "hyper": "", "tol": 1e-6, "solver": solver, "repeat": 0, "point": point}
    return {**row, "cpu_seconds": 2.0, "table": table, **more}


def test_pairs_are_held_against_the_best_of_the_others():
    frame = pd.DataFrame(
        [
            kept("A", [0.1, 0.2 + 1e-8, np.inf, 0.9]),
            kept("B", [0.1, 0.2, 0.4, 0.5]),
            kept("C", [0.11, 0.2, 0.3, 0.5]),
        ]
    )
    table = llfs_points.comparison(frame).set_index("solver")
    counted = ["betas", "same", "better", "worse", "failed"]
    assert table[counted].T["A"].tolist() == [3, 2, 0, 0, 1]
    assert table[counted].T["B"].tolist() == [3, 2, 0, 1, 0]
    assert table[counted].T["C"].tolist() == [3, 1, 1, 1, 0]
    assert table.loc["B", "worst"] == pytest.approx(1 / 3)
    assert table[["programs", "cpu_seconds"]].T["A"].tolist() == [9, 2]


def test_a_solver_alone_is_neither_better_nor_worse():
    table = llfs_points.comparison(pd.DataFrame([kept("A", [0.1, 0.2, 0.5])]))
    assert table[["betas", "same", "better", "worse"]].values.tolist() == [[2, 2, 0, 0]]


def test_repeats_count_for_the_time_only():
    frame = pd.DataFrame([kept("A", [0.1, 0.5]), kept("A", [0.1, 0.5], repeat=1, cpu_seconds=4.0)])
    (row,) = llfs_points.comparison(frame).to_dict("records")
    assert (row["points"], row["betas"], row["cpu_seconds"]) == (1, 1, 3.0)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("points")
    (folder / "whole.py").write_text(FILE)
    solve_files([folder / "whole.py"], folder / "run")
    return folder / "run"


def test_points_are_read_with_their_fit(run):
    with Store.read(run) as store:
        found = llfs_points.kept_points(store.tasks(), store.solutions())
    assert len(found) == 4
    assert set(found["hyper"]) == {"betas=5 max_features=2"}
    last = llfs_points.last_fit(found)
    assert last["point"].tolist() == [0, 4]
    assert last["solver"].nunique() == 1
    assert len(llfs_points.along_beta(last)) == 10
    table = llfs_points.comparison(found)
    assert table["worse"].tolist() == [0, 0]


def test_the_page_says_what_is_compared(run):
    html = gather(run).html
    assert "Comparison: whole points, local optima" in html
    assert "convex steps" not in readable(html)


def test_the_command_says_what_is_compared(tmp_path, capsys):
    step = FILE.replace('FIT = "points"', "").replace('"betas": [5]', '"beta": [0.5]')
    for name, text in (("whole", FILE), ("step", step)):
        (tmp_path / f"{name}.py").write_text(text)
    shared = ["--solvers", "native,CLARABEL", "--tol", "1e-6", "--no-default", "--repeats", "1"]
    for name, said in (("whole", llfs_points.POINTS), ("step", llfs_points.STEPS)):
        out = ["--out", str(tmp_path / name)]
        assert main(["compare", str(tmp_path / f"{name}.py"), *shared, *out]) == 0
        printed = capsys.readouterr().out
        assert f"comparison: {said}" in printed
        assert ("Whole points, U1 against" in printed) == (name == "whole")


def test_points_of_earlier_versions_are_still_read(tmp_path):
    data = convexfs.load("subclasses:noise=5,n=4").scaled()
    model = convexfs.LLFS(max_features=2, betas=5).fit(data.X, data.y)
    with Store(tmp_path) as store:
        for point in range(12):
            arrays = {"point": point, "radius": model.radii_[point], "beta": model.betas_[point]}
            arrays |= {"score": 0.0, "seconds": 0.1, "table": model.points_[point]}
            arrays["features"] = np.flatnonzero(model.local_support_[point])
            task = {"key": str(point), "problem": "llfs", "method": "llfs", "status": "optimal"}
            row = {"step": 0, "label": f"point {point}", "status": "optimal", "primal": arrays}
            store.record({**task, "solve_seconds": 0.1}, (), (row,))
    report = gather(tmp_path)
    assert "samples of a fit" in report.html
    assert [figure.name for figure in report.figures][:2] == ["local-features", "pareto"]
