"""The ``convexfs`` command.

Exit codes: 0 done, 1 something was computed but failed or was refused, 2 bad
input (one line on standard error, no traceback), 130 stopped by Ctrl-C.
"""

import argparse
import ast
import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

import convexfs
from convexfs import batch_cli, show_cli
from convexfs.data import BUNDLED, GENERATORS, Dataset, load
from convexfs.data.dataset import SCALES
from convexfs.data.writers import WRITERS, check_target, write_file
from convexfs.errors import ConvexfsError, InputError, did_you_mean
from convexfs.estimators import ESTIMATORS, estimator
from convexfs.formulations import FORMULATIONS
from convexfs.pictures import PICTURE_FORMATS, save, weight_bars

#: Rows of the weights table before the rest is only counted.
SHOWN_WEIGHTS = 20


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    arguments = _parser().parse_args(argv)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            return arguments.run(arguments)
    except ConvexfsError as error:
        _complain(f"error: {error}")
        return 2
    except KeyboardInterrupt:
        _complain("stopped")
        return 130
    except BrokenPipeError:
        # The reader (head, less) has gone; leave quietly, with nothing to flush.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def list_all(_: argparse.Namespace) -> int:
    """Print methods, formulations, generators and bundled data."""
    console = _console()
    methods = _table("Methods", "method", "estimator")
    for name, home in ESTIMATORS.items():
        methods.add_row(name, "convexfs." + home.partition(":")[2])
    console.print(methods)
    problems = Table(
        "formulation", "problem", "printed in", title="Formulations", title_justify="left"
    )
    for row in FORMULATIONS.values():
        problems.add_row(row.name, Text(row.equation), Text(row.reference))
    console.print(problems)
    data = _table("Data", "data", "kind", "what")
    for name, generate in GENERATORS.items():
        data.add_row(name, "generator", (generate.__doc__ or "").partition("\n")[0])
    for name in BUNDLED:
        data.add_row(name, "bundled", "from scikit-learn")
    console.print(data)
    return 0


def solvers(_: argparse.Namespace) -> int:
    """Print the backend table."""
    from convexfs.solving.backends import BACKENDS

    table = Table("solver", "version", "takes", "licence", "time limit", "known faults")
    for row in BACKENDS.values():
        version = row.version if row.installed else row.how_to_install
        takes = " ".join(sorted(row.cones)) + (" integer" if row.integer_cones else "")
        limit = "yes" if row.limit else "no"
        faults = "; ".join(row.faults) + ("" if row.tested else " (untested)")
        table.add_row(row.name, Text(version), takes, row.licence, limit, faults.strip())
    _console().print(table)
    return 0


def select(arguments: argparse.Namespace) -> int:
    """Weigh the features of a data set; print, plot and write what was selected."""
    if arguments.out is not None:
        check_target(arguments.out, WRITERS)
        if arguments.out.resolve() == Path(arguments.source).resolve():
            raise InputError(f"--out {arguments.out} would overwrite the data: name another file")
    if arguments.plot is not None:
        check_target(arguments.plot, PICTURE_FORMATS)
    model = _estimator(arguments)
    data = load(arguments.source, arguments.target, arguments.data)
    scaled = data.training.scaled(arguments.scale)
    start = time.perf_counter()
    with Console(stderr=True).status(
        f"{arguments.method} on {scaled.n_samples} samples x {data.n_features} features"
    ):
        model.fit(_frame(scaled), scaled.labels)
    seconds = time.perf_counter() - start
    support = model.get_support()
    if arguments.out is not None:
        write_file(data.select(support), arguments.out)
    if arguments.plot is not None:
        save(weight_bars(model.weights_, data.feature_names, support), arguments.plot)
    report = _json_report if arguments.json else _table_report
    report(arguments, data, model, support, seconds)
    if model.certificate_.ok is False:
        _complain(f"the certificate is {model.certificate_}: do not rely on these weights")
        return 1
    return 0


def _estimator(arguments: argparse.Namespace) -> Any:
    model = estimator(arguments.method)()
    known = model.get_params()
    chosen = {"solver": arguments.solver} | dict(_assignment(text) for text in arguments.set)
    if arguments.top is not None:
        chosen["n_features_to_select"] = arguments.top
    if "random_state" in known:
        chosen.setdefault("random_state", arguments.seed)
    for name in chosen:
        if name not in known:
            raise InputError(
                f"{arguments.method} has no parameter {name!r}: {did_you_mean(name, known)}"
            )
    return model.set_params(**chosen)


def _assignment(text: str) -> tuple[str, Any]:
    name, separator, value = text.partition("=")
    if not separator or not name:
        raise InputError(f"--set takes name=value, such as --set n_neighbors=10, not {text!r}")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value


def _frame(data: Dataset) -> Any:
    import pandas as pd

    return pd.DataFrame(data.X, columns=list(data.feature_names), copy=False)


def _table_report(
    arguments: argparse.Namespace, data: Dataset, model: Any, support: np.ndarray, seconds: float
) -> None:
    console = _console()
    order = np.argsort(-model.weights_, kind="stable")
    title = f"{arguments.method} on {data.name}: {support.sum()} of {data.n_features} features"
    table = _table(title, "rank", "feature", "weight", "", "selected")
    largest = model.weights_.max(initial=0.0) or 1.0
    for rank, j in enumerate(order[:SHOWN_WEIGHTS], start=1):
        bar = "█" * round(20 * model.weights_[j] / largest)
        chosen = "yes" if support[j] else ""
        table.add_row(
            str(rank), Text(data.feature_names[j]), f"{model.weights_[j]:.4f}", bar, chosen
        )
    console.print(table)
    if len(order) > SHOWN_WEIGHTS:
        console.print(f"… and {len(order) - SHOWN_WEIGHTS} more (--json has them all)")
    solution = model.solution_
    console.print(
        f"solver {solution.solver}   objective {solution.objective:.6g}   "
        f"certificate {model.certificate_}   {seconds:.2f} s",
        highlight=False,
    )
    for what, path in (("selected columns", arguments.out), ("picture", arguments.plot)):
        if path is not None:
            console.print(f"{what}: {path}", highlight=False, soft_wrap=True)


def _json_report(
    arguments: argparse.Namespace, data: Dataset, model: Any, support: np.ndarray, seconds: float
) -> None:
    record = {
        "data": data.name,
        "method": arguments.method,
        "parameters": {k: v for k, v in model.get_params().items() if _plain(v)},
        "scale": arguments.scale or data.scale,
        "weights": dict(zip(data.feature_names, model.weights_.tolist(), strict=True)),
        "selected": [name for name, kept in zip(data.feature_names, support, strict=True) if kept],
        "solver": model.solution_.solver,
        "status": model.solution_.status,
        "objective": model.solution_.objective,
        "certificate": model.certificate_.as_dict(),
        "seconds": seconds,
    }
    sys.stdout.write(json.dumps(record, indent=2) + "\n")


def _plain(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float | bool)


def _console() -> Console:
    # A pipe has no width; leave enough for a table to keep its columns whole.
    return Console() if sys.stdout.isatty() else Console(width=140)


def _table(title: str, *headings: str) -> Table:
    return Table(*headings, title=title, title_justify="left")


def _complain(line: str) -> None:
    print(f"convexfs: {line}", file=sys.stderr)


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    _complain(f"warning: {message}")


class _Parser(argparse.ArgumentParser):
    """argparse that ends a bad line the way every other error here ends."""

    def error(self, message: str) -> Any:
        self.exit(2, f"convexfs: error: {message} (see {self.prog} --help)\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="convexfs",
        description="Local-learning feature selection as explicit convex problems.",
    )
    parser.add_argument("--version", action="version", version=f"convexfs {convexfs.__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", dest="command")

    def command(name: str, run: Callable[[argparse.Namespace], int]) -> argparse.ArgumentParser:
        described = (run.__doc__ or "").partition("\n")[0]
        made = commands.add_parser(name, help=described, description=described)
        made.set_defaults(run=run)
        return made

    command("list", list_all)
    command("solvers", solvers)
    _select_options(command("select", select))
    for name, (run, add_options) in (show_cli.COMMANDS | batch_cli.COMMANDS).items():
        add_options(command(name, run))
    return parser


def _data_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--target", help="name of the class column")
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder behind data:NAME")


def _select_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("source", metavar="DATA", help="a file, a generator such as spiral:noise=50, or a name")
    _data_option(parser)
    add("--method", default="relief", help="a name that `convexfs list` prints [relief]")
    add("--solver", default="auto", help="native, or a name that `convexfs solvers` prints [auto]")
    add("--set", action="append", default=[], metavar="NAME=VALUE", help="a method's parameter")
    add(
        "--top", type=int, metavar="K", help="keep the K heaviest [those above 1 %% of the largest]"
    )
    add("--scale", choices=list(SCALES), help="[what the data declare; zscore for files]")
    add("--seed", type=int, default=0, metavar="N", help="for anything random [0]")
    add(
        "--out",
        type=Path,
        metavar="FILE",
        help="write the selected columns (.csv .tsv .parquet .npz)",
    )
    add("--plot", type=Path, metavar="FILE", help="write a bar chart (.png .svg .pdf)")
    add("--json", action="store_true", help="print everything as JSON instead of a table")
