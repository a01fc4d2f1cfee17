"""The commands on stored runs: ``convexfs merge``, ``export``, ``report`` and ``archive``."""

import argparse
from pathlib import Path

from convexfs.cli.options import SHIFT_HELP, add_examples
from convexfs.cli.terminal import write

#: Formats of figure files: option and name in its help.
PICTURES = {"png": "PNG", "svg": "SVG", "pdf": "PDF"}


def merge(arguments: argparse.Namespace) -> int:
    """Join the result folders of all shards into one run, and report missing shards."""
    from convexfs.batch.store.merge import merge as merged

    made = merged(arguments.folders, arguments.out)
    count = made.shards + len(made.missing)
    write(f"{made.folder}: {made.shards} of {count} shards, {made.tasks} of {made.total} tasks")
    if made.missing:
        write(f"missing: {', '.join(made.missing)}; run and merge them too")
    for sentence in made.unfinished:
        write(f"unfinished: {sentence}")
    return 1 if made.missing or made.unfinished else 0


def add_merge_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``convexfs merge``."""
    add_examples(parser, "merge runs/a-shard-1-of-2 runs/a-shard-2-of-2 --out runs/a",
                 topic="batches")  # fmt: skip
    add = parser.add_argument
    add("folders", nargs="+", type=Path, metavar="DIR", help="result folder of a --shard")
    add("--out", type=Path, required=True, metavar="DIR", help="folder of the joined run")


def export(arguments: argparse.Namespace) -> int:
    """Write the results of a run as one table (.parquet, .csv or .jsonl)."""
    from convexfs.study.outcomes import export as export_run

    export_run(arguments.folder, arguments.to, arguments.escape_formulas)
    write(f"table: {arguments.to}")
    return 0


def add_export_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``convexfs export``."""
    add_examples(parser, "export runs/relief --to results.csv", topic="batches")
    add = parser.add_argument
    add("folder", type=Path, metavar="DIR", help="result folder (--out) of a run")
    add("--to", type=Path, required=True, metavar="FILE",
        help="table to write: .parquet, .csv or .jsonl")  # fmt: skip
    add("--escape-formulas", action="store_true",
        help="put ' before texts that a spreadsheet would run as formulas, "
        "such as =cmd|...")  # fmt: skip


def report(arguments: argparse.Namespace) -> int:
    """Write a stored run as an offline HTML page; if asked, also its figures and tables."""
    from convexfs.report.export import write_figures, write_tables
    from convexfs.report.page import check_page
    from convexfs.study.page import gather

    if arguments.out is not None:
        check_page(arguments.out)
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
    """Add the options of ``convexfs report``."""
    add_examples(parser, "report runs/study", "report runs/study --pdf figures --tables tables",
                 topic="studies")  # fmt: skip
    add = parser.add_argument
    add("folder", type=Path, metavar="DIR", help="result folder (--out) of solve or compare")
    add("--out", type=Path, metavar="FILE", help="file of the page [DIR/report.html]")
    for ending, name in PICTURES.items():
        text = f"write every figure as a {name} file to DIR"
        add(f"--{ending}", type=Path, metavar="DIR", help=text)
    add("--tables", type=Path, metavar="DIR", help="write every table as CSV and LaTeX to DIR")
    add("--shift", type=float, metavar="S", help=SHIFT_HELP)


def archive(arguments: argparse.Namespace) -> int:
    """Pack a comparison into one file that `compare --from` repeats."""
    from convexfs.study.archive import write_archive

    out = arguments.out or Path(f"{arguments.folder.resolve().name}.zip")
    made = write_archive(arguments.folder, out, arguments.more)
    write(f"archive: {made} ({made.stat().st_size:,} bytes)")
    write(f"again:   convexfs compare --from {made}")
    return 0


def add_archive_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``convexfs archive``."""
    add_examples(parser, "archive runs/study --out study.zip", "compare --from study.zip",
                 topic="studies")  # fmt: skip
    add = parser.add_argument
    add("folder", type=Path, metavar="DIR", help="result folder (--out) of compare")
    add("--out", type=Path, metavar="FILE", help="file of the archive [NAME of DIR.zip]")
    add("--with", dest="more", nargs="*", default=[], metavar="FILE",
        help="further files that the problem files read, beside or below them")  # fmt: skip
