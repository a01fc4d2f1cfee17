"""Tasks that fork, interrupt, close, thread and misspell: every result stays with its task."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import textwrap
from typing import Any

import pytest

from convexfs.batch.run import solve_files
from convexfs.batch.store.store import LOG, Store, unpack
from convexfs.batch.workers.pool import run
from convexfs.cli import main
from tests.batch.problem_texts import command
from tests.batch.processes import children
from tests.waiting import PATIENCE, until

OBJECTIVES = """
import os, signal, sys, threading, time
import cvxpy as cp

GRID = {{"number": {numbers}}}
SOLVERS = ["CLARABEL"]
PARENT = os.getpid()

def problem(number):
    {trouble}
    x = cp.Variable(name="x")
    return cp.Problem(cp.Minimize(x), [x >= number])
"""
FORKS = """
    if number % 2:
        os.fork()
"""


def write(path, trouble, numbers="list(range(12))"):
    text = textwrap.indent(textwrap.dedent(trouble), "    ").strip()
    path.write_text(OBJECTIVES.format(trouble=text, numbers=numbers))
    return path


def objectives(folder):
    with Store.read(folder) as store:
        tasks: Any = store.tasks()
    return dict(zip(tasks["hyper"], tasks["objective"], strict=True)), tasks


def fork_at(number):
    if number % 2:
        os.fork()
    return number, os.getpid()


@pytest.fixture
def forks_end():
    """Wait for the processes that tasks have forked: they end before they answer."""
    yield
    with contextlib.suppress(ChildProcessError):
        until(lambda: os.waitpid(-1, os.WNOHANG) == (0, 0))
    assert not children()


@pytest.mark.usefixtures("forks_end")
@pytest.mark.parametrize("jobs", [1, 3])
def test_a_task_that_forks_answers_once_and_for_itself(jobs):
    outcomes = list(run(range(20), fork_at, jobs=jobs, time_limit=None if jobs == 1 else 60.0))
    assert sorted(outcome.task for outcome in outcomes) == list(range(20))
    for outcome in outcomes:
        assert outcome.value == (outcome.task, outcome.attempts[-1].pid)


def reply_of_another(number):
    """Send a forged message up every pipe of this worker, then answer truly."""
    import gc
    import pickle
    import struct
    from multiprocessing.connection import Connection

    if number == 3:
        for pipe in [own for own in gc.get_objects() if isinstance(own, Connection)]:
            for header in (struct.pack("<QQ", 4, 1), struct.pack("<QQ", 99, os.getpid())):
                with contextlib.suppress(OSError):  # closed at this or the other end
                    pipe.send_bytes(header + pickle.dumps("forged"))
    return number


@pytest.mark.usefixtures("no_process_left")
def test_a_message_of_another_task_or_process_is_ignored():
    outcomes = list(run(range(8), reply_of_another, jobs=2))
    assert {outcome.task: outcome.value for outcome in outcomes} == {n: n for n in range(8)}


@pytest.mark.usefixtures("forks_end")
@pytest.mark.parametrize("jobs", [1, 2])
def test_forks_in_a_batch_store_every_objective_with_its_own_task(tmp_path, jobs):
    file = write(tmp_path / "forks.py", FORKS)
    solve_files([file], tmp_path / "run", jobs=jobs)
    found, tasks = objectives(tmp_path / "run")
    assert len(found) == 12
    assert all(
        objective == pytest.approx(float(hyper.split(":")[1].strip(" }")), abs=1e-6)
        for hyper, objective in found.items()
    )
    assert tasks["ok"].all()


def test_an_interrupt_raised_by_a_task_is_the_failure_of_that_task(tmp_path, capsys):
    trouble = "if number == 2: raise KeyboardInterrupt('mine')"
    file = write(tmp_path / "interrupt.py", trouble, "list(range(6))")
    assert main(["solve", str(file), "--jobs", "2", "--out", str(tmp_path / "run")]) == 1
    assert "Traceback" not in "".join(capsys.readouterr())
    _, tasks = objectives(tmp_path / "run")
    (failure,) = set(tasks.loc[tasks["status"] == "error", "failure"])
    assert failure == "KeyboardInterrupt: mine"


@pytest.mark.slow(cases=1)
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_task_may_close_its_output_and_use_its_bytes_and_leave_a_thread(tmp_path, jobs):
    trouble = """
    threading.Thread(target=time.sleep, args=(3600,)).start()
    sys.stdout.buffer.write(b"bytes \\xff\\n")
    os.write(sys.stdout.fileno(), b"") if number else None
    sys.stdout.close()
    print("after the end", number)
    """
    file = write(tmp_path / "closes.py", trouble, "[0, 1, 2]")
    ran = subprocess.run(
        command(file, "--jobs", jobs, "--out", tmp_path / "run"),
        capture_output=True, text=True, errors="replace", check=False, timeout=PATIENCE,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert "Traceback" not in ran.stderr
    assert "solved" in ran.stdout
    logged = (tmp_path / "run" / LOG).read_text()
    assert "printed: after the end 2\n" in logged
    assert r"printed: bytes \xff" in logged


@pytest.mark.slow
def test_what_compiled_code_prints_in_a_worker_goes_to_the_log(tmp_path):
    file = write(tmp_path / "prints.py", 'os.write(1, b"from below\\n")', "[1, 2]")
    ran = subprocess.run(
        command(file, "--jobs", 2, "--out", tmp_path / "run"),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0
    # The file is stated once in the command's own process, before there are workers.
    assert (tmp_path / "run" / LOG).read_text().count("from below\n") >= 2


@pytest.mark.slow(cases=1)
@pytest.mark.parametrize("jobs", [1, 2])
def test_text_that_is_not_utf_8_is_stored_escaped(tmp_path, jobs, capsys):
    trouble = r"""
    if number == 1: raise ValueError("half a character: \udcff")
    x = cp.Variable(name="x\udce9")
    return cp.Problem(cp.Minimize(x), [x >= number])
    """
    file = write(tmp_path / "bad\udcff.py", trouble, "[0, 1, 2]")
    line = command(os.fsdecode(file), "--jobs", jobs, "--out", tmp_path / "run")
    ran = subprocess.run(line, capture_output=True, text=True, check=False)
    # The second command resumes what the first one stored.
    again = main(line[3:]), *capsys.readouterr()
    for done, (code, out, err) in ((0, (ran.returncode, ran.stdout, ran.stderr)), (3, again)):
        assert code == 1, err
        assert "Traceback" not in err
        assert re.search(rf"finished in earlier runs\W+{done}\b", out)
    with Store.read(tmp_path / "run") as store:
        tasks, solutions = store.tasks(), store.solutions()
    failed = tasks[tasks["status"] == "error"].iloc[0]
    assert r"ValueError: half a character: \udcff" in failed["failure"]
    assert failed["problem"] == r"bad\udcff"
    names = {name for blob in solutions["primal"].dropna() for name in unpack(blob)}
    assert names == {r"x\udce9"}


@pytest.mark.slow
def test_a_command_whose_parent_ignores_the_end_of_children(tmp_path):
    file = write(tmp_path / "plain.py", "pass", "[1, 2, 3]")
    line = command(file, "--jobs", 2, "--out", tmp_path / "run")
    ignored = lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # noqa: E731
    ran = subprocess.run(line, capture_output=True, text=True, check=False, preexec_fn=ignored)
    assert ran.returncode == 0, ran.stderr
    assert "Traceback" not in ran.stderr


def test_a_program_that_ignores_the_end_of_children():
    program = (
        "import signal, os; signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
        "from convexfs.batch.workers.pool import run\n"
        "outcomes = [o.failure for o in run([0, 3], os._exit, jobs=2)]\n"
        "print(outcomes, [o.value for o in run([1, 2], abs, jobs=2)])"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert "WorkerDied" in ran.stdout
    assert sorted(eval(ran.stdout.split("]")[1] + "]")) == [1, 2]
