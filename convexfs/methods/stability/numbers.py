"""Compute the data of stability selection's linear program."""

import math
from typing import Any

import numpy as np

from convexfs.errors import InputError, check_number

#: Tolerance for rounding errors of a number of pairs that is computed from a fraction.
_ROUNDING = 1e-9


def stability_unimodal(
    X: np.ndarray,
    codes: np.ndarray,
    *,
    n_pairs: int,
    threshold: float,
    n_selected: float | None,
    mode: int = 0,
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Return the data of :func:`tail_problem`; only the number of features of `X` is used.

    By default a half selects about the square root of them.
    """
    n_features = X.shape[1]
    selected = math.sqrt(n_features) if n_selected is None else n_selected
    check_number("n_selected, the features that a half selects,", selected, 0, n_features)
    return tail_problem(n_pairs, threshold, (selected / n_features) ** 2, mode)


def tail_problem(
    n_pairs: int, threshold: float, eta: float, mode: int = 0
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Return the data of the linear program: tail and share vectors, eta and mode."""
    check_number("n_pairs", n_pairs, 1, whole=True)
    check_number("threshold", threshold, 0.5, 1.0)
    check_number("mode", mode, 0, n_pairs, whole=True)
    if mode > last_mode(n_pairs, eta):
        raise InputError(
            f"no law with its mode at {mode} of {n_pairs} pairs has a mean of {eta:g} or less: "
            f"give a mode of at most {last_mode(n_pairs, eta)}"
        )
    at = np.arange(n_pairs + 1)
    tail = at >= n_pairs * (2.0 * threshold - 1.0) - _ROUNDING
    return {"tail": tail.astype(float), "share": at / n_pairs}, {"eta": float(eta), "mode": mode}


def last_mode(n_pairs: int, eta: float) -> int:
    """Return the largest mode that a unimodal law of mean `eta` can have."""
    return min(int(2 * n_pairs * eta + _ROUNDING), n_pairs)
