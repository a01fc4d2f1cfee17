"""Array jobs: which shard a job is, and runs on a scheduler that kills, requeues and reorders."""

import os
import signal
import subprocess

import pytest

import convexfs
from convexfs.batch.run import solve_files
from convexfs.batch.schedulers import _seconds, shard_of_job
from convexfs.batch.store.store import same_results
from convexfs.cli import main
from convexfs.errors import InputError
from tests.batch.fake_slurm import FakeSlurm, kill_job
from tests.batch.problem_texts import command, finished
from tests.waiting import PATIENCE, until

SLURM = {
    "SLURM_ARRAY_TASK_ID": "12", "SLURM_ARRAY_TASK_MIN": "10", "SLURM_ARRAY_TASK_MAX": "18",
    "SLURM_ARRAY_TASK_STEP": "2", "SLURM_ARRAY_TASK_COUNT": "5",
}  # fmt: skip
SGE = {
    "SGE_TASK_ID": "3", "SGE_TASK_FIRST": "1", "SGE_TASK_LAST": "7", "SGE_TASK_STEPSIZE": "2",
}  # fmt: skip
SLOW = """
import time
import cvxpy as cp
GRID = {"number": list(range(40))}
SOLVERS = ["CLARABEL"]
def problem(number):
    time.sleep(0.05)
    x = cp.Variable(2, name="x")
    return cp.Problem(cp.Minimize(cp.sum_squares(x - number)), [cp.sum(x) >= 1])
"""
POINTS = """
METHOD = "llfs"
FIT = "points"
DATA = ["subclasses:n=6,noise=2"]
GRID = {"max_features": [2], "betas": [3]}
SOLVERS = ["native"]
"""


@pytest.mark.parametrize(
    ("text", "environment", "shard"),
    [
        ("auto", SLURM, "2/5"),
        ("auto/64", SLURM, "12/64"),
        ("auto", SGE, "2/4"),
        ("auto/8", {"PBS_ARRAY_INDEX": "3"}, "3/8"),
        ("auto/8", {"PBS_ARRAYID": "8"}, "8/8"),
        ("auto", {"LSB_JOBINDEX": "4", "LSB_JOBINDEX_END": "6"}, "4/6"),
    ],
)
def test_a_job_is_the_shard_that_its_scheduler_says(text, environment, shard):
    assert str(shard_of_job(text, environment)) == shard


@pytest.mark.parametrize(
    ("text", "environment", "words"),
    [
        ("auto", {}, "this is no job of an array"),
        ("auto", {"SGE_TASK_ID": "undefined"}, "this is no job of an array"),
        ("auto", {"LSB_JOBINDEX": "0"}, "this is no job of an array"),
        ("auto", {"PBS_ARRAY_INDEX": "3"}, "PBS does not report the number of jobs"),
        ("auto/2", {"PBS_ARRAY_INDEX": "3"}, "takes a part as"),
        ("auto/2", {"PBS_ARRAY_INDEX": "0"}, "takes a part as"),
        ("auto/x", SLURM, "takes a part as"),
        ("auto", SLURM | {"SLURM_ARRAY_TASK_COUNT": "3"}, "with gaps between; give --shard auto/N"),
    ],
)
def test_jobs_that_are_no_shard(text, environment, words):
    with pytest.raises(InputError, match=words):
        shard_of_job(text, environment)


@pytest.mark.slow(cases=1)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1])
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_stop_that_a_scheduler_asks_for_is_orderly(slow, tmp_path, number, jobs):
    out = tmp_path / "run"
    process = subprocess.Popen(
        command(slow, "--jobs", jobs, "--out", out),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    until(lambda: finished(out) > 3, process)
    process.send_signal(number)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 75
    assert "Traceback" not in err
    assert f"--jobs {jobs} --out {out}" in err
    assert 3 < finished(out) < 400


def script_of(capsys, tmp_path, *words):
    """Save the script that a command prints; return where."""
    assert main(["solve", *map(str, words)]) == 0
    script = tmp_path / "job.sh"
    script.write_text(capsys.readouterr().out)
    return script


@pytest.mark.cluster
def test_jobs_that_are_killed_warned_and_reordered_end_as_one_process(tmp_path, capsys):
    file, out = tmp_path / "slow.py", tmp_path / "run"
    file.write_text(SLOW)
    script = script_of(capsys, tmp_path, file, "--out", out, "--slurm", 3, "--time", "0:10:00")
    slurm = FakeSlurm(tmp_path / "slurm")
    slurm.submit(script)

    def happens(number, restarts, process):
        if restarts == 2:
            return
        shard, goal = out / "shards" / str(number), 2 * (restarts + 1)
        until(lambda: finished(shard) >= goal or process.poll() is not None)
        how = slurm.random.choice(["kill", "USR1", "TERM"])
        if process.poll() is not None:
            return
        if how == "kill":
            kill_job(process)
        elif how == "TERM":
            slurm.preempt(number, process)
        else:
            os.kill(process.pid, signal.SIGUSR1)

    slurm.run(happens)
    assert sum(slurm.restarts.values()) >= 4
    assert {-signal.SIGKILL, 75} & set(slurm.ends)
    solve_files([file], tmp_path / "one")
    assert same_results(tmp_path / "one", out) == []
    assert len(convexfs.open_run(out)) == 40


@pytest.mark.cluster
def test_a_job_that_the_user_cancels_is_not_requeued(tmp_path, capsys):
    file, out = tmp_path / "slow.py", tmp_path / "run"
    file.write_text(SLOW)
    slurm = FakeSlurm(tmp_path / "slurm")
    slurm.submit(script_of(capsys, tmp_path, file, "--out", out, "--slurm", 1))

    def cancel(number, restarts, process):
        until(lambda: finished(out / "shards" / "1") >= 2)
        # Slurm signals the solver and its script, in any order.
        os.killpg(process.pid, signal.SIGTERM)

    with pytest.raises(subprocess.CalledProcessError):  # the merge: a shard is unfinished
        slurm.run(cancel)
    assert slurm.restarts == {}
    assert slurm.ends in ([75], [143])  # a second SIGTERM may come when it has stopped


@pytest.mark.parametrize(
    ("time", "seconds"),
    [
        ("5", 300), ("90", 5400), ("05:00", 300), ("01:00:00", 3600), ("2-0", 172800),
        ("1-02:03", 93780), ("1-02:03:04", 93784),
    ],
)  # fmt: skip
def test_times_are_those_of_slurm(time, seconds):
    assert _seconds(time) == seconds


@pytest.mark.cluster
def test_llfs_by_points_runs_as_an_array(tmp_path, capsys):
    file, out = tmp_path / "points.py", tmp_path / "run"
    file.write_text(POINTS)
    slurm = FakeSlurm(tmp_path / "slurm")
    slurm.submit(script_of(capsys, tmp_path, file, "--out", out, "--slurm", 2))
    slurm.run(lambda *_: None)
    solve_files([file], tmp_path / "one")
    assert same_results(tmp_path / "one", out) == []
    model, whole = convexfs.LLFS.from_run(out), convexfs.LLFS.from_run(tmp_path / "one")
    assert (model.local_support_ == whole.local_support_).all()


def test_a_script_keeps_the_options_of_its_line(tmp_path, capsys, plain):
    words = ["--tol", "1e-8", "--time-limit", "5", "--memory-limit", "2GB", "--seed", "3",
             "--solvers", "SCS", "--retry-failed", "--jobs", "4", "--mem", "4G"]  # fmt: skip
    out = tmp_path / "run"
    script = script_of(capsys, tmp_path, plain, "--slurm", 64, "--out", out, *words)
    text = script.read_text()
    for expected in (
        "--array=1-64", "--mem=4G", "--cpus-per-task=4", "--requeue", "--shard auto/64",
        "--tol 1e-08",
        "--time-limit 5.0", "--memory-limit 2GB", "--seed 3", "--solvers SCS", "--retry-failed",
        f"merge {out}/shards/* --out {out}", "afterany:",
    ):  # fmt: skip
        assert expected in text
    assert subprocess.run(["bash", "-n", script], check=False).returncode == 0


@pytest.mark.parametrize(
    "words",
    [
        ("--slurm", "0"), ("--slurm", "4", "--time", "1h; x"), ("--slurm", "4", "--mem", "4 G"),
        ("--slurm", "4", "--time", "00:02:00"), ("--slurm", "4", "--time", "1-1-1"),
        ("--slurm", "4", "--shard", "1/2"), ("--slurm", "4", "--executor", "mpi"),
        ("--time", "01:00:00"), ("--mem", "4G"), ("--shard", "auto"),
        ("--slurm", "4", "--out", "a b"),
    ],
)  # fmt: skip
def test_lines_that_no_scheduler_takes(plain, capsys, words):
    assert main(["solve", str(plain), *words]) == 2
    assert capsys.readouterr().err.count("\n") == 1
