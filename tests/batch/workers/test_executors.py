"""Other executors than the pool: threads, dask and MPI."""

import contextlib
import itertools
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import textwrap
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial

import pytest

from convexfs.batch.workers import pool
from convexfs.batch.workers.attempts import start_context
from convexfs.batch.workers.executors import open_executor
from convexfs.batch.workers.pool import run
from convexfs.errors import InputError, RunError
from tests.batch.problem_texts import command, finished
from tests.batch.processes import Leaving, alive, crash, square
from tests.waiting import PATIENCE, until

pytestmark = pytest.mark.usefixtures("no_process_left")


def test_an_executor_whose_result_leaves_python_goes_on():
    with ThreadPoolExecutor(1) as executor:
        work = lambda n: Leaving() if n == 1 else n  # noqa: E731
        outcomes = list(run(range(3), work, executor=executor))
    assert [o.value for o in outcomes if o.status == "done"] == [0, 2]
    assert [o.failure for o in outcomes if o.status == "error"] == ["SystemExit: 3"]


def test_an_executor_is_fed_little_by_little(monkeypatch):
    monkeypatch.setattr(pool, "IN_FLIGHT", 5)
    taken = itertools.count()
    with ThreadPoolExecutor(2) as executor:
        outcomes = run((next(taken) for _ in range(1000)), square, executor=executor)
        next(outcomes)
        outcomes.close()
    assert next(taken) <= 6


def test_an_executor_cannot_send_everything():
    with ProcessPoolExecutor(1) as executor:
        (outcome,) = run([lambda: 0], callable, executor=executor)
    assert outcome.status == "error"
    assert "<lambda>" in outcome.failure


def test_a_broken_executor_is_a_clear_error():
    context = start_context("fork")
    with (
        ProcessPoolExecutor(1, mp_context=context) as executor,
        pytest.raises(RunError, match=r"the executor stopped .*BrokenProcessPool"),
    ):
        list(run(range(3), os._exit, executor=executor))


@pytest.mark.cluster
def test_the_same_on_dask():
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=1, processes=False, dashboard_address=None, protocol="tcp://"
    ) as cluster:
        address = cluster.scheduler_address.replace("tcp://", "dask://")
        with open_executor(address) as executor:
            outcomes = list(run([4.0, 4.0, -1.0], math.sqrt, executor=executor))
    assert [o.value for o in outcomes if o.status == "done"] == [2.0, 2.0]
    assert [o.failure for o in outcomes if o.status == "error"] == ["ValueError: math domain error"]


def dies_or_squares(number):
    if number % 2:
        crash()
    return number * number


@pytest.mark.cluster
def test_crashing_tasks_on_dask_cost_themselves_only():
    distributed = pytest.importorskip("distributed")
    # Without a nanny a worker that has died stays dead.
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address=None, worker_class=distributed.Worker,
        processes=False, protocol="tcp://",
    ) as cluster:  # fmt: skip
        address = cluster.scheduler_address.replace("tcp://", "dask://")
        with open_executor(address) as executor:
            outcomes = {o.task: o for o in run(range(6), dies_or_squares, executor=executor)}
    assert {n: o.value for n, o in outcomes.items()} == {
        0: 0,
        1: None,
        2: 4,
        3: None,
        4: 16,
        5: None,
    }
    assert {o.failure for n, o in outcomes.items() if n % 2} == {"WorkerDied: SIGSEGV"}


def test_no_dask_at_that_address(monkeypatch):
    distributed = pytest.importorskip("distributed")
    client = distributed.Client
    impatient = lambda address, timeout: client(address, timeout=timeout / 10)  # noqa: E731
    monkeypatch.setattr(distributed, "Client", impatient)
    with (
        pytest.raises(InputError, match=r"dask://127\.0\.0\.1:1: cannot be reached"),
        open_executor("dask://127.0.0.1:1"),
    ):
        pass


@pytest.mark.parametrize(("spec", "module"), [("dask://x:1", "distributed"), ("mpi", "mpi4py")])
def test_an_extra_that_is_not_installed(spec, module, monkeypatch):
    for name in (module, f"{module}.futures"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(InputError, match=r"pip install 'convexfs\["), open_executor(spec):
        pass


@pytest.mark.parametrize("spec", ["slurm", "dask://host", "dask://host:port"])
def test_an_unknown_executor(spec):
    with pytest.raises(InputError, match="is unknown; choose local, dask"), open_executor(spec):
        pass


OWN = """
from concurrent.futures import ThreadPoolExecutor

made = []

def two_threads():
    made.append(ThreadPoolExecutor(2))
    return made[-1]

def nothing():
    return [1, 2]

def broken():
    raise OSError("the queue is closed")

class inside:
    threads = two_threads
"""


@pytest.fixture
def own_module(tmp_path, monkeypatch):
    (tmp_path / "my_cluster.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    yield "my_cluster"
    sys.modules.pop("my_cluster", None)


@pytest.mark.parametrize("name", ["two_threads", "inside.threads"])
def test_an_executor_of_ones_own(own_module, name):
    before = list(sys.path)
    with open_executor(f"{own_module}:{name}") as executor:
        assert sorted(o.value for o in run(range(4), square, executor=executor)) == [0, 1, 4, 9]
    assert sys.path == before
    with pytest.raises(RuntimeError, match="after shutdown"):
        sys.modules[own_module].made[0].submit(square, 1)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("no_such_cluster:make", "there is no module no_such_cluster"),
        ("my_cluster:make", "has no attribute 'make'"),
        ("my_cluster:nothing", "made list, which is no concurrent.futures.Executor"),
        ("my_cluster:broken", "OSError: the queue is closed"),
        ("my_cluster:made", "'list' object is not callable"),
    ],
)
def test_what_makes_no_executor(own_module, name, words):
    with pytest.raises(InputError, match=f"executor {name}: .*{words}"), open_executor(name):
        pass


def started_and_waiting(folder, number):
    """Say where this task runs, and wait there until all may go on."""
    (folder / f"{number}-{os.getppid()}").touch()
    until((folder / "go").exists)
    return number


@pytest.mark.cluster
def test_a_killed_worker_on_dask_costs_no_other_task(tmp_path):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, protocol="tcp://"
    ) as cluster:
        address = cluster.scheduler_address.replace("tcp://", "dask://")
        with open_executor(address) as executor:
            work = partial(started_and_waiting, tmp_path)
            outcomes = run(range(6), work, executor=executor)
            with ThreadPoolExecutor(1) as reader:
                told = reader.submit(list, outcomes)
                until(lambda: any(tmp_path.glob("*-*")))
                worker = next(tmp_path.glob("*-*")).name.partition("-")[2]
                os.kill(int(worker), signal.SIGKILL)
                until(lambda: not alive(worker))
                (tmp_path / "go").touch()
                values = sorted(o.value for o in told.result())
    assert values == list(range(6))


@pytest.mark.cluster
def test_a_scheduler_of_dask_that_dies_is_one_line(slow, tmp_path):
    pytest.importorskip("distributed")
    address = tmp_path / "scheduler.json"
    parts = [
        ["distributed.cli.dask_scheduler", "--port", "0", "--scheduler-file", address],
        ["distributed.cli.dask_worker", "--nthreads", "1", "--scheduler-file", address],
    ]
    with contextlib.ExitStack() as ends:
        scheduler, _ = (
            ends.enter_context(killed_at_the_end(own, "--no-dashboard")) for own in parts
        )
        until(address.exists, scheduler)
        where = json.loads(address.read_text())["address"].replace("tcp://", "dask://")
        out = tmp_path / "run"
        run = ends.enter_context(
            subprocess.Popen(
                command(slow, "--executor", where, "--out", out),
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            )
        )  # fmt: skip
        until(lambda: finished(out) > 2, run)
        scheduler.kill()
        _, err = run.communicate(timeout=PATIENCE)
    assert run.returncode == 2
    assert err.count("\n") == 1, err
    assert "run the same command to resume" in err


@contextlib.contextmanager
def killed_at_the_end(words, *more):
    line = [sys.executable, "-m", *map(str, words), *more]
    with subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        yield process
        process.kill()


def test_local_is_no_executor():
    with open_executor("local") as executor:
        assert executor is None


MPI = """
    import math
    from convexfs.batch.workers.executors import open_executor
    from convexfs.batch.workers.pool import run

    if __name__ == "__main__":
        with open_executor("mpi") as executor:
            print(sorted(o.value for o in run([1.0, 4.0, 9.0], math.sqrt, executor=executor)))
"""


@pytest.mark.cluster
def test_mpi(tmp_path):
    pytest.importorskip("mpi4py")
    mpiexec = shutil.which("mpiexec", path=os.path.dirname(sys.executable)) or shutil.which(
        "mpiexec"
    )
    if mpiexec is None:
        pytest.skip("no mpiexec")
    script = tmp_path / "squares.py"
    script.write_text(textwrap.dedent(MPI))
    flags = ["--allow-run-as-root", "--oversubscribe"]
    command = [mpiexec, *flags, "-n", "2", sys.executable, "-m", "mpi4py.futures", str(script)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.stdout.strip() == "[1.0, 2.0, 3.0]", done.stderr
