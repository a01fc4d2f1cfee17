"""The command ``convexfs report``: a run as one page, and its figures and tables as files."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

#: Kinds of figure files, and what they are called.
PICTURES = {"png": "PNG", "svg": "SVG", "pdf": "PDF"}
SHIFT_HELP = "seconds added before geometric means are taken [0.001]"


def report(arguments: argparse.Namespace) -> int:
    """Write a run as one HTML page that opens offline, and its figures and tables as files."""
    from convexfs.study.export import write_figures, write_tables
    from convexfs.study.page import gather

    page = gather(arguments.folder, arguments.shift)
    lines = [f"page: {page.write(arguments.out)}"]
    for ending in PICTURES:
        folder = getattr(arguments, ending)
        if folder is not None:
            files = write_figures(page.figures, page.solvers, folder, ending)
            lines.append(f"figures: {len(files)} files in {folder}")
    if arguments.tables is not None:
        files = write_tables(page.tables, arguments.tables)
        lines.append(f"tables: {len(files)} files in {arguments.tables}")
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


def add_report_options(parser: argparse.ArgumentParser) -> None:
    """Options of ``convexfs report``."""
    add = parser.add_argument
    add("folder", type=Path, metavar="DIR", help="the --out of solve or compare")
    add("--out", type=Path, metavar="FILE", help="where to write the page [DIR/report.html]")
    for ending, name in PICTURES.items():
        add(f"--{ending}", type=Path, metavar="DIR", help=f"write every figure as a {name} file")
    add("--tables", type=Path, metavar="DIR", help="write every table as CSV and LaTeX files there")
    add("--shift", type=float, metavar="S", help=SHIFT_HELP)


COMMANDS: dict[str, tuple[Callable[..., int], Callable[..., None]]] = {
    "report": (report, add_report_options),
}
