"""Pictures of results, as matplotlib figures."""

from collections.abc import Sequence
from typing import Any

import numpy as np

PICTURE_FORMATS = (".png", ".svg", ".pdf")
#: Above this many features bars become a line of stems over the feature index.
MOST_BARS = 40


def weight_bars(weights: np.ndarray, names: Sequence[str], support: np.ndarray) -> Any:
    """Weights, largest first with their names; over the index when there are many.

    Parameters
    ----------
    weights : array (n_features,)
    names : sequence of str
    support : bool array (n_features,)
        Selected features are drawn in colour.

    Returns
    -------
    matplotlib.figure.Figure
    """
    from matplotlib.figure import Figure

    colours = ["tab:blue" if kept else "lightgrey" for kept in support]
    if len(weights) > MOST_BARS:
        figure = Figure(figsize=(8, 4), layout="constrained")
        axes = figure.subplots()
        axes.vlines(np.arange(1, len(weights) + 1), 0, weights, colors=colours, linewidth=1)
        axes.set(xlabel="feature index", ylabel="weight", ylim=(0, None))
    else:
        order = np.argsort(-weights, kind="stable")
        figure = Figure(figsize=(7, 1.2 + 0.24 * len(weights)), layout="constrained")
        axes = figure.subplots()
        axes.barh([names[j] for j in order], weights[order], color=[colours[j] for j in order])
        axes.invert_yaxis()
        axes.set(xlabel="weight")
        axes.margins(y=0.01)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(f"{int(support.sum())} of {len(weights)} features selected", loc="left")
    return figure
