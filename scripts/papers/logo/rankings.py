"""Ways to rank features by Logo: its weights say nothing of those that have none."""

from dataclasses import dataclass

import numpy as np

from convexfs.methods.logo.estimator import Logo
from convexfs.methods.logo.margins import entry_prices, locality_of
from papers.splits import Split


@dataclass(frozen=True)
class Readings:
    """How Logo's features may be ranked, best first; they differ in those of weight zero.

    Attributes
    ----------
    held : int
        How many have a weight: these stand first in all.
    permuted : array
        The others follow in random order, as the columns are permuted.
    slope : array
        They follow by the price at which they would take weight.
    index : array
        Original columns stood before the noise: so a stable sort leaves them. This leaks.
    """

    held: int
    permuted: np.ndarray
    slope: np.ndarray
    index: np.ndarray


def readings(model: Logo, split: Split, most: int) -> Readings:
    """Return the rankings of a fitted Logo, so many features of each."""
    w = model.weights_
    order = np.argsort(-w, kind="stable")
    held = max(1, min(int((w > 0).sum()), most))
    rest = order[held:]
    prices = prices_of(model, split.X, split.y)
    first = {
        "permuted": np.zeros(len(rest)),
        "slope": -prices[rest],
        "index": ~split.original[rest],
    }
    return Readings(
        held,
        **{
            name: np.append(order[:held], rest[np.argsort(key, kind="stable")])[:most]
            for name, key in first.items()
        },
    )


def prices_of(model: Logo, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the prices below which features would take weight, at a fitted Logo's weights."""
    return entry_prices(locality_of(X, y, float(model.sigma), map), model.weights_)
