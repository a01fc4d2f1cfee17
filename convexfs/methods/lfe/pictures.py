"""Pictures of projections: the metric, samples along components, lost power."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from convexfs.errors import InputError
from convexfs.report.pictures import new_figure, short_name

#: With more features than this, feature indices are drawn in place of names, which would overlap.
MOST_NAMES = 40
#: Most classes with distinct colours; beyond, colours follow the class number.
MOST_COLOURS = 20


def metric_map(metric: np.ndarray, names: Sequence[str] | None = None) -> Any:
    """Draw the distance matrix, feature by feature (LFE paper, Fig. 5).

    Red entries make a pair of features count together, blue ones against each
    other; a feature whose row is white has left the metric.

    Parameters
    ----------
    metric : array (n_features, n_features)
        Such as ``LFE.metric_``.
    names : sequence of str, optional
        Of all features; shown when there are few.

    Returns
    -------
    matplotlib.figure.Figure
    """
    size = len(metric)
    named = names is not None and size <= MOST_NAMES
    side = max(6.0, 2.5 + 0.22 * size) if named else 6.0
    figure, axes = new_figure(side + 1.6, side)
    axes.spines[["top", "right"]].set_visible(True)
    largest = float(np.abs(metric).max(initial=0.0)) or 1.0
    shades = axes.imshow(
        metric, cmap="RdBu_r", vmin=-largest, vmax=largest, interpolation="nearest",
        extent=(0.5, size + 0.5, size + 0.5, 0.5),
    )  # fmt: skip
    if names is not None and named:
        places, labels = np.arange(1, size + 1), [short_name(name) for name in names]
        axes.set_xticks(places, labels, rotation=90)
        axes.set_yticks(places, labels)
    else:
        axes.set(xlabel="feature index", ylabel="feature index")
    figure.colorbar(shades, ax=axes, shrink=0.8)
    axes.set_title("distance matrix", loc="left")
    return figure


def component_scatter(
    projected: np.ndarray, codes: np.ndarray, class_names: Sequence[str] | None = None
) -> Any:
    """Draw samples along the first two components, or the only one, coloured by class (Fig. 3).

    One component alone is drawn as a line of samples for every class.

    Parameters
    ----------
    projected : array (n_samples, n_components)
        Such as ``LFE.transform(X)``.
    codes : int array (n_samples,)
        Classes, 0 to K - 1.
    class_names : sequence of str, optional

    Returns
    -------
    matplotlib.figure.Figure
    """
    if not projected.shape[1]:
        raise InputError("there is no component to draw samples along: the metric is 0")
    figure, axes = new_figure(7, 5)
    horizontal = projected[:, 0]
    if projected.shape[1] == 1:
        # Jitter the points, so that equal samples do not overlap.
        vertical = codes + 1 + np.random.default_rng(0).uniform(-0.3, 0.3, len(codes))
        axes.set(ylabel="class")
        if codes.max() < MOST_COLOURS:
            axes.set_yticks(range(1, codes.max() + 2))
    else:
        vertical = projected[:, 1]
        axes.set(ylabel="component 2")
        # Equal scales on both axes, because the plot shows distances.
        axes.set_aspect("equal", adjustable="datalim")
    _class_dots(figure, axes, horizontal, vertical, codes, class_names)
    axes.set(xlabel="component 1")
    axes.set_title(f"{len(codes)} samples", loc="left")
    return figure


def _class_dots(figure, axes, horizontal, vertical, codes, class_names) -> None:
    classes = range(codes.max() + 1)
    if len(classes) > MOST_COLOURS:
        shades = axes.scatter(horizontal, vertical, c=codes + 1, s=12, cmap="turbo")
        figure.colorbar(shades, ax=axes, label="class")
        return
    # tab10 is easier to distinguish than the dark and light pairs of tab20.
    palette = "tab10" if len(classes) <= 10 else "tab20"
    for c in classes:
        of_class = codes == c
        label = str(c + 1) if class_names is None else short_name(class_names[c])
        axes.scatter(
            horizontal[of_class], vertical[of_class], s=14, alpha=0.7, linewidths=0, label=label,
            c=codes[of_class], cmap=palette, vmin=0, vmax=9 if palette == "tab10" else 19,
        )  # fmt: skip
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5), markerscale=2)


def power_loss_curve(power_loss: np.ndarray, renormalised_loss: np.ndarray | None = None) -> Any:
    """Draw the percentage of discriminant power lost if t components are selected (eq. 22).

    Parameters
    ----------
    power_loss, renormalised_loss : arrays (T + 1,)
        ``LFE.power_loss_`` and ``LFE.renormalised_loss_``, from no component kept to all.

    Returns
    -------
    matplotlib.figure.Figure
    """
    figure, axes = new_figure(7, 4)
    lines = {"as printed": power_loss, "kept ones scaled back to length 1": renormalised_loss}
    for label, loss in lines.items():
        if loss is not None:
            axes.plot(100 * loss / (loss[0] or 1.0), ".-", label=label)
    axes.set(xlabel="components kept", ylabel="% of the power lost", ylim=(-2, 102))
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.legend(frameon=False)
    return figure
