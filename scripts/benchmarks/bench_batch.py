"""Batches under attack: the parent killed, workers killed, a solver that hangs.

Every line compares with an undisturbed run of the same tasks. Takes some minutes.
"""

import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from convexfs.batch.run import solve_files
from convexfs.batch.store.store import Store, same_results

KILLS = 20
#: 400 tasks of about 0.1 s each.
MANY = """
import time
import cvxpy as cp

METHOD = "relief"
DATA = ["wine", "iris"]
GRID = {"n_neighbors": list(range(1, 26)), "miss": ["nearest", "prior"], "l1": [0.0, 0.1]}
SOLVERS = ["CLARABEL", "SCS"]

def build(z, lam):
    time.sleep(0.1)
    w = cp.Variable(len(z), name="w")
    return cp.Problem(cp.Maximize(w @ (z - lam)), [cp.norm(w) <= 1, w >= 0])
"""
HANGING = MANY.replace(', "miss": ["nearest", "prior"], "l1": [0.0, 0.1]', "").replace(
    "def build(z, lam):",
    "def build(z, lam, n_neighbors):\n    time.sleep(1000 * (n_neighbors == 3))",
)


def line(file: Path, out: Path) -> list[str]:
    return [sys.executable, "-m", "convexfs", "solve", str(file), "--jobs", "2", "--out", str(out)]


def start(file: Path, out: Path) -> subprocess.Popen:
    quiet = subprocess.DEVNULL
    return subprocess.Popen(line(file, out), stdout=quiet, stderr=quiet)


def children(pid: int) -> list[int]:
    listed = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(word) for word in listed.read_text().split()] if listed.exists() else []


def kill_the_parent(file: Path, out: Path, rng: random.Random) -> int:
    """Kill a run at random moments, resuming each time; return how often it was hit alive."""
    hits = 0
    for _ in range(KILLS):
        process = start(file, out)
        time.sleep(rng.uniform(1.0, 3.5))
        hits += process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.wait()
    start(file, out).wait()
    return hits


def kill_workers(file: Path, out: Path, rng: random.Random) -> int:
    """Kill a random worker every second until the run ends; return how many."""
    process, killed = start(file, out), 0
    while process.poll() is None:
        time.sleep(1.0)
        workers = children(process.pid)
        if workers:
            os.kill(rng.choice(workers), signal.SIGKILL)
            killed += 1
    return killed


def rows(out: Path) -> int:
    with Store.read(out) as store:
        return len(store.tasks())


def verdict(first: Path, second: Path) -> str:
    differences = same_results(first, second)
    return "equal" if not differences else f"{len(differences)} differences: {differences[0]}"


def dask_run(file: Path, out: Path) -> None:
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        solve_files([file], out, executor=client.get_executor(pure=False))


def hang(folder: Path) -> tuple[float, int]:
    """Longest a hanging task lived beyond its limit, and tasks solved beside them."""
    file, limit = folder / "hanging.py", 5.0
    file.write_text(HANGING)
    solve_files([file], folder / "hanging", jobs=2, time_limit=limit)
    with Store.read(folder / "hanging") as store:
        tasks = store.tasks()
    ended = list(zip(tasks["status"], tasks["wall_seconds"], strict=True))
    longest = max(seconds for status, seconds in ended if status == "timeout")
    return longest - limit, sum(status == "optimal" for status, _ in ended)


def main() -> None:
    rng, folder = random.Random(0), Path(tempfile.mkdtemp())
    file = folder / "many.py"
    file.write_text(MANY)
    table = Table("what", "measured", "promised")
    console = Console(width=110)
    with console.status("an undisturbed run") as status:
        solve_files([file], folder / "whole", jobs=2)
        table.add_row("tasks of the undisturbed run", str(rows(folder / "whole")), "400")
        status.update("jobs=1")
        solve_files([file], folder / "one")
        table.add_row("jobs=1 and jobs=2", verdict(folder / "whole", folder / "one"), "equal")
        status.update("a dask cluster")
        dask_run(file, folder / "dask")
        table.add_row("dask LocalCluster", verdict(folder / "whole", folder / "dask"), "equal")
        status.update("killing the parent")
        hits = kill_the_parent(file, folder / "parent", rng)
        what = f"parent killed {hits} times while running (of {KILLS}), resumed"
        table.add_row(what, verdict(folder / "whole", folder / "parent"), "equal")
        status.update("killing workers")
        killed = kill_workers(file, folder / "workers", rng)
        what = f"a worker killed every second, {killed} in all"
        table.add_row(what, verdict(folder / "whole", folder / "workers"), "equal")
        status.update("a solver that hangs")
        late, done = hang(folder)
        table.add_row("seconds a hanging task lived beyond its limit", f"{late:.2f}", "2")
        table.add_row("tasks solved beside 4 hanging ones", str(done), "96")
    console.print(table)


if __name__ == "__main__":
    stopper = threading.Timer(1800, lambda: os._exit(1))
    stopper.daemon = True
    stopper.start()
    main()
