"""The instances of make_instances.py: of every class, the same each time, soon solved."""

import math
import runpy
from collections import Counter
from pathlib import Path

import cvxpy as cp
import pytest

from convexfs import read_problem, write_problem
from convexfs.formats import ending
from convexfs.solving.backends import needs_of
from tests.typed import number

SCRIPT = runpy.run_path(
    str(Path(__file__).parents[1] / "scripts" / "benchmarks" / "make_instances.py")
)
INSTANCES = dict(SCRIPT["instances"]())
#: Optima that are known without a solver.
KNOWN = {"klee_minty_6": 5.0**6, "degenerate_10": 10.0, "five_cycle": math.sqrt(5)}


def test_there_are_enough_of_every_class():
    needs = [needs_of(make()) for make in dict(SCRIPT["instances"]()).values()]
    assert len(needs) >= 60
    largest = Counter(
        next(cone for cone in ("SDP", "POW", "EXP", "SOC", "QP", "LP") if cone in need.cones)
        for need in needs
    )
    assert min(largest[cone] for cone in ("SDP", "EXP", "SOC", "QP", "LP")) >= 8
    assert {ending(name) for name in INSTANCES} == {".mps", ".qps", ".lp", ".cbf", ".dat-s"}


@pytest.mark.parametrize("name", INSTANCES)
def test_each_is_read_again_and_solved(name, tmp_path):
    make = dict(SCRIPT["instances"]())[name]
    problem = make()
    write_problem(problem, tmp_path / name)
    again = read_problem(tmp_path / name)
    # Klee and Minty's larger cube spans eight powers of ten: a task for the simplex method.
    solver = "HIGHS" if needs_of(problem).cones == {"LP"} else "CLARABEL"
    value = number(again.solve(solver=solver))
    sign = 1 if type(problem.objective) is type(again.objective) else -1
    assert sign * value == pytest.approx(problem.solve(solver=solver), rel=1e-5, abs=1e-6)
    stem = name.partition(".")[0]
    assert sign * value == pytest.approx(KNOWN.get(stem, sign * value), rel=1e-6)


def test_they_are_the_same_each_time(tmp_path):
    for name in ("transport_4_6.mps", "lasso_30_15.qps", "max_cut_8.dat-s", "facility_12.cbf"):
        files = [tmp_path / f"{turn}_{name}" for turn in "ab"]
        for file in files:
            write_problem(dict(SCRIPT["instances"]())[name](), file)
        assert files[0].read_bytes() == files[1].read_bytes()


def test_the_program_writes_them_all(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["make_instances.py", str(tmp_path / "new")])
    monkeypatch.setitem(SCRIPT["instances"].__globals__, "INSTANCES", SCRIPT["INSTANCES"][:2])
    SCRIPT["main"]()
    assert len(list((tmp_path / "new").iterdir())) == 4
    assert "transport_4_6.mps" in capsys.readouterr().out
    assert isinstance(read_problem(tmp_path / "new" / "diet_12_5.lp"), cp.Problem)
