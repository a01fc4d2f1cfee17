"""Knockoffs and stability selection, measured: false discoveries and power over many data sets.

40 Gaussian features with correlations 0.3^|i-j|, 12 of them relevant; classes by a linear
function, by six products (XOR) or by six two-armed spirals. FDR is the mean share of false
features among the selected, power the mean share of the relevant ones that are found; both
with a standard error. The selector asks for two samples a feature: "fewest" has no more, at
weak correlations and at strong ones. "shifted" has independent features, ten of them with
another mean in each class, as the comparison with other packages has. Then the settings that
KnockoffSelector refuses, forced; and the number of false features that stability selection
keeps, beside its bounds.
"""

import argparse
import warnings
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from peers.worlds import linear, standard
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
#: How many samples there are of each signal.
SIGNALS = {"linear": 300, "xor": 500, "spiral": 400}
STATISTICS: dict[str, Callable[[], Any]] = {
    "Logo": lambda: None,  # what the selector has by default
    "Logo, longer": lambda: Logo(max_iter=30),
    "l1-logistic": lambda: LogisticRegression(l1_ratio=1.0, C=0.2, solver="liblinear"),
    "random forest": lambda: RandomForestClassifier(200),
    "Relief": lambda: Relief(n_neighbors=50),
}
#: Relevant features of the sets for stability selection.
SIGNAL: dict[str, list[int]] = {"none": [], "shift": [*range(0, 100, 10)], "xor": [0, 50]}
#: What is dense is refused where the covariance is estimated.
COVARIANCES, SPARSE, DENSE = (
    ("known", "ledoit-wolf"), ("Logo", "l1-logistic"), ("random forest", "Relief")
)  # fmt: skip
console = Console(width=120)


@dataclass(frozen=True)
class Drawn:
    """A data set, the features that matter in it, and its true correlations."""

    X: np.ndarray
    y: np.ndarray
    relevant: np.ndarray
    Sigma: np.ndarray


def falling(n_features: int, by: float) -> np.ndarray:
    """Correlations that fall with the distance of two features."""
    at = np.arange(n_features)
    return by ** np.abs(np.subtract.outer(at, at))


def in_blocks(n_features: int, size: int, within: float) -> np.ndarray:
    """Equal correlations within blocks of features, and none between them."""
    block = np.arange(n_features) // size
    return within * np.equal.outer(block, block) + (1 - within) * np.eye(n_features)


def ten_factors(n_features: int) -> np.ndarray:
    """Correlations of features that ten factors move together, as genes are moved."""
    loadings = np.random.default_rng(0).standard_normal((10, n_features))
    return standardised(loadings.T @ loadings + np.eye(n_features))


def standardised(covariance: np.ndarray) -> np.ndarray:
    spread = np.sqrt(covariance.diagonal())
    return covariance / np.outer(spread, spread)


def classes(X: np.ndarray, signal: str, rng: np.random.Generator) -> np.ndarray:
    """Classes by the relevant features, with a little noise."""
    first, second = X[:, RELEVANT[::2]], X[:, RELEVANT[1::2]]
    if signal == "linear":
        score = (first + second).sum(axis=1) + rng.standard_normal(len(X))
    elif signal == "xor":
        score = (first * second).sum(axis=1) + 0.2 * rng.standard_normal(len(X))
    else:
        angle, radius = np.arctan2(second, first), np.hypot(first, second)
        score = (radius * np.sin(2 * angle + radius)).sum(axis=1)
    return (score > np.median(score)).astype(int)


def gaussian_set(signal: str, n: int, Sigma: np.ndarray, rng: np.random.Generator) -> Drawn:
    X = rng.standard_normal((n, len(Sigma))) @ np.linalg.cholesky(Sigma).T
    return Drawn(X, classes(X, signal, rng), RELEVANT, Sigma)


def shifted_set(n: int, p: int, rng: np.random.Generator) -> Drawn:
    """Ten features shift with the class, which ties them to one another and to no other one."""
    X, y, at = linear(rng, n, p)
    Sigma = np.eye(p)
    Sigma[np.ix_(at, at)] += 0.25  # what a shift of one between two equal classes adds
    return Drawn(standard(X), y, at, standardised(Sigma))


def fewest() -> dict[str, Callable[..., Drawn]]:
    """Two samples a feature, no more, at weak and at strong correlations."""
    return {
        f"{2 * len(Sigma)} x {len(Sigma)}, {which}": partial(
            gaussian_set, "linear", 2 * len(Sigma), Sigma
        )
        for which, Sigma in (
            ("0.3^|i-j|", falling(FEATURES, 0.3)),
            ("0.3^|i-j|", falling(100, 0.3)),
            ("0.7^|i-j|", falling(100, 0.7)),
            ("blocks of ten at 0.7", in_blocks(100, 10, 0.7)),
            ("all at 0.5", in_blocks(100, 100, 0.5)),
            ("ten factors", ten_factors(100)),
        )
    }


#: What is drawn in each part, by its title.
DRAWS: dict[str, dict[str, Callable[..., Drawn]]] = {
    **{
        signal: {f"{n} x {FEATURES}": partial(gaussian_set, signal, n, falling(FEATURES, 0.3))}
        for signal, n in SIGNALS.items()
    },
    "fewest": fewest(),
    "shifted": {
        f"{n} x {p}": partial(shifted_set, n, p) for n, p in ((500, 100), (1000, 200), (1000, 500))
    },
}


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

    def add(self, name: str, W: np.ndarray, relevant: np.ndarray) -> None:
        for level in LEVELS:
            selected = np.flatnonzero(knockoff_threshold(W, level) <= W)
            true = np.isin(selected, relevant).sum()
            fdr, power = self.shares[name, level]
            fdr.append(1 - true / max(len(selected), 1) if len(selected) else 0.0)
            power.append(true / len(relevant))

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


def knockoff_rates(
    draw: Callable[..., Drawn], covariance: str, names: tuple[str, ...], sets: int, seed: int
) -> Tally:
    """FDR and power where the selector promises them: from two samples a feature on."""
    tally = Tally()
    for number in range(sets):
        drawn = draw(np.random.default_rng([seed, number, 1]))
        given = drawn.Sigma if covariance == "known" else covariance
        for name in names:
            tally.add(name, fit(name, given, drawn.X, drawn.y, number), drawn.relevant)
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
                W = fit(name, "ledoit-wolf", X, y, number, force=True)
                tally.add(name, W, RELEVANT)
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
    parts = [*DRAWS, "forced", "stability"]
    parser.add_argument("--only", choices=parts, nargs="*", default=parts)
    parser.add_argument("--genes", metavar="DATA", help="refused, then forced on real features")
    parser.add_argument("--data", metavar="DIR", help="folder behind data:NAME")
    arguments = parser.parse_args()
    wanted = arguments.only
    warnings.simplefilter("ignore")
    for part in filter(wanted.__contains__, DRAWS):
        for which, draw in DRAWS[part].items():
            for covariance in COVARIANCES:
                longer = ("Logo, longer",) if part in SIGNALS else ()
                dense = DENSE if part in SIGNALS and covariance == "known" else ()
                names = (*SPARSE, *longer, *dense)
                tally = knockoff_rates(draw, covariance, names, arguments.sets, arguments.seed)
                title = f"{part}, {which}, covariance {covariance}, {arguments.sets} sets"
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
