"""Batch runs under attack, and what a task costs beyond itself.

    python bench_safety.py array [--tasks 10000] [--shards 64] [--kills 5]
    python bench_safety.py damage [--count 200]
    python bench_safety.py mutate [--count 2000]
    python bench_safety.py overhead | resume [--tasks 100000] | parameters

``array`` kills every job of an array at random moments, requeues it and compares the merged table
with that of one process. Run it with LD_PRELOAD set to the library of tests/batch/refuse.c, and
REFUSED="maps and locks", to have a file system without memory maps and locks.
"""

import argparse
import contextlib
import gzip
import io
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np

import convexfs
from convexfs.batch.problem_files.load import load_problem_file
from convexfs.batch.run import solve_files
from convexfs.batch.store.merge import merge
from convexfs.batch.store.shards import Shard
from convexfs.batch.store.store import LOG, RESULTS, Store, same_results
from convexfs.batch.tasks import do, expand
from convexfs.cli import main as command
from convexfs.errors import ConvexfsError

CHEAP = """
METHOD = "relief"
DATA = ["iris"]
GRID = {{"n_neighbors": [1, 2, 3, 4, 5], "l1": [step / {steps} for step in range({steps})]}}
SOLVERS = ["native"]
"""
STUDY = """
METHOD = "relief"
DATA = ["iris"]
GRID = {"n_neighbors": [1, 2]}
SOLVERS = ["CLARABEL"]
"""


def cpu() -> float:
    """Return the CPU seconds of this process and its children."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def forked(work: Callable[[], int | None]) -> int:
    """Start a function in a child process; return its pid."""
    pid = os.fork()
    if pid:
        return pid
    code = 70  # a traceback
    with contextlib.suppress(BaseException):
        code = work() or 0
    os._exit(code)


def array(folder: Path, given: argparse.Namespace) -> None:
    """Kill every job of an array several times, merge, and compare with one process."""
    rng, file = random.Random(0), folder / "cheap.py"
    file.write_text(CHEAP.format(steps=given.tasks // 5))
    start = cpu()
    solve_files([file], folder / "whole")
    whole = cpu() - start
    queue = [(number, 0) for number in range(1, given.shards + 1)]
    ends, kills, start = Counter(), 0, cpu()
    while queue:
        rng.shuffle(queue)
        number, restarts = queue.pop()
        job = (str(file), "--jobs", "1", "--shard", f"{number}/{given.shards}")
        out = str(folder / "shards" / str(number))

        def run(words: tuple[str, ...] = job, out: str = out) -> int:
            sink = io.StringIO()
            with contextlib.redirect_stdout(sink), contextlib.redirect_stderr(sink):
                return command(["solve", *words, "--out", out])

        pid = forked(run)
        if restarts < given.kills:
            time.sleep(rng.uniform(0.0, given.longest))
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, rng.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGUSR1]))
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        ends[code] += 1
        if code:
            kills += 1
            queue.append((number, restarts + 1))
    made = merge(sorted((folder / "shards").iterdir()), folder / "merged")
    spent = cpu() - start
    journal = next(
        line for line in (folder / "shards" / "1" / LOG).read_text().splitlines() if RESULTS in line
    )
    differences = same_results(folder / "whole", folder / "merged")
    print(f"{given.tasks} tasks in one process: {whole:.1f} CPU s")
    print(f"{given.shards} jobs, {kills} stopped (exit codes {dict(ends)}): {spent:.1f} CPU s")
    print(journal.partition(": ")[2])
    print(f"{made.tasks} of {made.total} tasks merged, {len(differences)} differences")


def damaged(content: bytes, rng: random.Random) -> bytes:
    """Return bytes of which some are changed, missing, twice or at other places."""
    changed = bytearray(content)
    for _ in range(rng.choice([1, 2, 8, 64])):
        changed[rng.randrange(len(changed))] = rng.randrange(256)
    if rng.random() < 0.25:
        del changed[rng.randrange(len(changed)) :]
    if rng.random() < 0.25:
        place = rng.randrange(len(changed) or 1)
        changed[place:place] = changed[place : place + 200]
    return bytes(changed)


def quiet(*words: object) -> int:
    """Run a command in a child process; return its exit code, 70 for a traceback."""

    def run() -> int:
        sink = io.StringIO()
        with contextlib.redirect_stdout(sink), contextlib.redirect_stderr(sink):
            return command([str(word) for word in words])

    return os.waitstatus_to_exitcode(os.waitpid(forked(run), 0)[1])


def damage(folder: Path, given: argparse.Namespace) -> None:
    """Damage archives and stores; every command on them must end with one line."""
    file, rng, ends = folder / "study.py", random.Random(1), Counter()
    file.write_text(STUDY)
    quiet("compare", file, "--out", folder / "study", "--repeats", 1, "--solvers", "CLARABEL,SCS")
    quiet("archive", folder / "study", "--out", folder / "study.zip")
    archive, store = (folder / "study.zip").read_bytes(), (folder / "study" / RESULTS).read_bytes()
    for number in range(given.count):
        bad = folder / "bad.zip"
        bad.write_bytes(damaged(archive, rng))
        out = folder / f"again-{number}"
        ends["archive", quiet("compare", "--from", bad, "--out", out, "--jobs", 1)] += 1
        shutil.rmtree(out, ignore_errors=True)
        run = folder / "bad"
        run.mkdir(exist_ok=True)
        (run / RESULTS).write_bytes(damaged(store, rng))
        which = number % 4
        words = [
            ("report", run), ("export", run, "--to", folder / "t.csv"),
            ("certify", run, "--problem", file), ("merge", run, "--out", folder / "merged"),
        ][which]  # fmt: skip
        ends["store", quiet(*words)] += 1
        shutil.rmtree(run)
    for (what, code), count in sorted(ends.items()):
        print(f"{what}: exit code {code}: {count}")
    print(
        f"tracebacks or crashes: {sum(n for (_, code), n in ends.items() if code not in (0, 1, 2))}"
    )


def originals(folder: Path) -> Iterator[Path]:
    """Yield problem files of every format, plain and compressed, and solutions."""
    x = cp.Variable(12, name="x")
    matrix = np.random.default_rng(0).normal(size=(6, 12))
    problem = cp.Problem(cp.Minimize(cp.sum(x)), [matrix @ x >= 1, x >= 0])
    for ending in (".mps", ".lp", ".cbf", ".dat-s", ".npz", ".mps.gz", ".cbf.gz"):
        convexfs.write_problem(problem, folder / f"p{ending}")
        yield folder / f"p{ending}"
    values = np.linspace(0, 1, 12)
    np.savez_compressed(folder / "s.npz", x=values)
    (folder / "s.json").write_text(json.dumps({"x": values.tolist()}))
    (folder / "s.csv").write_text("x," + ",".join(map(str, values)) + "\n")
    yield from (folder / f"s.{ending}" for ending in ("npz", "json", "csv"))


def mutate(folder: Path, given: argparse.Namespace) -> None:
    """Mutate problem files and solutions; reading one is a problem, or one clear error."""
    from convexfs.cli.certify import read_solution

    rng, ends, examples = random.Random(2), Counter(), {}
    files = list(originals(folder))
    bad = folder / "bad"
    for number in range(given.count):
        source = files[number % len(files)]
        path = bad.with_name("bad" + source.name[1:])
        inner = gzip.decompress(source.read_bytes()) if source.suffix == ".gz" else None
        if inner is not None and rng.random() < 0.5:
            path.write_bytes(gzip.compress(damaged(inner, rng)))
        else:
            path.write_bytes(damaged(source.read_bytes(), rng))
        read = read_solution if source.name.startswith("s.") else convexfs.read_problem
        try:
            read(path)
            ends["read"] += 1
        except ConvexfsError:
            ends["refused"] += 1
        except Exception as error:
            ends["TRACEBACK"] += 1
            examples[source.name] = repr(error)
    print(dict(ends), examples)


def overhead(folder: Path, given: argparse.Namespace) -> None:
    """Print what a task costs end to end beyond itself, as a slope between two sizes of run."""
    file = folder / "small.py"
    file.write_text(STUDY.replace("[1, 2]", "list(range(1, 41))").replace("CLARABEL", "native"))
    for task in expand([load_problem_file(file)]):
        do(task)
    for jobs in (1, 2):
        spent, own = {}, {}
        for repeats in (25, 75):
            start = cpu()
            progress = solve_files([file], folder / f"{jobs}-{repeats}", jobs=jobs, repeats=repeats)
            # The workers' own clocks: two that run at once slow each other's tasks down.
            spent[repeats], own[repeats] = cpu() - start, progress.cpu_seconds
        whole, task = ((each[75] - each[25]) / (50 * 40) for each in (spent, own))
        print(f"jobs {jobs}: {1e3 * whole:.2f} ms a task, {1e3 * task:.2f} of it the task itself")


def resume(folder: Path, given: argparse.Namespace) -> None:
    """Print what resuming a finished run costs; the rows are copies of one."""
    file = folder / "cheap.py"
    file.write_text(CHEAP.format(steps=given.tasks // 5))
    problem = load_problem_file(file)
    tasks = expand([problem])
    solve_files([file], folder / "run", shard=Shard(1, 10_000))
    with Store(folder / "run") as store:
        store._db.execute("DELETE FROM shards")
        names = [name for (_, name, *_) in store._db.execute("PRAGMA table_info(tasks)").fetchall()]
        rows = ", ".join("?" if name == "key" else name for name in names)
        query = f"INSERT OR IGNORE INTO tasks SELECT {rows} FROM (SELECT * FROM tasks LIMIT 1)"
        store._db.execute("BEGIN")
        store._db.executemany(query, [(task.key,) for task in tasks])
        store._db.execute("COMMIT")
    del tasks
    start = cpu()
    progress = solve_files([file], folder / "run")
    print(f"{progress.resumed} of {progress.total} resumed: {cpu() - start:.1f} CPU s")


def parameters(folder: Path, given: argparse.Namespace) -> None:
    """Compare solve_batch on 1,000 values of a DPP problem with a loop written by hand."""
    values = np.geomspace(0.1, 10, 1000)
    for name, make in (("lasso 60 x 20", _lasso), ("LP 50 x 30", _linear)):
        problem = make()
        (parameter,) = problem.parameters()
        convexfs.solve_batch(problem, {"t": [1.0]}, solver="CLARABEL", verbose=False)
        start, clock = cpu(), time.monotonic()
        for value in values:
            parameter.value = value
            problem.solve(solver="CLARABEL", warm_start=False)
            np.array(problem.variables()[0].value)
        spent, waited = [cpu() - start], [time.monotonic() - clock]
        stored = [folder / f"{make.__name__}-{number}" for number in (1, 2)]
        ways: list[dict[str, Any]] = [
            {"certify": False}, {"out": stored[0]}, {"out": stored[1], "jobs": 2}
        ]  # fmt: skip
        for more in ways:
            start, clock = cpu(), time.monotonic()
            convexfs.solve_batch(make(), {"t": values}, solver="CLARABEL", verbose=False, **more)
            spent.append(cpu() - start)
            waited.append(time.monotonic() - clock)
        told = ("by hand", "certify=False", "certified and stored", "the same, two workers")
        rows = zip(told, spent, waited, strict=True)
        print(name, ", ".join(f"{t} {s:.2f} CPU s, {w:.2f} s" for t, s, w in rows))


def _lasso() -> cp.Problem:
    rng = np.random.default_rng(0)
    matrix, right = rng.normal(size=(60, 20)), rng.normal(size=60)
    t, x = cp.Parameter(nonneg=True, name="t"), cp.Variable(20, name="x")
    return cp.Problem(cp.Minimize(cp.sum_squares(matrix @ x - right) + t * cp.norm1(x)))


def _linear() -> cp.Problem:
    rng = np.random.default_rng(0)
    matrix, costs = rng.uniform(size=(50, 30)), rng.uniform(size=30)
    t, x = cp.Parameter(name="t"), cp.Variable(30, name="x")
    return cp.Problem(cp.Minimize(costs @ x), [matrix @ x >= t, x >= 0])


def main() -> None:
    parser = argparse.ArgumentParser(description="Batch runs under attack, and their cost.")
    studies = (array, damage, mutate, overhead, resume, parameters)
    parser.add_argument("study", choices=[each.__name__ for each in studies])
    parser.add_argument("--tasks", type=int, default=10_000)
    parser.add_argument("--shards", type=int, default=64)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--longest", type=float, default=1.5, help="seconds until a kill")
    parser.add_argument("--count", type=int, default=200)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=os.environ.get("REFUSED_FOLDER")) as made:
        {each.__name__: each for each in studies}[given.study](Path(made), given)


if __name__ == "__main__":
    sys.exit(main())
