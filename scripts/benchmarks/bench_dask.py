"""Logo on a dask array of very many features over two worker processes, against numpy.

    python bench_dask.py [--features 1000000] [--samples 100] [--estimator Logo]

Prints whether features and weights are those of numpy, the certificate over all features,
bytes that travelled, and the peak memory of each process; then the same again with a worker
killed midway. The data are made on the workers, and once more for numpy, in a process of
its own.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import convexfs
from convexfs.data.dask_columns import DaskColumns

CHUNK = 25_000


def part(block_id: Any = None, n: int = 0) -> np.ndarray:
    """Columns of noise; the first chunk begins with fifteen that follow the class."""
    X = np.random.default_rng(block_id[1]).standard_normal((n, CHUNK), dtype=np.float32)
    if block_id[1] == 0:
        X[:, :15] += 1.2 * (np.arange(n) % 2)[:, None]
    return X


def estimator(name: str) -> Any:
    more = {"n_neighbors": 10, "n_features_to_select": 15} if name == "Relief" else {}
    return getattr(convexfs, name)(**more)


def peak() -> float:
    """Return the most memory this process has had, in MB."""
    # Not ru_maxrss, which a process inherits from the one that started it.
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def by_numpy(name: str, n: int, j: int, out: str) -> None:
    X = np.empty((n, j), np.float32)
    for number in range(j // CHUNK):
        X[:, number * CHUNK : (number + 1) * CHUNK] = part((0, number), n)
    began = time.process_time()
    fitted = estimator(name).fit(X, np.arange(n) % 2)
    seconds = time.process_time() - began
    np.save(out, fitted.weights_)
    print(json.dumps([seconds, peak(), str(fitted.certificate_)]))


def on_dask(name: str, n: int, j: int, expected: np.ndarray, kill_at: int) -> None:
    import dask.array as da
    from distributed import Client, LocalCluster

    options: dict[str, Any] = {"n_workers": 2, "threads_per_worker": 1, "memory_limit": 0}
    with LocalCluster(dashboard_address=":0", **options) as cluster, Client(cluster) as own:
        client: Any = own
        chunks = ((n,), (CHUNK,) * (j // CHUNK))
        source = DaskColumns(da.map_blocks(part, n=n, chunks=chunks, dtype=np.float32), client)
        held = [len(own) * CHUNK * n * 4 / 1e6 for own in source._homes(source._chunks).values()]
        started = [*client.run(peak).values()]
        kill_midway(source, client, kill_at)
        began = time.perf_counter()
        fitted = estimator(name).fit(source, np.arange(n) % 2)
        seconds = time.perf_counter() - began
        peaks = [*client.run(peak).values()]
    weights = fitted.weights_
    same = np.array_equal(np.flatnonzero(weights), np.flatnonzero(expected))
    difference = np.abs(weights - expected).max()
    moved = [f"{count / 1e6:.1f} MB" for count in (source.bytes_from, source.bytes_to)]
    print(f"  weights differ from numpy's by {difference:.1e} at most, same features: {same}")
    print(f"  certificate {fitted.certificate_}")
    print(f"  {seconds:.0f} s; {moved[0]} from workers, {moved[1]} to them, of {n * j * 4e-6:.0f}")
    print(
        f"  MB of data on workers {rounded(held)}, peaks before the fit {rounded(started)}, after"
    )
    print(f"  it {rounded(peaks)}, of the client {peak():.0f}")


def rounded(sizes: list[float]) -> str:
    return ", ".join(f"{size:.0f}" for size in sizes)


def kill_midway(source: DaskColumns, client: Any, kill_at: int) -> None:
    """Have a worker killed before one of the passes; 0: none."""
    passes, count = source._submitted, iter(range(1, 10_000))

    def deadly(*arguments: Any) -> list[Any]:
        if next(count) == kill_at:
            home = next(iter(source._homes(source._chunks)))
            os.kill(client.run(os.getpid, workers=[home])[home], signal.SIGKILL)
            print(f"  a worker killed before pass {kill_at}")
        return passes(*arguments)

    vars(source)["_submitted"] = deadly


def main() -> None:
    parser = argparse.ArgumentParser(description="Logo on a dask array, against numpy.")
    parser.add_argument("--features", type=int, default=1_000_000)
    parser.add_argument("--samples", type=int, default=100)
    parser.add_argument("--estimator", default="Logo", choices=["Logo", "Relief"])
    parser.add_argument("--numpy", metavar="FILE")
    given = parser.parse_args()
    size = given.estimator, given.samples, given.features
    if given.numpy:
        by_numpy(*size, given.numpy)
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "weights.npy"
        line = [sys.executable, *sys.argv, "--numpy", str(file)]
        told = subprocess.run(line, capture_output=True, text=True, check=True).stdout
        seconds, most, certificate = json.loads(told.splitlines()[-1])
        expected = np.load(file)
    print(f"{given.estimator}, {given.samples} x {given.features}, float32")
    print(f"numpy: {seconds:.1f} s CPU, peak {most:.0f} MB, certificate {certificate}")
    print("two workers:")
    on_dask(*size, expected, kill_at=0)
    print("two workers, one killed:")
    on_dask(*size, expected, kill_at=5)


if __name__ == "__main__":
    main()
