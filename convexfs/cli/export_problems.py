"""The command ``convexfs export-problems``: write formulations as files for other programs.

Imports are inside the functions, so that the other commands start faster.
"""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from convexfs.cli.options import add_examples
from convexfs.cli.terminal import write

if TYPE_CHECKING:
    from convexfs.batch.export_problems import Instance


def export_problems(arguments: argparse.Namespace) -> int:
    """Write every formulation, on data of several sizes, to files with proven optima."""
    from convexfs.batch import export_problems as instances

    found = instances.export_problems(
        arguments.folder,
        arguments.format,
        only=arguments.only.split(",") if arguments.only else None,
        data=arguments.on or instances.DATA,
        watch=lambda one: write(_line(one)),
    )
    written = [one for one in found if one.file]
    wrong = [one for one in written if not one.agrees]
    unproven = [one for one in written if not one.proven]
    write(
        f"{len(written)} files, {len(found) - len(written)} not written, "
        f"{len(unproven)} without a proof, {len(wrong)} with another optimum\n"
        f"table: {arguments.folder / instances.TABLE}.csv, .md"
    )
    return 1 if wrong else 0


def _line(one: "Instance") -> str:
    from convexfs.records import VERDICTS

    if not one.file:
        return f"{one.name}: not written: {one.failure}"
    verdict = VERDICTS[one.proven]
    if not one.agrees:
        verdict += f", but {one.optimum_of_file} in the file"
    return f"{one.file}: {one.problem_class}, optimum {one.optimum}, {verdict} ({one.solver})"


def add_export_problems_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``convexfs export-problems``."""
    add_examples(parser, "export-problems instances --only relief,logo-penalised",
                 "export-problems instances --format mps --on wdbc", topic="studies")  # fmt: skip
    add = parser.add_argument
    add("folder", type=Path, metavar="DIR", help="folder to write to; it is created if needed")
    add("--format", default="cbf", metavar="F",
        help="file format: cbf, mps, qps, lp, dat-s or npz [cbf]")  # fmt: skip
    add("--only", metavar="A,B", help="names of formulations, see `convexfs list` [all]")
    add("--on", action="append", metavar="DATA", help="data set to build them on; repeat it for "
        "more [three generated sets]")  # fmt: skip
