"""A run as one page of HTML that needs nothing else."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import convexfs
from convexfs.batch.store import Store
from convexfs.errors import InputError
from convexfs.study import figures, report_data, report_parts, report_problems
from convexfs.study.figures import Figure
from convexfs.study.outcomes import Frame, outcomes, selected
from convexfs.study.page import assemble
from convexfs.study.places import without_places
from convexfs.study.profiles import NATIVE
from convexfs.study.report_parts import Part

PAGE = "report.html"
#: What a page begins with.
DOCTYPE = b"<!DOCTYPE HTML"


@dataclass(frozen=True)
class Report:
    """Everything a page shows, part by part."""

    title: str
    parts: list[Part]
    solvers: list[str]

    @property
    def figures(self) -> list[Figure]:
        return [figure for part in self.parts for figure in part.figures]

    @property
    def html(self) -> str:
        tables = {name: table for part in self.parts for name, table in part.tables.items()}
        numbers = {
            "tables": {name: table.as_dict() for name, table in tables.items()},
            "figures": {figure.name: figure.as_dict(self.solvers) for figure in self.figures},
        }
        return assemble.page_html(
            self.title,
            [part.section for part in self.parts],
            numbers,
            convexfs.__version__,
            f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        )


def write_report(folder: str | Path, out: str | Path | None = None) -> Path:
    """Write the page of a run and return where it is: `out`, or in the folder."""
    return write(gather(folder), folder, out)


def write(report: Report, folder: str | Path, out: str | Path | None) -> Path:
    """Write a page; see :func:`write_report`."""
    out = Path(folder) / PAGE if out is None else Path(out)
    _check_target(out)
    try:
        out.write_text(report.html, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{out}: cannot be written ({error.strerror or error})") from error
    return out


def _check_target(out: Path) -> None:
    """Raise unless a page may be written there: never over what is none."""
    if out.suffix.lower() not in (".html", ".htm") and not out.is_dir():
        raise InputError(f"{out}: a page is written to a file that ends in .html")
    try:
        with out.open("rb") as file:
            begins = file.read(len(DOCTYPE))
    except OSError:
        # Nothing is there, or writing will tell.
        return
    if begins and begins.upper() != DOCTYPE:
        raise InputError(f"{out}: is there already and is no page; choose another name")


def gather(folder: str | Path) -> Report:
    """Read a run, which may be going on; parts without data are left out.

    Nothing that the folder holds or names is run.

    Parameters
    ----------
    folder : path
        The ``--out`` of ``convexfs solve`` or ``convexfs compare``, or the ``run_dir`` of a fit.
    """
    folder = Path(folder)
    with Store.read(folder) as store:
        formulations: Frame = store.tasks()["formulation"]
    if len(formulations) and formulations.isna().all():
        parts = [part for part in report_parts.of_points(folder) if part]
        return Report(f"{folder.resolve().name}: samples of a fit", parts, [])
    frame = outcomes(folder)
    solvers = sorted(set(frame["solver"].dropna()), key=lambda name: (name != NATIVE, name))
    parts = [part for part in _parts_of_tasks(folder, frame) if part]
    title = f"{folder.resolve().name}: {len(frame):,} tasks, {len(solvers)} solvers"
    return Report(title, parts, solvers)


def _parts_of_tasks(folder: Path, frame: Frame) -> Iterator[Part | None]:
    stated = report_problems.part(report_problems.statements(folder, frame))
    frame = without_places(frame)
    chosen = selected(folder, frame)
    yield report_parts.overview(folder, frame)
    yield report_parts.verdicts(frame)
    yield report_parts.best(frame)
    yield report_parts.drawn(figures.profile(frame))
    yield report_parts.drawn(figures.accuracy(frame))
    yield report_parts.drawn(figures.time_split(frame))
    yield stated
    yield report_parts.drawn(figures.convergence(report_data.steps(folder, frame)))
    yield report_parts.drawn(figures.feature_agreement(chosen))
    yield report_parts.drawn(figures.selected_features(chosen))
    yield from report_parts.of_points(folder)
    yield report_parts.failures(frame)
    yield report_parts.all_rows(frame)
    yield report_parts.environment(folder)
    yield report_parts.downloads(frame)
