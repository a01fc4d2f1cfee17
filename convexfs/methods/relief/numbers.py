"""What RELIEF's problem is made of, computed from samples."""

from collections.abc import Callable
from typing import Any

import numpy as np

from convexfs.data.columns import ColumnSource
from convexfs.errors import InputError, check_flag, check_number, warn
from convexfs.neighbors import by_columns
from convexfs.neighbors.anchors import anchored_margin
from convexfs.neighbors.hits_misses import (
    NeighborOrder,
    SignedNeighbors,
    check_neighbors,
    is_share,
    margin_vector,
    signed_neighbors,
)

#: What a term of z errs by, relative to the largest there can be.
_ROUNDING = 1e-15


def relief(
    X: np.ndarray | ColumnSource,
    codes: np.ndarray,
    *,
    n_neighbors: float,
    miss: str,
    metric: str,
    online: bool,
    n_epochs: int,
    l1: float,
    seed: Any = None,
    map: Callable[..., Any] = map,
) -> tuple[dict[str, np.ndarray], dict[str, float]]:
    """The numeric half: what the formulation's ``build`` takes, as arrays and numbers."""
    check_number("l1, a share of the largest margin,", l1, 0, 1)
    check_number("n_epochs", n_epochs, 1, 1_000_000, whole=True)
    check_flag("online", online)
    search: Any = by_columns.signed_neighbors if isinstance(X, ColumnSource) else signed_neighbors
    neighbors = search(X, codes, n_neighbors, metric, miss, map)
    fewest = min(count for count in np.bincount(codes) if count > 1) - 1
    if not is_share(n_neighbors) and fewest < n_neighbors:
        warn(
            f"n_neighbors={n_neighbors}, but a class has only {fewest} other members: "
            "those there are count for it",
        )
    if online:
        neighbors = _drawn(neighbors, n_epochs, np.random.default_rng(seed))
    sums: Any = by_columns.margin_vector if isinstance(X, ColumnSource) else margin_vector
    z = sums(X, neighbors, metric, map)
    z[np.abs(z) <= _cancelled(X, metric)] = 0.0
    return {"z": z}, {"lam": l1 * float(max(z.max(initial=0.0), 0.0))}


def anchored(
    X: np.ndarray | ColumnSource,
    codes: np.ndarray,
    *,
    n_anchors: int,
    n_neighbors: float,
    miss: str,
    metric: str,
    online: bool,
    n_epochs: int,
    l1: float,
    seed: Any = None,
    map: Callable[..., Any] = map,
) -> tuple[dict[str, np.ndarray], dict[str, float], np.ndarray]:
    """The numeric half with z estimated from some samples, and the ends of z's intervals."""
    check_number("l1, a share of the largest margin,", l1, 0, 1)
    if metric != "manhattan" or online or n_epochs != 1:
        raise InputError(
            "n_anchors draws samples itself and measures by metric='manhattan': leave metric, "
            "online and n_epochs out"
        )
    options: dict[str, Any] = {"n_neighbors": n_neighbors, "miss": miss, "seed": seed, "map": map}
    found = anchored_margin(X, codes, n_anchors, **options)
    lam = l1 * float(max(found.margin.max(initial=0.0), 0.0))
    return {"z": found.margin}, {"lam": lam}, np.array([found.low, found.high])


def margin_at_labels(
    X: np.ndarray,
    *,
    n_neighbors: float,
    miss: str,
    metric: str,
    online: bool,
    n_epochs: int,
    seed: Any = None,
    map: Callable[..., Any] = map,
) -> Callable[[np.ndarray], np.ndarray]:
    """Return the function from classes to z, of samples whose distances are sorted once.

    It is the z of :func:`relief`, bit by bit.
    """
    check_neighbors(len(X), n_neighbors, metric, miss)
    order, cancelled = NeighborOrder(X, metric, map), _cancelled(X, metric)

    def margin(codes: np.ndarray) -> np.ndarray:
        neighbors = order.signed(codes, n_neighbors, miss)
        if online:
            neighbors = _drawn(neighbors, n_epochs, np.random.default_rng(seed))
        z = margin_vector(X, neighbors, metric)
        z[np.abs(z) <= cancelled] = 0.0
        return z

    return margin


def _cancelled(X: Any, metric: str) -> np.ndarray:
    """What may be left of a sum that cancels: it must not become all the weight there is."""
    ends = X.spreads() if isinstance(X, ColumnSource) else np.ptp(X, axis=0)
    spread = ends ** (2 if metric == "sqeuclidean" else 1)
    return _ROUNDING * len(X) * spread


def _drawn(neighbors: SignedNeighbors, n_epochs: int, rng: np.random.Generator) -> SignedNeighbors:
    """Count every sample as often as it is drawn, over the number of epochs."""
    n = len(neighbors.index)
    times = np.bincount(rng.integers(n, size=n_epochs * n), minlength=n) / n_epochs
    return SignedNeighbors(neighbors.index, neighbors.coefficient * times[:, None, None])
