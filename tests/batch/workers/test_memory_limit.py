"""Tasks within a limit on memory, and failures that name it."""

import mmap

import numpy as np
import pytest

from convexfs.batch.workers import attempts, pool

MEGABYTE = 1_000_000
held = pytest.mark.skipif(not attempts.HOLDS, reason="no memory limit is held here")


def megabytes_taken(count):
    return np.ones(count * MEGABYTE // 8).nbytes // MEGABYTE


@held
def test_the_limit_is_on_each_task_beyond_what_its_worker_holds():
    ballast = np.ones(200 * MEGABYTE // 8)
    outcomes = list(pool.run([20, 300, 30, 60], megabytes_taken, memory_limit=100 * MEGABYTE))
    assert len(ballast)
    assert [o.value for o in outcomes if o.status == "done"] == [20, 30, 60]
    (failed,) = [o for o in outcomes if o.status == "error"]
    assert attempts.name_limit(failed.failure, 100 * MEGABYTE).startswith(
        "memory limit 100 MB reached ("
    )


@held
def test_files_mapped_into_memory_do_not_count(tmp_path):
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.truncate(900 * MEGABYTE)

    def read(_):
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
            return len(view)

    (outcome,) = pool.run([0], read, memory_limit=200 * MEGABYTE)
    assert outcome.value == 900 * MEGABYTE


@held
def test_this_process_has_no_limit_afterwards():
    import resource

    before = resource.getrlimit(resource.RLIMIT_DATA)
    with pytest.raises(MemoryError):
        attempts.call_within(100 * MEGABYTE, megabytes_taken, 900)
    assert resource.getrlimit(resource.RLIMIT_DATA) == before


@held
@pytest.mark.parametrize(
    ("failure", "said"),
    [
        ("MemoryError: Unable to allocate 3 GiB", "memory limit 2 GB reached (MemoryError: Unable"),
        ("RuntimeError: std::bad_alloc", "memory limit 2 GB reached ("),
        ("OSError: [Errno 12] Cannot allocate memory", "memory limit 2 GB reached ("),
        ("WorkerDied: SIGABRT", "WorkerDied: SIGABRT, perhaps at its memory limit of 2 GB"),
        ("ValueError: no", "ValueError: no"),
        ("WorkerDied: SIGKILL", "WorkerDied: SIGKILL"),
        ("", ""),
    ],
)
def test_the_limit_is_named_where_it_was_reached(failure, said):
    assert attempts.name_limit(failure, 2 * 10**9).startswith(said)
    assert attempts.name_limit(failure, None) == failure


def test_no_limit_where_the_system_holds_none(monkeypatch):
    monkeypatch.setattr(attempts, "HOLDS", False)
    assert attempts.call_within(1, megabytes_taken, 2) == 2
    assert attempts.name_limit("MemoryError: no", 1) == "MemoryError: no"
