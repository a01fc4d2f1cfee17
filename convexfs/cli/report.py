"""The command ``convexfs report``: a run as one page, and its figures as files."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path


def report(arguments: argparse.Namespace) -> int:
    """Write a run as one HTML page that opens offline, and its figures as PNG files."""
    from convexfs.study.figures_png import write_figures
    from convexfs.study.page import gather

    page = gather(arguments.folder)
    lines = [f"page: {page.write(arguments.out)}"]
    if arguments.png is not None:
        files = write_figures(page.figures, page.solvers, arguments.png)
        lines.append(f"figures: {len(files)} files in {arguments.png}")
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


def add_report_options(parser: argparse.ArgumentParser) -> None:
    """Options of ``convexfs report``."""
    add = parser.add_argument
    add("folder", type=Path, metavar="DIR", help="the --out of solve or compare")
    add("--out", type=Path, metavar="FILE", help="where to write the page [DIR/report.html]")
    add("--png", type=Path, metavar="DIR", help="write every figure as a PNG file there")


COMMANDS: dict[str, tuple[Callable[..., int], Callable[..., None]]] = {
    "report": (report, add_report_options),
}
