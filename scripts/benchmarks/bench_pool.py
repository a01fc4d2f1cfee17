"""What a task costs beyond its own work, and whether memory stays flat.

    python bench_pool.py [tasks]

Does tasks of one millisecond in a bare loop, then through the pool with two processes.
"""

import sys
import time
from collections.abc import Iterator
from pathlib import Path

from convexfs.batch.workers.pool import run

JOBS = 2


def busy(_: int) -> None:
    end = time.perf_counter() + 0.001
    while time.perf_counter() < end:
        pass


def resident_mb() -> float:
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def bare(count: int) -> float:
    begin = time.perf_counter()
    for number in range(count):
        busy(number)
    return time.perf_counter() - begin


def pooled(count: int) -> tuple[float, list[float]]:
    begin = time.perf_counter()
    memory = list(memory_marks(count))
    return time.perf_counter() - begin, memory


def memory_marks(count: int) -> Iterator[float]:
    for done, _ in enumerate(run(range(count), busy, jobs=JOBS), start=1):
        if done in (100, count // 2, count):
            yield resident_mb()


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    loop = bare(count)
    pool, memory = pooled(count)
    # Each process has its share of the tasks to do; the rest of its time is overhead.
    overhead = (pool * JOBS - loop) / count
    print(f"{count} tasks of 1 ms, {JOBS} processes")
    print(f"bare loop            {loop:8.2f} s")
    print(f"pool                 {pool:8.2f} s")
    print(f"overhead a task      {overhead * 1000:8.3f} ms of a worker's time (limit 2)")
    print(
        f"parent resident      {' / '.join(f'{mb:.1f}' for mb in memory)} MB start / middle / end"
    )


if __name__ == "__main__":
    main()
