"""Build a self-contained HTML page about the markers of every class."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from convexfs.batch.run import describe_environment
from convexfs.report.columns import Column
from convexfs.report.figure import Figure
from convexfs.report.page import shown_page
from convexfs.report.sections import Section, drawn, environment, facts, table_place, tiles
from convexfs.report.table import Table
from convexfs.selection import figures, page
from convexfs.selection.class_markers import ClassMarkers
from convexfs.selection.methods_text import markers_in_words
from convexfs.selection.result import order

#: Heaviest features of each class that the table lists, markers or not, and most features in the
#: scatter plots of all classes.
BESIDE, MOST_POINTS = 50, 4000


def markers_html(found: ClassMarkers, out: str | Path | None) -> str:
    """Return the HTML page about the markers of every class."""
    title = f"Markers of {len(found.parts)} classes of {page.data_name(found)}, by {found.method}"
    return shown_page(title, _sections(found), out)


def _sections(found: ClassMarkers) -> Iterator[Section | None]:
    yield _overview(found)
    yield _classes(found)
    yield _features(found)
    yield drawn(_volcano(found))
    yield drawn(_heat_map(found))
    yield page.reporting(markers_in_words(found))
    yield page.repeating(next(iter(found.parts.values())))
    yield environment([describe_environment()])


def _overview(found: ClassMarkers) -> Section:
    data, support = found.data, found.support
    numbers: list[tuple[str, Any, bool]] = [
        ("samples", f"{data.n_samples:,}", False),
        ("features", f"{data.n_features:,}", False),
        ("classes", len(found.parts), False),
        ("markers", f"{support.sum():,}", False),
    ]
    told = [("data", page.data_name(found)), ("read", "; ".join(data.told))]
    told += [("method", found.method), *found.told().items(), ("took", f"{found.seconds:.2g} s")]
    lead = (
        "Which features tell each class from all other samples, by this method on these samples. "
        "The test against shadow columns says which features are related to the class; the "
        "certificate only says that the mathematical problems are solved."
    )
    nothing = "" if support.any() else page.sentence(page.NOTHING, none=True)
    return Section(
        "overview", "What was asked and found", lead, tiles(numbers) + nothing + facts(told)
    )


def _classes(found: ClassMarkers) -> Section:
    """Return the section with the table of the classes and their first markers."""
    bounds, names = found.max_false(), found.data.full_names
    rows = [
        {
            "class": name,
            "samples": int((part.data.y == 1).sum()),
            "markers": len(order(part)),
            "false": bounds.get(name),
            "first": ", ".join(figures.short(names[j]) for j in order(part)[: page.NAMED]),
        }
        for name, part in found.parts.items()
    ]
    columns = (
        Column("class"),
        Column("samples", "count"),
        Column("markers", "count"),
        Column("false", "count", "bound on the false markers, with 95 % confidence in all classes "
               "together", "false at most"),
        Column("first", "text", "", "heaviest first"),
    )  # fmt: skip
    table = Table("Classes", pd.DataFrame(rows), columns)
    lead = "Markers may be higher or lower in the class than in all other samples."
    place = table_place("classes", "Classes")
    return Section("classes", "Classes", lead, place, {"classes": table})


def _features(found: ClassMarkers) -> Section:
    frame = found.ranking()
    total = len(frame)
    by_class = frame.groupby(page.CLASS, sort=False).cumcount()
    markers = frame["selected"].astype(bool)
    most = max(page.MOST_LISTED // len(found.parts), BESIDE)
    frame = frame[(markers & (by_class < most)) | (by_class < BESIDE)].reset_index(drop=True)
    part = next(iter(found.parts.values()))
    unit = page.own_unit(found.data)
    own = {
        "difference": "mean of the class less that of all other samples, in standard deviations "
        "within these two",
        "mean_difference": f"the same difference in {unit}",
    }
    columns = [Column(page.CLASS), *page.feature_columns(part, frame, own)]
    lead = (
        f"Markers among the {most} heaviest features of every class, and the {BESIDE} heaviest: "
        f"{len(frame):,} of {total:,} rows; --ranking FILE writes them all. Click a heading to "
        "sort; the fields under the headings search."
    )
    place = table_place("features", "Markers")
    table = Table("Markers", frame, columns)
    return Section("features", "Markers", lead, place, {"features": table})


def _volcano(found: ClassMarkers) -> Figure | None:
    """Return a volcano plot with one panel per class; None without tests."""
    most = max(MOST_POINTS // len(found.parts), 100)
    frames = [
        frame.assign(panel=name)
        for name, part in found.parts.items()
        if (frame := figures.volcano_frame(part, most)) is not None
    ]
    if not frames:
        return None
    return Figure(
        "volcano", "Effect and p-value", "points", pd.concat(frames, ignore_index=True), "effect",
        "evidence", figures.DIFFERENCE, figures.EVIDENCE, series="what", panel="panel",
        hover="feature", faint=figures.NOT_SELECTED,
        note="Above: small p-values against shadow columns. Right: higher in the class, left: "
        f"lower. At most {most} features of a class are drawn, its markers first.",
    )  # fmt: skip


def _heat_map(found: ClassMarkers) -> Figure | None:
    """Return a heat map of the heaviest numeric markers of every class; None if there are none."""
    each = max(figures.MOST_ROWS // len(found.parts), 1)
    chosen = dict.fromkeys(j for part in found.parts.values() for j in order(part)[:each])
    numbers = np.array([j for j in chosen if j not in found.data.categories], dtype=int)
    if not len(numbers):
        return None
    note = f"The {each} heaviest markers of every class."
    return figures.heat_map(found.data, numbers, note)
