"""What the tests of a selection hold, find and cost: tables, each cell with its standard error.

    python bench_inference.py PIECE ... --data DIR [--sets N] [--seed N]

Pieces: null, genes, partial, restricted, power, defaults, nested, curve, costs. Gene sets are
the npz files of DIR (arrays X and y) named in GENES.
"""

import argparse
import time
import warnings
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from papers.baselines import selector
from scipy import stats
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import f_classif
from sklearn.inspection import permutation_importance
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.neighbors import KNeighborsClassifier

import convexfs
from convexfs.inference import permutation_test, selection_curve
from convexfs.inference.cross_validation import balanced_errors
from convexfs.neighbors.hits_misses import signed_neighbors

GENES = (
    "colon", "leukemia", "dlbcl", "prostate_ge", "cns", "duke_breast", "leukemia1",
    "brain_tumor2", "9_tumors",
)  # fmt: skip
SHARE = 0.25
ERRORS = "FWER .05; any false, BH .1 gated; P(p<=.05)"
Rows = Iterable[tuple]


def table(title: str, head: str, rows: Rows) -> None:
    """Print a table, row by row as they come."""
    columns = head.split("; ")
    print(f"\n{title}\n\n| {' | '.join(columns)} |\n|{'---|' * len(columns)}", flush=True)
    for row in rows:
        print(f"| {' | '.join(map(str, row))} |", flush=True)


def cell(values: Iterable[float]) -> str:
    """The mean and its standard error."""
    found = np.asarray(list(values), dtype=float)
    return f"{found.mean():.3f}±{found.std() / np.sqrt(len(found)):.3f}"


def genes(data: Path, name: str, most: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    with np.load(data / f"{name}.npz", allow_pickle=False) as file:
        X, y = file["X"].astype(float), np.unique(file["y"], return_inverse=True)[1]
    X = X[:, X.std(axis=0) > 0]
    if most is not None and X.shape[1] > most:
        X = X[:, np.sort(np.random.default_rng(0).choice(X.shape[1], most, replace=False))]
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def relief_test(X, y, seed, k: float = SHARE, **more: Any):
    model = convexfs.Relief(n_neighbors=k)
    return permutation_test(model, X, y, n_permutations=199, random_state=seed, **more)


def pseudo_t(X, y, k=10):
    """p-values of a t-test of misses against hits, as if all pairs were independent."""
    index = signed_neighbors(X, y, min(k, int(np.bincount(y).min()) - 1)).index
    pairs = np.abs(X[:, None, None, :] - X[index])
    hits, misses = (pairs[:, g].reshape(-1, X.shape[1]) for g in (0, 1))
    found: Any = stats.ttest_ind(misses, hits, axis=0, alternative="greater")
    return np.asarray(found.pvalue)


def any_false(results: list, nulls: slice | np.ndarray = slice(None)) -> tuple[str, str, str]:
    """Family-wise error, any false feature behind the gate, and share of p-values up to .05."""
    strict = [(r.max_t_pvalues[nulls] <= 0.05).any() for r in results]
    gated = [r.selected[nulls].any() for r in results]
    return cell(strict), cell(gated), cell([(r.pvalues[nulls] <= 0.05).mean() for r in results])


def blocks_of_ten(rng, n, j, rho):
    shared = np.repeat(rng.standard_normal((n, j // 10)), 10, axis=1)
    return np.sqrt(rho) * shared + np.sqrt(1 - rho) * rng.standard_normal((n, j))


def null(options) -> None:
    """Complete null on synthetic sets."""

    def rows() -> Rows:
        for share in (0.5, 0.15):
            for rho in (0.0, 0.7):
                for k in (SHARE, 10):
                    rng, found, naive = np.random.default_rng(options.seed), [], []
                    for number in range(options.sets):
                        X = blocks_of_ten(rng, 80, 100, rho)
                        y = rng.permutation((np.arange(80) < 80 * share).astype(int))
                        found.append(relief_test(X, y, number, k))
                        naive.append((pseudo_t(X, y) <= 0.05 / 100).any())
                    yield (f"{share:.0%}", rho, k, len(found), *any_false(found), cell(naive))

    head = f"class share; rho; k; sets; {ERRORS}; pseudo-t, Bonferroni .05"
    table("Complete null, 80 x 100, 199 permutations", head, rows())


def shuffled_genes(options) -> None:
    """Complete null on real genes."""

    def rows() -> Rows:
        for name in GENES:
            X, y = genes(options.data, name, 2000)
            rng, found, naive = np.random.default_rng(options.seed), [], []
            for number in range(options.sets):
                labels = rng.permutation(y)
                found.append(relief_test(X, labels, number))
                naive.append((pseudo_t(X, labels) <= 0.05 / X.shape[1]).any())
            most = max(int(r.selected.sum()) for r in found)
            counts = "/".join(map(str, np.bincount(y)))
            yield (name, counts, len(found), *any_false(found), most, cell(naive))

    head = f"data; classes; shuffles; {ERRORS}; most false; pseudo-t, Bonferroni .05"
    table("Complete null, at most 2000 genes, 199 permutations, k = 25 %", head, rows())


def partial_null(options) -> None:
    """Half of the genes row-shuffled together, the others as they are."""

    def rows() -> Rows:
        for name in GENES:
            X, y = genes(options.data, name, 2000)
            for k in (SHARE, 10):
                rng, found, planted = np.random.default_rng(options.seed), [], []
                for number in range(options.sets):
                    order = rng.permutation(X.shape[1])
                    half = order[: X.shape[1] // 2]
                    Z = X.copy()
                    Z[:, half] = X[rng.permutation(len(X))][:, half]
                    result = relief_test(Z, y, number, k)
                    mask = np.isin(np.arange(X.shape[1]), half)
                    strict = result.max_t_pvalues <= 0.05
                    chosen = result.selected
                    found.append(
                        (
                            strict[mask].any(),
                            chosen[mask].sum() / max(chosen.sum(), 1),
                            (result.pvalues[mask] <= 0.05).mean(),
                            chosen[mask].sum() > result.max_false(0.95),
                        )
                    )
                    planted.append((strict.sum(), chosen.sum()))
                each = [cell(column) for column in np.array(found, float).T]
                yield (
                    name,
                    k,
                    len(found),
                    *each,
                    "/".join(f"{v:.0f}" for v in np.mean(planted, 0)),
                )

    head = "data; k; sets; planted: FWER .05; FDR at BH .1; P(p<=.05); V broken; found max-T/BH"
    table("Partial null, at most 2000 genes, 199 permutations", head, rows())


def restricted(options) -> None:
    """Batches tied to the labels, and replicates of subjects: free and restricted permutations."""

    def batches(rng):
        batch = np.repeat([0, 1], 50)
        X = rng.standard_normal((100, 200)) + 0.5 * batch[:, None] * rng.standard_normal(200)
        return X, (rng.random(100) < np.where(batch, 0.7, 0.3)).astype(int), {"blocks": batch}

    def replicates(rng):
        subject = np.repeat(np.arange(25), 4)
        X = rng.standard_normal((25, 200))[subject] + 0.5 * rng.standard_normal((100, 200))
        return X, rng.permutation(np.arange(25) % 2)[subject], {"groups": subject}

    def rows() -> Rows:
        how: dict[str, Any]
        for make in (batches, replicates):
            rng, free, held = np.random.default_rng(options.seed), [], []
            for number in range(options.sets):
                X, y, how = make(rng)
                free.append(relief_test(X, y, number))
                held.append(relief_test(X, y, number, **how))
            yield make.__name__, len(free), any_false(free)[0], any_false(held)[0]

    head = "design; sets; FWER .05, free; FWER .05, restricted"
    table("Blocks and groups, no signal, 100 x 200, 199 permutations", head, rows())


def shift(rng, n):
    y = rng.permutation(np.arange(n) % 2)
    X = rng.standard_normal((n, 50))
    X[:, :5] += 0.8 * y[:, None]
    return X, y, 5


def variance(rng, n):
    y = rng.permutation(np.arange(n) % 2)
    X = rng.standard_normal((n, 50))
    X[:, :5] *= 1.0 + 1.2 * y[:, None]
    return X, y, 5


def xor(rng, n):
    X = rng.standard_normal((n, 20))
    y = ((X[:, 0] * X[:, 1] > 0) ^ (rng.random(n) < 0.02)).astype(int)
    return X, y, 2


def spiral(rng, n):
    data = convexfs.load(f"spiral:n={n},noise=18,seed={rng.integers(1 << 30)}").scaled()
    return data.X, data.y, 2


def local(rng, n):
    data = convexfs.load(f"subclasses:n={n},noise=20,seed={rng.integers(1 << 30)}").scaled()
    return data.X, data.y, len(data.relevant or ()) or 2


def forest(X, y):
    model = RandomForestClassifier(60, random_state=0).fit(X[::2], y[::2])
    found = permutation_importance(model, X[1::2], y[1::2], n_repeats=1, random_state=0)
    return found["importances_mean"]


def power(options) -> None:
    """Features found at a family-wise error of .05, by max-T on every statistic alike."""
    statistics: dict[str, Any] = {
        "RELIEF 25 %": convexfs.Relief(n_neighbors=SHARE),
        "RELIEF 10": convexfs.Relief(n_neighbors=10),
        "I-RELIEF": convexfs.IRelief(),
        "t-test": lambda X, y: np.sqrt(f_classif(X, y)[0]),
        "KS": selector("ks"),
        "RF permutation": forest,
        "l1-logistic": partial(selector("l1-logistic"), C=0.3),
    }

    def rows() -> Rows:
        for design, n in ((shift, 60), (variance, 80), (xor, 150), (spiral, 150), (local, 30)):
            found = {name: [] for name in statistics}
            for number in range(options.sets):
                X, y, relevant = design(np.random.default_rng(options.seed + number), n)
                for name, statistic in statistics.items():
                    result = permutation_test(
                        statistic, X, y, n_permutations=39, random_state=number
                    )
                    strict = result.max_t_pvalues <= 0.05
                    found[name].append((strict[:relevant].mean(), strict[relevant:].any()))
            for name, values in found.items():
                yield (design.__name__, n, name, len(values), *map(cell, np.array(values, float).T))

    head = "design; n; statistic; sets; power; any false"
    table("Power of max-T .05, 39 permutations", head, rows())


def defaults(options) -> None:
    """What is kept by default of permuted labels."""

    def rows() -> Rows:
        for name in ("colon", "dlbcl"):
            X, y = genes(options.data, name)
            rng, kept, relative = np.random.default_rng(options.seed), [], []
            for number in range(options.sets):
                model = convexfs.Relief(n_neighbors=SHARE, random_state=number)
                model.fit(X, rng.permutation(y))
                kept.append(int(model._get_support_mask().sum()))
                old = model.weights_ > 0.01 * model.weights_.max()
                relative.append(int(old.sum()))
            empty = sum(count == 0 for count in kept)
            yield name, X.shape[1], len(kept), empty, max(kept), int(np.median(relative))

    head = "data; genes; shuffles; nothing kept; most kept; 1 % rule keeps (median)"
    table("Default selection of permuted labels", head, rows())


def nested(options) -> None:
    """Error of the default selection on samples it has not seen, beside the best size."""

    def error(A, a, T, t, columns):
        if not len(columns):
            return 1.0 - 1.0 / (a.max() + 1)
        guess = KNeighborsClassifier(3).fit(A[:, columns], a).predict(T[:, columns])
        return float(balanced_errors((guess != t)[:, None], t)[0])

    def rows() -> Rows:
        for name in ("colon", "leukemia", "dlbcl", "prostate_ge"):
            X, y = genes(options.data, name, 4000)
            sizes = np.unique(np.round(np.geomspace(1, X.shape[1], 15)).astype(int))
            splits = StratifiedShuffleSplit(10, test_size=0.3, random_state=options.seed)
            chosen, honest, curves = [], [], []
            for train, test in splits.split(X, y):
                m, s = X[train].mean(0), X[train].std(0)
                s[s == 0] = 1.0
                A, T = (X[train] - m) / s, (X[test] - m) / s
                model = convexfs.Relief(n_neighbors=SHARE).fit(A, y[train])
                kept = np.flatnonzero(model._get_support_mask())
                order = np.argsort(-model.weights_, kind="stable")
                number = selection_curve(model, A, y[train], random_state=0).chosen
                ends = (A, y[train], T, y[test])
                chosen.append((error(*ends, kept), len(kept)))
                honest.append((error(*ends, order[:number]), number))
                curves.append([error(*ends, order[:size]) for size in sizes])
            mean = np.mean(curves, axis=0)
            best = int(mean.argmin())
            kept, auto = np.array(chosen), np.array(honest)
            yield (
                name, cell(kept[:, 0]), int(np.median(kept[:, 1])), cell(auto[:, 0]),
                int(np.median(auto[:, 1])), cell(np.array(curves)[:, best]), sizes[best],
                cell(kept[:, 0] - np.array(curves)[:, best]),
            )  # fmt: skip

    head = "data; default; features; auto; features; best size; features; default minus best"
    table("Balanced error on held-out 30 %, ten splits, 3-NN", head, rows())


def curve(options) -> None:
    """The honest error and the p-value of the curve at shuffled labels."""

    def rows() -> Rows:
        for name in ("colon", "dlbcl", "leukemia1"):
            X, y = genes(options.data, name, 2000)
            rng, found = np.random.default_rng(options.seed), []
            for number in range(options.sets):
                result = selection_curve(
                    convexfs.Relief(n_neighbors=SHARE), X, rng.permutation(y), random_state=number
                )
                at = result.errors[list(result.sizes).index(result.chosen)]
                found.append(
                    (result.errors.min(), at, result.held_out_error, result.pvalue <= 0.05)
                )
            chance = 1 - 1 / len(np.unique(y))
            yield (name, len(found), f"{chance:.3f}", *map(cell, np.array(found, float).T))

    head = "data; shuffles; chance; least error; 1-SE error; BBC-CV; P(p<=.05) of the curve"
    table("Held-out errors at shuffled labels, at most 2000 genes", head, rows())


def costs(options) -> None:
    """Seconds of the processor, in units of one fit."""

    def timed(work: Callable) -> float:
        start = time.process_time()
        work()
        return time.process_time() - start

    def rows() -> Rows:
        X, y = genes(options.data, "colon")
        small = convexfs.load("subclasses:n=30,noise=20").scaled()
        for model, A, b in (
            (convexfs.Relief(n_neighbors=SHARE), X, y),
            (convexfs.IRelief(), X, y),
            (convexfs.Simba(random_state=0), X, y),
            (convexfs.Logo(lam=1.0), X, y),
            (convexfs.Logo(lam="null"), X, y),
            (convexfs.Lmba(), small.X, small.y),
            (convexfs.LLFS(betas=5), small.X, small.y),
        ):
            model.fit(A, b)
            fit = timed(lambda model=model, A=A, b=b: model.fit(A, b))
            support = timed(model.get_support)
            heldout = timed(lambda model=model, A=A, b=b: selection_curve(model, A, b))
            tested = "yes" if model.permutation_test_ is not None else "no"
            units = (f"{value / fit:.3g}" for value in (support, heldout))
            yield str(model), f"{A.shape[0]} x {A.shape[1]}", f"{fit:.3f}", *units, tested

    table("Costs", "estimator; data; fit, s; get_support, fits; curve, fits; tested", rows())


PIECES: dict[str, tuple[Callable, int]] = {
    "null": (null, 125),
    "genes": (shuffled_genes, 40),
    "partial": (partial_null, 40),
    "restricted": (restricted, 300),
    "power": (power, 20),
    "defaults": (defaults, 200),
    "nested": (nested, 10),
    "curve": (curve, 40),
    "costs": (costs, 1),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("pieces", nargs="+", choices=PIECES)
    parser.add_argument("--data", type=Path, help="folder of the gene sets")
    parser.add_argument("--sets", type=int, help="data sets or shuffles a row")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for piece in options.pieces:
        run, usual = PIECES[piece]
        start = time.process_time()
        run(argparse.Namespace(**vars(options) | {"sets": options.sets or usual}))
        print(f"\n{piece}: {time.process_time() - start:.0f} s of the processor", flush=True)


if __name__ == "__main__":
    main()
