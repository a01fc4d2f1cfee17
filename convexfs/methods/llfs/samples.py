"""Samples that LLFS cannot use, or not well: alone in their class, or in two at once."""

import warnings

import numpy as np

from convexfs.errors import ConvexfsWarning, InputError


def refuse_alone(codes: np.ndarray, classes: np.ndarray) -> None:
    """Raise for a class of one sample: it has nothing to be near to."""
    alone = np.flatnonzero(np.bincount(codes) == 1)
    if len(alone):
        row = int(np.flatnonzero(codes == alone[0])[0]) + 1
        raise InputError(
            f"class {str(classes[alone[0]])!r} has one sample only, at data row {row}: "
            "LLFS needs two of each; leave it out or join classes"
        )


def warn_contradictions(X: np.ndarray, codes: np.ndarray) -> None:
    """Say which samples are equal but of different classes."""
    first: dict[bytes, int] = {}
    # Adding 0 makes a negative zero a zero.
    seen = [(first.setdefault((row + 0.0).tobytes(), j), j) for j, row in enumerate(X)]
    pairs = [(i, j) for i, j in seen if codes[i] != codes[j]]
    if pairs:
        more = f" (and {len(pairs) - 1} more such pairs)" if len(pairs) > 1 else ""
        i, j = pairs[0]
        warnings.warn(
            f"data rows {i + 1} and {j + 1} are equal but of different classes{more}: no sphere "
            "holds one without the other, so its radius may be 0; relabel them or leave them out",
            ConvexfsWarning,
            stacklevel=4,
        )
