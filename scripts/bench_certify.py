"""Processor time of certify against that of compiling and solving, over problems of every class.

    python scripts/bench_certify.py [--repeats 5]

Prints a row for each problem, solver and way to certify, and the medians: over all, and where
the solver's own multipliers served.
"""

import argparse
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

import convexfs
from convexfs.records import Certificate

RNG = np.random.default_rng(0)


def lasso() -> cp.Problem:
    X, w = RNG.normal(size=(300, 100)), cp.Variable(100, name="w")
    return cp.Problem(cp.Minimize(cp.sum_squares(X @ w - X[:, 0]) + 20 * cp.norm1(w)))


def support_vectors() -> cp.Problem:
    X, w = RNG.normal(size=(500, 30)), cp.Variable(30, name="w")
    y = np.sign(X[:, 0] + 0.3 * RNG.normal(size=500))
    hinge = cp.sum(cp.pos(1 - cp.multiply(y, X @ w)))
    return cp.Problem(cp.Minimize(hinge + 5 * cp.sum_squares(w)))


def logistic() -> cp.Problem:
    X, w = RNG.normal(size=(300, 20)), cp.Variable(20, name="w")
    y = np.sign(X[:, 0] + 0.3 * RNG.normal(size=300))
    loss = cp.sum(cp.logistic(-cp.multiply(y, X @ w)))
    return cp.Problem(cp.Minimize(loss + 5 * cp.norm1(w)))


def sparse_linear() -> cp.Problem:
    A, x = sp.random_array((600, 400), density=0.02, rng=RNG), cp.Variable(400, name="x")
    gain = RNG.uniform(0.5, 1, 400)
    rows: list[Any] = [A @ x <= 1, x <= 1, x >= 0]
    return cp.Problem(cp.Maximize(gain @ x), rows)


def tiny_linear() -> cp.Problem:
    x = cp.Variable(2, name="x")
    rows: list[Any] = [np.array([[1.0, 2.0], [3.0, 1.0]]) @ x <= [4.0, 6.0], x >= 0]
    return cp.Problem(cp.Maximize(np.array([3.0, 2.0]) @ x), rows)


def transport() -> cp.Problem:
    flow = cp.Variable((15, 20), name="flow")
    rows: list[Any] = [cp.sum(flow, axis=1) <= 20, cp.sum(flow, axis=0) >= 10, flow >= 0]
    return cp.Problem(cp.Minimize(cp.sum(cp.multiply(RNG.uniform(1, 5, (15, 20)), flow))), rows)


def quadratic() -> cp.Problem:
    F, x = RNG.normal(size=(60, 60)), cp.Variable(60, name="x")
    rows: list[Any] = [RNG.normal(size=(30, 60)) @ x <= 1, x >= -1]
    form = cp.quad_form(x, F.T @ F / 60, assume_PSD=True)
    return cp.Problem(cp.Minimize(form + RNG.normal(size=60) @ x), rows)


def portfolio() -> cp.Problem:
    F, w = RNG.normal(size=(200, 15)), cp.Variable(200, name="w")
    risk = cp.sum_squares(F.T @ w) + cp.sum_squares(w)
    rows: list[Any] = [cp.sum(w) == 1, w >= 0]
    return cp.Problem(cp.Maximize(RNG.normal(size=200) @ w - risk), rows)


def ball() -> cp.Problem:
    w = cp.Variable(200, name="w")
    return cp.Problem(cp.Maximize(RNG.normal(size=200) @ w), [cp.norm(w) <= 1, w >= 0])


def max_cut() -> cp.Problem:
    C, X = RNG.normal(size=(20, 20)), cp.Variable((20, 20), name="X", PSD=True)
    return cp.Problem(cp.Minimize(cp.trace((C + C.T) @ X)), [cp.diag(X) == 1])


def entropy() -> cp.Problem:
    x = cp.Variable(60, name="x")
    rows: list[Any] = [cp.sum(x) == 1, RNG.normal(size=(5, 60)) @ x <= 0.2]
    return cp.Problem(cp.Maximize(cp.sum(cp.entr(x))), rows)


def powers() -> cp.Problem:
    x = cp.Variable(20, name="x", nonneg=True)
    gain = RNG.uniform(1, 2, 20) @ cp.power(x, 0.4, approx=False)
    rows: list[Any] = [cp.sum(x) <= 1]
    return cp.Problem(cp.Maximize(gain), rows)


def knapsack() -> cp.Problem:
    x = cp.Variable(12, name="x", boolean=True)
    rows: list[Any] = [RNG.integers(5, 30, (2, 12)) @ x <= 90]
    return cp.Problem(cp.Maximize(RNG.integers(5, 30, 12) @ x), rows)


CASES: dict[Callable[[], cp.Problem], tuple[str, ...]] = {
    tiny_linear: ("HIGHS", "CLARABEL"),
    transport: ("HIGHS", "CLARABEL"),
    sparse_linear: ("HIGHS", "CLARABEL"),
    quadratic: ("CLARABEL", "OSQP", "PIQP"),
    portfolio: ("CLARABEL", "OSQP"),
    lasso: ("CLARABEL", "OSQP"),
    support_vectors: ("CLARABEL", "OSQP"),
    ball: ("CLARABEL", "ECOS", "SCS"),
    logistic: ("CLARABEL", "ECOS", "SCS"),
    entropy: ("CLARABEL", "ECOS"),
    powers: ("CLARABEL", "SCS"),
    max_cut: ("CLARABEL", "SCS"),
    knapsack: ("HIGHS",),
}


@dataclass(frozen=True)
class Measured:
    """Seconds of one way to certify one answer."""

    problem: str
    solver: str
    way: str
    solving: float
    judging: float
    certificate: Certificate

    @property
    def ratio(self) -> float:
        return self.judging / self.solving


def measured(build: Callable[[], cp.Problem], solver: str, repeats: int) -> list[Measured]:
    """Certify what convexfs.solve returned, and what problem.solve left; the middle of some."""
    records, left = [], []
    for _ in range(repeats):
        problem = build()
        start = time.process_time()
        solution = convexfs.solve(problem, solver)
        solved = time.process_time()
        certificate = convexfs.certify(problem, solution)
        judged = time.process_time()
        names = (build.__name__, solver)
        spans = (solved - start, judged - solved)
        records.append(Measured(*names, "solution", *spans, certificate))
        again = build()
        start = time.process_time()
        again.solve(solver=solver)
        solved = time.process_time()
        certificate = convexfs.certify(again)
        spans = (solved - start, time.process_time() - solved)
        left.append(Measured(*names, "problem", *spans, certificate))
    return [sorted(found, key=lambda each: each.ratio)[repeats // 2] for found in (records, left)]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    warnings.simplefilter("ignore")
    rows: list[Measured] = []
    print(f"{'problem':16s}{'solver':10s}{'judged by':10s}{'solve ms':>9s}{'ratio':>7s}  verdict")
    for build, solvers in CASES.items():
        for solver in solvers:
            for row in measured(build, solver, repeats):
                rows.append(row)
                print(
                    f"{row.problem:16s}{row.solver:10s}{row.way:10s}{1e3 * row.solving:9.1f}"
                    f"{row.ratio:7.2f}  {row.certificate}, {row.certificate.by}",
                    flush=True,
                )
    own = [row.ratio for row in rows if "solver's" in row.certificate.by]
    print(f"median of {len(rows)}: {statistics.median(row.ratio for row in rows):.2f}")
    print(f"median of {len(own)} by the solver's own multipliers: {statistics.median(own):.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
