"""The figures of a selection; features and samples are labelled by name."""

import itertools
from collections.abc import Sequence

import numpy as np
import pandas as pd

from convexfs.data.dataset import Dataset
from convexfs.report.figure import Figure, spread
from convexfs.report.pictures import block_order
from convexfs.selection.result import Selection, heaviest, order

#: Most features in bar charts, strip plots, heat maps and scatter plots.
MOST_BARS, MOST_STRIPS, MOST_ROWS, MOST_POINTS = 30, 12, 60, 1000
#: Most samples in a heat map and in a strip plot.
MOST_SAMPLES, MOST_DOTS = 300, 200
#: A heat map shows at most this many samples per class, or this multiple of the smallest class if
#: that is more.
FEW_SAMPLES, TIMES_SMALLEST = 20, 10
#: Colours of a heat map are clipped at this many standard deviations.
FURTHEST = 3.0
#: Names in a figure are cut to this many characters.
LONGEST = 28
NO_NAME = "(no name)"
NOT_SELECTED = "not selected"
#: Axis labels of a volcano plot.
DIFFERENCE = "difference of means (SD within classes)"
EVIDENCE = "-log10 of p"


def weight_figure(selection: Selection) -> Figure | None:
    """Return a bar chart of the 30 highest nonzero weights; None if no weight is finite."""
    if not np.isfinite(selection.weights).any():
        return None
    ranked, weighed = heaviest(selection), np.count_nonzero(selection.weights)
    bars = (ranked[selection.weights[ranked] != 0] if weighed else ranked[:1])[:MOST_BARS]
    frame = pd.DataFrame({"feature": shown_names(selection.data, bars)})
    frame["weight"] = selection.weights[bars]
    frame["selected"] = True if selection.support is None else selection.support[bars]
    total = len(selection.weights)
    note = f"{weighed:,} of {total:,} features have a weight. " if weighed < total else ""
    note += f"The {len(bars)} heaviest are drawn. " if weighed > MOST_BARS else ""
    return Figure(
        "weights", "Weights", "ranked", frame, "weight", "feature", selection.weights_are, "",
        mark="selected", mark_label="" if selection.support is None else "selected",
        note=f"{note}A weight says how much a feature counts to the method, not how sure it is.",
    )  # fmt: skip


def curve_figure(selection: Selection) -> Figure | None:
    """Return a figure of held-out errors over the number of features; None if not computed."""
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
    """Return a strip plot of the first 12 features of at most 200 samples, by class or target."""
    data, chosen = selection.data, _first(selection)[:MOST_STRIPS]
    rows = spread(np.argsort(data.y, kind="stable"), MOST_DOTS)
    names, samples = shown_names(selection.data, chosen), _samples(data, rows)
    values = data.select(chosen).dense().X[rows]
    named = [j for j, feature in enumerate(chosen.tolist()) if feature in data.categories]
    # Jitter categories, so that samples of the same category do not overlap.
    shaken = np.random.default_rng(0).uniform(-0.25, 0.25, (len(rows), len(named)))
    values[:, named] += shaken
    values = values.astype(np.float32)  # Seven digits are enough for a plot and halve the bytes.
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


def volcano_figure(selection: Selection) -> Figure | None:
    """Return a volcano plot, effect against p, of at most 1000 features; None without a test."""
    frame = volcano_frame(selection)
    if frame is None:
        return None
    along = "correlation with the target" if selection.data.numeric else DIFFERENCE
    return Figure(
        "volcano", "Effect and p-value", "points", frame, "effect", "evidence", along, EVIDENCE,
        series="what", hover="feature", faint=NOT_SELECTED,
        note="Above: small p-values against shadow columns; permutations end them at one over "
        "their number times that of the features. Left and right: strong effects."
        + _thinned(len(frame), selection.data.n_features, "features"),
    )  # fmt: skip


def volcano_frame(selection: Selection, most: int = MOST_POINTS) -> pd.DataFrame | None:
    """Return effects and -log10(p) of at most `most` features, selected ones first, or None."""
    test = None if selection.judgement is None else selection.judgement.test
    if test is None or selection.support is None:
        return None
    columns = selection.evidence()
    effect = columns["correlation" if selection.data.numeric else "difference"]
    support = selection.support
    known = np.isfinite(effect)
    chosen = np.flatnonzero(support & known)[:most]
    by_p = np.argsort(test.pvalues, kind="stable")
    others = by_p[(~support & known)[by_p]]
    drawn = np.concatenate([chosen, spread(others, max(most - len(chosen), 1))])
    frame = pd.DataFrame({"feature": shown_names(selection.data, drawn)})
    frame["effect"] = _coarse(effect[drawn])
    frame["evidence"] = _coarse(-np.log10(test.pvalues[drawn]))
    frame["what"] = np.where(support[drawn], "selected", NOT_SELECTED)
    return frame if len(frame) else None


def heat_figure(selection: Selection) -> Figure | None:
    """Return a heat map of at most 60 selected numeric features and 300 samples; None if none."""
    support, data = selection.support, selection.data
    if support is None or not support.any():
        return None
    chosen = _first(selection)[:MOST_ROWS]
    numbers = chosen[~np.isin(chosen, list(data.categories))]
    if not len(numbers):
        return None
    left_out = " Categories are left out." * (len(numbers) < len(chosen))
    return heat_map(data, numbers, _whose(selection, len(numbers)) + left_out)


def heat_map(data: Dataset, features: np.ndarray, note: str) -> Figure:
    """Return a heat map of standardised features of at most 300 samples, similar ones adjacent."""
    values = data.select(features).dense().X
    spreads = np.nanstd(values, axis=0)
    values = (values - np.nanmean(values, axis=0)) / np.where(spreads > 0, spreads, 1.0)
    values = values.clip(-FURTHEST, FURTHEST)
    rows, most = rows_by_class(data)
    if not data.numeric:
        parts = [rows[data.y[rows] == c] for c in np.unique(data.y[rows])]
        rows = np.concatenate([part[similar_order(values[part])] for part in parts])
    order = similar_order(values[rows].T)
    frame = _long(data, rows, features[order], _coarse(values[np.ix_(rows, order)], 0.05))
    few = f" Of each class at most {most} are drawn, so that small classes stay visible."
    return Figure(
        "heat-map", "Selected features of all samples", "heat", frame, "sample", "feature", "", "",
        value="value", value_label="standard deviations", group="class", limit=FURTHEST,
        note=f"{note} Samples stand by {'their target' if data.numeric else 'class'}, similar "
        f"{'' if data.numeric else 'samples and '}features together; colours end at "
        f"{FURTHEST:g} standard deviations from the mean of a feature."
        + " What is missing is tan." * bool(np.isnan(values).any())
        + _thinned(len(rows), data.n_samples)
        + few * (len(rows) < data.n_samples and not data.numeric),
    )  # fmt: skip


def rows_by_class(data: Dataset) -> tuple[np.ndarray, int]:
    """Return indices of at most 300 rows to draw, sorted by target, and the most per class."""
    order = np.argsort(data.y, kind="stable")
    if data.numeric:
        return spread(order, MOST_SAMPLES), MOST_SAMPLES
    parts = [order[data.y[order] == c] for c in np.unique(data.y)]
    sizes = np.array([len(part) for part in parts])
    most = min(int(sizes.max()), max(FEW_SAMPLES, TIMES_SMALLEST * int(sizes.min())))
    while most > 1 and np.minimum(sizes, most).sum() > MOST_SAMPLES:
        most -= 1
    return np.concatenate([spread(part, most) for part in parts]), most


def similar_order(rows: np.ndarray) -> np.ndarray:
    """Return row indices in an order that puts similar rows together (average linkage)."""
    if len(rows) < 3:
        return np.arange(len(rows))
    from scipy.cluster.hierarchy import leaves_list, linkage

    return leaves_list(linkage(np.nan_to_num(rows), "average", optimal_ordering=True))


def block_figure(selection: Selection) -> Figure | None:
    """Return a map of which of 300 samples selects which of 60 features; None if not local."""
    local = getattr(selection.model, "local_support_", None)
    if local is None or not local.any():
        return None
    share = local.mean(axis=0)
    often = np.argsort(-share, kind="stable")[:MOST_ROWS]
    often = often[share[often] > 0]
    rows = spread(block_order(local, selection.data.y), MOST_SAMPLES)
    cells = local[np.ix_(rows, often)].astype(float)
    frame = _long(selection.data, rows, often, cells)
    return Figure(
        "local-features", "Which sample selects which feature", "heat", frame, "sample", "feature",
        "", "", value="value", value_label="selected", group="class",
        note=f"Coloured: selected. The {len(often)} of {int((share > 0).sum())} features that most "
        "samples select, the most frequent first. Samples stand by class, and those that select "
        "alike together: blocks are regions with their own features."
        + _thinned(len(rows), selection.data.n_samples),
    )  # fmt: skip


def component_figure(selection: Selection) -> Figure | None:
    """Return a scatter plot of samples along one or two components; None if there are none."""
    along, data = selection.components, selection.data
    if along is None or not along.shape[1]:
        return None
    frame = pd.DataFrame({"class": data.labels, "first": along[:, 0]})
    frame["sample"] = _samples(data, np.arange(data.n_samples))
    both = along.shape[1] > 1
    # With one component, draw each sample at the height of its class, with jitter.
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
    """Return a plot of the weights' change per iteration; None if the method has no history."""
    history = getattr(selection.model, "history_", None)
    if not history:
        return None
    # A logarithmic axis cannot show a change of 0.
    residuals = [max(row["residual"], 1e-17) for row in history]
    frame = pd.DataFrame({"iteration": range(1, len(history) + 1), "change": residuals})
    return Figure(
        "convergence", "Convergence", "lines", frame, "iteration", "change", "iteration",
        "relative change of the weights", log_y=True,
        note="How far each iteration moved the weights; the certificate verifies the last one.",
    )  # fmt: skip


def shown_names(data: Dataset, features: np.ndarray) -> list[str]:
    """Return the names of features, shortened to fit a figure and made distinct."""
    return apart([short(data.full_names[j]) for j in features.tolist()])


def short(name: str) -> str:
    """Return a name shortened to one line of at most `LONGEST` characters."""
    name = " ".join(name.split()) or NO_NAME
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"


def apart(names: Sequence[str]) -> list[str]:
    """Return the names with numbers appended to repeated ones, so that all are distinct."""
    taken: dict[str, None] = {}
    for name in names:
        numbered = (f"{name} ({k})" for k in itertools.count(2))
        taken[next(each for each in itertools.chain([name], numbered) if each not in taken)] = None
    return list(taken)


def _first(selection: Selection) -> np.ndarray:
    """Return the indices of the selected features, or of all if none is, by decreasing weight."""
    if selection.support is None or not selection.support.any():
        return heaviest(selection)
    return np.array(order(selection))


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


def _samples(data: Dataset, rows: np.ndarray) -> list[str]:
    if data.ids is None:
        return [f"row {row + 1}" for row in rows.tolist()]
    return apart([short(data.ids[row]) for row in rows.tolist()])


def _thinned(count: int, total: int, what: str = "samples") -> str:
    return f" {count} of {total:,} {what} are drawn." if count < total else ""


def _coarse(values: np.ndarray, step: float = 0.01) -> np.ndarray:
    """Round values to a step finer than a figure shows, which makes pages smaller."""
    return np.round(np.round(values / step) * step, 2) + 0.0  # Adding 0.0 turns -0 into 0.


def _long(
    data: Dataset, rows: np.ndarray, features: np.ndarray, values: np.ndarray
) -> pd.DataFrame:
    """Return a long table with columns feature, sample, class and value, one row per cell."""
    names, samples = shown_names(data, features), _samples(data, rows)
    rising = np.full(len(rows), f"samples by rising {short(data.target)}")
    classes = rising if data.numeric else data.labels[rows]
    return pd.DataFrame({
        "feature": np.repeat(names, len(rows)),
        "sample": np.tile(samples, len(names)),
        "class": np.tile(classes, len(names)),
        "value": values.T.ravel(),
    })  # fmt: skip
