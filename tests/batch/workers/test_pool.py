"""Workers are killed, hang and fail here; every task still ends exactly once."""

import contextlib
import ctypes
import itertools
import math
import os
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from convexfs.batch.store.store import Store
from convexfs.batch.workers import pool
from convexfs.batch.workers.attempts import start_context
from convexfs.batch.workers.pool import run
from convexfs.errors import InputError, RunError
from tests.batch.processes import Leaving, alive, children, crash, hang_or_die, square
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("no_process_left")


@pytest.mark.parametrize("limit", [None, 30.0])
@pytest.mark.parametrize("jobs", [1, 2])
def test_every_task_once(jobs, limit):
    outcomes = list(run(range(50), square, jobs=jobs, time_limit=limit))
    assert {o.task: o.value for o in outcomes} == {n: n * n for n in range(50)}
    assert len(outcomes) == 50
    assert {o.status for o in outcomes} == {"done"}
    assert all(len(o.attempts) == 1 for o in outcomes)
    in_process = {a.pid == os.getpid() for o in outcomes for a in o.attempts}
    assert in_process == {jobs == 1 and limit is None}


def test_no_tasks_no_workers():
    assert list(run([], square, jobs=2)) == []


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_exception_is_an_error_and_not_tried_again(jobs):
    (outcome,) = run([-1.0], math.sqrt, jobs=jobs)
    assert outcome.status == "error"
    assert outcome.failure == "ValueError: math domain error"
    assert len(outcome.attempts) == 1


def test_leaving_python_in_a_task_is_an_error():
    (outcome,) = run([3], sys.exit, jobs=2)
    assert (outcome.status, outcome.failure) == ("error", "SystemExit: 3")


class Unloadable:
    """Can be pickled, but what comes out of it is an error."""

    def __reduce__(self):
        return int, ("no number",)


class Rude(BaseException):
    """What solvers written in Rust raise is no Exception either."""


@pytest.mark.parametrize(
    "make", [lambda: lambda: 0, Unloadable, Leaving], ids=["dumps", "loads", "leaves"]
)
def test_a_result_that_cannot_be_sent_is_an_error(make):
    outcomes = list(run(range(4), lambda n: make() if n == 2 else n, jobs=2))
    assert sorted(o.task for o in outcomes if o.status == "done") == [0, 1, 3]
    (failed,) = [o for o in outcomes if o.status == "error"]
    assert failed.failure


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_is_no_exception_is_an_error_too(jobs):
    def work(number):
        raise Rude("panicked")

    assert [o.failure for o in run(range(2), work, jobs=jobs)] == ["Rude: panicked"] * 2


def vain(number):
    if number == 3:
        raise RunError("the folder is gone")
    return number


@pytest.mark.parametrize("where", ["here", "workers", "executor"])
def test_a_run_error_of_a_task_ends_the_run(where):
    with ThreadPoolExecutor(1) as executor:
        given = {"here": {}, "workers": {"jobs": 2}, "executor": {"executor": executor}}[where]
        outcomes = run(range(100), vain, **given)
        with pytest.raises(RunError, match="the folder is gone"):
            list(outcomes)


@pytest.mark.parametrize(
    ("end", "words", "tries"),
    [
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "WorkerDied: SIGKILL", 5),
        (crash, "WorkerDied: SIGSEGV", 2),
        (lambda: os._exit(7), "WorkerDied: exit code 7", 2),
    ],
)
def test_a_task_that_kills_its_worker_is_given_up(end, words, tries):
    def work(number):
        return end() if number == 20 else number

    outcomes = {o.task: o for o in run(range(40), work, jobs=2)}
    assert len(outcomes) == 40
    poison = outcomes.pop(20)
    assert (poison.status, poison.failure) == ("error", words)
    # The first death was in a worker that had done other tasks; the others counted.
    assert [a.ended for a in poison.attempts] == ["died"] * (1 + tries)
    assert len({a.pid for a in poison.attempts}) == 1 + tries
    assert {o.status for o in outcomes.values()} == {"done"}


def test_a_task_survives_four_fresh_workers_killed_by_others(tmp_path):
    def work(number):
        marks = list(tmp_path.iterdir())
        if number == 0 and len(marks) < 4:
            (tmp_path / str(len(marks))).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return number

    outcomes = {o.task: o for o in run(range(10), work, jobs=2)}
    assert outcomes[0].value == 0
    assert [a.ended for a in outcomes[0].attempts] == ["died"] * 4 + ["done"]


def test_a_killer_on_the_loose():
    def kill_some():
        while not stop.wait(0.2):
            with contextlib.suppress(IndexError, ProcessLookupError):
                os.kill(random.choice(children()), signal.SIGKILL)

    stop = threading.Event()
    killer = threading.Thread(target=kill_some)
    killer.start()
    try:
        outcomes = list(run(range(200), lambda n: time.sleep(0.01) or n, jobs=2))
    finally:
        stop.set()
        killer.join()
    assert sorted(o.value for o in outcomes) == list(range(200))
    assert any(len(o.attempts) > 1 for o in outcomes)


def hang_in_c(_):
    # PyDLL keeps the interpreter's lock, as some solvers do: no Python signal handler runs.
    ctypes.PyDLL(None).usleep(500_000_000)


def test_a_hang_is_stopped_while_the_other_worker_goes_on():
    arrived = {}
    begin = time.monotonic()
    work = lambda n: hang_in_c(n) if n == 0 else time.sleep(0.02)  # noqa: E731
    for outcome in run(range(60), work, jobs=2, time_limit=lambda n: 1.0 if n == 0 else None):
        arrived[outcome.task] = (time.monotonic() - begin, outcome)
    seconds, hung = arrived.pop(0)
    assert (hung.status, hung.failure) == ("timeout", "TimeLimit: over 1 s")
    assert 1.0 <= seconds < 400
    assert [a.ended for a in hung.attempts] == ["timeout"]
    assert {o.status for _, o in arrived.values()} == {"done"}
    assert sum(at < seconds for at, _ in arrived.values()) >= 2


def test_a_hang_is_stopped_with_one_job():
    outcomes = list(run([500, 0, 0], time.sleep, time_limit=lambda n: 0.5 if n else 60.0))
    assert sorted(o.status for o in outcomes) == ["done", "done", "timeout"]


def test_tasks_are_taken_when_needed():
    taken = itertools.count()
    outcomes = run((next(taken) for _ in itertools.repeat(0)), square, jobs=2)
    for _ in range(10):
        next(outcomes)
    outcomes.close()
    assert next(taken) <= 10 + 2 * 2


def test_an_unusable_task_source_ends_the_workers():
    def tasks():
        yield 1
        yield 2
        raise OSError("no more")

    with pytest.raises(OSError, match="no more"):
        list(run(tasks(), square, jobs=2))


def test_keyboard_interrupt_ends_the_workers():
    outcomes = run(range(9), lambda n: time.sleep(100 if n else 0) or n, jobs=2)
    assert next(outcomes).task == 0
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        next(outcomes)
    assert time.monotonic() - begin < 80


def test_workers_do_not_hear_the_keyboard():
    def work(_):
        os.kill(os.getpid(), signal.SIGINT)
        return True

    assert all(o.value for o in run(range(3), work, jobs=2))


def leave_a_mark():
    os.environ.update(CONVEXFS_TEST=str(os.getpid()))


def fail():
    raise LookupError("no such log")


def test_setup_runs_in_each_worker():
    def work(_):
        time.sleep(0.05)
        return os.environ.get("CONVEXFS_TEST"), os.environ["OMP_NUM_THREADS"]

    outcomes = list(run(range(6), work, jobs=2, setup=leave_a_mark))
    assert {o.value for o in outcomes} == {(str(o.attempts[0].pid), "1") for o in outcomes}
    assert "CONVEXFS_TEST" not in os.environ


def test_a_failing_setup_is_a_clear_error():
    with pytest.raises(RunError, match="LookupError: no such log"):
        list(run(range(4), square, jobs=2, setup=fail))


def test_workers_that_never_start_are_a_clear_error():
    with pytest.raises(RunError, match="10 workers in a row ended at their start"):
        list(run(range(4), square, jobs=2, setup=partial(os._exit, 3)))


def test_the_threads_of_this_process_are_given_back(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    (outcome,) = run(["OMP_NUM_THREADS"], os.getenv)
    assert outcome.value == "1"
    assert os.environ["OMP_NUM_THREADS"] == "7"
    assert "MKL_NUM_THREADS" not in os.environ


def prepare_slowly(_):
    time.sleep(1.2)


def prepare_in_vain(_):
    sys.exit(3)


def test_what_prepares_a_task_does_not_take_of_its_time():
    outcomes = list(run([2, 3], square, jobs=2, time_limit=1.0, prepare=prepare_slowly))
    assert {o.task: o.value for o in outcomes} == {2: 4, 3: 9}


def test_what_cannot_be_prepared_is_left_to_the_work():
    (outcome,) = run([4.0], math.sqrt, jobs=2, prepare=prepare_in_vain)
    assert (outcome.value, len(outcome.attempts)) == (2.0, 1)


def test_a_prepared_task_may_still_hang_or_die():
    limit = lambda how: 60.0 if how == "die" else 0.5  # noqa: E731
    hung, died = run([1000, "die"], hang_or_die, jobs=2, time_limit=limit, prepare=bool)
    assert {hung.status, died.status} == {"timeout", "error"}


@pytest.fixture
def spawned(monkeypatch):
    monkeypatch.setattr(pool, "FORKS", False)
    monkeypatch.setattr(pool, "CONTEXT", start_context("spawn"))


def test_spawned_workers_where_there_is_no_fork(spawned):
    outcomes = list(run([4.0, -1.0, 9.0], math.sqrt, jobs=2, time_limit=60))
    assert {o.task: o.value for o in outcomes} == {4.0: 2.0, -1.0: None, 9.0: 3.0}


def test_spawned_workers_are_sent_functions_they_could_not_import(spawned):
    offset = 10
    (outcome,) = run([1], lambda number: number + offset, jobs=2)
    assert outcome.value == 11


def test_spawned_workers_that_never_start_hear_of_the_guard(spawned, monkeypatch):
    monkeypatch.setattr(pool, "FALSE_STARTS", 1)
    with pytest.raises(RunError, match="if __name__ == '__main__':"):
        list(run([1], square, jobs=2, setup=partial(os._exit, 3)))


@pytest.mark.parametrize(
    ("platform", "method"), [("linux", "fork"), ("darwin", "spawn"), ("win32", "spawn")]
)
def test_workers_are_started_as_is_safe(monkeypatch, platform, method):
    monkeypatch.setattr(sys, "platform", platform)
    assert start_context(None).get_start_method() == method
    assert start_context("").get_start_method() == method


def test_an_unknown_way_to_start_is_refused():
    words = [sys.executable, "-m", "convexfs", "solve", "problems/relief.py", "--out", "nowhere"]
    environment = os.environ | {"CONVEXFS_START": "conjure"}
    ran = subprocess.run(words, env=environment, capture_output=True, text=True)
    assert ran.returncode == 2
    assert "error: CONVEXFS_START is 'conjure'; here it may be fork or spawn" in ran.stderr
    assert ran.stderr.count("\n") == 1


ORPHANS = """
    import os, sys, time
    from convexfs.batch.workers.executors import open_executor
    from convexfs.batch.workers.pool import run
    from convexfs.batch.store.store import Store

    def work(n):
        with open(sys.argv[1] + "/pids", "a") as file:
            file.write(f"{os.getpid()}\\n")
        time.sleep(1000)

    with Store(sys.argv[1]) as store:
        for outcome in run(range(4), work, jobs=2):
            pass
"""


def test_a_killed_parent_leaves_no_worker_and_no_lock(tmp_path):
    parent = subprocess.Popen([sys.executable, "-c", textwrap.dedent(ORPHANS), str(tmp_path)])
    pids = tmp_path / "pids"
    try:
        until(lambda: pids.exists() and len(pids.read_text().split()) == 2, parent)
        with pytest.raises(RunError, match=f"process {parent.pid} "):
            Store(tmp_path)
    finally:
        parent.kill()
    parent.wait()
    Store(tmp_path).close()
    workers = [int(pid) for pid in pids.read_text().split()]
    until(lambda: not any(alive(pid) for pid in workers))


def test_threads():
    with ThreadPoolExecutor(2) as executor:
        outcomes = list(run([1.0, 4.0, -1.0], math.sqrt, executor=executor))
    assert {o.task: o.value for o in outcomes} == {1.0: 1.0, 4.0: 2.0, -1.0: None}
    assert {o.failure for o in outcomes} == {"", "ValueError: math domain error"}


def test_jobs_are_at_least_one():
    with pytest.raises(InputError, match="jobs must be an integer of at least 1"):
        run([], square, jobs=0)
