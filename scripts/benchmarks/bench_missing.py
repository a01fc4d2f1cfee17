"""What missing values do to RELIEF-F and Logo, by each rule for them.

    python bench_missing.py [--seeds 20] [--first 0] [--null 400] [--null-logo 400]
        [--rules hybrid class]

120 samples of 40 features, five of which carry the classes. Values are missing at random (20 or
50 %), or at random (20 %) but for five features of noise, of which one class lacks 70 % and the
other 10 %. Told are the average precision of the five true features and the share of weight on
those five of noise, each with its standard error over the seeds, and of Logo how many of the
fits are proven fixed points.

In the null study no feature carries the classes, but the same holes follow them: how often do
permuted labels find something at 5 %? Permuted labels have no holes that follow them, so that
more than 5 % is a leak: holes that look like values. Beside it: how many of the true features
the same test finds where there are some.
"""

import argparse
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.impute import SimpleImputer
from sklearn.metrics import average_precision_score
from sklearn.pipeline import make_pipeline

from convexfs import Logo, Relief
from convexfs.inference import permutation_test
from convexfs.inference.label_permutations import PermutationResult

SAMPLES, FEATURES, TRUE = 120, 40, 5
#: Noise whose holes may follow the class.
FOLLOWING = slice(5, 10)
HOLES = {"20 % at random": 0.2, "50 % at random": 0.5, "holes follow the class": 0.2}
#: "observed" is the deletion of scikit-rebate: pairs of which a value is missing do not count.
RULES = ("mean imputed", "observed", "class", "hybrid")
#: It divides features by their ranges, here some five deviations: weights are so much larger,
#: distances the same, and the penalty is a fifth.
OF_RANGES = 0.2
METHODS: dict[str, Callable[..., Any]] = {
    "RELIEF-F": lambda **rule: Relief(n_neighbors=10, n_features_to_select=TRUE, **rule),
    "Logo": lambda **rule: Logo(**rule),
}
#: Of Logo's tests: a penalty at which permuted labels select about one feature, which is fast.
TESTED = {"Logo": {"lam": 2.0}}
#: The fewest that can find something at 5 % where each is a fit.
PERMUTATIONS = {"RELIEF-F": 99, "Logo": 19}


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
        more["lam"] = OF_RANGES * more.get("lam", 1.0)
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


def recovery(rules: Sequence[str], first: int, seeds: int) -> Table:
    """How well the true features are found."""
    table = Table("holes", "method", "rule", "average precision", "weight on noise", "proven",
                  title=f"{seeds} seeds from {first}")  # fmt: skip
    for holes in HOLES:
        for method in METHODS:
            for rule in rules:
                found = np.array(
                    [fitted(method, rule, first + seed, holes) for seed in range(seeds)]
                )
                proven = f"{int(found[:, 2].sum())} of {seeds}"
                table.add_row(holes, method, rule, *map(mean_and_error, found.T[:2]), proven)
    return table


def tested(method: str, rule: str, seed: int, effect: float) -> PermutationResult:
    """The permutation test where holes follow the class."""
    X, y = sample(seed, "holes follow the class", effect)
    made = model(method, rule, **TESTED.get(method, {}))
    return permutation_test(
        made, X, y, n_permutations=PERMUTATIONS[method], control="fwer", level=0.05, random_state=0
    )


def leaks(rules: Sequence[str], first: int, number: int, logo: int) -> Table:
    """How often noise is found whose holes follow the class."""
    table = Table("method", "rule", "sets", "found at 5 %", "by features whose holes follow",
                  title="no feature carries the classes")  # fmt: skip
    for method, sets in {"RELIEF-F": number, "Logo": logo}.items():
        for rule in rules if sets else ():
            tests = [tested(method, rule, first + seed, 0.0) for seed in range(sets)]
            found = share(np.array([test.global_pvalue <= 0.05 for test in tests]))
            # Logo's features are not tested one by one.
            by_holes = np.array([test.selected[FOLLOWING].any() for test in tests])
            single = share(by_holes) if method == "RELIEF-F" else ""
            table.add_row(method, rule, str(sets), found, single)
    return table


def power(rules: Sequence[str], first: int, number: int) -> Table:
    """How many true features the same test finds by RELIEF-F, at max-T 5 %."""
    table = Table("rule", "sets", "true features found", "noise found whose holes follow",
                  title="five features carry the classes")  # fmt: skip
    for rule in rules:
        tests = [tested("RELIEF-F", rule, first + seed, 0.9) for seed in range(number)]
        chosen = np.array([test.selected for test in tests], dtype=float)
        found = (chosen[:, :TRUE].mean(axis=1), chosen[:, FOLLOWING].mean(axis=1))
        table.add_row(rule, str(number), *map(mean_and_error, found))
    return table


def share(found: np.ndarray) -> str:
    rate = float(np.mean(found))
    return f"{rate:.3f} ± {np.sqrt(rate * (1 - rate) / len(found)):.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Missing values by each rule for them.")
    parser.add_argument("--seeds", type=int, default=20, help="data sets of each kind; 0 for none")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--null", type=int, default=400, help="data sets of the null study")
    parser.add_argument("--null-logo", type=int, default=400, help="the same, of Logo")
    parser.add_argument("--rules", nargs="+", choices=RULES, default=RULES)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    console = Console(width=110)
    if asked.seeds:
        console.print(recovery(asked.rules, asked.first, asked.seeds))
        console.print(power(asked.rules, asked.first, asked.seeds))
    if asked.null or asked.null_logo:
        console.print(leaks(asked.rules, asked.first, asked.null, asked.null_logo))


if __name__ == "__main__":
    main()
