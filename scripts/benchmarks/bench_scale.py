"""Constants of large data: distances in float32 and in bits, and a pass over scores.

    python bench_scale.py [--samples 500] [--features 50000]

Prints differences per second of one core.
"""

import argparse
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from convexfs.neighbors.feature_blocks import all_distances, feature_scores, score_pairs


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


def main() -> None:
    parser = argparse.ArgumentParser(description="Constants of large data.")
    parser.add_argument("--samples", type=int, default=500)
    parser.add_argument("--features", type=int, default=50_000)
    given = parser.parse_args()
    rates(given.samples, given.features)


if __name__ == "__main__":
    main()
