"""Pictures of results, as matplotlib figures."""

from collections.abc import Mapping, Sequence
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from convexfs.errors import writing

PICTURE_FORMATS = (".png", ".svg", ".pdf")
#: Most bars in a chart, and named features in a heat map of samples; the largest are drawn.
MOST_BARS = 40
#: Longest name on an axis, in characters; longer ones are cut.
LONGEST_NAME = 32
#: With more nonzero weights, stems are drawn without dots.
MOST_DOTS = 200


def save(figure: Any, path: str | Path) -> None:
    """Write a matplotlib figure to a file, in the format of its suffix."""
    with writing(path):
        figure.savefig(path)


def weight_bars(weights: np.ndarray, names: Sequence[str], support: np.ndarray) -> Any:
    """Return a bar chart of the MOST_BARS largest weights, decreasing, selected ones coloured.

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
    figure, axes = new_figure(7, bars_height(len(weights)))
    draw_bars(axes, weights, names, support)
    return figure


def mean_map(means: np.ndarray, names: Sequence[str], classes: Sequence[str]) -> Any:
    """Return a heat map of class means (rows of `means`) by feature, in standard deviations."""
    figure, axes = new_figure(4 + 0.5 * len(classes), 1.5 + 0.24 * len(names))
    furthest = max(float(np.abs(means).max()), 1e-9)
    drawn = axes.imshow(means.T, aspect="auto", cmap="RdBu_r", vmin=-furthest, vmax=furthest)
    axes.set_yticks(range(len(names)), [short_name(name) for name in names])
    shown = [short_name(name, 16) for name in classes]
    axes.set_xticks(range(len(classes)), shown, rotation=45, ha="right")
    figure.colorbar(drawn, label="mean, in standard deviations")
    return figure


def bars_height(number: int) -> float:
    """Return the height in inches of a bar chart of so many features."""
    return 1.2 + 0.24 * min(number, MOST_BARS)


def draw_bars(axes: Any, weights: np.ndarray, names: Sequence[str], support: np.ndarray) -> None:
    """Draw the bars of :func:`weight_bars` into existing axes."""
    order = np.argsort(-weights, kind="stable")[:MOST_BARS]
    colours = ["tab:blue" if support[j] else "lightgrey" for j in order]
    places = np.arange(len(order))
    # Bars have numeric positions, because names may be equal.
    axes.barh(places, weights[order], color=colours)
    axes.set_yticks(places, [short_name(names[j]) for j in order.tolist()])
    axes.invert_yaxis()
    axes.set(xlabel="weight")
    axes.margins(y=0.01)
    title = f"{int(support.sum())} of {len(weights)} features selected"
    if len(weights) > MOST_BARS:
        title += f"; the {MOST_BARS} heaviest are shown"
    axes.set_title(title, loc="left")


def short_name(name: Any, longest: int = LONGEST_NAME) -> str:
    """Return a name for an axis: one line, shortened, without formula markup."""
    name = " ".join(str(name).split())
    if len(name) > longest:
        name = f"{name[: longest - 1]}…"
    return name.replace("$", r"\$") or "(no name)"


def weight_stems(weights: np.ndarray, relevant: Sequence[int] | np.ndarray = ()) -> Any:
    """Return a stem plot of nonzero weights over the feature index (Logo paper, Fig. 3 and 4).

    Parameters
    ----------
    weights : array (n_features,)
    relevant : sequence of int
        Features to draw in colour, such as those known to matter.

    Returns
    -------
    matplotlib.figure.Figure
    """
    figure, axes = new_figure()
    # Zeros are not drawn: a million of them would be a million lines.
    used = np.flatnonzero(weights)
    known = np.isin(used, relevant)
    few = len(used) <= MOST_DOTS
    for chosen, colour in ((~known, "lightgrey"), (known, "tab:blue")):
        axes.vlines(used[chosen] + 1, 0, weights[used[chosen]], colors=colour, linewidth=1)
        if few:
            axes.plot(used[chosen] + 1, weights[used[chosen]], "o", color=colour, markersize=4)
    axes.set(xlabel="feature index", ylabel="weight", xlim=(0, len(weights) + 1))
    axes.set(ylim=(0 if weights.min(initial=0.0) >= 0 else None, None))
    axes.set_title(f"{len(used)} of {len(weights)} features have weight", loc="left")
    return figure


def convergence_curve(histories: Mapping[str, Sequence[Mapping[str, Any]]]) -> Any:
    """Return a plot of the weights' relative change by iteration, a line per fit (Logo, Fig. 5b).

    Parameters
    ----------
    histories : mapping of str to ``history_``
        Such as ``{"sigma = 2": model.history_}``.

    Returns
    -------
    matplotlib.figure.Figure
    """
    figure, axes = new_figure()
    for label, history in histories.items():
        draw_convergence(axes, history, label)
    axes.legend(frameon=False)
    return figure


def draw_convergence(axes: Any, history: Sequence[Mapping[str, Any]], label: str = "") -> None:
    """Draw one line of :func:`convergence_curve` into existing axes."""
    residuals = [row["residual"] for row in history]
    axes.plot(range(1, len(residuals) + 1), residuals, ".-", label=label)
    axes.set(xlabel="iteration", ylabel="relative change of the weights", yscale="log")


def neighbor_map(
    X: np.ndarray,
    codes: np.ndarray,
    weights: np.ndarray,
    sigma: float,
    sample: int,
    features: tuple[int, int] = (0, 1),
    names: Sequence[str] | None = None,
) -> Any:
    """Return scatter plots of one sample's neighbour probabilities in two features (Logo, Fig. 2).

    Parameters
    ----------
    X : array (n_samples, n_features)
    codes : int array (n_samples,)
    weights : array (n_features,)
        At which the neighbours are taken.
    sigma : float
    sample : int
        Whose neighbours; drawn as a cross.
    features : pair of int
        The two axes.
    names : sequence of str, optional
        Of all features.

    Returns
    -------
    matplotlib.figure.Figure
        Hits on the left, misses on the right.
    """
    from convexfs.neighbors.feature_blocks import weighted_distances
    from convexfs.neighbors.soft import neighbor_probabilities

    used = np.flatnonzero(weights)
    distances = weighted_distances(np.asarray(X[:, used], dtype=np.float64), weights[used])
    figure = empty_figure(9, 4)
    horizontal, vertical = X[:, features[0]], X[:, features[1]]
    kinds = zip(("hit", "miss"), neighbor_probabilities(distances, codes, sigma), strict=True)
    for axes, (kind, probability) in zip(figure.subplots(1, 2, sharey=True), kinds, strict=True):
        shades = axes.scatter(horizontal, vertical, c=probability[sample], s=14, cmap="Reds")
        axes.plot(horizontal[sample], vertical[sample], "k+", markersize=14, markeredgewidth=2)
        axes.set_title(f"probability to be the nearest {kind}", loc="left")
        axes.set(xlabel=_feature_name(features[0], names))
        figure.colorbar(shades, ax=axes)
    figure.axes[0].set(ylabel=_feature_name(features[1], names))
    return figure


def sample_map(
    shares: np.ndarray,
    codes: np.ndarray,
    groups: np.ndarray | None = None,
    names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
) -> Any:
    """Return a heat map of numbers from 0 to 1 by sample, sorted by class and group, and feature.

    Parameters
    ----------
    shares : array (n_samples, n_features)
        Such as which sample selects which feature, or how often.
    codes : int array (n_samples,)
    groups : array (n_samples,), optional
        By default samples with the same features stand together.
    names : sequence of str, optional
        Of all features: the MOST_BARS with the largest shares are drawn, by name.
    class_names : sequence of str, optional

    Returns
    -------
    matplotlib.figure.Figure
    """
    order = block_order(shares, codes) if groups is None else np.lexsort((groups, codes))
    figure, axes = new_figure(8, 5)
    if names is not None:
        total = np.nansum(shares, axis=0)
        often = np.argsort(-total, kind="stable")[:MOST_BARS]
        often = often[total[often] > 0]
        shares, names = shares[:, often], [short_name(names[j]) for j in often.tolist()]
    n, m = shares.shape
    axes.imshow(
        shares[order], aspect="auto", interpolation="nearest", cmap="Blues", vmin=0, vmax=1,
        extent=(0.5, m + 0.5, n + 0.5, 0.5),
    )  # fmt: skip
    sizes = np.bincount(codes)
    ends = np.cumsum(sizes)
    for edge in ends[:-1] + 0.5:
        axes.axhline(edge, color="tab:red", linewidth=1)
    labels = [f"class {code}" for code in range(len(sizes))]
    if class_names is not None:
        labels = [short_name(name) for name in class_names]
    axes.set_yticks(ends - sizes / 2 + 0.5, labels)
    axes.tick_params(axis="y", length=0)
    # Without a frame, a coloured cell at the edge is not mistaken for a part of it.
    axes.spines[:].set_visible(False)
    axes.set(xlabel="feature", ylabel=f"{n} samples")
    if names is not None:
        axes.set_xticks(np.arange(1, m + 1), names, rotation=90)
        axes.set(xlabel="")
    return figure


def block_order(shares: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return row indices sorted by class, and within it so that rows with equal features meet.

    The features that most have come first, so that rows fall into blocks.
    """
    often = np.argsort(-np.nansum(shares, axis=0), kind="stable")[:MOST_BARS]
    return np.lexsort((*-shares[:, often].T[::-1].astype(np.float64), codes))


def _feature_name(feature: int, names: Sequence[str] | None) -> str:
    return f"feature {feature + 1}" if names is None else names[feature]


def new_figure(width: float = 8, height: float = 4) -> tuple[Any, Any]:
    """Return a matplotlib figure of this size in inches, and its axes."""
    figure = empty_figure(width, height)
    axes = figure.subplots()
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def empty_figure(width: float, height: float) -> Any:
    """Return an empty matplotlib figure of this size in inches, which notebooks display."""
    return _figure_class()(figsize=(width, height), layout="constrained")


@cache
def _figure_class() -> Any:
    """Return the (cached) subclass of matplotlib's Figure that notebooks display as PNG.

    IPython shows matplotlib's own figures only after ``%matplotlib inline``; with it, that shows
    these too.
    """
    from matplotlib.figure import Figure

    class NotebookFigure(Figure):
        def _repr_png_(self) -> bytes:
            picture = BytesIO()
            self.savefig(picture, format="png")
            return picture.getvalue()

        def __reduce__(self) -> Any:
            # The class is local and cannot be pickled by name, so pickle matplotlib's figure
            # instead.
            _, _, state = super().__reduce__()
            return Figure, (), state

    return NotebookFigure
