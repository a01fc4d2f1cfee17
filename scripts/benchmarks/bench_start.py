"""How long commands take to start, beside the bare imports of the libraries they stand on.

    python bench_start.py --repeats 7

CPU times of whole processes, medians of runs taken in turns, so that the ratios hold on a busy
machine too. Kernels are compiled before, and read from numba's cache.
"""

import argparse
import resource
import statistics
import subprocess
import sys

from rich.console import Console
from rich.table import Table

BARE = "import numpy, pandas, sklearn, numba"
LINES = {
    "bare imports": ["-c", BARE],
    "select wdbc": ["-m", "convexfs", "select", "wdbc"],
    "--version": ["-m", "convexfs", "--version"],
    "--help": ["-m", "convexfs", "--help"],
    "list": ["-m", "convexfs", "list"],
    "show relief": ["-m", "convexfs", "show", "relief"],
    "import cvxpy": ["-c", "import cvxpy"],
    "import numpy": ["-c", "import numpy"],
    "nothing": ["-c", ""],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=7)
    repeats = parser.parse_args().repeats
    for words in LINES.values():
        cpu_seconds(words)  # compiles kernels and bytecode
    taken = [{name: cpu_seconds(words) for name, words in LINES.items()} for _ in range(repeats)]
    table = Table("line", "CPU seconds", "times the bare imports", "from … to")
    for name in LINES:
        ratios = sorted(times[name] / times["bare imports"] for times in taken)
        seconds = statistics.median(times[name] for times in taken)
        spread = f"{ratios[0]:.2f} … {ratios[-1]:.2f}"
        table.add_row(name, f"{seconds:.2f}", f"{statistics.median(ratios):.2f}", spread)
    Console(width=100).print(table)


def cpu_seconds(words: list[str]) -> float:
    """What a process of this line takes of the processor, its own children included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *words], stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)


if __name__ == "__main__":
    main()
