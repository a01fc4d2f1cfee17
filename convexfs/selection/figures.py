"""The figures of a selection: what is drawn of features and samples, always by name."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from convexfs.report.pictures import block_order
from convexfs.selection.result import Selection
from convexfs.study.figures import Figure, spread

#: Features with bars, with strips, and in a map; samples in a map.
MOST_BARS, MOST_STRIPS, MOST_ROWS, MOST_SAMPLES = 30, 12, 60, 300
#: Standard deviations beyond which a map has one colour.
FURTHEST = 3.0
#: Letters of a name beside a figure.
LONGEST = 28
NO_NAME = "(no name)"


def weight_figure(selection: Selection) -> Figure | None:
    """Draw the heaviest weights."""
    if not np.isfinite(selection.weights).any():
        return None
    order, weighed = _heaviest(selection), np.count_nonzero(selection.weights)
    heaviest = (order[selection.weights[order] != 0] if weighed else order[:1])[:MOST_BARS]
    frame = pd.DataFrame({"feature": shown_names(selection, heaviest)})
    frame["weight"] = selection.weights[heaviest]
    frame["selected"] = True if selection.support is None else selection.support[heaviest]
    total = len(selection.weights)
    note = f"{weighed:,} of {total:,} features have a weight. " if weighed < total else ""
    note += f"The {len(heaviest)} heaviest are drawn. " if weighed > MOST_BARS else ""
    return Figure(
        "weights", "Weights", "ranked", frame, "weight", "feature", selection.weights_are, "",
        mark="selected", mark_label="" if selection.support is None else "selected",
        note=f"{note}A weight says how much a feature counts to the method, not how sure it is.",
    )  # fmt: skip


def curve_figure(selection: Selection) -> Figure | None:
    """Draw held-out errors over the number of features, above those of permuted labels."""
    curve = selection.curve()
    if curve is None:
        return None
    low, middle, high = curve.permuted
    permuted = {"size": curve.sizes, "error": middle, "low": low, "high": high}
    held_out = {"size": curve.sizes, "error": curve.errors}
    held_out |= {"low": curve.errors - curve.se, "high": curve.errors + curve.se}
    chosen = {"size": [curve.chosen], "error": [curve.held_out_error]}
    parts = {"held-out samples": held_out, "permuted labels": permuted}
    parts["to be expected of the chosen number"] = chosen
    frames = [pd.DataFrame(part).assign(what=what) for what, part in parts.items()]
    folds = int(curve.folds.max()) + 1
    return Figure(
        "held-out-error", "Error and number of features", "bands",
        pd.concat(frames, ignore_index=True), "size", "error", "features, the heaviest first",
        curve.measure, series="what", low="low", high="high", log_x=True,
        note=f"Features are ranked, and nearest neighbours taken, without the samples held out, in "
        f"{folds} folds. The band is one standard error. Permuted labels: "
        "5 to 95 % of the errors when the same predictions are held against them. The least "
        f"error is too good to be true, as it was looked for: {curve.held_out_error:.2f} is to be "
        f"expected with {curve.chosen} (BBC); guessing has {curve.chance:.2f}.",
    )  # fmt: skip


def strip_figure(selection: Selection) -> Figure:
    """Draw the values of the first features by class."""
    data, chosen = selection.data, _first(selection)[:MOST_STRIPS]
    rows = spread(np.argsort(data.y, kind="stable"), MOST_SAMPLES)
    names, samples = shown_names(selection, chosen), _samples(selection, rows)
    values = _values(selection, chosen)[rows]
    named = [j for j, feature in enumerate(chosen.tolist()) if feature in data.categories]
    # Shaken a little, for samples of the same value.
    shaken = np.random.default_rng(0).uniform(-0.25, 0.25, (len(rows), len(named)))
    values[:, named] += shaken
    parts = [
        pd.DataFrame({"feature": name, "label": data.labels[rows], "value": own, "sample": samples})
        for name, own in zip(names, values.T, strict=True)
    ]
    return Figure(
        "values", f"Values by {'target' if data.numeric else 'class'}", "strips",
        pd.concat(parts, ignore_index=True), "label", "value", "", "",
        series="" if data.numeric else "label", panel="feature", hover="sample",
        ticks={names[j]: list(map(short, data.categories[chosen[j]])) for j in named},
        note=_whose(selection, len(chosen)) + " In the data's own units, a dot a sample"
        + (f", along {short(data.target)}." if data.numeric else ".")
        + _thinned(len(rows), data.n_samples),
    )  # fmt: skip


def heat_figure(selection: Selection) -> Figure | None:
    """Draw the selected features of all samples, ordered by class."""
    support, data = selection.support, selection.data
    if support is None or not support.any():
        return None
    chosen = _first(selection)[:MOST_ROWS]
    numbers = chosen[~np.isin(chosen, list(data.categories))]
    if not len(numbers):
        return None
    left_out, chosen = len(numbers) < len(chosen), numbers
    rows = spread(np.argsort(data.y, kind="stable"), MOST_SAMPLES)
    values = _values(selection, chosen)
    spreads = np.nanstd(values, axis=0)
    values = (values - np.nanmean(values, axis=0)) / np.where(spreads > 0, spreads, 1.0)
    frame = _long(selection, rows, chosen, values[rows].clip(-FURTHEST, FURTHEST))
    return Figure(
        "heat-map", "Selected features of all samples", "heat", frame, "sample", "feature", "", "",
        value="value", value_label="standard deviations", group="class", limit=FURTHEST,
        note=_whose(selection, len(chosen))
        + f" Samples stand by {'their target' if data.numeric else 'class'}; colours end at "
        f"{FURTHEST:g} standard deviations from the mean of a feature."
        + " Categories are left out." * left_out
        + " What is missing is tan." * bool(np.isnan(values).any())
        + _thinned(len(rows), data.n_samples),
    )  # fmt: skip


def block_figure(selection: Selection) -> Figure | None:
    """Draw which sample selects which feature, where samples select their own."""
    local = getattr(selection.model, "local_support_", None)
    if local is None or not local.any():
        return None
    share = local.mean(axis=0)
    often = np.argsort(-share, kind="stable")[:MOST_ROWS]
    often = often[share[often] > 0]
    rows = spread(block_order(local, selection.data.y), MOST_SAMPLES)
    frame = _long(selection, rows, often, local[np.ix_(rows, often)].astype(float))
    return Figure(
        "local-features", "Which sample selects which feature", "heat", frame, "sample", "feature",
        "", "", value="value", value_label="selected", group="class",
        note=f"Coloured: selected. The {len(often)} of {int((share > 0).sum())} features that most "
        "samples select, the most frequent first. Samples stand by class, and those that select "
        "alike together: blocks are regions with their own features."
        + _thinned(len(rows), selection.data.n_samples),
    )  # fmt: skip


def component_figure(selection: Selection) -> Figure | None:
    """Draw the samples along the leading components of a projection."""
    along, data = selection.components, selection.data
    if along is None or not along.shape[1]:
        return None
    frame = pd.DataFrame({"class": data.labels, "first": along[:, 0]})
    frame["sample"] = _samples(selection, np.arange(data.n_samples))
    both = along.shape[1] > 1
    # Shaken a little, for samples of the same place.
    shaken = data.y + np.random.default_rng(0).uniform(-0.3, 0.3, data.n_samples)
    frame["second"] = along[:, 1] if both else shaken
    frame = frame.iloc[np.argsort(data.y, kind="stable")]
    return Figure(
        "components", "Samples along the components", "points", frame, "first", "second",
        "component 1", "component 2" if both else "", series="class", hover="sample", equal=both,
        note="Samples that were fitted: new ones lie less well apart."
        + ("" if both else " There is one component; up and down means nothing."),
    )  # fmt: skip


def convergence_figure(selection: Selection) -> Figure | None:
    """Draw the change of the weights per iteration, for a method that reports it."""
    history = getattr(selection.model, "history_", None)
    if not history:
        return None
    # A logarithm has no place for a weight that did not change at all.
    residuals = [max(row["residual"], 1e-17) for row in history]
    frame = pd.DataFrame({"iteration": range(1, len(history) + 1), "change": residuals})
    return Figure(
        "convergence", "Convergence", "lines", frame, "iteration", "change", "iteration",
        "relative change of the weights", log_y=True,
        note="How far each iteration moved the weights; the certificate verifies the last one.",
    )  # fmt: skip


def shown_names(selection: Selection, features: np.ndarray) -> list[str]:
    """Return names that fit beside a figure, each its own."""
    return apart([short(selection.data.full_names[j]) for j in features.tolist()])


def short(name: str) -> str:
    """Return a name in one line of few letters."""
    name = " ".join(name.split()) or NO_NAME
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"


def apart(names: Sequence[str]) -> list[str]:
    """Make equal names distinct by numbers."""
    seen: dict[str, int] = {}
    told = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        told.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return told


def _heaviest(selection: Selection) -> np.ndarray:
    return np.argsort(-selection.weights, kind="stable")


def _first(selection: Selection) -> np.ndarray:
    """Return the selected features by decreasing weight, or all if none is selected."""
    order, support = _heaviest(selection), selection.support
    return order if support is None or not support.any() else order[support[order]]


def _whose(selection: Selection, count: int) -> str:
    support = selection.support
    if support is None:
        return "A projection selects no features: these weigh most."
    total = int(support.sum())
    if not total:
        return "Nothing is selected: these weigh most, and may differ by chance alone."
    if count < total:
        return f"{count} of {total} selected, the heaviest first."
    return f"All {total} selected."


def _values(selection: Selection, features: np.ndarray) -> np.ndarray:
    """Return the samples in some features as a dense array."""
    return selection.data.select(features).dense().X


def _samples(selection: Selection, rows: np.ndarray) -> list[str]:
    ids = selection.data.ids
    if ids is None:
        return [f"row {row + 1}" for row in rows.tolist()]
    return apart([short(ids[row]) for row in rows.tolist()])


def _thinned(count: int, total: int) -> str:
    return f" {count} of {total:,} samples are drawn." if count < total else ""


def _long(selection: Selection, rows: np.ndarray, features: np.ndarray, values: np.ndarray) -> Any:
    """Return a table of feature, sample, class and value."""
    names, samples = shown_names(selection, features), _samples(selection, rows)
    data = selection.data
    rising = np.full(len(rows), f"samples by rising {short(data.target)}")
    classes = rising if data.numeric else data.labels[rows]
    return pd.DataFrame({
        "feature": np.repeat(names, len(rows)),
        "sample": np.tile(samples, len(names)),
        "class": np.tile(classes, len(names)),
        "value": values.T.ravel(),
    })  # fmt: skip
