"""Lmba's promises, measured: the monolithic program's value and time, size, rankings.

Ratios are of two things in one run. The monolithic program is the formulation
through cvxpy and HiGHS, building and compiling included.
"""

import time
import warnings

import numpy as np
from rich.console import Console
from rich.table import Table

from convexfs import FORMULATIONS, Lmba, load, solve
from convexfs.methods.lmba.native import lmba_simplex as native
from convexfs.methods.lmba.native import lmba_simplex_gap
from convexfs.methods.lmba.problem import lmba_simplex

lmba_problem = FORMULATIONS["lmba-simplex"].numbers

SEEDS = 20


def wdbc_rows(n: int):
    data = load("wdbc").scaled()
    rows = np.random.default_rng(0).permutation(len(data.X))[:n]
    return lmba_problem(data.X[rows], data.y[rows])


def against_the_whole_program(table: Table, n: int) -> None:
    values, hyper = wdbc_rows(n)
    native(**values, **hyper)
    start = time.perf_counter()
    ours = native(**values, **hyper)
    own_seconds = time.perf_counter() - start
    start = time.perf_counter()
    whole = solve(lmba_simplex(**values, **hyper), "HIGHS", tol=1e-7)
    seconds = time.perf_counter() - start
    assert ours.objective is not None
    assert whole.objective is not None
    difference = abs(ours.objective / whole.objective - 1)
    table.add_row(f"wdbc, N = {n}: difference from HiGHS", f"{difference:.0e}", "1e-6")
    faster = f"{seconds / own_seconds:.0f}"
    table.add_row(f"wdbc, N = {n}: times faster than HiGHS", faster, "10" if n == 200 else "")


def large(table: Table, spec: str) -> None:
    data = load(spec).scaled()
    values, hyper = lmba_problem(data.X, data.y)
    start = time.perf_counter()
    solution = native(**values, **hyper)
    seconds = time.perf_counter() - start
    assert solution.objective is not None
    gap = lmba_simplex_gap(values, hyper, solution.primal) / solution.objective
    table.add_row(f"{spec}: relative gap", f"{abs(gap):.0e}", "1e-4")
    table.add_row(f"{spec}: seconds", f"{seconds:.0f}", "minutes")


def first_in(spec: str, relevant: set[int], scale: str, **options) -> int:
    """Seeds in which the relevant features come first, columns permuted, ties at random."""
    count = 0
    for seed in range(SEEDS):
        data = load(spec.format(seed=seed)).scaled(scale)
        rng = np.random.default_rng(seed)
        order = rng.permutation(data.n_features)
        model = Lmba(random_state=seed, **options).fit(data.X[:, order], data.y)
        weights = model.weights_ + 1e-9 * rng.random(data.n_features)
        count += set(order[np.argsort(-weights)[: len(relevant)]].tolist()) == relevant
    return count


def rankings(table: Table) -> None:
    table.add_row("iris: {3, 4} first", f"{first_in('iris', {2, 3}, 'zscore')} of {SEEDS}", "all")
    bits = first_in("sign_bits:seed={seed}", {0, 1}, "zscore")
    table.add_row("sign_bits: {1, 2} first", f"{bits} of {SEEDS}", "all")
    # The paper's own setting: its k and c, the data as they are, weights in a box.
    count = first_in("six_gaussians:seed={seed}", set(range(6)), "none", form="box")
    table.add_row("six_gaussians, as printed", f"{count} of {SEEDS}", "8 of 10")
    for scale in ("minmax", "zscore"):
        for options in ({"c": 1.0}, {"c": 0.1}, {"form": "box", "c": 0.1}, {"form": "gradient"}):
            count = first_in("six_gaussians:seed={seed}", set(range(6)), scale, **options)
            table.add_row(f"six_gaussians, {scale}, {options}", f"{count} of {SEEDS}", "8 of 10")


def main() -> None:
    warnings.simplefilter("ignore")
    table = Table("what", "measured", "promised")
    for n in (100, 200):
        against_the_whole_program(table, n)
    for spec in ("twonorm:n=2000,noise=10", "waveform:n=2000,noise=10"):
        large(table, spec)
    rankings(table)
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
