"""A large batch in eight shards, two of them killed and done again, merged: is it one run?

    python bench_shards.py [--tasks 100000] [--shards 8]

Tasks are as cheap as they can be, so that what is measured is the batch itself. Prints CPU
seconds of the whole run, of the shards and of merging.
"""

import argparse
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from convexfs.batch.store.store import RESULTS, Store, same_results

TEXT = """
METHOD = "relief"
DATA = ["iris"]
GRID = {{"n_neighbors": [1, 2, 3, 4, 5], "l1": [step / {steps} for step in range({steps})]}}
SOLVERS = ["native"]
"""


def started(*words: object) -> subprocess.Popen:
    line = [sys.executable, "-m", "convexfs", *map(str, words)]
    return subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def ran(*words: object) -> float:
    """Run a command to its end and return its CPU seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    code = started(*words).wait()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if code:
        raise SystemExit(f"{words}: exit code {code}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def count(folder: Path) -> int:
    try:
        with Store.read(folder) as store:
            return len(store.finished())
    except Exception:
        return 0


def killed_midway(folder: Path, enough: int, *words: object) -> int:
    """Kill a run once it has some results; return how many."""
    process = started(*words)
    while process.poll() is None and count(folder) < enough:
        time.sleep(0.5)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    return count(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description="A batch in shards against one run.")
    parser.add_argument("--tasks", type=int, default=100_000)
    parser.add_argument("--shards", type=int, default=8)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        file, whole, merged = folder / "cheap.py", folder / "whole", folder / "merged"
        file.write_text(TEXT.format(steps=given.tasks // 5))
        parts = [folder / f"part-{number}" for number in range(1, given.shards + 1)]
        lines = [
            ("solve", file, "--jobs", 1, "--shard", f"{number}/{given.shards}", "--out", part)
            for number, part in enumerate(parts, 1)
        ]
        seconds = ran("solve", file, "--jobs", 1, "--out", whole)
        print(f"{given.tasks} tasks in one run: {seconds:.0f} s")
        for number in (1, 4):
            had = killed_midway(parts[number], given.tasks // given.shards // 3, *lines[number])
            print(f"shard {number + 1} killed at {had} tasks")
        print(
            f"{given.shards} shards, those two resumed: {sum(ran(*line) for line in lines):.0f} s"
        )
        print(f"merging: {ran('merge', *parts, '--out', merged):.1f} s")
        print(f"merging again: {ran('merge', *parts, '--out', merged):.1f} s")
        size = (merged / RESULTS).stat().st_size / 1e6
        differences = same_results(whole, merged)
        verdict = "equal to one run" if not differences else f"DIFFERS: {differences[:3]}"
        print(f"{count(merged)} tasks, {size:.0f} MB: {verdict}")


if __name__ == "__main__":
    main()
