"""Print the result of ``convexfs select``, and write its files; paths are checked first."""

import argparse
import json
import math
import os
import sys
import textwrap
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from convexfs.cli.console import Console
from convexfs.data.specs import file_behind
from convexfs.errors import InputError, and_more

if TYPE_CHECKING:  # Paths are checked before the slow imports.
    from convexfs.selection.class_markers import ClassMarkers
    from convexfs.selection.result import Selection

#: Width in columns at which sentences are wrapped.
WIDTH = 80
#: Most features in the printed table; the others are counted.
SHOWN_WEIGHTS = 10
#: Most selected features that are named below the table.
MOST_NAMES = 8
#: Most markers of one class that the printed table names.
SHOWN_MARKERS = 8
#: Characters of the longest bar; names of 24 characters then fit into 80 columns.
LONGEST_BAR = 12
#: Suffix of AnnData files, into which weights can be written.
ANNOTATED = ".h5ad"
#: Options that name an output file.
WRITTEN = ("out", "ranking", "plot", "report")
#: Suffixes of HTML pages.
PAGES = (".html", ".htm")


def check_targets(arguments: argparse.Namespace) -> None:
    """Raise InputError if an output cannot be written, or is an input or another output.

    Raises
    ------
    InputError
        If one cannot be written, or would overwrite what is read or another of them.
    """
    wanted = _wanted(arguments)
    if not wanted:
        return
    from convexfs.data.writers import FRAME_WRITERS, WRITERS, check_target
    from convexfs.report.pictures import PICTURE_FORMATS

    annotated = Path(arguments.source).suffix.lower() == ANNOTATED and not arguments.drop
    formats = {
        "out": [*WRITERS, *([ANNOTATED] if annotated else [])],
        "ranking": FRAME_WRITERS,
        "plot": PICTURE_FORMATS,
        "report": PAGES,
    }
    taken = _read(arguments)
    for option, path in wanted.items():
        check_target(path, formats[option])
        for other, what in taken.items():
            both = path.exists() and other.exists()
            if os.path.samefile(path, other) if both else path.resolve() == other.resolve():
                raise InputError(f"--{option} {path} would overwrite {what}: name another file")
        taken[path] = f"the file of --{option}"
    if arguments.report is not None:
        from convexfs.report.page import check_page  # Imports what only pages need.

        check_page(arguments.report)


def existing_outputs(arguments: argparse.Namespace) -> list[Path]:
    """Return the requested output files that exist already."""
    return [path for path in _wanted(arguments).values() if path.is_file()]


def _wanted(arguments: argparse.Namespace) -> dict[str, Path]:
    """Return the paths of requested output files by option name."""
    asked = {option: getattr(arguments, option) for option in WRITTEN}
    return {option: path for option, path in asked.items() if path is not None}


def _read(arguments: argparse.Namespace) -> dict[Path, str]:
    """Return the paths of input files, each with its role: "the data" or "the labels"."""
    found: dict[Path, str] = {}
    if (data := file_behind(arguments.source, arguments.data)) is not None:
        found[data] = "the data"
    if arguments.labels is not None:
        from convexfs.data.readers.label_file import label_file

        found[Path(label_file(arguments.labels)[0])] = "the labels"
    return found


def table_report(arguments: argparse.Namespace, selection: "Selection") -> None:
    """Print the SHOWN_WEIGHTS features of largest weight, and lines about the selection."""
    console, data = Console(), selection.data
    if selection.explained is not None:
        of = f"{len(selection.explained)} components of {data.n_features} features"
        console.print(Text(f"{arguments.method} on {data.name}: {of}"), soft_wrap=True)
        console.print(_component_table(selection.explained, selection.explained_as))
        console.print("weights of the features in it; a projection selects none")
    console.print(_weight_table(selection))
    if data.n_features > SHOWN_WEIGHTS:
        more = data.n_features - SHOWN_WEIGHTS
        console.print(f"… and {more} more (--ranking and --json have them all)")
    took = f"{selection.seconds:.2f} s"
    if selection.solution is not None:
        solver, objective = selection.solution.solver, selection.solution.objective
        took = f"solver {solver}   objective {objective:.6g}   {took}"
    console.print(took, highlight=False)
    for name, text in (_also_selected(selection) | selection.told()).items():
        for line in textwrap.wrap(
            text, WIDTH, initial_indent=f"{name:<19}", subsequent_indent=" " * 19,
            break_long_words=False, break_on_hyphens=False,
        ):  # fmt: skip
            console.print(Text(line), soft_wrap=True)
    columns = "selected columns" if selection.support is not None else "components of all samples"
    _print_written(arguments, console, columns)


def _also_selected(selection: "Selection") -> dict[str, str]:
    """Return a line with up to MOST_NAMES selected features that the table does not show."""
    if selection.support is None:
        return {}
    below = (-selection.weights).argsort(kind="stable")[SHOWN_WEIGHTS:]
    names = [selection.data.full_names[j] for j in below if selection.support[j]]
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return {"also selected": ", ".join(names[:MOST_NAMES]) + more} if names else {}


def _print_written(arguments: argparse.Namespace, console: Console, columns: str) -> None:
    written = {columns: "out", "ranking of the features": "ranking", "picture": "plot"}
    for what, option in (written | {"page": "report"}).items():
        if (path := getattr(arguments, option)) is not None:
            console.print(f"{what}: {path}", highlight=False, soft_wrap=True)


def markers_report(arguments: argparse.Namespace, found: "ClassMarkers") -> None:
    """Print each class's first SHOWN_MARKERS markers, a line each, and notes on the selection."""
    from convexfs.selection.class_markers import CONFIDENCE
    from convexfs.selection.result import order

    console, data = Console(), found.data
    named, bounds = sum(map(bool, found.markers().values())), found.max_false()
    answer = f"{named} of {len(found.parts)} classes have markers"
    answer += f" ({found.support.sum()} of {data.n_features} features)"
    console.print(Text(f"{answer}: {arguments.method} on {data.name}"), soft_wrap=True)
    table = Table()
    table.add_column("class", no_wrap=True, max_width=20)
    for heading in ("samples", "markers", *(["false"] if bounds else [])):
        table.add_column(heading, no_wrap=True, justify="right")
    table.add_column("heaviest first")
    for name, part in found.parts.items():
        counts = [str(int((part.data.y == 1).sum())), str(len(order(part)))]
        counts += [f"<= {bounds[name]}"] if bounds else []
        table.add_row(Text(name), *counts, Text(_signed_names(part)))
    console.print(table)
    console.print("- before a name: lower in the class than in all other samples")
    if bounds:
        told = f"{100 * CONFIDENCE:g} % confidence in all classes together"
        console.print(f"false: bound on the false markers, with {told}", highlight=False)
    console.print(f"{found.seconds:.2f} s", highlight=False)
    for name, text in found.told().items():
        console.print(Text(f"{name:<19}{text}"), soft_wrap=True)
    _print_written(arguments, console, "columns of all markers")


def _signed_names(part: "Selection") -> str:
    """Return names of a class's first markers; a minus marks those lower in the class."""
    from convexfs.selection.effect_sizes import class_means
    from convexfs.selection.result import order

    others, own = class_means(part.data)
    higher = own >= others
    chosen = order(part)
    names = [f"{'' if higher[j] else '-'}{part.data.full_names[j]}" for j in chosen[:SHOWN_MARKERS]]
    return and_more(names, len(chosen))


def markers_json(arguments: argparse.Namespace, found: "ClassMarkers") -> None:
    """Print the markers of each class as one JSON object."""
    names = found.data.feature_names
    first, bounds = next(iter(found.parts.values())), found.max_false()
    record = {
        "data": found.data.name,
        "method": arguments.method,
        "parameters": {k: v for k, v in first.parameters.items() if _plain(v)},
        "scale": first.scale,
        "per_class": {
            name: {
                "samples": int((part.data.y == 1).sum()),
                "selected": found.markers()[name],
                "max_false_95": bounds.get(name),
                "weights": dict(zip(names, part.weights.tolist(), strict=True)),
                **{
                    key: dict(zip(names, values.tolist(), strict=True))
                    for key, values in part.evidence().items()
                    if key != "higher_in"
                },
                "certificate": part.certificate and part.certificate.as_dict(),
            }
            for name, part in found.parts.items()
        },
        "told": found.told(),
        "seconds": found.seconds,
    }
    _print_json(record)


def _print_json(record: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(_without_nonfinite(record), indent=2, allow_nan=False) + "\n")


def _component_table(explained: Any, explained_as: str) -> Table:
    table = Table("component", explained_as)
    for t, value in enumerate(explained[:SHOWN_WEIGHTS], start=1):
        table.add_row(str(t), f"{value:.4g}")
    if len(explained) > SHOWN_WEIGHTS:
        table.add_row("…", f"and {len(explained) - SHOWN_WEIGHTS} more")
    return table


def _weight_table(selection: "Selection") -> Table:
    data, weights, support = selection.data, selection.weights, selection.support
    headings = ["rank", "feature", selection.weights_are, ""]
    title = None
    if support is not None:
        title = f"{selection.method} on {data.name}: {support.sum()} of {data.n_features} features"
        empty = int((weights[support] == 0).sum())
        if empty:
            title += f" ({empty} of them of weight 0)"
        headings.append("selected")
    column = None if selection.judgement is None else selection.judgement.column
    if column is not None:
        headings.append(column[0])
    table = Table(*headings, title=title, title_justify="left")
    largest = float(weights.max(initial=0.0)) or 1.0
    for rank, j in enumerate((-weights).argsort(kind="stable")[:SHOWN_WEIGHTS], start=1):
        share = float(weights[j]) / largest
        bar = "█" * round(LONGEST_BAR * share) if math.isfinite(share) else ""
        row: list[str | Text] = [str(rank), Text(data.full_names[j]), f"{weights[j]:.4f}", bar]
        if support is not None:
            row.append("yes" if support[j] else "")
        if column is not None:
            row.append(f"{column[1][j]:.2g}")
        table.add_row(*row)
    return table


def json_report(arguments: argparse.Namespace, selection: "Selection") -> None:
    """Print the full result as one JSON object."""
    data, solution, support = selection.data, selection.solution, selection.support
    record = {
        "data": data.name,
        "method": arguments.method,
        "parameters": {k: v for k, v in selection.parameters.items() if _plain(v)},
        "scale": selection.scale,
        "weights": dict(zip(data.feature_names, selection.weights.tolist(), strict=True)),
        "weights_are": selection.weights_are,
        "selected": None if support is None else [*compress(data.feature_names, support)],
        "feature_metadata": {
            name: dict(zip(data.feature_names, values, strict=True))
            for name, values in data.feature_metadata.items()
        },
        "solver": solution and solution.solver,
        "status": solution and solution.status,
        "objective": solution and solution.objective,
        "certificate": selection.certificate and selection.certificate.as_dict(),
        "inference": selection.judgement and dict(selection.judgement.record),
        "told": selection.told(),
        "seconds": selection.seconds,
    }
    if selection.explained is not None:
        record["components"] = selection.explained.tolist()
        record["components_are"] = selection.explained_as
    _print_json(record)


def _without_nonfinite(value: Any) -> Any:
    """Replace NaN and infinity by null, because JSON lacks them."""
    if isinstance(value, dict):
        return {key: _without_nonfinite(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nonfinite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _plain(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float | bool)
