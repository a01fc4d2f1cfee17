"""Compute the data of MMC's problem from samples."""

import numpy as np

from convexfs.errors import check_number


def mmc(
    X: np.ndarray, codes: np.ndarray, *, q: int = 1
) -> tuple[dict[str, np.ndarray], dict[str, int]]:
    """Return the data of MMC's problem: scatter matrices between and within classes, and q."""
    check_number("q, the number of directions,", q, 1, X.shape[1], whole=True)
    shares = np.bincount(codes) / len(codes)
    means = np.array([X[codes == c].mean(axis=0) for c in range(len(shares))])
    between, within = means - X.mean(axis=0), X - means[codes]
    return {"Sb": (shares * between.T) @ between, "Sw": within.T @ within / len(X)}, {"q": q}
