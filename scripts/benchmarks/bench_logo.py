"""Logo's promises, measured: the convex step, the spiral to ten million features, peers.

Ratios are of two things in one run, in CPU seconds of one thread. Each part runs in
a process of its own, so that its peak memory is its own.

    python bench_logo.py                 # everything, about ten minutes
    python bench_logo.py step kernel     # some parts
    parts: step backends kernel spiral file peers cv

`peers` needs scikit-rebate:  .venv/bin/pip install skrebate
`file` writes 4.6 GB to the folder for temporary files, and removes them.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}
SIZES = (50, 500, 5_000, 30_000, 100_000, 1_000_000)
Row = tuple[str, str, str]


def cpu_seconds(run: Callable[[], Any], repeats: int = 1) -> tuple[float, Any]:
    """Least CPU time of a few runs, and the last result."""
    least, result = float("inf"), None
    for _ in range(repeats):
        start = time.process_time()
        result = run()
        least = min(least, time.process_time() - start)
    return least, result


def spiral(noise: int, dtype: Any = np.float32) -> tuple[np.ndarray, np.ndarray]:
    """The generator's spiral with noise made row by row: no second matrix in memory."""
    from convexfs.data.generators import spiral as arms

    data = arms()
    X = np.empty((data.n_samples, noise + 2), dtype)
    X[:, :2] = data.X
    rng = np.random.default_rng(0)
    for row in X:
        row[2:] = rng.standard_normal(noise, dtype=np.float32)
    return X, data.y


def first_margins(noise: int) -> np.ndarray:
    from convexfs.methods.logo.numbers import margin_matrix

    X, y = spiral(noise, np.float64)
    return margin_matrix(X, y, 2.0)


def memory(field: str) -> int:
    """A line of this process's memory account, in bytes."""
    return 1024 * int(Path("/proc/self/status").read_text().partition(f"{field}:")[2].split()[0])


@contextmanager
def watched_anonymous_memory():
    """Largest resident memory that is not pages of a file, sampled."""
    peak, done = [0], threading.Event()

    def watch() -> None:
        while not done.wait(0.02):
            peak[0] = max(peak[0], memory("RssAnon"))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield peak
    finally:
        done.set()
        watcher.join()


def warm_up() -> None:
    """Load or compile every kernel."""
    from convexfs import Logo

    X, y = spiral(1500)
    Logo(lam=1.0).fit(X, y)


def step() -> list[Row]:
    """Eq. 7 at first-iteration margins: native against cvxpy's solvers."""
    from convexfs import FORMULATIONS, solve
    from convexfs.methods.logo.native import logo_penalised, logo_penalised_gap

    row = FORMULATIONS["logo-penalised"]
    rows: list[Row] = []
    small = first_margins(500)
    logo_penalised(small)
    exact = logo_penalised(small, 1.0).objective or np.nan
    for solver in ("CLARABEL", "ECOS", "SCS"):
        answer = solve(row.build(small, 1.0), solver)
        apart = abs((answer.objective or np.nan) - exact) / exact
        rows.append((f"460 x 500: objective against {solver}, relative", f"{apart:.0e}", "1e-4"))
    Z = first_margins(5000)
    native, answer = cpu_seconds(lambda: logo_penalised(Z, 1.0, tol=1e-8), repeats=5)
    gap = logo_penalised_gap({"Z": Z}, {"lam": 1.0}, answer.primal) / (1 + answer.objective)
    rows.append(("460 x 5000: native relative gap", f"{gap:.0e}", "1e-8"))
    theirs, other = cpu_seconds(lambda: solve(row.build(Z, 1.0), "CLARABEL"))
    primal = {"w": np.maximum(other.primal["w"], 0)}
    gap = logo_penalised_gap({"Z": Z}, {"lam": 1.0}, primal) / (1 + other.objective)
    rows.append(("460 x 5000: native CPU seconds", f"{native:.2f}", ""))
    rows.append(("460 x 5000: CLARABEL CPU seconds (gap reached)", f"{theirs:.1f} ({gap:.0e})", ""))
    rows.append(("460 x 5000: times faster than CLARABEL", f"{theirs / native:.0f}", "50"))
    return rows


def backends() -> list[Row]:
    """The whole method with each cvxpy solver on restricted problems, 30,000 features."""
    from convexfs import Logo

    warm_up()
    X, y = spiral(30_000)
    rows: list[Row] = []
    for solver in ("native", "CLARABEL", "ECOS", "SCS"):
        seconds, model = cpu_seconds(lambda solver=solver: Logo(solver=solver).fit(X, y))
        found = f"{np.flatnonzero(model.weights_).tolist()} {model.certificate_}"
        rows.append((f"spiral + 30000 by {solver}: {seconds:.1f} CPU seconds", found, "ok"))
    return rows


def kernel() -> list[Row]:
    """Rates of the kernel of distances, and of sgemm beside it."""
    from convexfs.neighbors.kernels import feature_sums as kernels

    rng = np.random.default_rng(0)
    n, j, side = 460, 4096, 2048
    block, total = rng.standard_normal((n, j), dtype=np.float32), np.zeros((n, n))
    square = rng.standard_normal((side, side), dtype=np.float32)
    kernels.add_distances(block, total)
    gemm = 2 * side**3 / cpu_seconds(lambda: square @ square, repeats=5)[0]
    pairs, _ = cpu_seconds(lambda: kernels.add_distances(block, total), repeats=7)
    return [
        ("sgemm, GFLOP/s", f"{gemm / 1e9:.0f}", ""),
        ("distance kernel, 1e9 pairs x features / s", f"{n * n / 2 * j / pairs / 1e9:.1f}", ""),
    ]


def fit_spiral(noise: int) -> dict[str, Any]:
    """One certified fit (own process)."""
    from convexfs import Logo

    warm_up()
    X, y = spiral(noise)
    seconds, model = cpu_seconds(lambda: Logo(n_jobs=1).fit(X, y))
    return {
        "seconds": seconds,
        "peak": memory("VmHWM") / X.nbytes,
        "support": np.flatnonzero(model.weights_).tolist(),
        "weights": model.weights_[:2].tolist(),
        "certificate": str(model.certificate_),
        "ok": model.certificate_.ok,
    }


def distance_pass(noise: int) -> dict[str, Any]:
    """One pass of scipy over the same data (own process)."""
    from scipy.spatial.distance import pdist

    X, _ = spiral(noise)
    return {"seconds": cpu_seconds(lambda: pdist(X, "cityblock"))[0]}


def spiral_rows() -> list[Row]:
    """The same two features, whatever the number of others."""
    fits = {noise: in_own_process("fit_spiral", noise) for noise in SIZES}
    rows: list[Row] = []
    for noise, fit in fits.items():
        found = f"{fit['support']} {np.round(fit['weights'], 4)} {fit['certificate']}"
        rows.append((f"spiral + {noise}", found, "[0, 1], ok"))
    weights = np.array([fit["weights"] for fit in fits.values()])
    rows.append(
        ("weights, largest difference across sizes", f"{np.ptp(weights, 0).max():.0e}", "1e-3")
    )
    for noise in SIZES[2:]:
        each = 1e6 * fits[noise]["seconds"] / noise
        rows.append((f"spiral + {noise}: CPU microseconds a feature", f"{each:.0f}", "linear"))
    largest = fits[SIZES[-1]]
    scipy = in_own_process("distance_pass", SIZES[-1])["seconds"]
    rows.append(("a million: CPU seconds", f"{largest['seconds']:.1f}", f"{scipy:.1f} (pdist)"))
    rows.append(("a million: times faster than pdist", f"{scipy / largest['seconds']:.2f}", "1"))
    rows.append(("a million: peak memory / float32 data", f"{largest['peak']:.2f}", "1.30"))
    return rows


def write_int8(path: Path, noise: int) -> None:
    """The spiral and noise times 10, rounded; one row of the file at a time."""
    from convexfs.data.generators import spiral as arms

    data = arms()
    rng = np.random.default_rng(0)
    with path.open("wb") as file:
        for real in data.X:
            row = rng.standard_normal(noise + 2, dtype=np.float32) * 10
            row[:2] = 10 * real
            np.clip(np.rint(row), -127, 127).astype(np.int8).tofile(file)


def fit_file(path: str, noise: int) -> dict[str, Any]:
    """Fit a memory-mapped file (own process)."""
    from convexfs import Logo
    from convexfs.data.generators import spiral as arms

    warm_up()
    X = np.memmap(path, np.int8, "r", shape=(460, noise + 2))
    with watched_anonymous_memory() as peak:
        # Ten times the values have the same answer at ten times the price.
        seconds, model = cpu_seconds(lambda: Logo(lam=10.0).fit(X, arms().y))
    return {
        "seconds": seconds,
        "gigabytes": peak[0] / 1e9,
        "support": np.flatnonzero(model.weights_).tolist(),
        "certificate": str(model.certificate_),
    }


def file_rows(noise: int = 10_000_000) -> list[Row]:
    """Ten million features of one byte, from a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "spiral.int8"
        write_int8(path, noise)
        size = path.stat().st_size / 1e9
        fit = in_own_process("fit_file", str(path), noise)
    what = f"{noise} int8 features in a file of {size:.1f} GB"
    return [
        (what, f"{fit['support']} {fit['certificate']}", "[0, 1], ok"),
        (f"{what}: CPU seconds", f"{fit['seconds']:.0f}", ""),
        (f"{what}: resident GB, file pages aside", f"{fit['gigabytes']:.2f}", "3"),
    ]


def ranks(weights: np.ndarray) -> list[int]:
    """Of the two relevant features, 1 for the heaviest of all."""
    return sorted(int((weights > weights[j]).sum()) + 1 for j in (0, 1))


def peers(draws: int = 10) -> list[Row]:
    """scikit-rebate's ReliefF on the spiral with 5000 noise features.

    Whether ReliefF finds both depends on the noise, so more draws are counted; on
    these convexfs.Relief stands for it, which computes the same.
    """
    from skrebate import ReliefF  # pyright: ignore[reportMissingImports]

    from convexfs import Logo, Relief, load

    warm_up()
    data = load("spiral:noise=5000")
    ours, model = cpu_seconds(lambda: Logo(lam=1.0).fit(data.X, data.y), repeats=3)
    theirs, other = cpu_seconds(lambda: ReliefF(n_neighbors=10).fit(data.X, data.y))
    found = {"Logo": 0, "ReliefF": 0}
    for seed in range(draws):
        data = load(f"spiral:noise=5000,seed={seed}")
        relief = Relief(n_neighbors=10, miss="uniform").fit(data.scaled("minmax").X, data.y)
        found["Logo"] += ranks(Logo(lam=1.0).fit(data.X, data.y).weights_) == [1, 2]
        found["ReliefF"] += ranks(relief.margin_) == [1, 2]
    return [
        ("spiral + 5000: Logo, CPU seconds", f"{ours:.2f}", ""),
        ("spiral + 5000: times faster than scikit-rebate", f"{theirs / ours:.0f}", "50"),
        ("spiral + 5000: ranks of the two, Logo", str(ranks(model.weights_)), "[1, 2]"),
        (
            "spiral + 5000: ranks of the two, scikit-rebate",
            str(ranks(other.feature_importances_)),
            "not [1, 2]",
        ),
        (f"both first in {draws} draws of the noise: Logo", str(found["Logo"]), str(draws)),
        (f"both first in {draws} draws of the noise: ReliefF", str(found["ReliefF"]), "fewer"),
    ]


def cv() -> list[Row]:
    """LogoCV against a grid search over Logo: N = 200, J = 2000, nine pairs, ten folds."""
    from sklearn.model_selection import GridSearchCV

    from convexfs import Logo, LogoCV, load

    warm_up()
    data = load("spiral:noise=1998,n=100")
    model, grid = LogoCV(), {"sigma": LogoCV().sigmas, "lam": LogoCV().lams}
    naive, search = cpu_seconds(lambda: GridSearchCV(Logo(), grid, cv=10).fit(data.X, data.y))
    shared, _ = cpu_seconds(lambda: model.fit(data.X, data.y))
    best = search.best_score_ - model.best_score_
    return [
        ("LogoCV, 200 x 2000, nine pairs: share of the naive time", f"{shared / naive:.0%}", "50%"),
        ("LogoCV: best score, difference from the naive search", f"{best:.3f}", "0"),
    ]


def in_own_process(part: str, *arguments: Any) -> Any:
    command = [sys.executable, __file__, "--run", part, json.dumps(arguments)]
    environment = os.environ | ONE_THREAD
    ran = subprocess.run(command, capture_output=True, text=True, env=environment)
    if ran.returncode:
        sys.exit(f"{part} failed:\n{ran.stderr}")
    return json.loads(ran.stdout.splitlines()[-1])


#: What to measure; the large ones open a process for each fit.
PARTS: dict[str, Callable[[], list[Row]]] = {
    "step": lambda: in_own_process("step"),
    "backends": lambda: in_own_process("backends"),
    "kernel": lambda: in_own_process("kernel"),
    "spiral": spiral_rows,
    "file": file_rows,
    "peers": lambda: in_own_process("peers"),
    "cv": lambda: in_own_process("cv"),
}


def main(chosen: list[str]) -> None:
    console = Console(width=160)
    for name in chosen or list(PARTS):
        table = Table("what", "measured", "promised", title=name, title_justify="left")
        for row in PARTS[name]():
            table.add_row(*row)
        console.print(table)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--run"]:
        print(json.dumps(globals()[sys.argv[2]](*json.loads(sys.argv[3]))))
    else:
        main(sys.argv[1:])
