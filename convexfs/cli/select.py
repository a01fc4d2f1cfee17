"""The command ``convexfs select``: rank and select the features of a data set."""

import argparse
import ast
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from convexfs.cli.console import Console
from convexfs.cli.options import SEED_HELP, add_data_options, add_examples, add_reading_options
from convexfs.cli.select_outputs import ANNOTATED, check_targets, existing_outputs
from convexfs.data.readers.options import SCALE_NAMES, WORDS
from convexfs.data.specs import check_source, load
from convexfs.data.targets import CLASSES, KINDS, require_kind
from convexfs.errors import InputError, check_number, warn
from convexfs.methods import default_method, estimator_homes, method_home, table_needs

if TYPE_CHECKING:  # Reading, fitting and testing is imported after the command line is checked.
    from convexfs.data.dataset import Dataset
    from convexfs.selection.class_markers import ClassMarkers
    from convexfs.selection.result import Selection
    from convexfs.selection.rules import SelectionRule

#: Selection rules, each an option of the same name.
RULES = ("fdr", "fwer", "curve", "stability", "knockoffs")
#: Suffixes of table files, which can be read before the slow imports.
TABLES = (".csv", ".tsv", ".txt", ".xlsx", ".parquet")
#: Largest seed of scikit-learn's random states.
LARGEST_SEED = 2**32 - 1


def select(arguments: argparse.Namespace) -> int:
    """Rank the features of a data set, and print, plot and write the selected ones."""
    check_targets(arguments)
    check_number("--seed", arguments.seed, 0, LARGEST_SEED, whole=True)
    settings = dict(_assignment(text) for text in arguments.set)
    if arguments.solver != "auto":
        settings["solver"] = arguments.solver
    rule, sides = _rule(arguments), _sides(arguments)
    home = None if arguments.method is None else method_home(arguments.method)
    check_source(arguments.source)
    if arguments.method is None:
        arguments.method = default_method(rule)
        home = estimator_homes().get(arguments.method)
    # A short command line needs no further checks: read the table now, so that a bad cell is
    # reported before the slow imports.
    data = None
    if _is_short(arguments, rule) and arguments.source.lower().endswith(TABLES):
        data = _read(arguments, sides, table_needs(arguments.method, arguments.target_kind))

    from convexfs.selection.fit_by_name import prepare_fit, reading_for

    chosen = _selection_rule(arguments, rule)
    mixed = home is not None and arguments.method in home.takes_missing
    settings |= _about_missing(arguments, chosen, mixed)
    shows_progress = home is not None and home.shows_progress
    if shows_progress:
        settings.setdefault("verbose", 1)
    fit = prepare_fit(arguments.method, settings, chosen)
    kind = CLASSES if home is None or arguments.per_class else home.target
    if arguments.per_class:
        from convexfs.selection.class_markers import check_markers

        check_markers(arguments.method, chosen.rule)
    if data is None:
        data = _read(arguments, sides, reading_for(arguments.method, chosen, arguments.target_kind))
    told = data.scaled(arguments.scale).told if data.is_sparse else data.told
    _print_notes(f"{data.name}: {sentence}" for sentence in told)
    require_kind(data.name, data.numeric, kind)
    _print_notes(
        f"{path} is there already, and will be replaced" for path in existing_outputs(arguments)
    )
    if sides:
        aside = data.training.aside
        groups, blocks = aside.get(arguments.groups), aside.get(arguments.blocks)
        chosen = replace(chosen, groups=groups, blocks=blocks)
    with nullcontext() if shows_progress else _shown_on_stderr(arguments.method, data) as tell:
        selection = _selected(arguments, fit, settings, data, replace(chosen, tell=tell))
    _write(arguments, data, selection)
    _print(arguments, selection)
    if selection.certificate is not None and selection.certificate.ok is False:
        sys.stderr.write(
            f"convexfs: the certificate is {selection.certificate}: do not rely on these weights\n"
        )
        return 1
    return 0


def _is_short(arguments: argparse.Namespace, rule: str) -> bool:
    """Return whether the command line has no option that needs imports to be checked."""
    options = [arguments.set, arguments.missing, arguments.permutations, arguments.per_class]
    return rule in ("", "top") and arguments.solver == "auto" and not any(options)


def _read(arguments: argparse.Namespace, sides: list[str], needs: dict[str, Any]) -> "Dataset":
    return load(
        arguments.source,
        data_dir=arguments.data,
        aside=sides,
        read_limit=arguments.read_limit,
        **needs,
        **{name: getattr(arguments, name) for name in WORDS},
    )


def _selected(
    arguments: argparse.Namespace, fit: Any, settings: Any, data: "Dataset", chosen: "SelectionRule"
) -> "Selection | ClassMarkers":
    """Return the selection over all classes or, with --per-class, the markers of each class."""
    from convexfs.selection.class_markers import select_markers
    from convexfs.selection.fit_by_name import fit_and_select

    line = shlex.join(["convexfs", *arguments.words])
    if arguments.per_class:
        return select_markers(arguments.method, settings, data, chosen, arguments.scale, line)
    selection = fit_and_select(fit, data, chosen, arguments.scale, line)
    return selection if arguments.report is None else selection.with_curve()


def _print(arguments: argparse.Namespace, selection: "Selection | ClassMarkers") -> None:
    from convexfs.cli import select_outputs as outputs
    from convexfs.selection.class_markers import ClassMarkers

    if isinstance(selection, ClassMarkers):
        (outputs.markers_json if arguments.json else outputs.markers_report)(arguments, selection)
    else:
        (outputs.json_report if arguments.json else outputs.table_report)(arguments, selection)


def _print_notes(sentences: Iterable[str]) -> None:
    """Print notes to the user on standard error, one line each."""
    for sentence in sentences:
        Console(stderr=True).print(Text(f"convexfs: {sentence}"), soft_wrap=True)


def _write(
    arguments: argparse.Namespace, data: "Dataset", selection: "Selection | ClassMarkers"
) -> None:
    """Write the files of --out, --ranking, --plot and --report, if requested."""
    from convexfs.data.writers import write_frame
    from convexfs.report.pictures import save

    if arguments.out is not None:
        _write_columns(arguments, data, selection)
    if arguments.ranking is not None:
        write_frame(selection.ranking(), arguments.ranking)
    if arguments.plot is not None:
        save(selection.picture(), arguments.plot)
    if arguments.report is not None:
        selection.to_html(arguments.report)


def _about_missing(
    arguments: argparse.Namespace, chosen: "SelectionRule", mixed: bool
) -> dict[str, Any]:
    """Return {"missing": value} of --missing, else {}; raise if method or rule takes none.

    Raise for --categorical too.
    """
    asked = [f"--{name}" for name in ("missing", "categorical") if getattr(arguments, name)]
    who = "--knockoffs" if chosen.rule == "knockoffs" else ""
    who = who if mixed else arguments.method
    if asked and who:
        raise InputError(
            f"{who} takes numbers only: leave {' and '.join(asked)} out; --impute replaces missing "
            "values"
        )
    return {"missing": arguments.missing} if arguments.missing else {}


def _write_columns(
    arguments: argparse.Namespace, data: "Dataset", selection: "Selection | ClassMarkers"
) -> None:
    """Write selected columns or components to --out; warn if none. To .h5ad, annotate a copy."""
    support = selection.support
    if arguments.out.suffix.lower() == ANNOTATED:
        from convexfs.selection.annotation import write_annotated

        write_annotated(selection, Path(arguments.source), arguments.out)
    elif support is not None and not support.any():
        left = ", which stays as it was" if arguments.out.exists() else ""
        warn(f"nothing is selected: no columns are written to {arguments.out}{left}")
        arguments.out = None
    else:
        from convexfs.data.writers import write_file

        written = data.scaled(arguments.scale) if support is None else data
        write_file(selection.reduced(written), arguments.out)


def _rule(arguments: argparse.Namespace) -> str:
    """Return the name of the requested selection rule, "" if none; raise if two are given."""
    asked = [rule for rule in RULES if getattr(arguments, rule) not in (None, False)]
    if len(asked) > 1:
        told = " and ".join(f"--{rule}" for rule in asked)
        raise InputError(f"{told} exclude each other: give one of them")
    rule = asked[0] if asked else "" if arguments.top is None else "top"
    if asked and arguments.top is not None and rule != "stability":
        raise InputError(f"--top K and --{rule} both say how many features to keep: give one")
    return rule


def _selection_rule(arguments: argparse.Namespace, rule: str) -> "SelectionRule":
    """Return the SelectionRule that the command line asks for."""
    from convexfs.selection.rules import LEVELS, SelectionRule

    level = getattr(arguments, rule) if rule in LEVELS else None
    return SelectionRule(
        rule, LEVELS[rule] if level is True else level, arguments.top, arguments.seed,
        permutations=arguments.permutations, gate=arguments.gate,
    )  # fmt: skip


def _sides(arguments: argparse.Namespace) -> list[str]:
    """Return the columns of --groups and --blocks; raise if the rule does not use them."""
    named = [name for name in (arguments.groups, arguments.blocks) if name is not None]
    if named and (arguments.stability or arguments.knockoffs or arguments.top is not None):
        raise InputError("--groups and --blocks need a test: use --fdr, --fwer or --curve")
    return list(dict.fromkeys(named))


@contextmanager
def _shown_on_stderr(method: str, data: "Dataset") -> Iterator[Callable[[str], None]]:
    """Show a status line on standard error in this block; yield a function that updates it."""
    from convexfs.kernels import announced

    console = Console(stderr=True)
    what = f"{method} on {data.training.n_samples} samples x {data.n_features} features"
    with announced(console.print), console.status(what, spinner="line") as status:
        yield lambda line: status.update(f"{what}: {line}")


def _assignment(text: str) -> tuple[str, Any]:
    name, separator, value = text.partition("=")
    if not separator or not name:
        raise InputError(f"--set takes name=value, such as --set n_neighbors=10, not {text!r}")
    try:
        return name, ast.literal_eval(value)
    # Deep nesting raises the last two.
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return name, value


def add_select_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``convexfs select``."""
    add_examples(
        parser,
        "select wdbc",
        "select patients.csv --target diagnosis --report features.html",
        "select patients.csv --target diagnosis --method logo --top 10",
        "select cells.h5ad --target cell_type --per-class --out markers.h5ad",
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
    add("--scale", choices=SCALE_NAMES,
        help="feature scaling [zscore for files; built-in data may set their own]")  # fmt: skip
    add_data_options(group)
    add_reading_options(parser.add_argument_group("reading a file"))
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
    add("--top", type=int, metavar="K",
        help="select the K features of largest weight, or K components of a projection [features "
        "significant at --fdr 0.1; for methods with sparse weights, "
        "all nonzero weights]")  # fmt: skip
    add("--fdr", type=float, metavar="Q",
        help="select features with false discovery rate at most Q, "
        "tested against shadow columns")  # fmt: skip
    add("--fwer", type=float, metavar="A",
        help="select features with family-wise error rate at most A (max-T)")  # fmt: skip
    add("--permutations", type=int, metavar="B",
        help="number of permutations of a test [200, or fewer on large data]")  # fmt: skip
    add("--gate", type=float, default=1.0, metavar="P",
        help="with --fdr, select nothing unless the best feature has max-T p <= P [1]")  # fmt: skip
    add("--curve", action="store_true",
        help="select the fewest features that predict held-out samples as well as any")  # fmt: skip
    add("--stability", action="store_true",
        help="select the features that most random halves of the samples select")  # fmt: skip
    add("--knockoffs", type=float, nargs="?", const=True, metavar="Q",
        help="select features that outweigh their knockoffs, with false discovery rate at most Q "
        "[0.2]; for methods with sparse weights")  # fmt: skip
    add("--per-class", action="store_true",
        help="select markers of each class against all other classes "
        "(with --fdr, --fwer, --top)")  # fmt: skip
    add("--groups", metavar="COL", help="column that marks replicates: rows of one group are "
        "permuted and held out together")  # fmt: skip
    add("--blocks", metavar="COL",
        help="column of batches: rows are permuted only within a batch")  # fmt: skip


def _add_output_options(group: Any) -> None:
    add = group.add_argument
    add("--out", type=Path, metavar="FILE",
        help="write the samples with the selected columns, or the components (.csv .tsv .parquet "
        ".xlsx .npz); with .h5ad, a copy of the .h5ad input with the "
        "results in var and uns")  # fmt: skip
    add("--ranking", type=Path, metavar="FILE",
        help="write one row per feature: weight, rank, selected, and test results (.csv .tsv "
        ".parquet .xlsx)")  # fmt: skip
    add("--report", type=Path, metavar="FILE",
        help="write an HTML page with tables and figures that opens offline (.html)")  # fmt: skip
    add("--plot", type=Path, metavar="FILE",
        help="write a bar chart, or the distance matrix of a "
        "projection (.png .svg .pdf)")  # fmt: skip
    add("--json", action="store_true", help="print everything as JSON instead of a table")
