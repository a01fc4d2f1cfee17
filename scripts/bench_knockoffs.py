"""Knockoffs and stability selection, measured: false discoveries and power over many data sets.

40 Gaussian features with correlations 0.3^|i-j|, 12 of them relevant; classes by a linear
function, by six products (XOR) or by six two-armed spirals. The selector asks for two samples
a feature: "fewest" has no more. FDR is the mean share of false
features among the selected, power the mean share of the relevant ones that are found; both
with a standard error. Then the settings that KnockoffSelector refuses, forced; and the number
of false features that stability selection keeps, beside its bounds.
"""

import argparse
import warnings
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from convexfs import Logo, Relief, load
from convexfs.errors import InputError
from convexfs.inference import KnockoffSelector, StabilitySelector
from convexfs.inference.knockoffs import knockoff_threshold
from convexfs.methods.stability.fit import largest_tail, meinshausen_buhlmann

FEATURES, RELEVANT, LEVELS = 40, np.arange(1, 36, 3), (0.1, 0.2)
#: Signal, samples and covariance of each setting.
SETTINGS = (
    ("linear", 300, "known"), ("linear", 300, "ledoit-wolf"),
    ("xor", 500, "known"), ("xor", 500, "ledoit-wolf"),
    ("spiral", 400, "known"), ("spiral", 400, "ledoit-wolf"),
    ("fewest", 2 * FEATURES, "ledoit-wolf"),
)  # fmt: skip
STATISTICS: dict[str, Callable[[], Any]] = {
    "Logo": lambda: Logo(max_iter=15),
    "l1-logistic": lambda: LogisticRegression(l1_ratio=1.0, C=0.2, solver="liblinear"),
    "random forest": lambda: RandomForestClassifier(200),
    "Relief": lambda: Relief(n_neighbors=50),
}
#: Relevant features of the sets for stability selection.
SIGNAL: dict[str, list[int]] = {"none": [], "shift": [*range(0, 100, 10)], "xor": [0, 50]}
#: Statistics of each covariance: what is dense is refused where it is estimated.
BY_COVARIANCE = {
    "known": ("Logo", "l1-logistic", "random forest"),
    "ledoit-wolf": ("Logo", "l1-logistic"),
}
console = Console(width=120)


def correlations(n_features: int = FEATURES) -> np.ndarray:
    at = np.arange(n_features)
    return 0.3 ** np.abs(np.subtract.outer(at, at))


def classes(X: np.ndarray, signal: str, rng: np.random.Generator) -> np.ndarray:
    """Classes by the relevant features, with a little noise."""
    first, second = X[:, RELEVANT[::2]], X[:, RELEVANT[1::2]]
    if signal in ("linear", "fewest"):
        score = (first + second).sum(axis=1) + rng.standard_normal(len(X))
    elif signal == "xor":
        score = (first * second).sum(axis=1) + 0.2 * rng.standard_normal(len(X))
    else:
        angle, radius = np.arctan2(second, first), np.hypot(first, second)
        score = (radius * np.sin(2 * angle + radius)).sum(axis=1)
    return (score > np.median(score)).astype(int)


def gaussian_set(signal: str, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    X = rng.standard_normal((n, FEATURES)) @ np.linalg.cholesky(correlations()).T
    return X, classes(X, signal, rng)


def factor_set(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """102 samples of 100 features that ten factors move together, as genes are moved."""
    loadings = rng.standard_normal((10, 100))
    X = rng.standard_normal((102, 10)) @ loadings + rng.standard_normal((102, 100))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X, classes(X, "linear", rng)


def gene_set(genes: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """All samples of 100 genes drawn at random, with classes of our own."""
    X = genes[:, rng.permutation(genes.shape[1])[:100]]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X, classes(X, "linear", rng)


def mean_and_error(values: list[float]) -> str:
    error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return f"{np.mean(values):.3f} ± {error:.3f}"


class Tally:
    """False and true discoveries of each statistic at each level, over sets."""

    def __init__(self) -> None:
        self.shares: dict[Any, tuple[list[float], list[float]]] = defaultdict(lambda: ([], []))

    def add(self, name: str, W: np.ndarray) -> None:
        for level in LEVELS:
            selected = np.flatnonzero(knockoff_threshold(W, level) <= W)
            true = np.isin(selected, RELEVANT).sum()
            fdr, power = self.shares[name, level]
            fdr.append(1 - true / max(len(selected), 1) if len(selected) else 0.0)
            power.append(true / len(RELEVANT))

    def rows(self) -> list[list[str]]:
        names = dict.fromkeys(name for name, _ in self.shares)
        cells = {key: [mean_and_error(values) for values in pair]
                 for key, pair in self.shares.items()}  # fmt: skip
        return [[name, *cells[name, 0.1], *cells[name, 0.2]] for name in names]


def fit(name: str, covariance: Any, X: Any, y: Any, seed: int, force: bool = False) -> np.ndarray:
    selector = KnockoffSelector(
        STATISTICS[name](), covariance=covariance, random_state=seed, force=force
    )
    return selector.fit(X, y).W_


def knockoff_rates(signal: str, n: int, covariance: str, sets: int, seed: int) -> Tally:
    """FDR and power where the selector promises them: from two samples a feature on."""
    tally, known = Tally(), correlations() if covariance == "known" else covariance
    for number in range(sets):
        X, y = gaussian_set(signal, n, np.random.default_rng([seed, number, n]))
        for name in BY_COVARIANCE[covariance]:
            tally.add(name, fit(name, known, X, y, number))
    return tally


def forced_rates(draw: Callable[..., Any], sets: int, seed: int) -> Tally:
    """What happens where it refuses, if it is forced; each must be refused first."""
    tally = Tally()
    for number in range(sets):
        X, y = draw(np.random.default_rng([seed, number, 99]))
        for name in ("Logo", "l1-logistic", "Relief"):
            try:
                fit(name, "ledoit-wolf", X, y, number)
            except InputError:
                tally.add(name, fit(name, "ledoit-wolf", X, y, number, force=True))
    return tally


def print_rates(title: str, tally: Tally) -> None:
    table = Table("statistic", "FDR q=.1", "power", "FDR q=.2", "power", title=title)
    for row in tally.rows():
        table.add_row(*row)
    console.print(table)


def block_set(signal: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """100 samples of 200 features in blocks of 10 with correlation 0.7; no signal in the last 10.

    Its features are those of :data:`SIGNAL`.
    """
    shared = np.repeat(rng.standard_normal((100, 20)), 10, axis=1)
    X = np.sqrt(0.7) * shared + np.sqrt(0.3) * rng.standard_normal((100, 200))
    y = np.arange(100) % 2
    if signal == "shift":
        X[:, SIGNAL[signal]] += 1.5 * y[:, None]
    if signal == "xor":
        score = X[:, SIGNAL[signal]].prod(axis=1)
        y = (score > np.median(score)).astype(int)
    return X, y


def stability_rates(signal: str, sets: int, seed: int) -> None:
    """False features: those in blocks without signal, at three thresholds, beside the bounds."""
    nulls = np.arange(200) >= (0 if signal == "none" else 100)
    false: dict[float, list[float]] = defaultdict(list)
    found: dict[float, list[float]] = defaultdict(list)
    index = []
    for number in range(sets):
        X, y = block_set(signal, np.random.default_rng([seed, number, 7]))
        relief = Relief(n_neighbors=10, n_features_to_select=14)
        model = StabilitySelector(relief, n_pairs=25, random_state=number).fit(X, y)
        index.append(model.stability_.value)
        for tau in (0.6, 0.7, 0.8, 0.9):
            kept = model.probabilities_ >= tau - 1e-9
            false[tau].append(kept[nulls].sum())
            found[tau].append(kept[SIGNAL[signal]].mean() if SIGNAL[signal] else 0.0)
    title = f"stability, {signal}, {sets} sets; Nogueira's index {mean_and_error(index)}"
    table = Table("threshold", "false", "unimodal bound", "Meinshausen-Buhlmann", "found",
                  title=title)  # fmt: skip
    for tau in false:
        bound = 200 * largest_tail(25, tau, (14 / 200) ** 2).probability
        table.add_row(
            f"{tau:g}", mean_and_error(false[tau]), f"{bound:.2f}",
            f"{meinshausen_buhlmann(14, 200, tau):.2f}",
            "-" if signal == "none" else mean_and_error(found[tau]),
        )  # fmt: skip
    console.print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parts = [*dict.fromkeys(signal for signal, _, _ in SETTINGS), "forced", "stability"]
    parser.add_argument("--only", choices=parts, nargs="*", default=parts)
    parser.add_argument("--genes", metavar="DATA", help="refused, then forced on real features")
    parser.add_argument("--data", metavar="DIR", help="folder behind data:NAME")
    arguments = parser.parse_args()
    wanted = arguments.only
    warnings.simplefilter("ignore")
    for signal, n, covariance in SETTINGS:
        if signal in wanted:
            tally = knockoff_rates(signal, n, covariance, arguments.sets, arguments.seed)
            title = f"{signal}, {n} x {FEATURES}, covariance {covariance}, {arguments.sets} sets"
            print_rates(title, tally)
    if "forced" in wanted:
        title = f"refused, then forced: 102 x 100, ten factors, {arguments.sets} sets"
        print_rates(title, forced_rates(factor_set, arguments.sets, arguments.seed))
    if arguments.genes is not None:
        genes = load(arguments.genes, data_dir=arguments.data).X
        genes = genes[:, genes.std(axis=0) > 0]
        title = f"refused, then forced: {len(genes)} x 100 of {arguments.genes}"
        tally = forced_rates(partial(gene_set, genes), arguments.sets, arguments.seed)
        print_rates(f"{title}, {arguments.sets} sets", tally)
    for signal in SIGNAL if "stability" in wanted else ():
        stability_rates(signal, arguments.sets, arguments.seed)


if __name__ == "__main__":
    main()
