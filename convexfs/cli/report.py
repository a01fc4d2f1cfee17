"""The commands ``convexfs report`` and ``convexfs archive``: a run as a page, or as one file."""

import argparse
from collections.abc import Callable
from pathlib import Path

from convexfs.cli.terminal import write

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
    write("\n".join(lines))
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


def archive(arguments: argparse.Namespace) -> int:
    """Write a comparison as one file, from which compare --from does it again."""
    from convexfs.study.archive import write_archive

    out = arguments.out or Path(f"{arguments.folder.resolve().name}.zip")
    made = write_archive(arguments.folder, out, arguments.more)
    write(f"archive: {made} ({made.stat().st_size:,} bytes)")
    write(f"again:   convexfs compare --from {made}")
    return 0


def add_archive_options(parser: argparse.ArgumentParser) -> None:
    """Options of ``convexfs archive``."""
    add = parser.add_argument
    add("folder", type=Path, metavar="DIR", help="the --out of compare")
    add("--out", type=Path, metavar="FILE", help="where to write it [NAME of DIR.zip]")
    add("--with", dest="more", nargs="*", default=[], metavar="FILE",
        help="files that problem files read by themselves, beside or below these")  # fmt: skip


COMMANDS: dict[str, tuple[Callable[..., int], Callable[..., None]]] = {
    "report": (report, add_report_options),
    "archive": (archive, add_archive_options),
}
