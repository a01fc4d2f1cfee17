"""The picture of a fit of Logo: weights and convergence."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from convexfs.report.pictures import bars_height, draw_bars, draw_convergence, empty_figure


def fit_picture(
    weights: np.ndarray,
    names: Sequence[str],
    support: np.ndarray,
    history: Sequence[Mapping[str, Any]],
) -> Any:
    """Draw the 40 largest weights with names on the left, the change per iteration on the right.

    Parameters
    ----------
    weights : array (n_features,)
    names : sequence of str
    support : bool array (n_features,)
    history : ``Logo.history_``

    Returns
    -------
    matplotlib.figure.Figure
    """
    figure = empty_figure(11, max(4.0, bars_height(len(weights))))
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    draw_bars(left, weights, names, support)
    draw_convergence(right, history)
    right.set_title("convergence", loc="left")
    return figure
