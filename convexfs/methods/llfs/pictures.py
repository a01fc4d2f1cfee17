"""Pictures of the selections of LLFS's points, as matplotlib figures."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from convexfs.report.pictures import new_figure, sample_map


def support_map(
    support: np.ndarray,
    codes: np.ndarray,
    groups: np.ndarray | None = None,
    names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
) -> Any:
    """Draw which sample selects which feature (with `names`, the 40 most selected), by class.

    Parameters
    ----------
    support : bool array (n_samples, n_features)
        ``LLFS.local_support_``.
    codes : int array (n_samples,)
    groups, names, class_names : optional
        As of :func:`convexfs.report.pictures.sample_map`.
    """
    figure = sample_map(support, codes, groups, names, class_names)
    figure.axes[0].set_title("features each sample selects", loc="left")
    return figure


def selection_shares(support: np.ndarray, groups: np.ndarray, names: list[str]) -> Any:
    """Draw which percentage of a group's samples selects a feature, unless 0 (Fig. 6, 7, 9)."""
    figure, axes = new_figure(8, 4)
    for number, name in enumerate(names):
        share = 100 * support[groups == number].mean(axis=0)
        share[share == 0] = np.nan
        # Draw hollow markers of different sizes, so that equal shares stay visible.
        look = {
            "marker": "so^Dv"[number % 5],
            "markersize": 5 + 2 * number % 10,
            "fillstyle": "none",
        }
        axes.plot(np.arange(1, len(share) + 1), share, linestyle="", label=name, **look)
    axes.set(xlabel="feature", ylabel="% of samples", ylim=(0, 106), xlim=(0, support.shape[1] + 1))
    axes.legend(frameon=False)
    axes.set_title("how often a feature is selected", loc="left")
    return figure


def distance_histograms(
    X: np.ndarray, codes: np.ndarray, point: int, features: np.ndarray, radius: float
) -> Any:
    """Draw distances from one sample to its class and to the others, with its radius (Fig. 8)."""
    distance = np.linalg.norm(X[:, features] - X[point, features], axis=1)
    same = codes == codes[point]
    others = ~same
    same[point] = False
    figure, axes = new_figure(7, 4)
    bins = np.linspace(0, distance.max(), 30).tolist()
    axes.hist(distance[same], bins=bins, alpha=0.6, label="same class")
    axes.hist(distance[others], bins=bins, alpha=0.6, label="other classes")
    axes.axvline(radius, color="black", linestyle="--", label="radius")
    axes.set(xlabel="distance in the selected features", ylabel="samples")
    axes.legend(frameon=False)
    axes.set_title(f"around sample {point}, in {len(features)} features", loc="left")
    return figure


def pareto_front(table: np.ndarray) -> Any:
    """Draw U1 of one sample's local optima, and of their roundings, against the level of U2.

    Parameters
    ----------
    table : structured array (n_betas,)
        A row of ``LLFS.points_``.
    """
    figure, axes = new_figure(6, 4)
    kept = table[np.isfinite(table["rounded_u1"])]
    axes.plot(table["level"], table["u1"], ".-", label="relaxed, local optima")
    axes.plot(kept["level"], kept["rounded_u1"], "x", label="rounded to a set")
    axes.set(xlabel="separation: U2 at least", ylabel="compactness: U1")
    axes.legend(frameon=False)
    axes.set_title("what separation costs", loc="left")
    return figure


def trace_picture(trace: Any) -> Any:
    """Draw U1 of the iterates of ``LLFS.trace``, and which of them miss the level.

    An upward step starts below the level that U2 must reach, where U1 is too low to count.
    """
    figure, axes = new_figure(7, 4)
    number = np.arange(1, len(trace) + 1)
    u1 = np.array([step.u1 for step in trace])
    reached = np.array([step.u2 >= step.level * (1 - 1e-9) for step in trace], dtype=bool)
    axes.plot(number, u1, color="0.8", zorder=1)
    for name in dict.fromkeys(step.name for step in trace):
        own = np.array([step.name == name for step in trace])
        (dots,) = axes.plot(number[own & reached], u1[own & reached], "o", label=name)
        look = {"fillstyle": "none", "color": dots.get_color()}
        axes.plot(number[own & ~reached], u1[own & ~reached], "o", **look)
    axes.set(xlabel="program", ylabel="U1 at its iterate")
    axes.legend(frameon=False)
    axes.set_title("the way to a local optimum (hollow: U2 below its level)", loc="left")
    return figure
