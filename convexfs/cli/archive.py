"""The command ``convexfs archive``: a comparison as one file, to be done again elsewhere."""

import argparse
from collections.abc import Callable
from pathlib import Path

from convexfs.cli.terminal import write


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
    "archive": (archive, add_archive_options),
}
