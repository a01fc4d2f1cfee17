"""The command ``convexfs export-problems``: every formulation as files that others can use.

What it uses is imported when it runs: the other commands start faster without it.
"""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from convexfs.cli.terminal import write

if TYPE_CHECKING:
    from convexfs.batch.export_problems import Instance


def export_problems(arguments: argparse.Namespace) -> int:
    """Write every formulation on data of several sizes to files, each with its proven optimum."""
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
    """Options of ``convexfs export-problems``."""
    add = parser.add_argument
    add("folder", type=Path, metavar="DIR", help="where to write; made if it is not there")
    add("--format", default="cbf", metavar="F", help="cbf, mps, qps, lp, dat-s or npz [cbf]")
    add("--only", metavar="A,B", help="formulations, as `convexfs list` names them [all]")
    add("--on", action="append", metavar="DATA", help="data to state them on; give it again for "
        "more [three generated sets]")  # fmt: skip


COMMANDS: dict[str, tuple[Callable[..., int], Callable[..., None]]] = {
    "export-problems": (export_problems, add_export_problems_options),
}
