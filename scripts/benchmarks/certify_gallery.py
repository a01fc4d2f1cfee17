"""Certify what cvxpy returns for every example, by every installed open solver that takes it.

    python certify_gallery.py [--only lasso,cut] [--solvers SCS,ECOS] [--csv FILE]

``problem.solve()`` with the solver's own settings, then ``convexfs.certify(problem)``. Prints each
solution that is not proven, with the reason and its distance from the best proven bound of all
solvers. Exit code 1 if two proofs contradict each other.
"""

import argparse
import csv
import sys
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from gallery import EXAMPLES, Example

import convexfs
from convexfs.records import PROVEN, REFUTED, UNDECIDED, VERDICTS
from convexfs.solving.backends import BACKENDS, needs_of, suitable

FAILED = "failed"
#: Proven objectives that differ by more than this contradict each other.
APART = 1e-4


@dataclass(frozen=True)
class Row:
    """One answer and its verdict."""

    example: str
    solver: str
    verdict: str
    status: str
    reason: str
    seconds: float
    objective: float
    bound: float
    primal: float
    gap: float


def judged(name: str, example: Example, solver: str) -> Row:
    problem = example.problem
    nothing = (np.nan,) * 4
    try:
        problem.solve(solver=solver, **dict.fromkeys(example.asks, True))
    except Exception as error:  # solvers raise classes of their own
        said = " ".join(str(error).split())[:120]
        said = f"{type(error).__name__}: {said}"
        return Row(name, solver, FAILED, "error", said, 0.0, *nothing)
    start = time.process_time()
    certificate = convexfs.certify(problem)
    seconds = time.process_time() - start
    numbers = (certificate.objective, certificate.bound, certificate.primal_residual,
               certificate.gap)  # fmt: skip
    known = (np.nan if number is None else number for number in numbers)
    said = (str(problem.status), certificate.reason, seconds)
    return Row(name, solver, VERDICTS[certificate.ok], *said, *known)


def solvers_of(example: Example) -> list[str]:
    if example.asks:
        return [name for name in ("CLARABEL", "ECOS", "SCS") if BACKENDS[name].installed]
    return suitable(needs_of(example.problem))


def contradictions(rows: Iterable[Row]) -> list[str]:
    """Examples whose proven objectives differ, or that are proven to have one and to have none."""
    found, by_example = [], defaultdict(list)
    for row in rows:
        if row.verdict == PROVEN:
            by_example[row.example].append(row)
    for name, proven in by_example.items():
        claims = {row.status.removesuffix("_inaccurate") for row in proven}
        values = [row.objective for row in proven if np.isfinite(row.objective)]
        spread = max(values, default=0.0) - min(values, default=0.0)
        size = max((abs(value) for value in values), default=0.0)
        if spread > APART * max(size, 1e-2) or len(claims & {"infeasible", "unbounded"} | ({
            "optimal"} if values else set())) > 1:  # fmt: skip
            found.append(f"{name}: {sorted(claims)}, objectives {min(values)} .. {max(values)}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(EXAMPLES))
    parser.add_argument("--solvers", type=lambda text: set(text.split(",")), default=None)
    parser.add_argument("--csv", type=Path, help="write every row there")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    for name in arguments.only:
        solvers = solvers_of(EXAMPLES[name]())
        for solver in solvers if arguments.solvers is None else arguments.solvers & set(solvers):
            rows.append(judged(name, EXAMPLES[name](), solver))
            print(f"{name:26s}{solver:10s}{rows[-1].verdict:11s}{rows[-1].status:20s}"
                  f"{rows[-1].reason}", flush=True)  # fmt: skip
    _tables(rows)
    if arguments.csv is not None:
        with arguments.csv.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(asdict(rows[0])))
            writer.writeheader()
            writer.writerows(asdict(row) for row in rows)
    wrong = contradictions(rows)
    print("\n".join(["", *wrong]) if wrong else "\nno two proofs contradict each other")
    return 1 if wrong else 0


def _tables(rows: list[Row]) -> None:
    counts = Counter((row.solver, row.verdict) for row in rows)
    kinds = (*VERDICTS.values(), FAILED)
    print(f"\n{'solver':12s}" + "".join(f"{kind:>12s}" for kind in kinds))
    for solver in [*sorted({row.solver for row in rows})]:
        print(f"{solver:12s}" + "".join(f"{counts[solver, kind]:12d}" for kind in kinds))
    totals = Counter(row.verdict for row in rows)
    print(f"{'all':12s}" + "".join(f"{totals[kind]:12d}" for kind in kinds))
    best = {row.example: row.bound for row in rows if row.verdict == PROVEN}
    print("\nnot proven, and the distance of the objective from a proven one:")
    for row in rows:
        if row.verdict in (REFUTED, UNDECIDED):
            known = best.get(row.example, np.nan)
            off = abs(row.objective - known) / max(abs(known), 1e-9)
            print(f"  {row.example:26s}{row.solver:10s}{off:8.0e}  {row.reason}")


if __name__ == "__main__":
    sys.exit(main())
