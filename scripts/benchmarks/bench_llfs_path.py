"""LLFS through cvxpy backends: the same answers as the native solver's, and how fast.

    python bench_llfs_path.py [--data DIR] [--solvers A,B] [--forms F,G]
                                      [--sets wdbc,wine] [--points 100] [--fit]

DIR holds sonar.npz; without it its rows are left out. "same": U1 within 1e-6, relatively,
of the native solver's at the same point and beta (but beta = 1, where U1 is that of the
maximiser of (6)). Every pair that is worse by more than 1e-4 is listed with its cause:
other local optimum (its promise is within the tolerance) or not converged. Times are CPU
seconds: trust the ratios.
"""

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

from convexfs import LLFS, load
from convexfs.methods.base.formulation import Solving
from convexfs.methods.llfs.native.local_path import local_path, local_point
from convexfs.methods.llfs.numbers import checked_max_features, local_values
from convexfs.methods.llfs.relaxation import path_solver, relaxed_path
from convexfs.methods.llfs.settings import PointSettings

BETAS = np.linspace(0, 1, 21)
SETS = ("wdbc", "wine", "iris", "subclasses:noise=20", "sonar")
SOLVERS = ("CLARABEL", "ECOS", "PIQP", "QOCO", "SCS", "OSQP", "HIGHS")
FORMS = ("compactness", "bisection")
SAME, LISTED = 1e-6, 1e-4


def read(name, folder):
    """Standardised samples and codes; of sonar, as in the paper, 100 training rows."""
    if name != "sonar":
        data = load(name).scaled()
        return data.X, data.y
    stored = np.load(Path(folder) / "sonar.npz", allow_pickle=True)
    rows = np.random.default_rng(0).permutation(len(stored["y"]))[:100]
    X, y = stored["X"][rows], np.unique(stored["y"], return_inverse=True)[1][rows]
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def synthetic(n=100, m=130):
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    return rng.standard_normal((n, m)) + 1.0 * y[:, None] * (np.arange(m) < 5), y


def cpu_of(work):
    start = time.process_time()
    answer = work()
    return answer, time.process_time() - start


def native(values, alpha):
    return local_path(local_point(**values, max_features=alpha), BETAS)


def agreement(name, X, y, solver, form, n_points):
    """One line a data set, solver and form; returns the counts."""
    alpha = checked_max_features(None, X.shape[1])
    points = np.unique(np.linspace(0, len(y) - 1, n_points).astype(int))
    settings = PointSettings(
        max_features=alpha, betas=BETAS, form=form, solving=Solving(solver=solver)
    )
    counts, worst, gap, programs, failures, listed = np.zeros(3, dtype=int), 0.0, 0.0, 0, 0, []
    cpu = 0.0
    for i in points.tolist():
        values = local_values(X, y, i, alpha)
        known = native(values, alpha)
        path: Any
        path, seconds = cpu_of(lambda v=values: relaxed_path(v, settings))
        change = (path.u1 / known.u1 - 1)[:-1]
        counts += [(np.abs(change) <= SAME).sum(), (change < -SAME).sum(), (change > SAME).sum()]
        worst, gap = max(worst, change.max()), max(gap, path.max_residual)
        programs, failures = programs + path.iterations.sum(), failures + path.failures.sum()
        cpu += seconds
        listed += [(i, b, change[b], path.residual[b]) for b in np.flatnonzero(change > LISTED)]
        listed += [(i, b, change[b], path.residual[b]) for b in np.flatnonzero(change < -LISTED)]
    same, better, worse = counts
    n = len(points)
    print(
        f"{name:<20} {solver:<9} {form:<12} same {same:5d} better {better:4d} worse {worse:4d} "
        f"({100 * (same + better) / counts.sum():6.2f} %) most {worst:8.1e}  (6) {gap:.0e}  "
        f"programs {programs / n:6.0f} failed {failures:3d}  CPU s a point {cpu / n:.3f}",
        flush=True,
    )
    for i, b, change, promise in listed:
        cause = "other local optimum" if promise <= SAME else f"promise {promise:.0e} left"
        print(f"    point {i}, beta {BETAS[b]:.2f}: {change:+.1e}, {cause}", flush=True)
    return counts


def speed(solvers, repeats=2):
    """A point of 100 x 130, 21 betas, both sweeps, against the native solver."""
    X, y = synthetic()
    alpha = checked_max_features(None, X.shape[1])
    every = [local_values(X, y, i, alpha) for i in range(4)]
    native(every[0], alpha)
    _, plain = cpu_of(lambda: [native(v, alpha) for v in every * 10])
    plain /= 40
    print(f"100 x 130, alpha {alpha}: native {1e3 * plain:.2f} ms a point")
    for solver in solvers:
        settings = PointSettings(max_features=alpha, betas=BETAS, solving=Solving(solver=solver))
        relaxed_path(every[0], settings)
        times = []
        for _ in range(repeats):
            _, seconds = cpu_of(lambda s=settings: [path_solver(v, s).path(BETAS) for v in every])
            times.append(seconds / len(every))
        print(f"  {solver:<9} {min(times):.3f} s a point, {min(times) / plain:5.0f} times native",
              flush=True)  # fmt: skip


def fits(folder):
    """Whole fits by two workers."""
    for name in ("wine", "sonar")[: 2 if folder else 1]:
        X, y = read(name, folder)
        start = time.perf_counter()
        LLFS(solver="ECOS", n_jobs=2).fit(X, y)
        print(f"LLFS(solver='ECOS', n_jobs=2).fit on {name} ({len(y)} points): "
              f"{time.perf_counter() - start:.0f} s", flush=True)  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data")
    parser.add_argument("--solvers", default=",".join(SOLVERS))
    parser.add_argument("--forms", default=",".join(FORMS))
    parser.add_argument("--sets", default="")
    parser.add_argument("--points", type=int, default=100)
    parser.add_argument("--fit", action="store_true")
    given = parser.parse_args()
    solvers = given.solvers.split(",")
    speed(solvers)
    names = given.sets.split(";") if given.sets else [n for n in SETS if n != "sonar" or given.data]
    for form in given.forms.split(","):
        for solver in solvers:
            pooled = np.zeros(3, dtype=int)
            for name in names:
                X, y = read(name, given.data)
                pooled += agreement(name, X, y, solver, form, given.points)
            print(f"{solver} {form}, pooled: {100 * pooled[:2].sum() / pooled.sum():.2f} % "
                  "not worse", flush=True)  # fmt: skip
    if given.fit:
        fits(given.data)


if __name__ == "__main__":
    main()
