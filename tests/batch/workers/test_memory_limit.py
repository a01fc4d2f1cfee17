"""Sizes as people write them, and failures that name their limit."""

import mmap

import numpy as np
import pytest

from convexfs.batch.workers import memory_limit, pool
from convexfs.errors import InputError

MEGABYTE = 1_000_000
held = pytest.mark.skipif(not memory_limit.HOLDS, reason="no memory limit is held here")


@pytest.mark.parametrize(
    ("text", "size"),
    [("2GB", 2e9), ("500 mb", 5e8), ("1.5GiB", 1.5 * 2**30), ("4096", 4096), ("1T", 1e12)],
)
def test_sizes(text, size):
    assert memory_limit.parse_size(text) == size


@pytest.mark.parametrize("text", ["", "0", "-1GB", "2XB", "GB", "nan", "inf", "1e400", "9" * 400])
def test_what_is_no_size(text):
    with pytest.raises(InputError, match="is no size of memory; write it as 500MB or 2GB"):
        memory_limit.parse_size(text)


@pytest.mark.parametrize(
    ("size", "words"),
    [(2 * 10**9, "2 GB"), (1_500_000, "1.5 MB"), (999, "999 B"), (10**13, "10 TB")],
)
def test_sizes_are_written_in_words(size, words):
    assert memory_limit.format_size(size) == words


def megabytes_taken(count):
    return np.ones(count * MEGABYTE // 8).nbytes // MEGABYTE


@held
def test_the_limit_is_on_each_task_beyond_what_its_worker_holds():
    ballast = np.ones(600 * MEGABYTE // 8)
    outcomes = list(pool.run([50, 900, 100, 200], megabytes_taken, memory_limit=300 * MEGABYTE))
    assert len(ballast)
    assert [o.value for o in outcomes if o.status == "done"] == [50, 100, 200]
    (failed,) = [o for o in outcomes if o.status == "error"]
    assert memory_limit.name_limit(failed.failure, 300 * MEGABYTE).startswith(
        "memory limit 300 MB reached ("
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
        memory_limit.call_within(100 * MEGABYTE, megabytes_taken, 900)
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
    assert memory_limit.name_limit(failure, 2 * 10**9).startswith(said)
    assert memory_limit.name_limit(failure, None) == failure


def test_no_limit_where_the_system_holds_none(monkeypatch):
    monkeypatch.setattr(memory_limit, "HOLDS", False)
    assert memory_limit.call_within(1, megabytes_taken, 2) == 2
    assert memory_limit.name_limit("MemoryError: no", 1) == "MemoryError: no"
