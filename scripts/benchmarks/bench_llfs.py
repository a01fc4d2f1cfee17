"""LLFS's promises, measured: speed against cvxpy, convergence, growth, agreement, accuracy.

    python bench_llfs.py [--data DIR]

DIR holds sonar.npz, arrhythmia_420.npz and adult_a1a.npz; without it their rows are left
out. Times are of one thread and one run: trust the ratios.
"""

import argparse
import time
import tracemalloc
from pathlib import Path

import cvxpy as cp
import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from convexfs import LLFS, Logo, Relief, load
from convexfs.methods.base.formulation import Solving
from convexfs.methods.llfs.hyperspheres import sphere_and_score
from convexfs.methods.llfs.native.local_path import local_path, local_point
from convexfs.methods.llfs.numbers import local_values
from convexfs.methods.llfs.problem import llfs_tangent_step
from convexfs.methods.llfs.relaxation import relaxed_path
from convexfs.methods.llfs.rounding import best_rounding, best_subset
from convexfs.methods.llfs.settings import PointSettings
from convexfs.methods.llfs.utility import mean_utility, mean_utility_gradient

BETAS = np.linspace(0, 1, 21)
PROBED = (0.9, 0.7, 0.5, 0.2)


def report(what, measured, goal):
    """One line at a time: the whole takes minutes."""
    print(f"{what:<52} {measured:>12}   {goal}", flush=True)


def standardised(train, *others):
    centre, width = train.mean(axis=0), train.std(axis=0)
    width[width == 0] = 1
    return tuple((part - centre) / width for part in (train, *others))


def split(data, seed, n_train=100, noise=100):
    """Random rows to train on, the others to test, and noise features."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(data.y))
    X = np.hstack([data.X, rng.standard_normal((len(data.y), noise))])
    train, test = order[:n_train], order[n_train:]
    return *standardised(X[train], X[test]), data.y[train], data.y[test]


def usable(y):
    return np.flatnonzero(np.bincount(y)[y] > 1)


def seconds(work, repeats=3):
    best = np.inf
    for _ in range(repeats):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def native_path(values, alpha):
    return local_path(local_point(**values, max_features=alpha), BETAS)


def dpp_path(values, alpha, path):
    """The probed betas with one parametrised program, 16 fixed tangents; U1 by beta."""
    f_max = path.f[-1]
    tangents = np.linspace(0.05, 1.3, 16)[:, None] * f_max
    slope, eps = cp.Parameter(len(f_max)), cp.Parameter(nonneg=True)
    given = {name: values[name] for name in ("a_other", "s", "lam")}
    problem = llfs_tangent_step(slope, **given, eps=eps, max_features=alpha, tangents=tangents)
    f, found = f_max, {}
    for beta in PROBED:
        eps.value = beta * path.eps_max
        last = value = np.inf
        for _ in range(20):
            slope.value = mean_utility_gradient(values["a_same"], f, values["s"], values["lam"])
            problem.solve(solver="HIGHS")
            f = np.clip(np.asarray(problem.var_dict["f"].value), 0, 1)
            value = mean_utility(values["a_same"], f, values["s"], values["lam"])
            if value >= last - 1e-7:
                break
            last = value
        found[beta] = value
    return found


def naive_path(values, alpha, path):
    """The same, the program stated anew at every step."""
    tangents = np.linspace(0.05, 1.3, 16)[:, None] * path.f[-1]
    given = {name: values[name] for name in ("a_other", "s", "lam")}
    f = path.f[-1]
    for beta in PROBED:
        last = np.inf
        for _ in range(20):
            slope = mean_utility_gradient(values["a_same"], f, values["s"], values["lam"])
            problem = llfs_tangent_step(
                slope, **given, eps=beta * path.eps_max, max_features=alpha, tangents=tangents
            )
            problem.solve(solver="HIGHS")
            f = np.clip(np.asarray(problem.var_dict["f"].value), 0, 1)
            value = mean_utility(values["a_same"], f, values["s"], values["lam"])
            if value >= last - 1e-7:
                break
            last = value


def speed(name, X, y, alpha, goals, probes=2):
    """Native against cvxpy, (6) and 21 betas; cvxpy is scaled up from the probed betas."""
    points = usable(y)[:probes]
    every = [local_values(X, y, int(i), alpha) for i in usable(y)]
    native_path(every[0], alpha)
    start = time.process_time()
    paths = [native_path(values, alpha) for values in every]
    native = (time.process_time() - start) / len(every)
    scale = 22 / len(PROBED)
    dpp, naive, worse = [], [], []
    for row in range(len(points)):
        values, path = every[row], paths[row]
        found = {}
        dpp.append(
            scale * seconds(lambda v=values, p=path, f=found: f.update(dpp_path(v, alpha, p)), 1)
        )
        naive.append(scale * seconds(lambda v=values, p=path: naive_path(v, alpha, p), 1))
        asked = PointSettings(
            max_features=alpha, betas=np.sort(PROBED), solving=Solving(solver="HIGHS")
        )
        exact = relaxed_path(values, asked)
        at = np.searchsorted(BETAS, exact.betas - 1e-9)
        worse.append((path.u1[at] / exact.u1 - 1).max())
    residual = max(path.residual.max() for path in paths)
    report(f"{name}: native, ms a point", f"{1e3 * native:.2f}", "")
    report(f"{name}: times faster than DPP cvxpy", f"{np.mean(dpp) / native:.0f}", goals[0])
    report(f"{name}: times faster than naive cvxpy", f"{np.mean(naive) / native:.0f}", goals[1])
    report(f"{name}: U1 over exact cvxpy steps, worst", f"{max(worse):.1e}", "1e-6")
    report(f"{name}: KKT residual, worst of all betas", f"{residual:.1e}", "1e-6")


def fits(X, queries, y, alpha):
    LLFS(max_features=alpha).fit(X[:20], y[:20])
    took = seconds(lambda: LLFS(max_features=alpha).fit(X, y))
    report("100 x 160: whole fit, seconds", f"{took:.2f}", "0.5")
    every = [local_values(X, y, i, alpha) for i in range(len(X))]
    path = seconds(lambda: [native_path(values, alpha) for values in every])
    report("100 x 160: of which the paths", f"{path:.2f}", "0.4")
    model = LLFS(max_features=alpha).fit(X, y)
    took = seconds(lambda: model.predict(queries)) / len(queries)
    report("100 x 160: ms a query", f"{1e3 * took:.2f}", "6 (paper)")
    took = seconds(lambda: [model.predict(row[None]) for row in queries[:20]]) / 20
    report("100 x 160: ms a query, one at a time", f"{1e3 * took:.2f}", "6 (paper)")
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((1000, 60)), np.arange(1000) % 2
    X[y == 1, :3] += 1.5
    took = []
    for jobs in (1, 2):
        start = time.perf_counter()
        LLFS(max_features=5, n_jobs=jobs).fit(X, y)
        took.append(time.perf_counter() - start)
    report("1000 x 60: two workers, times faster", f"{took[0] / took[1]:.2f}", "1.7")


def growth():
    rng = np.random.default_rng(1)
    for n in (1000, 3000, 10_000):
        data = load(f"subclasses:n={n // 3},noise=30").scaled()
        values = [local_values(data.X, data.y, i, 2) for i in range(3)]
        took = seconds(lambda v=values: [native_path(one, 2) for one in v]) / 3
        report(f"N = {n}: microseconds a point and sample", f"{1e6 * took / n:.2f}", "constant")
        same, features = data.y == data.y[0], np.arange(2)
        took = seconds(lambda g=(data.X, same, 0, features, 0.2, True): sphere_and_score(*g))
        report(f"N = {n}: microseconds a sphere and sample", f"{1e6 * took / n:.2f}", "constant")
    for m in (1000, 10_000, 100_000):
        X, y = rng.standard_normal((100, m)), np.arange(100) % 2
        X[y == 1, :3] += 2
        values = local_values(X, y, 0, 5)
        took = seconds(lambda v=values: native_path(v, 5), 1)
        report(f"M = {m}: microseconds a point and feature", f"{1e6 * took / m:.2f}", "constant")
    tracemalloc.start()
    native_path(local_values(X, y, 1, 5), 5)
    peak = tracemalloc.get_traced_memory()[1] / X.nbytes
    tracemalloc.stop()
    report("M = 100000: peak memory / data", f"{peak:.1f}", "small")


def bisection_gap():
    """Majorise-minimise and bisection, both through cvxpy."""
    worst, betas = 0.0, BETAS[:-1]
    data = load("wdbc").scaled()
    rows = np.random.default_rng(0).permutation(len(data.y))[:40]
    for i in range(3):
        values = local_values(data.X[rows], data.y[rows], i, 3)
        one, other = (
            relaxed_path(
                values,
                PointSettings(
                    max_features=3, betas=betas, form=form, solving=Solving(solver="ECOS")
                ),
            ).u1
            for form in ("compactness", "bisection")
        )
        worst = max(worst, np.abs(other / one - 1).max())
    report("bisection against majorise-minimise, worst", f"{worst:.1e}", "1e-6")


def exact_gap():
    excess, worse = [], 0
    data = load("wdbc").scaled()
    rows = np.random.default_rng(0).permutation(len(data.y))[:60]
    X, y = data.X[rows], data.y[rows]
    for i in range(10):
        values = local_values(X, y, i, 3)
        path = native_path(values, 3)
        for b, beta in enumerate(BETAS):
            given = (values["a_same"], values["a_other"], values["s"], values["lam"])
            eps = beta * path.eps_max
            rounded = best_rounding(path.f[b], *given, eps, 3)[1]
            exact = best_subset(*given, eps, 3)[1]
            worse += exact > rounded + 1e-9
            if np.isfinite(rounded):
                excess.append(rounded / exact - 1)
    report("exact above rounded, cases", str(worse), "0")
    report("rounded over exact, mean %", f"{100 * np.mean(excess):.1f}", "printed")
    report("rounded over exact, worst %", f"{100 * np.max(excess):.1f}", "printed")
    report("rounded is exact, % of cases", f"{100 * np.mean(np.less(excess, 1e-9)):.0f}", "printed")


def subclasses():
    data = load("subclasses:gap=8,noise=100").scaled()
    support = LLFS(max_features=2).fit(data.X, data.y).local_support_
    share = [100 * support[data.groups == g].mean(axis=0) for g in range(3)]
    report("squares choose x1, %", f"{share[0][0]:.0f}", "95")
    report("triangles choose x2, %", f"{share[1][1]:.0f}", "95")
    report("class 2 chooses both, %", f"{share[2][:2].min():.0f}", "95")


def errors(name, data, alpha, goal):
    """Of LLFS with a fixed alpha, and of methods of today on the same splits."""
    rivals = {
        f"LLFS, alpha {alpha}": lambda: LLFS(max_features=alpha),
        "random forest": lambda: RandomForestClassifier(500, random_state=0),
        "l1-logistic, C = 1": lambda: LogisticRegression(penalty="l1", solver="liblinear"),
        "RELIEF to 20, SVM": lambda: make_pipeline(
            Relief(n_neighbors=10, n_features_to_select=20), SVC()
        ),
        "Logo, SVM": lambda: make_pipeline(Logo(lam=1.0), SVC()),
    }
    splits = [split(data, seed) for seed in range(10)]
    for rival, make in rivals.items():
        wrong = [
            100 * (1 - make().fit(train, y).score(test, truth)) for train, test, y, truth in splits
        ]
        shown = f"{np.mean(wrong):.1f} ({np.std(wrong):.1f})"
        report(f"{name}: {rival}, error % (sd)", shown, goal if rival.startswith("LLFS") else "")


def main():
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path)
    folder = parser.parse_args().data
    report("what", "measured", "goal")

    def named(name):
        return load(f"data:{name}", data_dir=str(folder))

    wdbc = load("wdbc")
    train, test, y, _ = split(wdbc if folder is None else named("sonar"), 0)
    speed("100 x 160, alpha 10", train, y, 10, ("1000", "4000"))
    fits(train, test, y, 10)
    if folder is not None:
        for name, alpha in (("arrhythmia_420", 23), ("adult_a1a", 19)):
            train, _, y, _ = split(named(name), 0)
            speed(f"{name}, alpha {alpha}", train, y, alpha, ("300", ""), 1)
    growth()
    bisection_gap()
    exact_gap()
    subclasses()
    errors("breast", wdbc, 17, "6.2")
    if folder is not None:
        errors("sonar", named("sonar"), 5, "22.3")


if __name__ == "__main__":
    main()
