"""A study survives its solvers, is fair to them, and believes none."""

import faulthandler
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest
from cvxpy.reductions.solvers.conic_solvers.clarabel_conif import CLARABEL
from cvxpy.reductions.solvers.conic_solvers.highs_conif import HIGHS
from cvxpy.reductions.solvers.conic_solvers.scs_conif import SCS

from convexfs.batch.problem_files.load import load_problem_file
from convexfs.batch.store.store import Store, same_results
from convexfs.batch.tasks import do, expand
from convexfs.solving.backends import BACKENDS
from convexfs.study.compare import START_SECONDS, TASK_LIMITS, _warm_up, compare_files, measure
from convexfs.study.outcomes import outcomes
from convexfs.study.summary import leaders, summary
from tests.batch.problem_texts import finished as _finished
from tests.solvers import needs
from tests.waiting import end_soon, until

CONIC = 'METHOD = "relief"\nDATA = ["iris", "wine"]\nGRID = {"n_neighbors": [1, 5]}\n'
#: Workers inherit the filters of this process; in a run of the command they log warnings.
pytestmark = pytest.mark.filterwarnings("default::convexfs.errors.ConvexfsWarning")
#: A changed problem, which is a tiny linear program.
TINY = """
import cvxpy as cp

METHOD = "relief"
DATA = ["iris"]

def build(z):
    w = cp.Variable(len(z), name="w")
    return cp.Problem(cp.Minimize(cp.sum(w)), [w >= 1])
"""


def lying(original):
    def lie(self, *arguments, **options):
        answer = original(self, *arguments, **options)
        answer["x"] = answer["x"] + 0.5
        return answer

    return lie


def denying(original):
    def deny(self, *arguments, **options):
        answer = original(self, *arguments, **options)
        answer["info"]["status_val"] = -2
        return answer

    return deny


def crash(*_):
    faulthandler.disable()  # pytest's would print pages
    os.kill(os.getpid(), signal.SIGSEGV)


def leave(*_):
    os._exit(3)


def hang(*_):
    time.sleep(1000)


def fail(*_):
    raise ArithmeticError("as asked")


LIMIT = 2.0
QUICK = {"tols": [1e-6], "default": False, "repeats": 1}


def test_liars_crashes_and_hangs_are_charged_to_their_own(file, tmp_path, monkeypatch):
    """Forked workers inherit solvers that were made bad here."""
    monkeypatch.setattr(SCS, "solve_via_data", lying(SCS.solve_via_data))
    monkeypatch.setattr(HIGHS, "solve_via_data", crash)
    monkeypatch.setattr(CLARABEL, "solve_via_data", hang)
    hangs = lambda task: getattr(task, "solver", "") == "CLARABEL"  # noqa: E731
    limits = end_soon(hangs, monkeypatch.setattr)
    solvers = ["SCS", "HIGHS", "CLARABEL", "SCIPY"]
    compare_files([file(TINY)], tmp_path / "run", solvers=solvers, time_limit=LIMIT, **QUICK)
    frame = outcomes(tmp_path / "run").set_index("solver")
    assert frame["outcome"].to_dict() == {
        "SCS": "wrong claim", "HIGHS": "failed", "CLARABEL": "timeout", "SCIPY": "solved"
    }  # fmt: skip
    assert frame["status"]["SCS"] == "optimal"
    assert frame["error"]["SCS"] > 1e-2
    assert "SIGSEGV" in frame["failure"]["HIGHS"]
    assert frame["charged_seconds"].drop("SCIPY").tolist() == [LIMIT] * 3
    assert frame["charged_seconds"]["SCIPY"] == frame["solve_seconds"]["SCIPY"]
    row = summary(outcomes(tmp_path / "run")).set_index("solver").loc["SCS"]
    assert (row["wrong_claims"], row["failed"], row["success_rate"]) == (1, 0, 0)
    assert limits == [TASK_LIMITS * LIMIT + START_SECONDS]


def test_solvers_that_print_are_not_heard(file, tmp_path, monkeypatch, capfd):
    def shout(self, *arguments):
        os.write(1, b"look at me")
        return quiet(self, *arguments)

    quiet = SCS.solve_via_data
    monkeypatch.setattr(SCS, "solve_via_data", shout)
    compare_files([file(TINY)], tmp_path / "run", solvers=["SCS"], time_limit=9.0, **QUICK)
    assert outcomes(tmp_path / "run")["outcome"].tolist() == ["solved"]
    assert capfd.readouterr().out == ""


def test_errors_exits_and_false_denials_are_charged_to_their_own(file, tmp_path, monkeypatch):
    monkeypatch.setattr(HIGHS, "solve_via_data", fail)
    monkeypatch.setattr(CLARABEL, "solve_via_data", leave)
    monkeypatch.setattr(SCS, "solve_via_data", denying(SCS.solve_via_data))
    solvers = ["SCS", "HIGHS", "CLARABEL", "SCIPY"]
    compare_files([file(TINY)], tmp_path / "run", solvers=solvers, time_limit=9.0, **QUICK)
    frame = outcomes(tmp_path / "run").set_index("solver")
    assert frame["outcome"].to_dict() == {
        "SCS": "wrong claim", "HIGHS": "failed", "CLARABEL": "failed", "SCIPY": "solved"
    }  # fmt: skip
    assert frame["status"]["SCS"] == "infeasible"
    assert "ArithmeticError: as asked" in frame["failure"]["HIGHS"]
    assert "exit code 3" in frame["failure"]["CLARABEL"]


def test_unsuitable_solvers_and_missing_twins_are_skipped_with_the_reason(file, tmp_path):
    changed = file(TINY, "changed.py")
    compare_files(
        [file(CONIC), changed], tmp_path / "run", solvers=["native", "HIGHS", "CLARABEL"],
        time_limit=30.0, **QUICK,
    )  # fmt: skip
    frame = outcomes(tmp_path / "run")
    told = frame.groupby(["problem", "solver"])["outcome"].unique().map(list).to_dict()
    assert told == {
        ("own", "native"): ["solved"],
        ("own", "HIGHS"): ["skipped"],
        ("own", "CLARABEL"): ["solved"],
        ("changed", "native"): ["skipped"],
        ("changed", "HIGHS"): ["solved"],
        ("changed", "CLARABEL"): ["solved"],
    }
    assert set(frame.loc[frame["problem"] == "changed", "problem_class"]) == {"LP"}
    reasons = frame[frame["outcome"] == "skipped"].set_index("solver")["failure"]
    assert "cannot take SOC" in next(iter(reasons["HIGHS"]))
    assert "no native twin" in reasons["native"]


def test_default_settings_ask_for_no_accuracy(file, monkeypatch):
    seen = []
    original = SCS.solve_via_data

    def note(self, data, warm_start, verbose, options, *more):
        seen.append((warm_start, dict(options)))
        return original(self, data, warm_start, verbose, options, *more)

    monkeypatch.setattr(SCS, "solve_via_data", note)
    problem = replace(load_problem_file(file(CONIC)), solvers=("SCS",))
    before = BACKENDS["SCS"]
    for tol in (None, 1e-7):
        task = expand([problem], tol=tol)[0]
        result = do(task)
        ((warm, options),) = seen
        seen.clear()
        assert not warm
        assert ("eps_abs" in options) == ("eps_abs" in json.loads(task.options)) == bool(tol)
        assert result.solutions[0]["certificate_tol"] == pytest.approx(10 * (tol or 1e-5))
    assert BACKENDS["SCS"] is before
    keys = {task.key for tol in (None, 1e-5, 1e-7) for task in expand([problem], tol=tol)}
    assert len(keys) == 3 * 4


def test_each_process_warms_a_solver_up_before_it_measures(file, monkeypatch):
    calls = []
    original = SCS.solve_via_data

    def note(self, data, *more):
        calls.append(len(data["c"]))
        return original(self, data, *more)

    monkeypatch.setattr(SCS, "solve_via_data", note)
    _warm_up.cache_clear()
    problem = replace(load_problem_file(file(CONIC)), solvers=("SCS",))
    tasks = expand([problem], tol=1e-6, time_limit=60.0)
    for task in tasks[:2]:
        assert measure(task, {}, {}).row["status"] == "optimal"
    assert len(calls) == 3


@pytest.mark.slow
def test_killed_it_goes_on_to_the_same_end(file, tmp_path):
    path = file(CONIC)
    study = {"solvers": ["native", "CLARABEL", "SCS"], "repeats": 2, "time_limit": 30.0}
    whole = compare_files([path], tmp_path / "whole", **study)
    assert (whole.total, whole.done) == (4 * 3 * 2 * 3, 72)
    command = [
        sys.executable, "-m", "convexfs", "compare", str(path), "--solvers",
        "native,CLARABEL,SCS", "--repeats", "2", "--time-limit", "30",
        "--out", str(tmp_path / "killed"),
    ]  # fmt: skip
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until(lambda: _finished(tmp_path / "killed") > 5, running)
    running.kill()
    running.wait()
    rest = compare_files([path], tmp_path / "killed", **study)
    assert 5 < rest.resumed < 72
    assert rest.finished == 72
    assert same_results(tmp_path / "whole", tmp_path / "killed") == []
    with Store.read(tmp_path / "whole") as store:
        assert store.tasks()["tol"].isna().tolist().count(True) == 24


@pytest.mark.slow
def test_two_studies_agree_on_every_clear_lead(file, tmp_path):
    path = file(CONIC.replace('"wine"', '"wdbc"'))
    found = []
    for name in ("one", "two"):
        compare_files(
            [path], tmp_path / name, solvers=["native", "CLARABEL", "SCS"],
            tols=[1e-6], default=False, repeats=4, time_limit=30.0,
        )  # fmt: skip
        table = leaders(outcomes(tmp_path / name))
        found.append(table.set_index(["settings", "problem_class", "scope"]))
    both = found[0]["clear"] & found[1]["clear"]
    assert (found[0]["fastest"] == found[1]["fastest"])[both].all()


#: The same quadratic program but for one number.
GRID = """
import cvxpy as cp
import numpy as np

METHOD = "relief"
DATA = ["wine"]
GRID = {"lam": [0.5, 0.51]}

def build(z, lam):
    rows = np.random.default_rng(0).normal(size=(40, len(z)))
    w = cp.Variable(len(z), name="w")
    return cp.Problem(cp.Minimize(cp.sum_squares(rows @ w - 1) + lam * cp.sum(w)), [w >= 0])
"""


@needs("QPALM", "PIQP", "ECOS")
def test_a_warm_start_saves_iterations_where_a_point_is_kept(file, tmp_path):
    solvers = ["QPALM", "OSQP", "CLARABEL", "PIQP", "ECOS"]
    compare_files(
        [file(GRID)], tmp_path / "run", solvers=solvers, time_limit=20.0, warm=True, **QUICK
    )
    frame = outcomes(tmp_path / "run")
    assert set(frame["settings"]) == {"1e-06", "1e-06 warm"}
    table = frame.pivot_table("iterations", "solver", "settings", aggfunc="sum")
    for name in ("QPALM", "OSQP"):
        assert table["1e-06 warm"][name] < table["1e-06"][name]
    for name in ("CLARABEL", "PIQP"):  # these keep the plan of a factorisation only
        assert table["1e-06 warm"][name] == table["1e-06"][name]
    cold = frame[(frame["solver"] == "ECOS") & (frame["settings"] == "1e-06 warm")]
    assert set(cold["outcome"]) == {"skipped"}
    assert "keeps nothing of one solve" in cold["failure"].tolist()[0]
    assert set(frame["outcome"].drop(cold.index)) == {"solved"}


SVM = """
import cvxpy as cp
import numpy as np

def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = np.sign(X @ [1, 2, -1] + 0.5 * rng.normal(size=40))
    w, b = cp.Variable(3, name="w"), cp.Variable(name="b")
    loss = cp.sum(cp.pos(1 - cp.multiply(y, X @ w + b)))
    return cp.Problem(cp.Minimize(0.1 * cp.norm1(w) + loss), [cp.norm_inf(w) <= 10])
"""


@needs("DAQP", "SCIP")
def test_solvers_that_take_bounds_agree_on_products_with_data(file, tmp_path):
    solvers = ["HIGHS", "DAQP", "SCIP", "SCIPY", "CLARABEL"]
    compare_files([file(SVM)], tmp_path / "run", solvers=solvers, time_limit=20.0, **QUICK)
    frame = outcomes(tmp_path / "run")
    assert set(frame["solver"]) == set(solvers)
    assert set(frame["outcome"]) == {"solved"}
    assert frame["objective"].tolist() == pytest.approx([1.18084024] * len(frame), rel=1e-5)


def test_a_neighbour_of_another_structure_is_none_to_start_from(file, tmp_path):
    sparse = GRID.replace("rows @ w", "(rows * (rows > lam)) @ w")
    compare_files(
        [file(sparse)], tmp_path / "run", solvers=["OSQP"], time_limit=20.0, warm=True, **QUICK
    )
    frame = outcomes(tmp_path / "run").set_index("settings")
    assert set(frame["outcome"]["1e-06"]) == {"solved"}
    assert set(frame["failure"]["1e-06 warm"]) == {
        "the program to start from has another structure"
    }


def test_options_in_a_solvers_own_words_make_it_one_more_to_compare(file, tmp_path):
    sweep = {"SCS": [{"max_iters": 5}, {"max_iters": 5000}]}
    compare_files(
        [file(GRID)], tmp_path / "run", solvers=["SCS"], own_options=sweep, time_limit=20.0, **QUICK
    )
    frame = outcomes(tmp_path / "run")
    told = frame.groupby("solver")["outcome"].unique().map(list).to_dict()
    assert told == {"SCS max_iters=5": ["failed"], "SCS max_iters=5000": ["solved"]}
    assert frame["told"].str.contains("eps_abs=1e-07").all()


def test_setup_and_memory_are_measured_where_they_can_be(file, tmp_path):
    compare_files([file(GRID)], tmp_path / "run", solvers=["SCS", "HIGHS"], **QUICK)
    frame = outcomes(tmp_path / "run").set_index("solver")
    assert (frame["setup_seconds"]["SCS"] < frame["solve_seconds"]["SCS"]).all()
    assert frame["setup_seconds"]["HIGHS"].isna().all()
    measured = frame["peak_bytes"] if sys.platform == "linux" else frame["peak_bytes"].dropna()
    assert measured.between(0, 2**30).all()
