"""How long the page of a large run takes to write and to open in a browser.

    python bench_report.py [rows]

Writes the page of a made-up run of 50,000 tasks and opens it in Chromium; exits 1 unless it
opens within 5 seconds and has less than 30 MB.
"""

import hashlib
import shutil
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from convexfs.batch.store.store import Store
from convexfs.study.page import gather

SOLVERS = ["native", "CLARABEL", "ECOS", "SCS", "HIGHS"]
FORMULATIONS = ["relief", "logo-penalised", "lmba", "llfs-compactness"]
MOST_SECONDS, MOST_BYTES = 5.0, 30e6


def make_run(folder: Path, count: int) -> None:
    """A run of so many tasks, with every outcome among them."""
    random = np.random.default_rng(0)
    primal = {"w": np.array([0.5, 0.0, 0.7]), "f": np.ones(3), "u": np.ones(3)}
    with Store(folder) as store:
        machine = store.environment({"python": "3.11", "packages": {"cvxpy": "1.9"}})
        # One transaction: rows that are made up need not survive a power cut one by one.
        with store._transaction():
            for number in range(count):
                _insert(store, number, machine, random, primal)


def _insert(
    store: Store, number: int, machine: int, random: np.random.Generator, primal: dict
) -> None:
    key = hashlib.sha256(str(number).encode()).hexdigest()
    instance, solver = divmod(number, len(SOLVERS))
    failed = random.random() < 0.02
    residual = 10.0 ** random.normal(-4 if failed and number % 2 else -8, 1)
    seconds = 10.0 ** random.normal(-2, 1, size=3)
    store._insert(
        "tasks",
        {
            "key": key, "problem": f"made_up_{instance % 4}", "method": "made up",
            "formulation": FORMULATIONS[instance % 4], "data": f"data:{instance % 50}",
            "data_sha256": "0" * 64, "hyper": {"lam": instance // 4 / 100}, "options": "{}",
            "solver": SOLVERS[solver], "solver_version": "1.0", "tol": 1e-6, "repeat": 0, "seed": 0,
            "status": "solver_error" if failed and number % 2 == 0 else "optimal",
            "failure": f"SolverError: gave up at iteration {number}" if failed else "",
            "objective": float(random.normal()), "ok": not failed, "n_attempts": 1,
            "build_seconds": seconds[0] / 10, "compile_seconds": seconds[1],
            "solve_seconds": seconds[2], "wall_seconds": seconds.sum(),
            "cpu_seconds": seconds.sum(), "environment": machine,
            "finished_utc": "2020-01-01T00:00:00.000+00:00",
        },
    )  # fmt: skip
    store._insert(
        "solutions",
        {
            "key": key, "step": 0, "status": "optimal", "primal_residual": residual,
            "dual_residual": residual / 2, "complementarity": residual / 3, "gap": residual / 4,
            "ok": not failed, "certificate_tol": 1e-5, "basis": "cone program", "primal": primal,
        },
    )  # fmt: skip


def opening_seconds(page: Path) -> tuple[float, float]:
    """Seconds until the tables can be used, and until every figure is drawn."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        tab = browser.new_page()
        start = time.perf_counter()
        tab.goto(page.absolute().as_uri())
        tab.wait_for_selector("html[data-drawn]", timeout=120_000)
        drawn = time.perf_counter() - start
        usable = tab.evaluate("performance.getEntriesByName('usable')[0].startTime / 1000")
        browser.close()
    return usable, drawn


def main() -> int:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 50_000
    with tempfile.TemporaryDirectory() as folder:
        make_run(Path(folder), count)
        start = time.perf_counter()
        page = gather(folder).write()
        print(f"{count} tasks: written in {time.perf_counter() - start:.1f} s", end=", ")
        size = page.stat().st_size
        usable, drawn = opening_seconds(page)
    print(f"{size / 1e6:.1f} MB; tables after {usable:.2f} s, all figures after {drawn:.2f} s")
    return 0 if drawn <= MOST_SECONDS and size <= MOST_BYTES else 1


if __name__ == "__main__":
    sys.exit(main())
