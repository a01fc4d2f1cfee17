"""Options that several commands share, and the examples below help texts."""

import argparse
import csv
from pathlib import Path
from typing import Any

from convexfs.data.readers.options import IMPUTATIONS, MISSING_RULES, WORDS
from convexfs.data.specs import listed

FILES_HELP = "problem files, model files (.mps, .cbf, ...), or bare names in ./problems"
MEMORY_HELP = "most memory per task, such as 2GB; enforced on Linux only [no limit]"
SHARD_HELP = (
    "solve only the I-th of N parts, into a separate folder; auto or auto/N takes I from the "
    "scheduler (Slurm, PBS, SGE, LSF); convexfs merge joins the parts"
)
SHIFT_HELP = "shift of shifted geometric means, in seconds [0.001]"
SEED_HELP = "seed of every random choice [0]"


def add_examples(parser: argparse.ArgumentParser, *lines: str, topic: str = "") -> None:
    """Set the parser's epilog: example commands, and the guide's page on the topic."""
    told = ["examples:", *(f"  convexfs {line}" for line in lines)]
    if topic:
        told += ["", f"More: convexfs guide {topic}"]
    parser.epilog = "\n".join(told)


def add_data_options(group: Any) -> None:
    """Add the options ``--data`` and ``--read-limit``."""
    group.add_argument("--data", type=Path, metavar="DIR",
        help="folder that data:NAME refers to [CONVEXFS_DATA]")  # fmt: skip
    group.add_argument("--read-limit", metavar="SIZE",
        help="most memory for reading data, such as 2GB [half of the machine's]")  # fmt: skip


def add_json_option(group: Any) -> None:
    """Add the option ``--json``."""
    group.add_argument("--json", action="store_true", help="print all numbers as JSON")


def add_problem_files_option(group: Any) -> None:
    """Add the option ``--problem``, which names the problem files of a stored run."""
    group.add_argument("--problem", action="append", default=[], metavar="FILE",
        help="if DIR is given: a problem file of the run; repeat it for more")  # fmt: skip


def add_reading_options(group: Any) -> None:
    """Add the options of reading a data file, such as ``--sep`` and ``--impute``."""
    add = group.add_argument
    for name, option in WORDS.items():
        told: dict[str, Any] = {"help": option.metadata["help"]}
        if name == "target":  # Added before these, with a longer help text.
            continue
        if option.default is False:
            add(f"--{name}", action="store_true", **told)
        elif name == "impute":
            add(f"--{name}", choices=IMPUTATIONS, default=option.default, **told)
        elif option.default == ():
            add(f"--{name}", type=_names, default=[], metavar=option.metadata["metavar"], **told)
        else:
            add(f"--{name}", metavar=option.metadata["metavar"], **told)
    add("--missing", choices=MISSING_RULES,
        help="how methods with class targets treat missing values [hybrid]")  # fmt: skip


def _names(text: str) -> list[str]:
    """Split an option's text at commas into names; raise argparse's error if it is malformed."""
    try:
        return listed(text)
    except csv.Error as error:
        told = f"{text!r} cannot be read as names between commas ({error})"
        raise argparse.ArgumentTypeError(told) from None
