"""Constants of large data: distances in float32 and in bits, score passes, sampled anchors.

    python scripts/bench_scale.py [--samples 20000] [--features 2000] [--anchors 2000] [--floats]
    python scripts/bench_scale.py --only anchors

Prints differences a second of one core, how many intervals of RELIEF's anchors hold the exact
margin, how wide they are, and how many of the best features they tell from all others. The exact
margin takes the distances of all pairs: in bits those of 20,000 samples are seconds, as numbers
(--floats) minutes.
"""

import argparse
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import convexfs
from convexfs.data.out_of_core import SlicedColumns
from convexfs.neighbors.anchors import _distances, mean_interval
from convexfs.neighbors.feature_blocks import all_distances, feature_scores, score_pairs

#: Features that differ between the classes.
TRUE = 20


def cpu(work: Callable[[], Any], repeats: int = 3) -> float:
    """Return the least CPU seconds of some runs, after one that compiles."""
    work()
    taken = []
    for _ in range(repeats):
        began = time.process_time()
        work()
        taken.append(time.process_time() - began)
    return min(taken)


def rates(n: int, j: int) -> None:
    genotypes = np.random.default_rng(0).integers(0, 3, (n, j)).astype(np.int8)
    numbers = genotypes.astype(np.float32)
    pairs = n * (n - 1) / 2 * j
    bits, floats = (cpu(lambda X=X: all_distances(X)) for X in (genotypes, numbers))
    same = np.array_equal(all_distances(genotypes), all_distances(numbers))
    print(f"distances, {n} x {j}: bits {pairs / bits / 1e9:.0f} G differences/s, float32")
    print(f"  {pairs / floats / 1e9:.1f}: {floats / bits:.1f} times; equal: {same}")
    rng = np.random.default_rng(1)
    signed = np.zeros((n, n))
    signed[np.repeat(np.arange(n), 20), rng.integers(0, n, 20 * n)] = 1.0
    few = score_pairs(signed, np.ones(n))
    taken = cpu(partial(feature_scores, numbers, few))
    print(f"score pass of 20 pairs a sample: {len(few.others) * j / taken / 1e9:.1f} G/s")
    some, width = np.arange(0, n, 5), 5000
    for X in (genotypes[:, :width], numbers[:, :width]):
        taken = cpu(lambda X=X: SlicedColumns(X).reduce(partial(_distances, anchors=some)))
        print(f"anchors' distances, {X.dtype}: {len(some) * n * width / taken / 1e9:.1f} G/s")
    drawn = rng.uniform(-1.0, 1.0, (1000, 200))
    taken = cpu(partial(mean_interval, drawn, np.ones(200), 10**5, 0.05))
    print(f"intervals: {taken / drawn.size * 1e9:.0f} ns an anchor and feature")


class Columns:
    """A matrix that is read by columns: each pair of samples is then visited once."""

    def __init__(self, X: np.ndarray):
        self.X, self.shape = X, X.shape

    def __getitem__(self, key: tuple[slice, slice]) -> np.ndarray:
        return self.X[key]


def anchors(X: np.ndarray, y: np.ndarray, number: int) -> None:
    options: dict[str, Any] = {"n_neighbors": 10, "n_features_to_select": TRUE}
    began = time.process_time()
    z = convexfs.Relief(**options).fit(Columns(X), y).margin_
    all_pairs = time.process_time() - began
    began = time.process_time()
    some = convexfs.Relief(n_anchors=number, random_state=0, **options).fit(X, y)
    taken = time.process_time() - began
    assert some.margin_interval_ is not None
    low, high = some.margin_interval_
    held = ((low <= z) & (z <= high)).mean()
    order = np.argsort(-some.margin_)
    best, others = order[:TRUE], order[TRUE:]
    told = {
        "intervals that hold the exact margin": f"{held:.2%}",
        "median width / range of margins": f"{np.median(high - low) / np.ptp(z):.3f}",
        "largest error / range of margins": f"{np.abs(some.margin_ - z).max() / np.ptp(z):.3f}",
        f"of the {TRUE} best, found": str(np.isin(best, np.argsort(-z)[:TRUE]).sum()),
        f"of the {TRUE} found, intervals above all others": str(
            (low[best] > high[others].max()).sum()
        ),
    }
    print(f"{X.shape[0]} x {X.shape[1]} {X.dtype}, {number} anchors: {taken:.1f} s CPU, of all")
    print(f"  pairs {all_pairs:.1f}")
    for what, value in told.items():
        print(f"  {what}: {value}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Constants of large data.")
    parser.add_argument("--samples", type=int, default=20_000)
    parser.add_argument("--features", type=int, default=2_000)
    parser.add_argument("--anchors", type=int, default=2_000)
    parser.add_argument("--floats", action="store_true")
    parser.add_argument("--only", choices=["rates", "anchors"])
    given = parser.parse_args()
    if given.only != "anchors":
        rates(500, 50_000)
    if given.only == "rates":
        return
    rng, n = np.random.default_rng(2), given.samples
    y = np.arange(n) % 2
    if given.floats:
        X = rng.standard_normal((n, given.features))
        X[:, :TRUE] += 0.8 * y[:, None]
    else:
        share = np.where(np.arange(given.features) < TRUE, 0.3 + 0.25 * y[:, None], 0.3)
        X = rng.binomial(2, share).astype(np.int8)
    anchors(X, y, given.anchors)


if __name__ == "__main__":
    main()
