"""What missing values do to RELIEF-F and Logo, by each rule for them.

    python scripts/bench_missing.py [--seeds 20] [--first 0] [--null 100] [--null-logo 20]

120 samples of 40 features, five of which carry the classes. Values are missing at random (20 or
50 %), or at random (20 %) but for five features of noise, of which one class lacks 70 % and the
other 10 %. Told are the average precision of the five true features and the share of weight on
those five of noise, each with its standard error over the seeds, and of Logo how many of the
fits are proven fixed points.

In the null study no feature carries the classes, but the same holes follow them: how often do
permuted labels find something at 5 %? Permuted labels have no holes that follow them, so that
more than 5 % is a leak: holes that look like values. Where nothing leaks it is 5 % all the same.
"""

import argparse
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.impute import SimpleImputer
from sklearn.metrics import average_precision_score
from sklearn.pipeline import make_pipeline

from convexfs import Logo, Relief
from convexfs.inference import permutation_test

SAMPLES, FEATURES, TRUE = 120, 40, 5
#: Noise whose holes may follow the class.
FOLLOWING = slice(5, 10)
HOLES = {"20 % at random": 0.2, "50 % at random": 0.5, "holes follow the class": 0.2}
#: "observed" is the deletion of scikit-rebate: pairs of which a value is missing do not count.
RULES = ("mean imputed", "observed", "class", "hybrid")
#: It divides features by their ranges, here some five deviations: weights are so much larger,
#: distances the same, and the price of weight is a fifth.
OF_RANGES = {"lam": 0.2}
METHODS: dict[str, Callable[..., Any]] = {
    "RELIEF-F": lambda **rule: Relief(n_neighbors=10, n_features_to_select=TRUE, **rule),
    "Logo": lambda **rule: Logo(**rule),
}


def sample(seed: int, holes: str, effect: float = 0.9) -> tuple[np.ndarray, np.ndarray]:
    """Samples with holes, and their classes."""
    rng = np.random.default_rng(seed)
    y = np.arange(SAMPLES) % 2
    X = rng.standard_normal((SAMPLES, FEATURES))
    X[:, :TRUE] += effect * y[:, None]
    gone = rng.random(X.shape) < HOLES[holes]
    if holes == "holes follow the class":
        gone[:, FOLLOWING] = rng.random((SAMPLES, 5)) < np.where(y, 0.7, 0.1)[:, None]
    return np.where(gone, np.nan, X), y


def model(method: str, rule: str, **more: Any) -> Any:
    """The method with a rule for missing values."""
    if rule == "mean imputed":
        return make_pipeline(SimpleImputer(), METHODS[method](**more))
    if rule == "observed" and method == "Logo":
        more = OF_RANGES | more
    return METHODS[method](missing=rule, **more)


def fitted(method: str, rule: str, seed: int, holes: str) -> tuple[float, float, bool]:
    """Average precision, weight on noise whose holes may follow the class, and the proof."""
    X, y = sample(seed, holes)
    made = model(method, rule).fit(X, y)
    last = made[-1] if rule == "mean imputed" else made
    weights = last.weights_
    precision = average_precision_score(np.arange(FEATURES) < TRUE, weights)
    return float(precision), float(weights[FOLLOWING].sum() / weights.sum()), last.certificate_.ok


def mean_and_error(values: np.ndarray) -> str:
    return f"{values.mean():.3f} ± {values.std(ddof=1) / np.sqrt(len(values)):.3f}"


def recovery(first: int, seeds: int) -> Table:
    """How well the true features are found."""
    table = Table("holes", "method", "rule", "average precision", "weight on noise", "proven",
                  title=f"{seeds} seeds from {first}")  # fmt: skip
    for holes in HOLES:
        for method in METHODS:
            for rule in RULES:
                found = np.array(
                    [fitted(method, rule, first + seed, holes) for seed in range(seeds)]
                )
                proven = f"{int(found[:, 2].sum())} of {seeds}"
                table.add_row(holes, method, rule, *map(mean_and_error, found.T[:2]), proven)
    return table


def rejected(rule: str, seed: int) -> tuple[bool, bool]:
    """Whether permuted labels find anything, and any feature whose holes follow the class."""
    X, y = sample(seed, "holes follow the class", effect=0.0)
    test = permutation_test(
        model("RELIEF-F", rule), X, y, n_permutations=99, control="fwer", level=0.05, random_state=0
    )
    return bool(test.global_pvalue <= 0.05), bool(test.selected[FOLLOWING].any())


def leaks(first: int, number: int, logo: int) -> Table:
    """How often noise is found whose holes follow the class."""
    table = Table("method", "rule", "sets", "found at 5 %", "of them by their holes",
                  title="no feature carries the classes")  # fmt: skip
    for rule in RULES:
        if number:
            found = np.array([rejected(rule, first + seed) for seed in range(number)])
            table.add_row("RELIEF-F", rule, str(number), *map(share, found.T))
    for rule in RULES:
        pvalues = [null_price(rule, first + seed) for seed in range(logo)]
        if logo:
            table.add_row("Logo", rule, str(logo), share(np.array(pvalues) <= 0.05), "")
    return table


def null_price(rule: str, seed: int) -> float:
    """The p-value of Logo's objective at the price that permuted labels set."""
    X, y = sample(seed, "holes follow the class", effect=0.0)
    made = model("Logo", rule, lam="null", random_state=0).fit(X, y)
    return (made[-1] if rule == "mean imputed" else made).objective_pvalue_


def share(found: np.ndarray) -> str:
    rate = float(np.mean(found))
    return f"{rate:.3f} ± {np.sqrt(rate * (1 - rate) / len(found)):.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Missing values by each rule for them.")
    parser.add_argument("--seeds", type=int, default=20, help="data sets of each kind; 0 for none")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--null", type=int, default=100, help="data sets of the null study")
    parser.add_argument("--null-logo", type=int, default=20, help="of which Logo has so many")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    console = Console(width=110)
    if asked.seeds:
        console.print(recovery(asked.first, asked.seeds))
    if asked.null or asked.null_logo:
        console.print(leaks(asked.first, asked.null, asked.null_logo))


if __name__ == "__main__":
    main()
