"""The command ``convexfs merge``: the shards of a run as the run they are parts of."""

import argparse
from collections.abc import Callable
from pathlib import Path

from convexfs.cli.terminal import write


def merge(arguments: argparse.Namespace) -> int:
    """Join the folders of solve or compare --shard in one; say which are missing."""
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
    """Options of ``convexfs merge``."""
    add = parser.add_argument
    add("folders", nargs="+", type=Path, metavar="DIR", help="the --out of each shard")
    add("--out", type=Path, required=True, metavar="DIR", help="folder of the whole run")


COMMANDS: dict[str, tuple[Callable[..., int], Callable[..., None]]] = {
    "merge": (merge, add_merge_options),
}
