"""Fit Simba: search weights with a large nearest-neighbour margin."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from convexfs.data.column_ranges import constant_columns
from convexfs.errors import InputError, check_choice, check_number, warn
from convexfs.kernels import compiled
from convexfs.methods.base.formulation import AUTO, DEFAULT_SOLVING, Solving, parameters
from convexfs.records import NATIVE, Certificate, Solution

UTILITIES = ("linear", "sigmoid")
#: Largest n_starts and n_epochs accepted; a larger number is certainly a typing error.
MOST_ROUNDS = 1_000_000


@parameters
class Settings:
    """Parameters of Simba; see :class:`convexfs.Simba`."""

    n_starts: int = 5
    n_epochs: int = 1
    utility: str = "linear"


@dataclass(frozen=True)
class SimbaResult:
    """Result of Simba: the weights of the best start, and the utility of every start."""

    weights: np.ndarray
    evaluations: np.ndarray
    solution: Solution
    certificate: Certificate


def simba(
    X: np.ndarray,
    codes: np.ndarray,
    settings: Settings | None = None,
    solving: Solving = DEFAULT_SOLVING,
    *,
    seed: Any = None,
    watch: Callable[[str], Any] | None = None,
) -> SimbaResult:
    r"""Compute feature weights by Simba (Gilad-Bachrach, Navot and Tishby 2004).

    Stochastic ascent on :math:`\sum_n u(\theta_n)`, the utility of the margins

    .. math::
        \theta_n = \tfrac12 (\|x_n - NM\|_w - \|x_n - NH\|_w),\qquad
        \|z\|_w = \sqrt{\textstyle\sum_i w_i^2 z_i^2},

    neighbours taken in the weighted space, from w = 1:

    .. math::
        w_i \leftarrow w_i + \tfrac12 u'(\theta_n) \Big(\frac{(x_n - NM)_i^2}{\|x_n - NM\|_w}
        - \frac{(x_n - NH)_i^2}{\|x_n - NH\|_w}\Big) w_i.

    The problem is not convex and its step has a scale: a start is one random order
    of the samples, and the best of `n_starts` is returned, nothing being proven.

    Parameters
    ----------
    X : array (N, J)
    codes : int array (N,)
        Classes, 0 to K - 1.
    settings : Settings
        ``utility`` is :math:`u(\theta) = \theta`, or :math:`1 / (1 + e^{-\theta})`.
    solving : Solving
        There is no convex problem that a solver could take.
    seed
        As :func:`numpy.random.default_rng` takes it.
    watch : callable, optional
        Told of every start in a line of text.

    Returns
    -------
    SimbaResult
        ``weights`` are :math:`w^2 / \max w^2`; those of constant features are 0. A step
        may end at w = 0 in every feature, which no later step leaves: such a start is
        taken only if all end so, and with a warning.
    """
    settings = settings or Settings()
    _check(codes, settings, solving)
    began = time.perf_counter()
    ends = _climb(X, codes, settings, np.random.default_rng(seed), watch)
    # With all weights 0 every margin is 0, which is not a result if another start has weights.
    value, weights = max(ends, key=lambda end: (end[1].any(), end[0]))
    if not weights.any():
        warn(
            "every start ends with all weights 0: hits are as far as misses in every feature; "
            "check the labels, scale the features, or use more starts"
        )
    solution = Solution(
        "local", NATIVE, primal={"w": np.sqrt(weights)}, objective=value,
        solve_seconds=time.perf_counter() - began,
        iterations=settings.n_starts * settings.n_epochs,
    )  # fmt: skip
    certificate = Certificate.of(solution, tol=0.0, basis="local search")
    return SimbaResult(weights, np.array([value for value, _ in ends]), solution, certificate)


def _check(codes: np.ndarray, settings: Settings, solving: Solving) -> None:
    check_choice("utility", settings.utility, UTILITIES)
    check_number("n_starts", settings.n_starts, 1, MOST_ROUNDS, whole=True)
    check_number("n_epochs", settings.n_epochs, 1, MOST_ROUNDS, whole=True)
    foreign = solving.solver not in (AUTO, NATIVE)
    if foreign or solving.build is not None:
        raise InputError(
            "simba climbs a utility that is not convex, which no solver can do for it: "
            f"leave the {f'solver {solving.solver!r}' if foreign else 'formulation'} out"
        )
    if np.bincount(codes).max() < 2:
        raise InputError("no class has two samples, so none has a hit: check the target column")


def _climb(
    X: np.ndarray,
    codes: np.ndarray,
    settings: Settings,
    rng: np.random.Generator,
    watch: Callable[[str], Any] | None,
) -> list[tuple[float, np.ndarray]]:
    """Run the ascent from every start; return pairs of utility and final weights."""
    X = np.ascontiguousarray(X, dtype=np.float64)
    sigmoid = settings.utility == "sigmoid"
    # Margins ignore constant features, so that a weight of 1 would stay 1: start them at 0.
    start = (~constant_columns(X)).astype(np.float64)
    ends = []
    for _ in range(settings.n_starts):
        order = np.concatenate([rng.permutation(len(X)) for _ in range(settings.n_epochs)])
        weights = _squared_shares(_ascend(X, codes, order, sigmoid, start))
        ends.append((float(_evaluate(X, codes, weights, sigmoid)), weights))
        if watch is not None:
            watch(f"start {len(ends)} of {settings.n_starts}: margin {ends[-1][0]:.6g}")
    return ends


def _squared_shares(w: np.ndarray) -> np.ndarray:
    """Return ``w^2 / max w^2``, or 0 if all weights are 0, without underflow."""
    largest = np.abs(w).max(initial=0.0)
    return (w / largest) ** 2 if largest > 0 else np.zeros_like(w)


@compiled()
def _nearest(X, codes, squared, n):
    """Return n's nearest hit and miss (-1 if none) under `squared` weights, and their distances."""
    hit = miss = -1
    to_hit = to_miss = np.inf
    for i in range(len(X)):
        if i == n:
            continue
        total = 0.0
        for j in range(X.shape[1]):
            step = X[n, j] - X[i, j]
            total += squared[j] * step * step
        if codes[i] == codes[n]:
            if total < to_hit:
                hit, to_hit = i, total
        elif total < to_miss:
            miss, to_miss = i, total
    return hit, miss, np.sqrt(to_hit), np.sqrt(to_miss)


@compiled()
def _ascend(X, codes, order, sigmoid, start):
    w = start.copy()
    for n in order:
        hit, miss, to_hit, to_miss = _nearest(X, codes, w * w, n)
        # Skip samples without a hit or miss, and those at distance 0, where the norm has no
        # gradient.
        if hit < 0 or miss < 0 or to_hit == 0.0 or to_miss == 0.0:
            continue
        pull = 0.5
        if sigmoid:
            u = 1.0 / (1.0 + np.exp(-0.5 * (to_miss - to_hit)))
            pull *= u * (1.0 - u)
        for j in range(X.shape[1]):
            far, near = X[n, j] - X[miss, j], X[n, j] - X[hit, j]
            w[j] += pull * (far * far / to_miss - near * near / to_hit) * w[j]
    return w


@compiled()
def _evaluate(X, codes, squared, sigmoid):
    total = 0.0
    for n in range(len(X)):
        hit, miss, to_hit, to_miss = _nearest(X, codes, squared, n)
        if hit < 0 or miss < 0:
            continue
        margin = 0.5 * (to_miss - to_hit)
        total += 1.0 / (1.0 + np.exp(-margin)) if sigmoid else margin
    return total
