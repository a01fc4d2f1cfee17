"""The command ``convexfs select``: rank and select the features of a data set.

Libraries that only a fit needs are imported inside the functions, so that help and the first
errors come at once.
"""

import argparse
import ast
import csv
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from convexfs.cli.console import Console
from convexfs.cli.options import SEED_HELP, add_data_options, add_examples
from convexfs.cli.select_outputs import (
    ANNOTATED,
    check_targets,
    existing_outputs,
    json_report,
    table_report,
)
from convexfs.data.imputation import IMPUTATIONS, MISSING_RULES
from convexfs.data.readers.anndata_plink import write_h5ad
from convexfs.data.readers.options import WORDS
from convexfs.data.scaling import SCALES
from convexfs.data.specs import check_name, listed, load
from convexfs.data.targets import CLASSES, KINDS, require_kind
from convexfs.data.writers import write_file, write_frame
from convexfs.errors import InputError, check_number, warn
from convexfs.methods import estimator_homes, home_of
from convexfs.report.pictures import save

if TYPE_CHECKING:
    from convexfs.data.dataset import Dataset
    from convexfs.selection.result import Selection
    from convexfs.selection.rules import SelectionRule

#: Ways to keep features, an option each.
RULES = ("fdr", "fwer", "curve", "stability", "knockoffs")
#: Of scikit-learn's random states.
LARGEST_SEED = 2**32 - 1


def select(arguments: argparse.Namespace) -> int:
    """Rank the features of a data set, and print, plot and write the selected ones."""
    check_targets(arguments)
    check_number("--seed", arguments.seed, 0, LARGEST_SEED, whole=True)
    if arguments.method not in (None, "knockoffs"):
        home_of(arguments.method)
    check_name(arguments.source)
    from convexfs.selection.fit_by_name import (
        default_method,
        fit_and_select,
        prepare_fit,
        reading_for,
    )

    settings = dict(_assignment(text) for text in arguments.set)
    if arguments.solver != "auto":
        settings["solver"] = arguments.solver
    judge = _judge(arguments)
    if arguments.method is None:
        arguments.method = default_method(judge.rule)
    home = estimator_homes().get(arguments.method)
    mixed = home is not None and arguments.method in home.takes_missing
    settings |= _about_missing(arguments, judge, mixed)
    shows_progress = home is not None and home.shows_progress
    if shows_progress:
        settings.setdefault("verbose", 1)
    fit = prepare_fit(arguments.method, settings, judge)
    kind = CLASSES if home is None else home.target
    data = load(
        arguments.source,
        data_dir=arguments.data,
        aside=_sides(arguments),
        read_limit=arguments.read_limit,
        **reading_for(arguments.method, judge, arguments.target_kind),
        **{name: getattr(arguments, name) for name in WORDS},
    )
    told = data.scaled(arguments.scale).told if data.is_sparse else data.told
    _say(f"{data.name}: {sentence}" for sentence in told)
    require_kind(data.name, data.numeric, kind)
    _say(f"{path} is there already, and will be replaced" for path in existing_outputs(arguments))
    judge = _with_sides(judge, arguments, data)
    line = shlex.join(["convexfs", *arguments.words])
    with nullcontext() if shows_progress else _shown_on_stderr(arguments.method, data) as tell:
        selection = fit_and_select(fit, data, replace(judge, tell=tell), arguments.scale, line)
        if arguments.report is not None:
            selection = selection.with_curve()
    _write(arguments, data, selection)
    (json_report if arguments.json else table_report)(arguments, data, selection)
    if selection.certificate is not None and selection.certificate.ok is False:
        sys.stderr.write(
            f"convexfs: the certificate is {selection.certificate}: do not rely on these weights\n"
        )
        return 1
    return 0


def _say(sentences: Iterable[str]) -> None:
    """Print what is no result, a line each, on standard error."""
    for sentence in sentences:
        Console(stderr=True).print(Text(f"convexfs: {sentence}"), soft_wrap=True)


def _write(arguments: argparse.Namespace, data: "Dataset", selection: "Selection") -> None:
    """Write all files that were asked for."""
    if arguments.out is not None:
        _write_columns(arguments, data, selection)
    if arguments.ranking is not None:
        write_frame(selection.ranking(), arguments.ranking)
    if arguments.plot is not None:
        save(selection.picture(), arguments.plot)
    if arguments.report is not None:
        selection.to_html(arguments.report)


def _about_missing(
    arguments: argparse.Namespace, judge: "SelectionRule", mixed: bool
) -> dict[str, Any]:
    """Return the setting of --missing if the method and the rule accept missing values."""
    asked = [f"--{name}" for name in ("missing", "categorical") if getattr(arguments, name)]
    who = arguments.method if not mixed else "" if judge.takes_missing else f"--{judge.rule}"
    if asked and who:
        raise InputError(
            f"{who} takes numbers only: leave {' and '.join(asked)} out; --impute fills holes"
        )
    return {"missing": arguments.missing} if arguments.missing else {}


def _write_columns(arguments: argparse.Namespace, data: "Dataset", selection: "Selection") -> None:
    """Write what was selected; nothing where nothing was."""
    support = selection.support
    if arguments.out.suffix.lower() == ANNOTATED:
        columns = {"convexfs_weight": selection.weights}
        if support is not None:
            columns["convexfs_selected"] = support
        write_h5ad(Path(arguments.source), arguments.out, columns)
    elif support is not None and not support.any():
        left = ", which stays as it was" if arguments.out.exists() else ""
        warn(f"nothing is selected: no columns are written to {arguments.out}{left}")
        arguments.out = None
    else:
        written = data.scaled(arguments.scale) if support is None else data
        write_file(selection.reduced(written), arguments.out)


def _judge(arguments: argparse.Namespace) -> "SelectionRule":
    """Return the selection rule of the command line."""
    from convexfs.selection.rules import LEVELS, SelectionRule

    asked = [rule for rule in RULES if getattr(arguments, rule) not in (None, False)]
    if len(asked) > 1:
        told = " and ".join(f"--{rule}" for rule in asked)
        raise InputError(f"{told} are rules of their own: give one of them")
    rule = asked[0] if asked else "" if arguments.top is None else "top"
    if asked and arguments.top is not None and rule != "stability":
        raise InputError(f"--top K and --{rule} both say how many features to keep: give one")
    level = getattr(arguments, rule) if rule in LEVELS else None
    return SelectionRule(
        rule, LEVELS[rule] if level is True else level, arguments.top, arguments.seed,
        permutations=arguments.permutations, gate=arguments.gate,
    )  # fmt: skip


def _sides(arguments: argparse.Namespace) -> list[str]:
    """Return the columns named by --groups and --blocks."""
    named = [name for name in (arguments.groups, arguments.blocks) if name is not None]
    if named and (arguments.stability or arguments.knockoffs or arguments.top is not None):
        raise InputError("--groups and --blocks need a test: use --fdr, --fwer or --curve")
    return list(dict.fromkeys(named))


def _with_sides(
    judge: "SelectionRule", arguments: argparse.Namespace, data: "Dataset"
) -> "SelectionRule":
    found = {
        kind: data.training.aside[name]
        for kind, name in (("groups", arguments.groups), ("blocks", arguments.blocks))
        if name is not None
    }
    return replace(judge, **found)


@contextmanager
def _shown_on_stderr(method: str, data: "Dataset") -> Iterator[Callable[[str], None]]:
    """Show what is being waited for, on a terminal; yield what takes news of it."""
    from convexfs.kernels import announced

    console = Console(stderr=True)
    what = f"{method} on {data.training.n_samples} samples x {data.n_features} features"
    with announced(console.print), console.status(what, spinner="line") as status:
        yield lambda line: status.update(f"{what}: {line}")


def _names(text: str) -> list[str]:
    """Split names at commas; one with a comma in it is quoted, as in a csv file's header."""
    try:
        return listed(text)
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


def _add_reading_options(group: Any) -> None:
    add = group.add_argument
    for name, option in WORDS.items():
        told: dict[str, Any] = {"help": option.metadata["help"]}
        if name == "target":  # stands before these, with more words
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


def add_select_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``convexfs select``."""
    add_examples(
        parser,
        "select wdbc",
        "select patients.csv --target diagnosis --report features.html",
        "select patients.csv --target diagnosis --method logo --top 10",
        "select spiral:noise=50 --curve --json",
        topic="table",
    )
    add = parser.add_argument
    add("source", metavar="DATA",
        help="a file, a bundled data set (see `convexfs list`), or a generator such as "
        "spiral:noise=50")  # fmt: skip
    group = parser.add_argument_group("data")
    add = group.add_argument
    add("--target", help="name of the target column: classes, or numbers for regression")
    add("--target-kind", choices=KINDS,
        help="whether the target holds classes or numbers [what the method needs]")  # fmt: skip
    add("--scale", choices=list(SCALES),
        help="feature scaling [zscore for files; built-in data may set their own]")  # fmt: skip
    add_data_options(group)
    _add_reading_options(parser.add_argument_group("reading a file"))
    add = parser.add_argument_group("method").add_argument
    add("--method", help="a method that `convexfs list` prints [relief]")
    add("--solver", default="auto",
        help="native, or a solver that `convexfs solvers` prints [auto]")  # fmt: skip
    add("--set", action="append", default=[], metavar="NAME=VALUE",
        help="a parameter of the method; repeat it for more")  # fmt: skip
    add("--seed", type=int, default=0, metavar="N", help=SEED_HELP)
    _add_rule_options(parser.add_argument_group("how many features to select"))
    _add_output_options(parser.add_argument_group("output"))


def _add_rule_options(group: Any) -> None:
    add = group.add_argument
    add(
        "--top",
        type=int,
        metavar="K",
        help="select the K features of largest weight, or K components of a projection [features "
        "significant at --fdr 0.1; for methods with sparse weights, all nonzero weights]",
    )
    add(
        "--fdr",
        type=float,
        metavar="Q",
        help="select features with false discovery rate at most Q, tested against shadow columns",
    )
    add(
        "--fwer",
        type=float,
        metavar="A",
        help="select features with family-wise error rate at most A (max-T)",
    )
    add(
        "--permutations",
        type=int,
        metavar="B",
        help="number of permutations of a test [200, or fewer on large data]",
    )
    add(
        "--gate",
        type=float,
        default=1.0,
        metavar="P",
        help="with --fdr, select nothing unless the best feature has max-T p <= P [1]",
    )
    add(
        "--curve",
        action="store_true",
        help="select the fewest features that predict held-out samples as well as any",
    )
    add(
        "--stability",
        action="store_true",
        help="select the features that most random halves of the samples select",
    )
    add(
        "--knockoffs",
        type=float,
        nargs="?",
        const=True,
        metavar="Q",
        help="select features that outweigh their knockoffs, with false discovery rate at most Q "
        "[0.2]; for methods with sparse weights",
    )
    add("--groups", metavar="COL", help="column that marks replicates: rows of one group are "
        "permuted and held out together")  # fmt: skip
    add("--blocks", metavar="COL",
        help="column of batches: rows are permuted only within a batch")  # fmt: skip


def _add_output_options(group: Any) -> None:
    add = group.add_argument
    add(
        "--out",
        type=Path,
        metavar="FILE",
        help="write the samples with the selected columns, or the components (.csv .tsv .parquet "
        ".xlsx .npz); with .h5ad, a copy of the .h5ad input with the weights of its features",
    )
    add(
        "--ranking",
        type=Path,
        metavar="FILE",
        help="write one row per feature: weight, rank, selected, and test results (.csv .tsv "
        ".parquet .xlsx)",
    )
    add(
        "--report",
        type=Path,
        metavar="FILE",
        help="write an HTML page with tables and figures that opens offline (.html)",
    )
    add(
        "--plot",
        type=Path,
        metavar="FILE",
        help="write a bar chart, or the distance matrix of a projection (.png .svg .pdf)",
    )
    add("--json", action="store_true", help="print everything as JSON instead of a table")


COMMANDS: dict[str, tuple[Callable[..., int], Callable[..., None]]] = {
    "select": (select, add_select_options),
}
