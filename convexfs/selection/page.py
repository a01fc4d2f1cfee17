"""Build a self-contained HTML page about a selection."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from convexfs.batch.run import describe_environment
from convexfs.data.counts import LOG1P
from convexfs.data.dataset import Dataset
from convexfs.errors import and_more
from convexfs.report.columns import Column, On
from convexfs.report.page import shown_page
from convexfs.report.sanitiser import without_folders
from convexfs.report.sections import Section, drawn, environment, escape, facts, table_place, tiles
from convexfs.report.table import Table
from convexfs.selection import figures
from convexfs.selection.class_markers import ClassMarkers
from convexfs.selection.methods_text import in_words
from convexfs.selection.references import references
from convexfs.selection.result import Selection, heaviest, order

#: Most predicted classes with a column in the confusion matrix; all true classes have a row.
MOST_CLASSES = 20
#: Most names in a sentence and most features in the table; they keep pages below 2 MB.
NAMED, MOST_LISTED = 12, 500
#: Description of each rule.
RULES = {
    "": "as the method does by default",
    "top": "the heaviest, as many as were asked for",
    "non-zero weights": "features of nonzero weight",
    "fdr": "everything related to the target: significant against shadow columns, with a bounded "
    "false discovery rate",
    "fwer": "everything related to the target: significant against shadow columns, with a bounded "
    "family-wise error rate",
    "curve": "the fewest features that predict held-out samples as well as any number",
    "stability": "features that most halves of the samples select",
    "knockoffs": "features that outweigh their knockoffs",
}
#: Name of the column with the class in rankings of markers.
CLASS = "class"
NOTHING = "Nothing is selected."
#: Start of the line that repeats a selection of samples passed from Python.
OF_DATA = "convexfs.select(data,"


def selection_html(selection: Selection, out: str | Path | None) -> str:
    """Return the HTML page about a selection, with held-out errors if they are quick to compute."""
    selection = selection.with_curve()
    title = f"{_count(selection)} of {data_name(selection)}, by {selection.method}"
    return shown_page(title, _sections(selection), out)


def _sections(selection: Selection) -> Iterator[Section | None]:
    yield _overview(selection)
    yield _ranking(selection)
    yield drawn(figures.weight_figure(selection))
    yield drawn(figures.volcano_figure(selection))
    yield drawn(figures.component_figure(selection))
    yield drawn(figures.curve_figure(selection)) or _no_curve(selection)
    yield _confusion(selection)
    yield drawn(figures.strip_figure(selection))
    yield drawn(figures.heat_figure(selection))
    yield drawn(figures.block_figure(selection))
    yield drawn(figures.convergence_figure(selection))
    if words := in_words(selection):
        yield reporting(words)
    yield repeating(selection)
    yield environment([describe_environment()])


def _overview(selection: Selection) -> Section:
    data = selection.data
    numbers: list[tuple[str, Any, bool]] = [
        ("samples", f"{data.n_samples:,}", False),
        ("features", f"{data.n_features:,}", False),
    ]
    if not data.numeric:
        numbers.append(("classes", data.n_classes, False))
    if selection.support is not None:
        numbers.append(("selected", f"{selection.support.sum():,}", False))
    if selection.explained is not None:
        numbers.append(("components", len(selection.explained), False))
    body = tiles(numbers) + _verdict(selection) + facts(_asked(selection))
    return Section("overview", "What was asked and found", _lead(selection), body)


def _lead(selection: Selection) -> str:
    what = "go with the target" if selection.data.numeric else "separate the classes"
    evidence = (
        "Nothing here was tested, and the"
        if selection.support is None
        else "The test against shadow columns says which features are related to the target, "
        "held-out samples how well they predict it; the"
    )
    return (
        f"Which features {what}, by this method on these samples. {evidence} certificate only says "
        "that the mathematical problem is solved."
    )


def _asked(selection: Selection) -> Iterator[tuple[str, Any]]:
    data = selection.data
    yield "data", data_name(selection)
    yield "read", "; ".join(data.told)
    yield "missing", _missing(data)
    if data.numeric:
        yield f"target {data.target}", f"numbers from {data.y.min():.4g} to {data.y.max():.4g}"
    else:
        sizes = [int((data.y == c).sum()) for c in range(data.n_classes)]
        named = zip(data.class_names[:NAMED], sizes, strict=False)
        listed = [f"{name} ({size})" for name, size in named]
        yield f"classes of {data.target}", and_more(listed, len(sizes))
    yield "method", selection.method
    if selection.judgement is not None:
        rule = str(selection.judgement.record["rule"])
        yield "selection rule", RULES.get(rule, rule)
    yield from selection.told().items()
    if selection.solution is not None:
        objective = selection.solution.objective
        value = "" if objective is None else f", objective {objective:.6g}"
        yield "solved by", f"{selection.solution.solver}{value}"
    yield "took", f"{selection.seconds:.2g} s"


def _missing(data: Dataset) -> str:
    """Return how many values are missing, in words; "" if none is or the data are sparse."""
    holes = 0 if data.is_sparse else int(np.isnan(data.X).sum())
    return f"{holes:,} of {data.X.size:,} values ({holes / data.X.size:.2g})" if holes else ""


def _verdict(selection: Selection) -> str:
    """Return the result as HTML: names of the first 12 selected features, or why there are none."""
    support = selection.support
    if support is None:
        has = f"it has {_components(selection)}, to which all features may belong"
        return sentence(f"A projection selects no features: {has}.")
    if not support.any():
        test = None if selection.judgement is None else selection.judgement.test
        why = "" if test is None else f" The test says why: {test.why_empty()}."
        return sentence(f"{NOTHING}{why} What is drawn below may be chance.", none=True)
    listed = _listed(selection.data, order(selection))
    found = f'<p class="verdict">Selected, the heaviest first: {listed}.</p>'
    curve = None if selection.judgement is None else selection.judgement.curve
    if curve is None or not 0 < curve.chosen < support.sum():
        return found
    shown = _listed(selection.data, heaviest(selection)[: curve.chosen].tolist())
    return f"{found}<p>Smallest list that predicts as well: {shown} (<code>--curve</code>).</p>"


def _listed(data: Dataset, features: Sequence[int]) -> str:
    """Return the names of the first 12 features as HTML, and how many more there are."""
    # Isolate names, because a name may change the text direction of what follows.
    names = [f"<bdi>{escape(figures.short(data.full_names[j]))}</bdi>" for j in features[:NAMED]]
    return and_more(names, len(features))


def sentence(text: str, *, none: bool = False) -> str:
    """Return a text as an HTML paragraph in large letters, styled as a warning if `none`."""
    return f'<p class="verdict{" none" if none else ""}">{escape(text)}</p>'


def _ranking(selection: Selection) -> Section:
    frame, shown = selection.ranking(), "Every feature."
    if (total := len(frame)) > MOST_LISTED:
        frame = _first_rows(frame)
        shown = f"{MOST_LISTED:,} of {total:,} features, selected ones first; --ranking FILE "
        shown += "writes all."
    table = Table("Features", frame, feature_columns(selection, frame))
    lead = (
        f"{shown} Click a heading to sort; the fields under the headings search: a part of a "
        "name, or for numbers conditions such as <0.05 or 1..10. CSV and JSON hold all digits of "
        "the rows that are shown."
    )
    place = table_place("features", "Features")
    body, tables = place, {"features": table}
    if selection.explained is not None:
        count = len(selection.explained)
        values = pd.DataFrame({"component": range(1, count + 1), "value": selection.explained})
        columns = (
            Column("component", "count"), Column("value", "number", "", selection.explained_as)
        )  # fmt: skip
        tables["components"] = Table("Components", values, columns)
        body += f"<h3>Components</h3>{table_place('components', 'Components')}"
    return Section("features", "Features", lead, body, tables)


def _first_rows(frame: pd.DataFrame) -> pd.DataFrame:
    """Return at most 500 rows in ranking order: selected features, then highest weights."""
    last = ~frame["selected"].to_numpy(bool) if "selected" in frame else np.zeros(len(frame))
    chosen = np.argsort(last, kind="stable")[:MOST_LISTED]
    return frame.iloc[np.sort(chosen)].reset_index(drop=True)


def feature_columns(
    selection: Selection, frame: pd.DataFrame, meanings: Mapping[str, str] | None = None
) -> list[Column]:
    """Return the page's columns of a ranking with their meanings; `meanings` overrides some."""
    test = None if selection.judgement is None else selection.judgement.test
    strict = test is not None and test.control == "fwer"
    known = (
        Column("rank", "count", "by weight; equals share a rank"),
        Column("name", "code", "", "feature"),
        Column("weight", "number", selection.weights_are),
        Column("selected", "flag"),
        Column("p", "number", "share of all shadow columns with a statistic at least as large"),
        Column("max_t_p", "number", "p adjusted for all features: smallest family-wise error rate "
               "at which it is selected (max-T)", "max-T p", On.PAGE if strict else On.DEMAND),
        Column("q", "number", "p adjusted for all features: smallest false discovery rate at which "
               "it is selected (Benjamini-Hochberg)"),
        Column("chosen_share", "share", "share of the halves of the samples that select it",
               "chosen by"),
        Column("higher_in", "text", "class with the highest mean", "highest in"),
        Column("difference", "number", _difference(selection), "difference (SD)"),
        Column("mean_difference", "number", f"the same difference in {own_unit(selection.data)}",
               "difference (own unit)"),
        Column("correlation", "number", f"Pearson's, with {selection.data.target}"),
    )  # fmt: skip
    about = [name for name in frame.columns if name not in {own.name for own in known} | {CLASS}]
    metadata = [Column(name, "text", "of the feature, from the table") for name in about]
    known = (*known[:2], *metadata, *known[2:])
    other = meanings or {}
    known = [replace(own, meaning=other.get(own.name, own.meaning)) for own in known]
    return [own for own in known if own.name in frame]


def _difference(selection: Selection) -> str:
    """Return the meaning of the column of differences of class means, as text."""
    classes = [figures.short(name) for name in selection.data.class_names]
    means = "highest mean of a class less that of all others"
    if len(classes) == 2:
        means = f"mean of {classes[1]} less that of {classes[0]}"
    return f"{means}, in standard deviations within classes"


def own_unit(data: Dataset) -> str:
    """Return the unit of differences of means, as text: log counts, or the column's own unit."""
    if LOG1P in data.told:
        return "natural logarithms of 1 + counts per million"
    return "the unit of the column"


def _confusion(selection: Selection) -> Section | None:
    """Return the section with the confusion matrix of held-out predictions; None without one."""
    curve = selection.curve()
    counts = None if curve is None else curve.confusion
    if curve is None or counts is None:
        return None
    names = list(selection.data.class_names)
    sizes, right = counts.sum(axis=1), counts.diagonal()
    frame = pd.DataFrame({"class": names, "samples": sizes})
    frame["error"] = 1.0 - right / np.maximum(sizes, 1)
    bounds = map(_interval, (sizes - right).tolist(), sizes.tolist())
    frame["interval"] = [f"{100 * low:.0f} to {100 * high:.0f} %" for low, high in bounds]
    columns = [Column("class", "text"), Column("samples", "count"), Column("error", "share"),
               Column("interval", "text", "of the error (Wilson)", "95 % interval")]  # fmt: skip
    for c, name in enumerate(names[:MOST_CLASSES]):
        frame[f"predicted {c}"] = counts[:, c]
        columns.append(Column(f"predicted {c}", "count", "", f"as {figures.short(name)}"))
    lead = (
        f"True classes in rows, predicted classes in columns, for held-out samples with the "
        f"{curve.chosen} heaviest features. The number of features was chosen by these samples; "
        "the held-out error above is corrected for that, this table is not."
    )
    table = Table("Confusion matrix", frame, columns)
    place = table_place("confusion", "Confusion matrix")
    return Section("confusion", "Errors by class", lead, place, {"confusion": table})


def _interval(wrong: int, total: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval of ``wrong / total``; 0 to 1 without samples."""
    from scipy.stats import binomtest

    if not total:
        return 0.0, 1.0
    found = binomtest(wrong, total).proportion_ci(method="wilson")
    return found.low, found.high


def _no_curve(selection: Selection) -> Section | None:
    """Return a section on why held-out errors were not computed; None for a projection."""
    if selection.support is None:
        return None
    lead = f"Held-out errors were not computed: {selection.why_no_curve()}."
    return Section("held-out-error", "Error and number of features", lead, "")


def reporting(words: str) -> Section:
    """Return the section with a paragraph for a paper and its references."""
    lead = (
        "What was done here, in words for a methods section. The list of features belongs beside "
        "it, and so does the line that repeats it, with its seed and the versions below."
    )
    cited = "".join(f"<li>{escape(full)}</li>" for full in references(words))
    body = f"<p>{escape(words)}</p><h3>References</h3><ul>{cited}</ul>"
    return Section("report", "For a paper", lead, body)


def repeating(selection: Selection) -> Section:
    """Return the section with the command, the parameters and the data digest."""
    told = [(name, _brief(value)) for name, value in selection.parameters.items()]
    line = without_folders(selection.line, [])
    body = f"<h3>Parameters</h3>{facts(told)}" if told else ""
    body += f"<h3>Samples</h3>{facts([('sha256', selection.data.digest)])}"
    if line:
        body = f"<pre>{escape(line)}</pre>{body}"
    lead = "The line that does the same again, where the data lie, with these versions."
    if line.startswith(OF_DATA):
        lead = "The line that does the same again, of data with this sha256, with these versions."
    return Section("repeat", "To do it again", lead if line else "", body)


def _brief(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 200 else f"{text[:199]}…"


def _count(selection: Selection) -> str:
    support = selection.support
    if support is None:
        return _components(selection)
    if not support.any():
        return f"None of {len(support):,} features"
    return f"{support.sum():,} of {len(support):,} features"


def _components(selection: Selection) -> str:
    count = 0 if selection.explained is None else len(selection.explained)
    return f"{count} component{'' if count == 1 else 's'}"


def data_name(selection: Selection | ClassMarkers) -> str:
    """Return the data's name, without the folder (private) if it is an absolute path."""
    name = selection.data.name
    return Path(name).name if Path(name).is_absolute() else name
