"""The command ``convexfs select``: weigh the features of a data set by any method."""

import argparse
import ast
import csv
import json
import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table
from rich.text import Text

from convexfs.cli.console import Console
from convexfs.cli.judging import LEVELS, Judge
from convexfs.cli.selection import KNOCKOFFS, Selection, prepared, takes_sparse
from convexfs.data.annotated import write_h5ad
from convexfs.data.dataset import SCALES, Dataset
from convexfs.data.holes import IMPUTATIONS
from convexfs.data.reading import CLASSES, KINDS, NUMBERS
from convexfs.data.specs import load
from convexfs.data.targets import require_kind
from convexfs.data.writers import WRITERS, check_target, write_file
from convexfs.errors import InputError, check_number, warn
from convexfs.methods import estimator_homes
from convexfs.pictures import PICTURE_FORMATS, save

#: Ways to keep features, an option each.
RULES = ("fdr", "fwer", "curve", "stability", "knockoffs")
#: Options of reading, each an argument of :func:`convexfs.load` of the same name.
READING = (
    "drop", "id", "labels", "transpose", "sep", "decimal", "encoding", "sheet", "layer", "impute",
)  # fmt: skip
#: Files that weights can be written into.
ANNOTATED = ".h5ad"
#: Rows of a table before the rest is only counted.
SHOWN_WEIGHTS = 20
#: Of scikit-learn's random states.
LARGEST_SEED = 2**32 - 1


def select(arguments: argparse.Namespace) -> int:
    """Weigh the features of a data set; print, plot and write what was selected."""
    _check_targets(arguments)
    check_number("--seed", arguments.seed, 0, LARGEST_SEED, whole=True)
    settings = dict(_assignment(text) for text in arguments.set)
    if arguments.solver != "auto":
        settings["solver"] = arguments.solver
    judge = _judge(arguments)
    if arguments.method is None:
        arguments.method = KNOCKOFFS if judge.rule == "knockoffs" else "relief"
    home = estimator_homes().get(arguments.method)
    shows_progress = home is not None and home.shows_progress
    if shows_progress:
        settings.setdefault("verbose", 1)
    fit = prepared(arguments.method, settings, judge)
    kind = CLASSES if home is None else home.target
    data = load(
        arguments.source,
        arguments.target,
        arguments.data,
        target_kind=arguments.target_kind or (NUMBERS if kind == NUMBERS else None),
        aside=_sides(arguments),
        sparse=takes_sparse(arguments.method, judge),
        read_limit=arguments.read_limit,
        **{name: getattr(arguments, name) for name in READING},
    )
    scaled = data.scaled(arguments.scale)
    for sentence in scaled.told:
        Console(stderr=True).print(Text(f"convexfs: {data.name}: {sentence}"), soft_wrap=True)
    require_kind(data.name, data.numeric, kind)
    judge = _with_sides(judge, arguments, data)
    training = scaled.training
    start = time.perf_counter()
    with nullcontext() if shows_progress else _shown_on_stderr(arguments.method, training) as tell:
        selection = fit(training, replace(judge, tell=tell))
    seconds = time.perf_counter() - start
    if arguments.out is not None:
        _write(arguments, data, scaled, selection)
    if arguments.plot is not None:
        save(selection.picture(), arguments.plot)
    (_json_report if arguments.json else _table_report)(arguments, data, selection, seconds)
    if selection.certificate is not None and selection.certificate.ok is False:
        sys.stderr.write(
            f"convexfs: the certificate is {selection.certificate}: do not rely on these weights\n"
        )
        return 1
    return 0


def _write(
    arguments: argparse.Namespace, data: Dataset, scaled: Dataset, selection: Selection
) -> None:
    """Write what was selected; nothing where nothing was."""
    support = selection.support
    if arguments.out.suffix.lower() == ANNOTATED:
        columns = {"convexfs_weight": selection.weights}
        if support is not None:
            columns["convexfs_selected"] = support
        write_h5ad(Path(arguments.source), arguments.out, columns)
    elif support is not None and not support.any():
        warn(f"nothing is selected: no columns are written to {arguments.out}")
        arguments.out = None
    else:
        write_file(selection.reduced(scaled if support is None else data), arguments.out)


def _judge(arguments: argparse.Namespace) -> Judge:
    """The rule that the line asks for."""
    asked = [rule for rule in RULES if getattr(arguments, rule) not in (None, False)]
    if len(asked) > 1:
        told = " and ".join(f"--{rule}" for rule in asked)
        raise InputError(f"{told} are rules of their own: give one of them")
    rule = asked[0] if asked else "" if arguments.top is None else "top"
    if asked and arguments.top is not None and rule != "stability":
        raise InputError(f"--top K and --{rule} both say how many features to keep: give one")
    level = getattr(arguments, rule) if rule in LEVELS else None
    return Judge(rule, LEVELS[rule] if level is True else level, arguments.top, arguments.seed)


def _sides(arguments: argparse.Namespace) -> list[str]:
    """The columns named by --groups and --blocks."""
    named = [name for name in (arguments.groups, arguments.blocks) if name is not None]
    if named and (arguments.stability or arguments.knockoffs or arguments.top is not None):
        raise InputError("--groups and --blocks are of permutations: use --fdr, --fwer or --curve")
    return list(dict.fromkeys(named))


def _with_sides(judge: Judge, arguments: argparse.Namespace, data: Dataset) -> Judge:
    found = {
        kind: data.training.aside[name]
        for kind, name in (("groups", arguments.groups), ("blocks", arguments.blocks))
        if name is not None
    }
    return replace(judge, scale=arguments.scale or data.scale, **found)


@contextmanager
def _shown_on_stderr(method: str, data: Dataset) -> Iterator[Callable[[str], None]]:
    """Show what is being waited for, on a terminal; yield what takes news of it."""
    from convexfs.compiling import announced

    console = Console(stderr=True)
    what = f"{method} on {data.n_samples} samples x {data.n_features} features"
    with announced(console.print), console.status(what, spinner="line") as status:
        yield lambda line: status.update(f"{what}: {line}")


def _check_targets(arguments: argparse.Namespace) -> None:
    if arguments.out is not None:
        annotated = Path(arguments.source).suffix.lower() == ANNOTATED and not arguments.drop
        check_target(arguments.out, [*WRITERS, *([ANNOTATED] if annotated else [])])
        if arguments.out.resolve() == Path(arguments.source).resolve():
            raise InputError(f"--out {arguments.out} would overwrite the data: name another file")
    if arguments.plot is not None:
        check_target(arguments.plot, PICTURE_FORMATS)


def _names(text: str) -> list[str]:
    """Split names at commas; one with a comma in it is quoted, as in a csv file's header."""
    try:
        return next(csv.reader([text], skipinitialspace=True), [])
    except csv.Error as error:
        told = f"{text!r} cannot be read as names between commas ({error})"
        raise argparse.ArgumentTypeError(told) from None


def _assignment(text: str) -> tuple[str, Any]:
    name, separator, value = text.partition("=")
    if not separator or not name:
        raise InputError(f"--set takes name=value, such as --set n_neighbors=10, not {text!r}")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError, RecursionError, MemoryError):  # the last two if nested deeply
        return name, value


def _table_report(
    arguments: argparse.Namespace, data: Dataset, selection: Selection, seconds: float
) -> None:
    console = Console()
    if selection.explained is not None:
        of = f"{len(selection.explained)} components of {data.n_features} features"
        console.print(Text(f"{arguments.method} on {data.name}: {of}"), soft_wrap=True)
        console.print(_component_table(selection.explained, selection.explained_as))
        console.print("weights of the features in it; a projection selects none")
    console.print(_weight_table(arguments.method, data, selection))
    if data.n_features > SHOWN_WEIGHTS:
        console.print(f"… and {data.n_features - SHOWN_WEIGHTS} more (--json has them all)")
    took = f"{seconds:.2f} s"
    if selection.solution is not None:
        solver, objective = selection.solution.solver, selection.solution.objective
        took = f"solver {solver}   objective {objective:.6g}   {took}"
    console.print(took, highlight=False)
    for name, text in _told(selection).items():
        console.print(Text(f"{name:<19}{text}"), soft_wrap=True)
    columns = "selected columns" if selection.support is not None else "components of all samples"
    for what, path in ((columns, arguments.out), ("picture", arguments.plot)):
        if path is not None:
            console.print(f"{what}: {path}", highlight=False, soft_wrap=True)


def _told(selection: Selection) -> dict[str, str]:
    """What was tested, and what the certificate does and does not say."""
    lines = {} if selection.judgement is None else dict(selection.judgement.lines)
    certificate = selection.certificate
    if certificate is None:
        return lines | {"certificate": "no certificate (comparator)"}
    return lines | {"certificate": certificate.covers}


def _component_table(explained: np.ndarray, explained_as: str) -> Table:
    table = Table("component", explained_as)
    for t, value in enumerate(explained[:SHOWN_WEIGHTS], start=1):
        table.add_row(str(t), f"{value:.4g}")
    if len(explained) > SHOWN_WEIGHTS:
        table.add_row("…", f"and {len(explained) - SHOWN_WEIGHTS} more")
    return table


def _weight_table(method: str, data: Dataset, selection: Selection) -> Table:
    weights, support = selection.weights, selection.support
    headings = ["rank", "feature", selection.weights_are, ""]
    title = None
    if support is not None:
        title = f"{method} on {data.name}: {support.sum()} of {data.n_features} features"
        empty = int((weights[support] == 0).sum())
        if empty:
            title += f" ({empty} of them of weight 0)"
        headings.append("selected")
    column = None if selection.judgement is None else selection.judgement.column
    if column is not None:
        headings.append(column[0])
    table = Table(*headings, title=title, title_justify="left")
    largest = float(weights.max(initial=0.0)) or 1.0
    for rank, j in enumerate(np.argsort(-weights, kind="stable")[:SHOWN_WEIGHTS], start=1):
        share = float(weights[j]) / largest
        bar = "█" * round(20 * share) if math.isfinite(share) else ""
        row: list[str | Text] = [str(rank), Text(data.feature_names[j]), f"{weights[j]:.4f}", bar]
        if support is not None:
            row.append("yes" if support[j] else "")
        if column is not None:
            row.append(f"{column[1][j]:.2g}")
        table.add_row(*row)
    return table


def _json_report(
    arguments: argparse.Namespace, data: Dataset, selection: Selection, seconds: float
) -> None:
    solution, support = selection.solution, selection.support
    names = np.array(data.feature_names)
    record = {
        "data": data.name,
        "method": arguments.method,
        "parameters": {k: v for k, v in selection.parameters.items() if _plain(v)},
        "scale": arguments.scale or data.scale,
        "weights": dict(zip(data.feature_names, selection.weights.tolist(), strict=True)),
        "weights_are": selection.weights_are,
        "selected": None if support is None else names[support].tolist(),
        "solver": solution and solution.solver,
        "status": solution and solution.status,
        "objective": solution and solution.objective,
        "certificate": selection.certificate and selection.certificate.as_dict(),
        "inference": selection.judgement and dict(selection.judgement.record),
        "told": _told(selection),
        "seconds": seconds,
    }
    if selection.explained is not None:
        record["components"] = selection.explained.tolist()
        record["components_are"] = selection.explained_as
    sys.stdout.write(json.dumps(_said(record), indent=2, allow_nan=False) + "\n")


def _said(value: Any) -> Any:
    """Put null for NaN and infinity, which JSON has no words for."""
    if isinstance(value, dict):
        return {key: _said(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_said(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _plain(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float | bool)


def _add_reading_options(group: Any) -> None:
    add = group.add_argument
    add("--drop", type=_names, default=[], metavar="COL,COL", help="columns to leave out")
    add("--id", metavar="COL", help="column that names the samples [noticed, and said]")
    add("--labels", metavar="FILE[:COL]", help="a table of classes, joined by id")
    add("--transpose", action="store_true", help="samples are columns, features rows")
    add("--sep", metavar="CHAR", help="what separates cells of text [noticed, and said]")
    add("--decimal", metavar="CHAR", help="what stands before decimals [noticed, and said]")
    add("--encoding", metavar="NAME", help="of text [noticed, and said]")
    add("--sheet", metavar="NAME", help="of a workbook [the first]")
    add("--layer", metavar="NAME", help="of an .h5ad file [X]")
    add("--impute", choices=IMPUTATIONS, default="none", help="what fills missing numbers [none]")


def add_select_options(parser: argparse.ArgumentParser) -> None:
    """Options of ``convexfs select``."""
    add = parser.add_argument
    add("source", metavar="DATA", help="a file, a generator such as spiral:noise=50, or a name")
    add("--target", help="name of the column with the classes, or with the numbers of a regressor")
    add("--target-kind", choices=KINDS, help="what it holds [what the method takes]")
    _add_reading_options(parser.add_argument_group("reading a file"))
    add("--data", type=Path, metavar="DIR", help="folder behind data:NAME")
    add("--read-limit", metavar="SIZE", help="memory that reading may take [half of the machine's]")
    add("--method", help="a name that `convexfs list` prints [relief]")
    add("--solver", default="auto", help="native, or a name that `convexfs solvers` prints [auto]")
    add("--set", action="append", default=[], metavar="NAME=VALUE", help="a method's parameter")
    add(
        "--top",
        type=int,
        metavar="K",
        help="keep the K heaviest features, or K components of a projection [those that stand out "
        "from permuted labels, as by --fdr 0.1; of sparse weights all that are not 0]",
    )
    add("--fdr", type=float, metavar="Q", help="keep what is false at a rate of at most Q")
    add("--fwer", type=float, metavar="A", help="keep what has a false feature with chance A")
    add("--curve", action="store_true", help="keep as many as predict held-out samples best")
    add("--stability", action="store_true", help="keep what halves of the samples select again")
    add(
        "--knockoffs",
        type=float,
        nargs="?",
        const=True,
        metavar="Q",
        help="keep what outweighs its knockoff, false at a rate of at most Q [0.2]; sparse methods",
    )
    add("--groups", metavar="COL", help="column that says which rows are replicates of one another")
    add("--blocks", metavar="COL", help="column of the batches within which labels are permuted")
    add("--scale", choices=list(SCALES), help="[what the data declare; zscore for files]")
    add("--seed", type=int, default=0, metavar="N", help="for anything random [0]")
    add(
        "--out",
        type=Path,
        metavar="FILE",
        help="write the selected columns, or the components (.csv .tsv .parquet .xlsx .npz); as "
        ".h5ad the weights of an .h5ad file's features",
    )
    add(
        "--plot",
        type=Path,
        metavar="FILE",
        help="write a bar chart, or a projection's distance matrix (.png .svg .pdf)",
    )
    add("--json", action="store_true", help="print everything as JSON instead of a table")


COMMANDS: dict[str, tuple[Callable[..., int], Callable[..., None]]] = {
    "select": (select, add_select_options),
}
