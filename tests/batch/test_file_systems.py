"""Stores on file systems that refuse shared memory maps or locks, and locks between hosts."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from contextlib import ExitStack
from pathlib import Path

import pytest

from convexfs.batch.run import solve_files
from convexfs.batch.store import store as store_module
from convexfs.batch.store.run_lock import RunLock
from convexfs.batch.store.sqlite_file import FileSystem, file_system_kind, probe
from convexfs.batch.store.store import HOLDER, LOG, RESULTS, Store, same_results
from convexfs.errors import RunError
from tests.batch.problem_texts import command
from tests.batch.rows import fill
from tests.waiting import until

SOURCE = Path(__file__).with_name("refuse.c")
REFUSALS = ["maps", "locks", "maps and locks"]


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    """The library that refuses, compiled."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None or sys.platform != "linux":
        pytest.skip("no C compiler, or no Linux")
    made = tmp_path_factory.mktemp("refuse") / "refuse.so"
    line = [compiler, "-shared", "-fPIC", "-O1", "-o", made, SOURCE, "-ldl"]
    subprocess.run(line, check=True)
    return made


@pytest.fixture
def refusing(library, tmp_path):
    """Return the variables of a process to which a folder's file system refuses something."""

    def environment(words, folder=tmp_path):
        told = {"LD_PRELOAD": str(library), "REFUSED": words, "REFUSED_FOLDER": str(folder)}
        return os.environ | told

    return environment


def started(line, environment):
    return subprocess.Popen(
        line, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def recorded(out):
    """Return how many tasks the log says are recorded: a store without locks is not asked here."""
    log = out / LOG
    return log.read_text().count(": optimal, proven") if log.exists() else 0


@pytest.mark.parametrize("words", REFUSALS)
def test_what_is_refused_is_found_out(refusing, tmp_path, words):
    program = (
        "from pathlib import Path; from convexfs.batch.store.sqlite_file import probe\n"
        f"found = probe(Path({str(tmp_path)!r})); print(found.maps, found.locks)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], env=refusing(words), capture_output=True, text=True
    )
    assert ran.stdout.split() == [str("maps" not in words), str("locks" not in words)], ran.stderr
    assert probe(tmp_path).maps
    assert probe(tmp_path).locks
    assert os.listdir(tmp_path) == []


@pytest.mark.slow
def test_a_run_is_killed_and_resumed_where_things_are_refused(slow, tmp_path, refusing):
    slow.write_text(slow.read_text().replace("range(400)", "range(40)"))
    out, environment = tmp_path / "out", refusing("maps and locks")
    line = command(slow, "--jobs", 2, "--out", out)
    for count in (3, 15):
        process = started(line, environment)
        until(lambda count=count: recorded(out) > count, process)
        process.kill()
        process.communicate()
    ended = subprocess.run(line, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert "Traceback" not in ended.stderr
    assert "results.sqlite: journal TRUNCATE, for the folder is on" in (out / LOG).read_text()
    assert not (out / f"{RESULTS}-shm").exists()
    solve_files([slow], tmp_path / "whole")
    assert same_results(tmp_path / "whole", out) == []
    for command_line in (["report", out], ["export", out, "--to", tmp_path / "t.csv"]):
        words_of = [sys.executable, "-m", "convexfs", *map(str, command_line)]
        ran = subprocess.run(words_of, env=environment, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr


@pytest.mark.slow
@pytest.mark.parametrize("words", ["maps", "maps and locks"])
def test_a_second_process_is_refused_and_told_of_the_first(slow, tmp_path, refusing, words):
    # The first is to wait, not to compute, while the second one is loaded.
    slow.write_text(slow.read_text().replace("sleep(0.05)", "sleep(0.5)"))
    out, environment = tmp_path / "out", refusing(words)
    line = command(slow, "--jobs", 2, "--out", out)
    first = started(line, environment)
    until(lambda: recorded(out) > 1, first)
    second = subprocess.run(line, env=environment, capture_output=True, text=True, check=False)
    first.send_signal(signal.SIGTERM)
    first.communicate()
    assert second.returncode == 2
    assert f"process {first.pid} on" in second.stderr
    assert second.stderr.count("\n") == 1
    assert first.returncode == 75
    assert not (out / HOLDER).exists()


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """A store with the write-ahead log of a process that was killed."""
    folder = tmp_path_factory.mktemp("killed") / "run"
    fill(folder)
    program = (
        "import os; from tests.batch.rows import ATTEMPT, task; "
        "from convexfs.batch.store.store import Store\n"
        f"store = Store({str(folder)!r}); store.record(task('d'), [ATTEMPT], [])\n"
        "os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
    assert (folder / f"{RESULTS}-wal").stat().st_size
    return folder


@pytest.mark.parametrize("words", REFUSALS)
def test_a_store_in_wal_mode_is_read_and_resumed_where_it_cannot_be(
    killed, tmp_path, refusing, words
):
    shutil.copytree(killed, tmp_path / "run")
    program = (
        "from convexfs.batch.store.store import Store; from tests.batch.rows import ATTEMPT, task\n"
        f"folder = {str(tmp_path / 'run')!r}\n"
        "with Store.read(folder) as store: print(len(store.tasks()))\n"
        "with Store(folder) as store:\n"
        "    store.record(task('e'), [ATTEMPT], [])\n"
        "    with Store.read(folder) as other: print(len(other.tasks()))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], env=refusing(words), capture_output=True, text=True
    )
    assert ran.stdout.split() == ["4", "5"], ran.stderr
    with Store.read(tmp_path / "run") as store:
        assert store.tasks()["key"].tolist() == ["a", "b", "c", "d", "e"]


@pytest.mark.slow
def test_shards_are_merged_where_locks_and_maps_are_refused(slow, tmp_path, refusing):
    slow.write_text(slow.read_text().replace("range(400)", "range(10)"))
    environment = refusing("maps and locks")
    for number in (1, 2):
        shard = ("--shard", f"{number}/2", "--out", tmp_path / str(number), "--jobs", 1)
        subprocess.run(command(slow, *shard), env=environment, check=True, capture_output=True)
    merge = [sys.executable, "-m", "convexfs", "merge", tmp_path / "1", tmp_path / "2"]
    ran = subprocess.run(
        [*merge, "--out", tmp_path / "both"], env=environment, capture_output=True, text=True
    )
    assert "2 of 2 shards, 10 of 10 tasks" in ran.stdout, ran.stderr
    solve_files([slow], tmp_path / "whole")
    assert same_results(tmp_path / "whole", tmp_path / "both") == []


def test_on_a_file_system_that_hosts_share_there_is_no_write_ahead_log(tmp_path, monkeypatch):
    shared = FileSystem("nfs4", shared=True, maps=True, locks=True)
    monkeypatch.setattr(store_module, "probe", lambda folder: shared)
    with Store(tmp_path) as store:
        assert store.journal == "journal TRUNCATE, for the folder is on nfs4 (shared by hosts)"
        assert (tmp_path / HOLDER).exists()
        with pytest.raises(RunError, match=r"process \d+ on .* has been running here"):
            Store(tmp_path)
    assert not (tmp_path / HOLDER).exists()


def test_kinds_of_file_systems(tmp_path):
    mounts = tmp_path / "mountinfo"
    mounts.write_text(
        "22 1 0:20 / / rw shared:1 - ext4 /dev/sda1 rw\n"
        "23 22 0:21 / /home rw - nfs4 server:/home rw\n"
        "24 23 0:22 / /home/my\\040scratch rw - lustre mds:/x rw\n"
    )
    for folder, kind in (
        ("/etc", "ext4"), ("/home/me/runs", "nfs4"), ("/homework", "ext4"),
        ("/home/my scratch/run", "lustre"),
    ):  # fmt: skip
        assert file_system_kind(Path(folder), mounts) == kind
    assert file_system_kind(tmp_path, tmp_path / "missing") == ""


def holder_elsewhere(path, **changes):
    told = {"token": "t", "pid": 1, "host": "elsewhere", "boot": "b", "start": "1", "since": "then"}
    path.write_text(json.dumps(told | changes))


def test_a_holder_on_another_host_lives_while_its_file_changes(tmp_path):
    path, ended = tmp_path / HOLDER, threading.Event()
    holder_elsewhere(path)

    def live():
        while not ended.wait(0.05):
            os.utime(path)

    threading.Thread(target=live, daemon=True).start()
    with (
        ExitStack() as held,
        pytest.warns(match="waiting up to 600 s for a sign of life"),
        pytest.raises(RunError, match="process 1 on elsewhere has been"),
    ):
        RunLock(path, dead=600.0).take(held)
    ended.set()


@pytest.mark.filterwarnings("ignore:.*for a sign of life")
@pytest.mark.parametrize("content", [None, "", "not JSON", "[]"])
def test_a_holder_without_a_sign_of_life_is_dead(tmp_path, content):
    path = tmp_path / HOLDER
    holder_elsewhere(path) if content is None else path.write_text(content)
    with ExitStack() as held:
        lock = RunLock(path, beat=0.01, dead=0.1)
        lock.take(held)
        lock.check()
    assert os.listdir(tmp_path) == []


@pytest.mark.filterwarnings("ignore:.*for a sign of life")
def test_of_many_processes_one_takes_the_lock_of_a_dead_holder(tmp_path):
    path, taken, refused = tmp_path / HOLDER, [], []
    holder_elsewhere(path)
    barrier = threading.Barrier(8)

    def take():
        # Threads share a pid: each must not take the others for itself, come back to life.
        with ExitStack() as held:
            barrier.wait()
            try:
                RunLock(path, beat=0.02, dead=0.2).take(held)
                taken.append(1)
            except RunError:
                refused.append(1)
            barrier.wait()

    threads = [threading.Thread(target=take) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(taken), len(refused)) == (1, 7)


def test_a_holder_that_lost_its_lock_stops(tmp_path, monkeypatch):
    system = FileSystem("nfs4", shared=True, maps=True, locks=True)
    monkeypatch.setattr(store_module, "probe", lambda folder: system)
    with Store(tmp_path) as store:
        holder_elsewhere(tmp_path / HOLDER)
        with pytest.raises(RunError, match="another process has taken this folder over"):
            store.keep_study({})
    assert (tmp_path / HOLDER).exists()
