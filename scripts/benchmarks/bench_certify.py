"""Certify solutions of public instances, and count verdicts on right and on wrong ones.

    python bench_certify.py --set netlib --instances DIR [--solvers HIGHS,CLARABEL,SCS]
        [--count N] [--seconds LIMIT]

DIR holds a folder for every set (netlib, maros_meszaros, ...) and, for SDPLIB, sdplib_optima.csv.
Instances are solved at 1e-8 and certified at 1e-5, the smallest files first. A solution is right
if it is feasible and within 1e-6 of the best feasible objective of all solvers (SDPLIB: of the
published one, to its digits), wrong if it is off by more than ten tolerances, and near otherwise.
Instances of the infeasible sets have no solution, except greenbea, which is feasible. The ratio
is CPU time of certifying by that of compiling and solving.
"""

import argparse
import csv
import signal
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np

import convexfs
from convexfs.errors import ConvexfsError
from convexfs.records import INFEASIBLE, OPTIMAL
from convexfs.solving.backends import needs_of, suitable

SETS = ("netlib", "maros-meszaros", "cblib-exp", "cblib-socp", "cblib-pow", "sdplib",
        "netlib-infeasible", "liu-pataki")  # fmt: skip
INFEASIBLE_SETS, FEASIBLE_THERE = ("netlib-infeasible", "liu-pataki"), ("greenbea",)
ACCURACY, TOLERANCE, RIGHT = 1e-8, 1e-5, 1e-6
GROUPS, VERDICTS = ("right", "near", "wrong"), ("proven", "to rounding", "refuted", "undecided")


@dataclass(frozen=True)
class Row:
    """The verdict on one solver's solution of one instance."""

    instance: str
    solver: str
    status: str
    objective: float
    violation: float
    sense: int
    verdict: str
    ratio: float
    group: str = ""


class OutOfTime(Exception):
    """Raised when an instance takes longer than the limit."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise OutOfTime in the block after some seconds."""

    def stop(*_: object) -> None:
        raise OutOfTime

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def measured(name: str, problem: cp.Problem, solver: str, seconds: float) -> Row:
    start = time.process_time()
    solution = convexfs.solve(problem, solver=solver, tol=ACCURACY, time_limit=seconds)
    solved = time.process_time()
    certificate = convexfs.certify(problem, solution, tol=TOLERANCE)
    certified = time.process_time()
    return Row(
        instance=name,
        solver=solver,
        status=solution.status,
        objective=np.nan if solution.objective is None else solution.objective,
        violation=certificate.primal_residual,
        sense=1 if isinstance(problem.objective, cp.Minimize) else -1,
        verdict="to rounding" if certificate.to_rounding else certificate.verdict,
        ratio=(certified - solved) / (solved - start),
    )


def rows_of(path: Path, solvers: list[str], seconds: float) -> Iterator[Row]:
    """Yield a row for every solver that takes the instance and returns in time."""
    name = path.name.partition(".")[0]
    try:
        problem = convexfs.read_problem(path)
    except ConvexfsError as error:
        print(f"{name:18s}not read: {error}"[:80], flush=True)
        return
    taking = suitable(needs_of(problem))
    for solver in solvers:
        if solver not in taking:
            continue
        try:
            # Some solvers do not keep their time limit.
            with limited(3 * seconds):
                yield measured(name, problem, solver, seconds)
        except OutOfTime:
            print(f"{name:18s}{solver:9s}took over {3 * seconds:g} s", flush=True)
        except ConvexfsError as error:
            print(f"{name:18s}{solver:9s}{error}"[:80], flush=True)


def published(folder: Path) -> dict[str, tuple[float, float]]:
    """Return the published optimum of SDPLIB's instances, and half a unit of its last digit."""
    found = {}
    with (folder / "sdplib_optima.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            digits, _, exponent = row["optimum"].lower().partition("e")
            try:
                unit = 10.0 ** (int(exponent or 0) - len(digits.partition(".")[2]))
                found[row["problem"]] = float(row["optimum"]), unit / 2
            except ValueError:
                continue  # the instance is infeasible
    return found


def grouped(rows: list[Row], known: dict[str, tuple[float, float]], infeasible: bool) -> list[Row]:
    """Return the rows of one instance, with the group of each: right, near, wrong or no claim."""
    feasible = [row for row in rows if row.status == OPTIMAL and row.violation <= RIGHT]
    best = min((row.sense * row.objective for row in feasible), default=np.nan)
    return [replace(row, group=_group(row, best, known, infeasible)) for row in rows]


def _group(row: Row, best: float, known: dict[str, tuple[float, float]], infeasible: bool) -> str:
    if row.status.startswith(INFEASIBLE):
        return "right" if infeasible else "wrong" if best == best else "no claim"
    if row.status != OPTIMAL:
        return "no claim"
    if infeasible:
        return "wrong"
    truth, unit = known.get(row.instance, (row.sense * best, 0.0))
    off = max(abs(row.objective - truth) - unit, 0.0) / max(1.0, abs(truth))
    if off <= RIGHT and row.violation <= RIGHT:
        return "right"
    far = off > 10 * TOLERANCE or row.violation > 10 * TOLERANCE
    return "wrong" if far else "near"


def print_row(row: Row) -> None:
    print(
        f"{row.instance[:17]:18s}{row.solver[:8]:9s}{row.status[:12]:13s}{row.objective:13.7g} "
        f"{row.group:9s}{row.verdict:11s}{row.ratio:5.1f}",
        flush=True,
    )


def print_summary(rows: list[Row]) -> None:
    print("\n" + " " * 20 + "".join(f"{verdict:>13s}" for verdict in VERDICTS))
    counts = Counter((row.solver, row.group, row.verdict) for row in rows)
    for solver in dict.fromkeys(row.solver for row in rows):
        for group in GROUPS:
            cells = "".join(f"{counts[solver, group, verdict]:13d}" for verdict in VERDICTS)
            print(f"{solver:10s}{group:10s}{cells}")
    if rows:
        median, most = np.quantile([row.ratio for row in rows], [0.5, 0.95])
        print(f"certify / (compile + solve), CPU: median {median:.2f}, 95th percentile {most:.2f}")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add: Any = parser.add_argument
    add("--set", required=True, choices=SETS)
    add("--instances", required=True, type=Path, metavar="DIR")
    add("--solvers", default="HIGHS,CLARABEL,SCS", type=lambda text: text.split(","))
    add("--count", type=int, default=None, metavar="N", help="take the N smallest files [all]")
    add("--seconds", type=float, default=60.0, metavar="LIMIT", help="of a solve [60]")
    chosen = parser.parse_args()
    folder = chosen.instances / chosen.set.replace("-", "_")
    if not folder.is_dir():
        parser.error(f"{folder} is no folder: --instances is the folder that holds it")
    warnings.simplefilter("ignore")
    known = published(chosen.instances) if chosen.set == "sdplib" else {}
    found: list[Row] = []
    for path in sorted(folder.iterdir(), key=lambda each: each.stat().st_size)[: chosen.count]:
        rows = list(rows_of(path, chosen.solvers, chosen.seconds))
        infeasible = (
            chosen.set in INFEASIBLE_SETS and path.name.partition(".")[0] not in FEASIBLE_THERE
        )
        for row in grouped(rows, known, infeasible):
            print_row(row)
            found.append(row)
    print_summary(found)
    return 1 if any(row.group == "wrong" and row.verdict in VERDICTS[:2] for row in found) else 0


if __name__ == "__main__":
    sys.exit(main())
