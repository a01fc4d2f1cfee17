"""RELIEF's promises, measured: agreement and speed against scikit-rebate, growth, memory.

Ratios are of two things in one run; seconds are those of the processor, on one thread. Memory is
what data and fit together add to a process that has already compiled the kernels, each in a
process of its own.
Needs scikit-rebate:  .venv/bin/pip install skrebate
"""

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from convexfs import Relief, load

REPEATS = 5
#: Features grow, then samples: every pair of samples differs in every feature once.
SIZES = ((200, 1000), (200, 10_000), (200, 100_000), (1000, 500), (2000, 500), (5000, 500))


def seconds(run) -> float:
    """Best of a few, after a warm-up that compiles or loads the kernels."""
    run()
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return min(times)


def sample(n: int, j: int) -> tuple[np.ndarray, np.ndarray]:
    X, y = np.random.default_rng(0).standard_normal((n, j)), np.arange(n) % 2
    X[:, :10] += y[:, None]
    return X, y


def rebate_margin(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    from skrebate import ReliefF  # pyright: ignore[reportMissingImports]

    return ReliefF(n_neighbors=10).fit(X, y).feature_importances_


def agreement(name: str) -> float:
    """Largest difference from scikit-rebate, after the one factor between the two scales."""
    data = load(name).scaled("minmax")
    ours = Relief(n_neighbors=10, miss="uniform").fit(data.X, data.y).margin_
    theirs = rebate_margin(data.X, data.y)
    return float(np.abs(ours * (theirs @ ours) / (ours @ ours) - theirs).max())


def peak_bytes() -> int:
    """High-water mark of this process; getrusage would start at the parent's."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.partition("VmHWM:")[2].split()[0])


def measure_memory(n: int, j: int) -> None:
    """Print the resident bytes that data and fit added, the peak and the seconds (own process)."""
    Relief().fit(*sample(20, 12))
    before = peak_bytes()
    X, y = sample(n, j)
    start = time.process_time()
    Relief(n_neighbors=10).fit(X, y)
    took = time.process_time() - start
    print(peak_bytes() - before, peak_bytes(), took)


def memory(n: int, j: int) -> tuple[float, float, float]:
    ran = subprocess.run(
        [sys.executable, __file__, str(n), str(j)], capture_output=True, text=True, check=True
    )
    added, peak, took = map(float, ran.stdout.split())
    return added, peak, took


def main() -> None:
    table = Table("what", "measured", "promised")
    for name in ("wdbc", "wine"):
        what = f"largest difference from scikit-rebate, k = 10, {name}"
        table.add_row(what, f"{agreement(name):.0e}", "1e-10")
    X, y = sample(200, 2000)
    ours = seconds(lambda: Relief(n_neighbors=10).fit(X, y))
    start = time.process_time()
    rebate_margin(X, y)
    theirs = time.process_time() - start
    table.add_row("200 x 2000: times faster than scikit-rebate", f"{theirs / ours:.0f}", "15")
    for n, j in SIZES:
        X, y = sample(n, j)
        once = seconds(lambda X=X, y=y: Relief(n_neighbors=10).fit(X, y))
        rate = n * n / 2 * j / once / 1e9
        table.add_row(f"{n} x {j}: billion differences a second", f"{rate:.1f}", "3")
    for n, j in ((200, 20_000), (2000, 2000)):
        added, _, _ = memory(n, j)
        share = added / (8 * (2 * n * j + n * n))
        table.add_row(f"{n} x {j}: peak memory / (2 data + N x N)", f"{share:.2f}", "1.00")
    _, peak, took = memory(20_000, 200)
    table.add_row("20,000 x 200, 10 neighbours: peak memory in GB", f"{peak / 1e9:.2f}", "1.00")
    table.add_row("20,000 x 200, 10 neighbours: seconds", f"{took:.1f}", "finishes")
    Console(width=100).print(table)


if __name__ == "__main__":
    if len(sys.argv) == 3:
        measure_memory(int(sys.argv[1]), int(sys.argv[2]))
    else:
        main()
