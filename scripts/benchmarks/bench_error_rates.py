"""Error rates and power of ``shadow_test``: tables with 95 % intervals.

    python bench_error_rates.py errors [--data DIR] [--sets N] [--cpu S] [--designs A,B]
    python bench_error_rates.py power [--sets N] [--designs A,B] [--tests A,B]
    python bench_error_rates.py penalty [--sets N]
    python bench_error_rates.py cost

``errors`` prints, for each design, the family-wise error rate at 5 %, the false discovery rate at
10 %, and how often the bound on false selections failed for any threshold. Features that are
unrelated by construction are known. Set number s is drawn with the seed (design, s). DIR holds
npz files with arrays X and y.
"""

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from error_rate_designs import Design, Sample, penalty_designs, power_designs, real, synthetic
from scipy import stats
from sklearn.feature_selection import f_classif

import convexfs
from convexfs.inference import permutation_test, shadow_test
from convexfs.inference.selector_tests import affordable

#: CPU seconds below which a set is cheap, and the sets for cheap and other designs.
CHEAP, MANY, FEW = 2.0, 400, 100


@dataclass
class Outcome:
    """What a test said of one data set."""

    any_false: bool
    false_share: float
    bound_failed: bool
    power: float
    power_fwer: float
    gated_share: float
    seconds: float


def outcome(sample: Sample, seed: int) -> Outcome:
    began = time.process_time()
    result = shadow_test(sample.estimator, sample.X, sample.y, random_state=seed, **sample.options)
    seconds = time.process_time() - began
    strict, chosen, truth = result.max_t_pvalues <= 0.05, result.selected, sample.related
    order = np.argsort(result.pvalues, kind="stable")
    false = np.cumsum(~truth[order])
    tops = np.flatnonzero(result.pvalues[order] < 0.5)
    failed = any(
        false[m] > result.max_false(0.95, np.isin(np.arange(len(order)), order[: m + 1]))
        for m in tops[false[tops] > 0][:200]
    )
    share = (chosen & ~truth).sum() / max(chosen.sum(), 1)
    return Outcome(
        bool((strict & ~truth).any()), float(share), failed, _power(chosen, truth),
        _power(strict, truth), float(share) if result.global_pvalue <= 0.05 else 0.0, seconds,
    )  # fmt: skip


def _power(chosen: np.ndarray, truth: np.ndarray) -> float:
    return float(chosen[truth].mean()) if truth.any() else float("nan")


def share_interval(hits: np.ndarray) -> str:
    """A share and its 95 % interval (Clopper and Pearson)."""
    found: Any = stats.binomtest(int(hits.sum()), len(hits)).proportion_ci()
    return f"{hits.mean():.3f} [{found.low:.3f}, {found.high:.3f}]"


def mean_interval(values: np.ndarray) -> str:
    """A mean and its 95 % interval (normal)."""
    half = 1.96 * values.std(ddof=1) / np.sqrt(len(values))
    return f"{values.mean():.3f} [{max(values.mean() - half, 0):.3f}, {values.mean() + half:.3f}]"


def errors(options: argparse.Namespace) -> None:
    designs = synthetic() | real(options.data)
    head = "design; sets; FWER at .05; FDR at .10; bound failed; power FDR, FWER; gated FDR; s"
    means = []
    print_row(head.split("; "), head=True)
    for name in chosen_designs(options, designs):
        found = []
        while len(found) < (options.sets or MANY):
            found.append(one_set(designs[name], name, len(found)))
            cheap = np.median([each.seconds for each in found]) < CHEAP
            if not options.sets and not cheap and len(found) >= FEW:
                break
            if options.cpu and sum(each.seconds for each in found) > options.cpu:
                break
        columns = {key: np.array([getattr(each, key) for each in found]) for key in vars(found[0])}
        means.append([columns[key].mean() for key in ("any_false", "false_share", "bound_failed")])
        power = f"{columns['power'].mean():.2f}, {columns['power_fwer'].mean():.2f}"
        print_row([
            name, len(found), share_interval(columns["any_false"]),
            mean_interval(columns["false_share"]), share_interval(columns["bound_failed"]), power,
            f"{columns['gated_share'].mean():.3f}", f"{np.median(columns['seconds']):.2f}",
        ])  # fmt: skip
    print_row(["mean of designs", "", *(f"{value:.3f}" for value in np.mean(means, axis=0))])


def one_set(design: Design, name: str, number: int) -> Outcome:
    rng = np.random.default_rng([crc32(name.encode()), number])
    return outcome(design(rng), number)


def chosen_designs(options: argparse.Namespace, designs: dict[str, Design]) -> Iterator[str]:
    wanted = options.designs.split(",") if options.designs else list(designs)
    for name in designs:
        if any(part in name for part in wanted):
            yield name


def print_row(cells: list[Any], *, head: bool = False) -> None:
    print(f"| {' | '.join(map(str, cells))} |", flush=True)
    if head:
        print(f"|{'---|' * len(cells)}", flush=True)


def contenders() -> dict[str, Callable[[Sample, int], np.ndarray]]:
    """Masks of selected features at FDR 10 %, or by the method's own rule."""

    def with_relief(n_neighbors: Any) -> Callable[[Sample, int], np.ndarray]:
        def select(s: Sample, seed: int) -> np.ndarray:
            model = convexfs.Relief(n_neighbors=n_neighbors)
            number = affordable(model, s.X)
            return shadow_test(model, s.X, s.y, n_permutations=number, random_state=seed).selected

        return select

    def label_test(s: Sample, seed: int) -> np.ndarray:
        number = affordable(s.estimator, s.X)
        return permutation_test(
            s.estimator, s.X, s.y, n_permutations=number, random_state=seed
        ).selected

    def f_test(s: Sample, seed: int) -> np.ndarray:
        return stats.false_discovery_control(f_classif(s.X, s.y)[1]) <= 0.1

    def knockoffs(s: Sample, seed: int) -> np.ndarray:
        if len(s.X) < 2 * s.X.shape[1]:
            return np.zeros(0, bool)
        model = convexfs.KnockoffSelector(fdr=0.1, random_state=seed)
        return np.asarray(model.fit(s.X, s.y).get_support())

    def boruta(s: Sample, seed: int) -> np.ndarray:
        if s.X.shape[1] > 1000:
            return np.zeros(0, bool)
        from boruta import BorutaPy  # type: ignore[import-not-found]
        from sklearn.ensemble import RandomForestClassifier

        forest = RandomForestClassifier(n_jobs=1, max_depth=5, random_state=seed)
        return BorutaPy(forest, n_estimators="auto", random_state=seed).fit(s.X, s.y).support_

    known = {
        "shadow test": with_relief(0.25), "shadow test, k = 10": with_relief(10),
        "permuted labels": label_test, "F test": f_test, "knockoffs": knockoffs,
    }  # fmt: skip
    return known | ({"Boruta": boruta} if find_spec("boruta") else {})


def power(options: argparse.Namespace) -> None:
    designs, wanted = power_designs(), options.tests.split(",")
    rivals = {n: test for n, test in contenders().items() if any(part in n for part in wanted)}
    print("Cells: share of related features selected / false share of the list, at FDR 10 %.\n")
    print_row(["design", "sets", *rivals], head=True)
    for name in chosen_designs(options, designs):
        cells: dict[str, list[tuple[float, float]]] = {rival: [] for rival in rivals}
        number = options.sets or (3 if "cells" in name else 20)
        for seed in range(number):
            sample = designs[name](np.random.default_rng([crc32(name.encode()), seed]))
            for rival, select in rivals.items():
                mask = select(sample, seed)
                if len(mask):
                    false = (mask & ~sample.related).sum() / max(mask.sum(), 1)
                    cells[rival].append((float(mask[sample.related].mean()), float(false)))
        texts = [
            "{:.2f} / {:.2f}".format(*np.mean(v, axis=0)) if v else "-" for v in cells.values()
        ]
        print_row([name, number, *texts])


def penalty(options: argparse.Namespace) -> None:
    """Print how many false features Logo selects at the penalty that permuted labels set."""
    print_row(["design", "sets", "false", "related", "lam"], head=True)
    for name, design in penalty_designs().items():
        found = []
        for seed in range(options.sets or 60):
            sample = design(np.random.default_rng([crc32(name.encode()), seed]))
            model = convexfs.Logo().fit(sample.X, sample.y)
            chosen = np.asarray(model.weights_ > 0)
            found.append([
                (chosen & ~sample.related).sum(), chosen[sample.related].sum(), model.lam_,
            ])  # fmt: skip
        false, related, lam = np.array(found, dtype=float).T
        print_row([
            name, len(found), mean_interval(false), f"{related.mean():.1f}",
            f"{np.median(lam):.1f}",
        ])  # fmt: skip


def cost(options: argparse.Namespace) -> None:
    print_row(["samples x features", "shadow test, CPU s", "permuted labels, CPU s"], head=True)
    rng = np.random.default_rng(0)
    for n, j in ((62, 2000), (100, 20_000), (569, 60), (800, 2000)):
        X, y = rng.normal(size=(n, j)), np.arange(n) % 2
        model = convexfs.Relief()
        taken = []
        for test, number in ((shadow_test, 200), (permutation_test, 1000)):
            few = 40 if n * n * j > 1e8 else number
            test(model, X[:20], y[:20], n_permutations=40, random_state=0)  # compile
            began = time.process_time()
            test(model, X, y, n_permutations=few, random_state=0)
            taken.append((time.process_time() - began) * number / few)
        print_row([f"{n} x {j}", *(f"{seconds:.2f}" for seconds in taken)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("piece", choices=("errors", "power", "penalty", "cost"))
    parser.add_argument("--data", type=Path)
    parser.add_argument("--sets", type=int)
    parser.add_argument("--cpu", type=float, help="CPU seconds of tests per design")
    parser.add_argument("--designs", default="", help="parts of names, separated by commas")
    parser.add_argument("--tests", default="", help="parts of names, separated by commas")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    {"errors": errors, "power": power, "penalty": penalty, "cost": cost}[options.piece](options)


if __name__ == "__main__":
    main()
