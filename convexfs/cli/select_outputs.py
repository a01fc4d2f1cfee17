"""The files that ``convexfs select`` is to write: checked before any work."""

import argparse
import os
from pathlib import Path

from convexfs.data.readers.label_file import label_file
from convexfs.data.specs import file_behind
from convexfs.data.writers import FRAME_WRITERS, WRITERS, check_target
from convexfs.errors import InputError
from convexfs.report.pictures import PICTURE_FORMATS

#: Files that weights can be written into.
ANNOTATED = ".h5ad"
#: Options that name a file to be written.
WRITTEN = ("out", "ranking", "plot", "report")
#: How files of pages end.
PAGES = (".html", ".htm")


def check_targets(arguments: argparse.Namespace) -> None:
    """Check all files that are to be written.

    Raises
    ------
    InputError
        If one cannot be written, or would overwrite what is read or another of them.
    """
    annotated = Path(arguments.source).suffix.lower() == ANNOTATED and not arguments.drop
    formats = {
        "out": [*WRITERS, *([ANNOTATED] if annotated else [])],
        "ranking": FRAME_WRITERS,
        "plot": PICTURE_FORMATS,
        "report": PAGES,
    }
    taken = _read(arguments)
    for option, path in _wanted(arguments).items():
        check_target(path, formats[option])
        for other, what in taken.items():
            if _are_one(path, other):
                raise InputError(f"--{option} {path} would overwrite {what}: name another file")
        taken[path] = f"the file of --{option}"
    if arguments.report is not None:
        from convexfs.study.page.assemble import check_page  # loads what only pages need

        check_page(arguments.report)


def replaced(arguments: argparse.Namespace) -> list[Path]:
    """Name the files to be written that are there already."""
    return [path for path in _wanted(arguments).values() if path.is_file()]


def _wanted(arguments: argparse.Namespace) -> dict[str, Path]:
    """The files to be written, by option."""
    asked = {option: getattr(arguments, option) for option in WRITTEN}
    return {option: path for option, path in asked.items() if path is not None}


def _read(arguments: argparse.Namespace) -> dict[Path, str]:
    """The files that are read, and what each is."""
    found: dict[Path, str] = {}
    if (data := file_behind(arguments.source, arguments.data)) is not None:
        found[data] = "the data"
    if arguments.labels is not None:
        found[Path(label_file(arguments.labels)[0])] = "the labels"
    return found


def _are_one(path: Path, other: Path) -> bool:
    """Whether two paths lead to one file, which may have several names."""
    if path.exists() and other.exists():
        return os.path.samefile(path, other)
    return path.resolve() == other.resolve()
