"""The command ``convexfs compare``: benchmark solvers on the same problems.

Imports are inside the functions, so that the other commands start faster.
"""

import argparse
import itertools
import json
import re
import shlex
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from convexfs.cli.console import Console
from convexfs.cli.options import (
    FILES_HELP,
    MEMORY_HELP,
    SEED_HELP,
    SHARD_HELP,
    SHIFT_HELP,
    add_data_options,
    add_examples,
)
from convexfs.cli.solve import (
    default_folder,
    limit_given,
    note_partial_evidence,
    nothing_to_do,
    progress_shown,
    shard_given,
    stop_signals,
    stopped,
)
from convexfs.errors import InputError, check_number

if TYPE_CHECKING:
    from convexfs.batch.run import Progress
    from convexfs.study.archive import Contents


def compare(arguments: argparse.Namespace) -> int:
    """Benchmark solvers on problem files and verify every solution; resume a stopped study."""
    console = Console(stderr=True)
    arguments.shard = shard_given(arguments.shard)
    arguments.out = arguments.out or default_folder("study", arguments.shard)
    if arguments.shift is not None:
        check_number("shift, in seconds,", arguments.shift, 0)
    if arguments.jobs > 1:
        console.print(f"{arguments.jobs} solves at a time disturb each other's times.")
    try:
        if arguments.source is not None:
            return _repeat(console, arguments)
        with stop_signals(), progress_shown(console) as watch:
            keys = _compare(arguments, watch).keys
    except KeyboardInterrupt as interrupt:
        return stopped(console, arguments.out, interrupt)
    if not keys:
        return nothing_to_do(console, arguments.out)
    from convexfs.cli.compare_outputs import print_comparison

    shown, code = print_comparison(arguments.out, keys, arguments.shift, arguments.verbose)
    note_partial_evidence(shown, arguments.shard)
    return code


def _compare(arguments: argparse.Namespace, watch: Callable[["Progress"], None]) -> "Progress":
    from convexfs.study.compare import compare_files
    from convexfs.study.plan import CVXPY, DIRECT

    options = [word for word in arguments.own or [] if "=" in word]
    files = [*arguments.files, *_public_files(arguments)]
    if not files:
        raise InputError("give problem files to compare on, --set NAME, or an archive by --from")
    return compare_files(
        files,
        arguments.out,
        memory_limit=limit_given(arguments.memory_limit),
        jobs=arguments.jobs,
        data_dir=None if arguments.data is None else str(arguments.data),
        read_limit=arguments.read_limit,
        shard=arguments.shard,
        watch=watch,
        solvers=arguments.solvers or "all",
        tols=_accuracies(arguments.tol or "1e-6,1e-8"),
        default=not arguments.no_default,
        asked=(arguments.tolerances or "translated").split(","),
        own_options=_own_options(options),
        warm=arguments.warm,
        interfaces=[CVXPY, DIRECT] if arguments.direct else [CVXPY],
        environments=_environments(arguments.environments),
        **{
            name: value
            for name in ("repeats", "time_limit", "seed")
            if (value := getattr(arguments, name)) is not None
        },
    )


def _environments(words: Iterable[str] | None) -> dict[str, str]:
    """Parse NAME=PYTHON words of ``--env``; return interpreters by name."""
    found = {}
    for word in words or []:
        name, equals, python = word.partition("=")
        if not (equals and python):
            raise InputError(f"--env takes NAME=PYTHON, such as old=venv/bin/python, not {word!r}")
        found[name] = python
    return found


def _public_files(arguments: argparse.Namespace) -> list[Path]:
    """Return the files of the public sets that words of ``--set`` without "=" name."""
    from convexfs.study.public_sets import files_of

    names = [word for word in arguments.own or [] if "=" not in word]
    for word in names:
        if "." in word:
            raise InputError(f"--set takes SOLVER.OPTION=VALUE,VALUE, not {word!r}")
    if not names:
        return []
    return files_of(names, arguments.instances, arguments.sample, arguments.seed or 0)


#: Options that ``--from`` excludes, because an archive defines them, with their defaults.
_OF_A_PLAN = {
    "files": [], "solvers": None, "tol": None, "no_default": False, "tolerances": None,
    "own": None, "instances": None, "sample": None, "warm": False, "direct": False, "repeats": None,
    "time_limit": None, "seed": None, "data": None, "shard": None,
}  # fmt: skip


def _repeat(console: Console, arguments: argparse.Namespace) -> int:
    """Repeat a comparison from its archive and print the differences; return the exit code."""
    from convexfs.cli.compare_outputs import print_comparison
    from convexfs.study import archive, rerun
    from convexfs.study.compare import find_environments

    given = [name for name, usual in _OF_A_PLAN.items() if getattr(arguments, name) != usual]
    if given:
        raise InputError(f"--from does a comparison again as it was: leave out {', '.join(given)}")
    most = limit_given(arguments.read_limit) or archive.MOST_BYTES
    contents = archive.unpack_archive(arguments.source, arguments.out / rerun.UNPACKED, most)
    for study in contents.studies:
        files = ", ".join(Path(own["path"]).name for own in study["files"])
        console.print(Text(f"{shlex.join(study['command'])}\nruns {files}"), soft_wrap=True)
    with progress_shown(console) as watch:
        limits: dict[str, Any] = {"jobs": arguments.jobs}
        limits["memory_limit"] = limit_given(arguments.memory_limit)
        limits["environments"] = find_environments(_environments(arguments.environments))
        done = rerun.repeat(contents, arguments.out, watch=watch, **limits)
    keys = frozenset(key for progress in done for key in progress.keys)
    shown, code = print_comparison(arguments.out, keys, arguments.shift, arguments.verbose)
    _print_differences(shown, contents, arguments.out, keys, arguments.verbose)
    return code


def _print_differences(
    console: Console, contents: "Contents", out: Path, keys: frozenset[str], verbose: bool
) -> None:
    from convexfs.batch.store.store import Store
    from convexfs.cli.compare_outputs import table_of
    from convexfs.study import columns, rerun
    from convexfs.study.outcomes import outcomes

    before, after = outcomes(contents.folder), outcomes(out, keys)
    with Store.read(out) as store:
        here = store.environments()
    table = rerun.repeated(before, after[after["key"].isin(list(keys))])
    sums = table[["again", "tasks", "other_outcome", "other_objective"]].sum()
    console.print(
        "Done again: {again:,} of {tasks:,} tasks, {other_outcome:,} of them with another outcome "
        "and {other_objective:,} with another objective.".format(**sums)
    )
    if not verbose:
        table = table[(table["other_outcome"] > 0) | (table["other_objective"] > 0)]
    if len(table):
        console.print(table_of("What differs from the archive", table, columns.REPEATED))
    missing = [name for own in contents.studies for name in rerun.missing_solvers(own["plan"])]
    lines = [f"not installed here: {name}" for name in dict.fromkeys(missing)]
    lines += rerun.environment_differences(contents.environments, here)
    console.print(Text("\n".join(lines) or "the same machine and versions"), soft_wrap=True)


def add_compare_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``convexfs compare``."""
    add_examples(
        parser,
        "compare problems/relief.py --solvers CLARABEL,SCS,ECOS",
        "compare mine.mps --tol 1e-4,1e-8 --time-limit 30",
        "compare problems/relief.py --set SCS.acceleration_lookback=0,10",
        "compare --from study.zip",
        topic="studies",
    )
    parser.add_argument("files", nargs="*", metavar="FILE", help=FILES_HELP)
    group = parser.add_argument_group("problems")
    add = group.add_argument
    add("--set", dest="own", action="append", metavar="NAME",
        help="public sets of instances, such as netlib,sdplib, or all; or SOLVER.OPTION=V,V: an "
        "option of a solver by its own name, to compare these values of it")  # fmt: skip
    add("--instances", type=Path, metavar="DIR", help="folder of the public sets")
    add("--sample", type=int, metavar="N", help="draw at most N instances of each set [all]")
    add_data_options(group)
    add = parser.add_argument_group("solvers").add_argument
    add("--solvers", metavar="A,B", help="names of solvers, or all [all that are installed]")
    add("--tol", metavar="T,T",
        help="accuracies to compare at, or ladder for 1e-2 to 1e-10 [1e-6,1e-8]")  # fmt: skip
    add("--tolerances", metavar="HOW",
        help="how accuracies are passed to solvers: translated, for comparable solutions; raw, "
        "the same number for all; or translated,raw [translated]")  # fmt: skip
    add("--no-default", action="store_true", help="omit the solvers' default accuracies")
    add("--warm", action="store_true", help="also solve from the solution of the neighbouring "
        "grid value")  # fmt: skip
    add("--direct", action="store_true", help="also call solvers without cvxpy")
    add("--env", dest="environments", action="append", metavar="NAME=PYTHON",
        help="also compare the solvers of another Python environment, "
        "called without cvxpy")  # fmt: skip
    add = parser.add_argument_group("measurement").add_argument
    add("--repeats", type=int, metavar="N", help="measurements of each solve [5]")
    add("--time-limit", type=float, metavar="S", help="most seconds per solve [60]")
    add("--memory-limit", metavar="SIZE", help=MEMORY_HELP)
    add("--jobs", type=int, default=1, metavar="N", help="parallel solves, which disturb each "
        "other's times [1]")  # fmt: skip
    add("--shard", metavar="I/N", help=SHARD_HELP)
    add("--seed", type=int, metavar="N", help=SEED_HELP)
    add("--from", dest="source", type=Path, metavar="ARCHIVE",
        help="repeat the comparison of `convexfs archive` and print the differences")  # fmt: skip
    add = parser.add_argument_group("output").add_argument
    add("--out", type=Path, metavar="DIR",
        help="result folder; an existing study is resumed [runs/study]")  # fmt: skip
    add("--shift", type=float, metavar="S", help=SHIFT_HELP)
    add("--verbose", action="store_true",
        help="print all tables [one table; the page has them all]")  # fmt: skip


def _accuracies(text: str) -> list[float]:
    from convexfs.study.plan import LADDER

    if text == "ladder":
        return list(LADDER)
    try:
        return [float(word) for word in text.split(",")]
    except ValueError as error:
        raise InputError(f"--tol takes numbers such as 1e-6,1e-8, not {text!r}") from error


def _own_options(words: Iterable[str]) -> dict[str, list[dict[str, Any]]]:
    """Parse ``--set SOLVER.OPTION=V,V``; return, by solver, all combinations as option dicts."""
    from convexfs.solving.direct import nested

    given: dict[str, list[list[tuple[str, Any]]]] = {}
    for word in words:
        found = re.fullmatch(r"(\w+)\.([\w./ -]+)=(.+)", word)
        if found is None:
            raise InputError(f"--set takes SOLVER.OPTION=VALUE,VALUE, not {word!r}")
        values = [(found[2], _value(value)) for value in found[3].split(",")]
        given.setdefault(found[1].upper(), []).append(values)
    return {
        solver: [nested(chosen) for chosen in itertools.product(*options)]
        for solver, options in given.items()
    }


def _value(text: str) -> Any:
    """Parse a text as JSON (number, true, false, null); return other texts unchanged."""
    try:
        return json.loads(text)
    except ValueError:
        return text
