"""SIGKILL for a batch or one of its workers at random moments; then it goes on to its end.

Nothing that was recorded may be lost on the way, nobody may stay behind, and in the end every
row must be what it is in a run that nobody disturbed. A batch is forked from a process that has
everything loaded: a kill costs a second, not the start of Python.
"""

import os
import signal
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from convexfs.batch.run import solve_files
from convexfs.batch.store.store import RESULTS, Store, same_results
from convexfs.errors import InputError

from .arrays import quiet
from .attack import Attack, Failure, Verdict, pick

PROBLEM = b'''"""RELIEF, capped: max w'z,  norm2(w) <= 1,  0 <= w <= cap."""

import cvxpy as cp

METHOD = "relief"
DATA = ["twonorm:n=60,seed=1", "iris"]
GRID = {"cap": [0.3, 0.4, 0.5, 1.0], "n_neighbors": [1, 2]}
SOLVERS = ["CLARABEL", "SCS"]


def build(z, cap):
    w = cp.Variable(len(z), name="w")
    return cp.Problem(cp.Maximize(w @ z), [cp.norm(w, 2) <= 1, w >= 0, w <= cap])
'''
#: Seconds after which processes that should be gone count as left behind.
PATIENCE = 10.0


@dataclass(frozen=True)
class Case:
    """The number of workers, and whom to kill when: shares of an undisturbed run's time."""

    jobs: int
    kills: tuple[tuple[str, float], ...]


class Undisturbed:
    """A run that was left alone: its folder, and the seconds it took."""

    def __init__(self) -> None:
        self._held = tempfile.TemporaryDirectory(prefix="fuzz-")
        self.file = Path(self._held.name) / "problem.py"
        self.folder = Path(self._held.name) / "undisturbed"
        self.file.write_bytes(PROBLEM)
        with quiet():
            solve_files([self.file], Path(self._held.name) / "warm")
        start = time.monotonic()
        _end(_batch(self.file, self.folder, 2))
        self.seconds = time.monotonic() - start


_undisturbed: list[Undisturbed] = []


def warm() -> None:
    """Make the run that all others are compared with."""
    _undisturbed[:] = [Undisturbed()]


def make(rng: np.random.Generator) -> Case:
    whom = ["parent", "parent", "worker"]
    kills = tuple((pick(rng, whom), float(0.6 * rng.random())) for _ in range(4))
    return Case(int(rng.integers(1, 4)), kills)


def judge(case: Case) -> Verdict:
    """Kill, go on, compare."""
    whole = _undisturbed[0]
    with tempfile.TemporaryDirectory(prefix="fuzz-", ignore_cleanup_errors=True) as name:
        out = Path(name) / "run"
        failures, tally = _disturbed(case, whole, out)
        left = _batch(whole.file, out, case.jobs)
        if code := _end(left):
            failures.append(Failure("cannot go on", f"exit code {code}"))
        else:
            failures += _changed_rows(whole.folder, out)
        evidence = {RESULTS: (out / RESULTS).read_bytes()} if failures and out.is_dir() else {}
    return Verdict(
        "rows differ" if failures else "all rows there", tuple(failures), tally, evidence
    )


def _disturbed(
    case: Case, whole: Undisturbed, out: Path
) -> tuple[list[Failure], Counter[tuple[str, str]]]:
    """Run the batch with its kills; what was recorded at one must be there at the next."""
    failures: list[Failure] = []
    tally: Counter[tuple[str, str]] = Counter()
    recorded: set[str] = set()
    running: int | None = None
    for who, when in case.kills:
        running = running or _batch(whole.file, out, case.jobs)
        time.sleep(when * whole.seconds)
        if not _lives(running):
            tally["SIGKILL of a", "batch that had ended"] += 1
            break
        workers = _children(running)
        if who == "worker" and workers:
            with suppress(ProcessLookupError):
                os.kill(workers[int(when * len(workers))], signal.SIGKILL)
            tally["SIGKILL of a", "worker"] += 1
            continue
        os.kill(running, signal.SIGKILL)
        _end(running)
        running = None
        tally["SIGKILL of a", "parent"] += 1
        if not _gone(workers):
            failures.append(Failure("left behind", "workers live on without their parent"))
        rows = _recorded(out)
        if recorded - rows:
            failures.append(Failure("rows lost", "recorded before a kill, and not after the next"))
        recorded = rows
    if running is not None:
        _end(running)
    return failures, tally


def _batch(file: Path, out: Path, jobs: int) -> int:
    """Start a batch in a process of its own and return its pid."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)
        # With a limit, one job has a worker of its own too.
        code = 1 if solve_files([file], out, jobs=jobs, time_limit=100.0).failed else 0
    finally:
        os._exit(code)


def _end(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _children(pid: int) -> list[int]:
    """Child processes, on Linux; elsewhere none are found, and only parents are killed."""
    found: list[int] = []
    with suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            found += map(int, (thread / "children").read_text().split())
    return found


def _gone(pids: list[int]) -> bool:
    deadline = time.monotonic() + PATIENCE
    while any(_lives(pid) for pid in pids):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def _recorded(out: Path) -> set[str]:
    try:
        with Store.read(out) as store:
            return set(store.finished())
    except InputError:  # it was killed before it made its folder
        return set()


def _changed_rows(whole: Path, out: Path) -> list[Failure]:
    differences = same_results(whole, out)
    if not differences:
        return []
    lost = [line for line in differences if "only in the first" in line]
    kind = "rows lost" if lost else "rows changed"
    words = (lost or differences)[0].split()
    return [Failure(kind, f"{words[0]}: {' '.join(words[2:])[:120]}")]


def reproducer(case: Case) -> dict[str, bytes]:
    """The problem file, and what was done; the moments are shares of a run's whole time."""
    done = "".join(f"after {when:.3f} of an undisturbed run: {who}\n" for who, when in case.kills)
    line = (
        f"{Path(sys.executable).name} -m convexfs solve problem.py --jobs {case.jobs} --out run\n"
    )
    said = f"{line}SIGKILL, then the same line again:\n{done}"
    return {"problem.py": PROBLEM, "kills.txt": said.encode()}


ATTACK = Attack(make, judge, reproducer, share=0.5, warm=warm)
