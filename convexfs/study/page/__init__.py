"""Write a run as one self-contained HTML page."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from convexfs.batch.run_results import are_measurements
from convexfs.batch.store.store import Store
from convexfs.errors import InputError
from convexfs.records import NATIVE
from convexfs.report.figure import Figure
from convexfs.report.page import page_html, write_page
from convexfs.report.sections import Section, drawn, environment
from convexfs.report.table import Table
from convexfs.study import figures, llfs_points
from convexfs.study.labels import without_places
from convexfs.study.means import chosen_shift
from convexfs.study.outcomes import outcomes_of_tables, selected
from convexfs.study.page import problems, sections

PAGE = "report.html"


@dataclass(frozen=True)
class Report:
    """The content of a run's page: title, sections and solvers."""

    folder: Path
    title: str
    sections: list[Section]
    solvers: list[str]

    @property
    def figures(self) -> list[Figure]:
        return [figure for section in self.sections for figure in section.figures]

    @property
    def tables(self) -> dict[str, Table]:
        return {name: own for section in self.sections for name, own in section.tables.items()}

    @property
    def html(self) -> str:
        return page_html(self.title, self.sections, self.solvers)

    def write(self, out: str | Path | None = None) -> Path:
        """Write the page to `out` (default: report.html in the run's folder); return its path."""
        out = self.folder / PAGE if out is None else Path(out)
        write_page(self.html, out)
        return out


def gather(folder: str | Path, shift: float | None = None) -> Report:
    """Return the Report of a run's folder, even unfinished; sections without data are left out.

    Nothing that the folder holds or names is run.

    Parameters
    ----------
    folder : path
        The ``--out`` of ``convexfs solve`` or ``convexfs compare``, or the ``run_dir`` of a fit.
    shift : float, optional
        Seconds added before geometric means are taken; default 0.001.
    """
    folder, name = Path(folder), Path(folder).resolve().name
    with Store.read(folder) as store:
        tasks = store.tasks()
        if are_measurements(tasks):
            raise InputError(
                f"{folder}: holds an experiment of scripts/reproduce.py, which wrote its page "
                f"{folder / PAGE} and writes it again; convexfs export has its numbers"
            )
        if len(tasks) and tasks["formulation"].isna().all():
            kept = llfs_points.kept_points(tasks, store.solutions())
            told = [section for section in sections.of_points(kept) if section]
            return Report(folder, f"{name}: samples of a fit", told, [])
        solutions = store.solutions(blobs=False)
        frame = outcomes_of_tables(folder, tasks, solutions)
        shift = chosen_shift(shift)
        told = [section for section in _sections(name, store, frame, solutions, shift) if section]
    solvers = sorted(set(frame["solver"].dropna()), key=lambda name: (name != NATIVE, name))
    return Report(folder, f"{name}: {len(frame):,} tasks, {len(solvers)} solvers", told, solvers)


def _sections(
    name: str, store: Store, frame: pd.DataFrame, solutions: pd.DataFrame, shift: float
) -> Iterator[Section | None]:
    stated = problems.section(frame, store.problems())
    frame = without_places(frame)
    chosen = selected(frame, store.answers())
    yield sections.overview(name, frame, store.times(), llfs_points.compared(solutions))
    yield sections.verdicts(frame, shift)
    yield sections.best(frame, shift)
    yield sections.instances(frame)
    yield sections.beside_published(frame)
    yield drawn(figures.profile(frame))
    yield sections.matched(frame, shift)
    yield drawn(figures.accuracy(frame))
    yield drawn(figures.time_split(frame))
    yield stated
    yield drawn(figures.convergence(frame, solutions))
    yield drawn(figures.feature_agreement(chosen))
    yield drawn(figures.selected_features(chosen))
    yield from sections.of_points(llfs_points.kept_points(store.tasks(), store.solutions()))
    yield sections.failures(frame)
    yield sections.all_rows(frame)
    yield environment(store.environments())
    yield sections.downloads(frame)
