"""A batch survives its parent, its workers, its solvers and its user."""

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from convexfs.batch.run import GRACE_SECONDS, describe_environment, solve_files
from convexfs.batch.store.store import Store, same_results
from convexfs.batch.workers import attempts
from convexfs.cli import main
from convexfs.errors import ConvexfsWarning, InputError
from tests.batch.problem_texts import IMPATIENT, PLAIN, TROUBLE, command, hangs
from tests.waiting import PATIENCE, SOON, end_soon

ROOT = Path(__file__).parents[2]
FEW = PLAIN.replace("1, 2, 3, 4, 5", "1, 2")
#: The time limit that is asked for, in seconds.
LIMIT = 10.0


@pytest.fixture(scope="module")
def solved_before(tmp_path_factory):
    """The folder of a run of PLAIN, and its progress."""
    folder = tmp_path_factory.mktemp("solved")
    (folder / "plain.py").write_text(PLAIN)
    return folder / "run", solve_files([folder / "plain.py"], folder / "run")


@pytest.fixture
def solved(solved_before, tmp_path):
    """A run of the file `plain`, in a folder of its own."""
    return shutil.copytree(solved_before[0], tmp_path / "run")


@pytest.fixture(scope="module")
def troubled(tmp_path_factory):
    """The command on TROUBLE, after it has ended, and the folder of its run."""
    folder = tmp_path_factory.mktemp("troubled")
    (folder / "trouble.py").write_text(TROUBLE)
    out = folder / "run"
    words = ["solve", folder / "trouble.py", "--jobs", 2, "--time-limit", LIMIT, "--out", out]
    line = [sys.executable, "-c", IMPATIENT, *map(str, words)]
    return subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False), out


def test_one_process_two_processes_and_any_executor_agree(plain, tmp_path):
    one, two, threads = tmp_path / "one", tmp_path / "two", tmp_path / "threads"
    progress = solve_files([plain], one)
    assert (progress.total, progress.done, progress.solved, progress.skipped) == (40, 40, 30, 10)
    solve_files([plain], two, jobs=2)
    with ThreadPoolExecutor(1) as executor:
        solve_files([plain], threads, executor=executor)
    assert same_results(one, two) == []
    assert same_results(one, threads) == []


def test_what_was_skipped_is_told_with_the_reason(solved_before):
    _, progress = solved_before
    ((reason, count),) = progress.skips.items()
    assert count == 10
    assert "HIGHS cannot take SOC" in reason


def test_a_second_run_has_nothing_to_do(plain, solved):
    before = (solved / "results.sqlite").read_bytes()
    seen = []
    again = solve_files([plain], solved, watch=lambda p: seen.append(p.finished))
    assert (again.total, again.resumed, again.done) == (40, 40, 0)
    assert seen == [40]
    assert len((solved / "results.sqlite").read_bytes()) == len(before)


def test_an_edited_file_is_done_anew_beside_the_old_rows(plain, solved):
    plain.write_text(PLAIN.replace("4, 5", "4") + "CHANGED = True\n")
    edited = solve_files([plain], solved)
    assert (edited.total, edited.resumed, edited.done) == (32, 0, 32)
    with Store.read(solved) as store:
        assert len(store.tasks()) == 72


def test_one_more_grid_value_keeps_what_is_done(plain, solved):
    plain.write_text(PLAIN.replace("4, 5", "4, 5, 6"))
    wider = solve_files([plain], solved)
    assert (wider.total, wider.resumed, wider.done) == (48, 40, 8)


def test_hangs_deaths_and_errors_cost_their_own_task_only(troubled):
    _, out = troubled
    with Store.read(out) as store:
        tasks = store.tasks()
        rows: dict[str, Any] = {str(row["hyper"]): row for _, row in tasks.iterrows()}
        attempts = store.attempts()["key"].tolist()
    assert sorted(tasks["status"]) == ["error", "error", "optimal", "optimal", "timeout"]
    hang, die, error = (rows[f'{{"how": "{how}"}}'] for how in ("hang", "die", "raise"))
    assert hang.status == "timeout"
    assert hang.failure == "TimeLimit: was ended, over its limit of 10 s"
    assert SOON <= hang.wall_seconds < 500
    assert die.status == "error"
    assert "SIGKILL" in die.failure
    assert attempts.count(die.key) >= 2
    assert "ArithmeticError: as asked" in error.failure
    assert "ArithmeticError: as asked" in (out / "log.txt").read_text()


def test_what_tasks_print_is_in_the_log_and_not_on_the_screen(troubled):
    ran, out = troubled
    assert "asked to" not in ran.stdout + ran.stderr
    logged = (out / "log.txt").read_text()
    for how in ("well", "hang", "raise", "well again"):
        assert f"printed: asked to {how}\n" in logged


def test_failed_tasks_are_kept_or_tried_again(trouble, troubled, tmp_path, monkeypatch):
    limits = end_soon(hangs, monkeypatch.setattr)
    out = shutil.copytree(troubled[1], tmp_path / "run")
    kept = solve_files([trouble], out, jobs=2, time_limit=LIMIT)
    assert (kept.done, kept.solved, kept.failures) == (0, 2, {"timeout": 1, "error": 2})
    again = solve_files([trouble], out, jobs=2, time_limit=LIMIT, retry_failed=True)
    assert (again.done, again.resumed, len(again.failed)) == (3, 2, 3)
    assert set(limits) == {LIMIT + GRACE_SECONDS}


HOG = """
import cvxpy as cp
import numpy as np

METHOD = "relief"
DATA = ["iris"]
GRID = {"megabytes": [1, 1000]}
SOLVERS = ["CLARABEL"]

def build(z, megabytes):
    hog = np.ones(megabytes * 1_000_000 // 8)
    w = cp.Variable(len(z), name="w")
    return cp.Problem(cp.Maximize(w @ (z * hog[0])), [cp.norm(w) <= 1, w >= 0])
"""


@pytest.mark.slow
@pytest.mark.skipif(not attempts.HOLDS, reason="no memory limit is held here")
def test_a_task_over_its_memory_limit_fails_by_that_name(tmp_path):
    file, out = tmp_path / "hog.py", tmp_path / "out"
    file.write_text(HOG)
    line = command(file, "--jobs", 1, "--out", out, "--memory-limit", "500MB")
    ran = subprocess.run(line, capture_output=True, text=True, check=False)
    assert ran.returncode == 1, ran.stderr
    with Store.read(out) as store:
        rows: dict[str, Any] = {str(row["hyper"]): row for _, row in store.tasks().iterrows()}
    assert rows['{"megabytes": 1}'].status == "optimal"
    assert rows['{"megabytes": 1000}'].status == "error"
    assert rows['{"megabytes": 1000}'].failure.startswith("memory limit 500 MB reached (")
    assert "memory limit 500 MB reached" in ran.stdout
    assert main([*line[3:-1], "3GB", "--retry-failed"]) == 0


def test_where_no_memory_limit_is_held_it_is_said(plain, tmp_path, monkeypatch):
    with (
        ThreadPoolExecutor(1) as executor,
        pytest.warns(ConvexfsWarning, match="the memory limit does not hold with an executor"),
    ):
        solve_files([plain], tmp_path / "one", executor=executor, memory_limit=10**9)
    monkeypatch.setattr(attempts, "HOLDS", False)
    with pytest.warns(ConvexfsWarning, match="the memory limit does not hold on this system"):
        solve_files([plain], tmp_path / "two", memory_limit=10**9)


def test_statements_are_kept_once_also_of_what_cannot_be_stated(trouble, plain, tmp_path):
    trouble.write_text(TROUBLE.replace('"well", "hang", "die", "raise", "well again"', '"raise"'))
    for _ in range(2):
        solve_files([trouble, plain], tmp_path / "run", jobs=2)
    with Store.read(tmp_path / "run") as store:
        rows = store.problems().set_index("source")
    assert len(rows) == 2
    assert "ArithmeticError: as asked" in rows.loc[trouble.read_text(), "failure"]
    assert rows["failure"][PLAIN] == ""
    assert "norm2(w) <= 1" in rows["text"][PLAIN]


def test_a_statement_that_hangs_or_dies_costs_itself_only(trouble, tmp_path, monkeypatch):
    end_soon(hangs, monkeypatch.setattr)
    trouble.write_text(TROUBLE.replace('"well", "hang", "die",', '"hang", "well",'))
    solve_files([trouble], tmp_path / "run", jobs=2, time_limit=LIMIT)
    with Store.read(tmp_path / "run") as store:
        (row,) = store.problems().to_dict("records")
        assert len(store.tasks()) == 4
    assert row["failure"].startswith("TimeLimit")
    assert row["source"] == trouble.read_text()


def test_two_runs_on_one_folder_the_second_is_refused(plain, tmp_path, capsys):
    with Store(tmp_path / "run"):
        assert main(["solve", str(plain), "--out", str(tmp_path / "run")]) == 2
    refused = capsys.readouterr().err
    assert f"process {os.getpid()} on" in refused
    assert "Traceback" not in refused


def test_the_end_is_a_table_and_failures_are_exit_code_1(troubled, plain, solved, capsys):
    bad, _ = troubled
    assert bad.returncode == 1
    for text in ("failed: timeout", "failed: error", "ArithmeticError: as asked", "--retry-failed"):
        assert text in bad.stdout
    assert main(["solve", str(plain), "--out", str(solved)]) == 0
    good = capsys.readouterr().out
    for text in ("tasks", "solved", "CPU seconds", "results.sqlite"):
        assert text in good


@pytest.mark.cluster
def test_dask_gives_the_same_results(plain, tmp_path):
    distributed = pytest.importorskip("distributed")
    plain.write_text(FEW)
    one, many = tmp_path / "one", tmp_path / "dask"
    solve_files([plain], one)
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None
    ) as cluster:
        address = cluster.scheduler_address.replace("tcp://", "dask://")
        ran = subprocess.run(
            command(plain, "--executor", address, "--out", many),
            capture_output=True,
            text=True,
            check=False,
        )
    assert ran.returncode == 0, ran.stderr
    assert same_results(one, many) == []


@pytest.mark.cluster
def test_mpi_gives_the_same_results(plain, tmp_path):
    pytest.importorskip("mpi4py")
    mpiexec = Path(sys.executable).with_name("mpiexec")
    if not mpiexec.exists():
        pytest.skip("no mpiexec")
    plain.write_text(FEW)
    one, many = tmp_path / "one", tmp_path / "mpi"
    solve_files([plain], one)
    launch = [mpiexec, "--allow-run-as-root", "--oversubscribe", "-n", "2", sys.executable]
    program = ["-m", "mpi4py.futures", "-m", "convexfs", "solve", plain]
    ran = subprocess.run(
        [*map(str, launch + program), "--executor", "mpi", "--out", str(many)],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert ran.returncode == 0, ran.stderr
    assert same_results(one, many) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"jobs": 0}, "jobs"),
        ({"tol": 0}, "tol must be a number above 0"),
        ({"time_limit": -1}, "time_limit, in seconds, must be a number above 0"),
        ({"repeats": 0}, "repeats must be an integer of at least 1"),
        ({"seed": -1}, "seed must be an integer of at least 0"),
    ],
)
def test_bad_settings_are_refused(plain, tmp_path, options, message):
    with pytest.raises(InputError, match=message):
        solve_files([plain], tmp_path / "run", **options)


def test_the_environment_says_what_results_were_computed_with():
    described = describe_environment()
    assert described["packages"]["cvxpy"]
    assert described["python"] == sys.version.split()[0]
    assert "OMP_NUM_THREADS" in described["threads"]
