"""The command ``convexfs show``: print a problem as mathematics, or compare two."""

import argparse
import os
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from convexfs.batch.problem_files.base import printed_aside, samples_of
from convexfs.batch.problem_files.load import FOLDER, ProblemFile, load_problem_file
from convexfs.batch.tasks import named_in
from convexfs.cli.options import add_data_options, add_examples
from convexfs.cli.terminal import WIDTH, write
from convexfs.data.dataset import Dataset
from convexfs.data.specs import load
from convexfs.data.targets import CLASSES, NUMBERS, require_kind
from convexfs.errors import InputError
from convexfs.formats import ending
from convexfs.methods import FORMULATIONS, named_formulation, target_of
from convexfs.methods.base.formulation import Formulation
from convexfs.methods.base.solve_step import stated

#: Default data specs of formulations: with classes, and with a numeric target.
DATA = "subclasses:noise=2"
DATA_OF_NUMBERS = "product:n=30,noise=2"
NOTATIONS = ("text", "latex", "optidef", "mathml")


def show(arguments: argparse.Namespace) -> int:
    """Print a formulation or problem file as mathematics, or the differences of two."""
    if len(arguments.sources) > 2:
        raise InputError("show takes one problem, or two to compare")
    sources = [_source(name) for name in arguments.sources]
    write((_compared if len(sources) == 2 else _shown)(sources, arguments))
    return 0


def add_show_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``convexfs show``."""
    add_examples(
        parser,
        "show relief",
        "show relief --on wdbc --latex",
        "show logo-penalised logo-constrained",
        "show relief --on wdbc --save relief.mps",
        topic="change",
    )
    add = parser.add_argument
    add("sources", nargs="+", metavar="NAME|FILE",
        help="a formulation (see `convexfs list`), a problem file, or a model file (.mps, .cbf, "
        "...); give two to compare them")  # fmt: skip
    group = parser.add_argument_group("data")
    add = group.add_argument
    add("--on", metavar="DATA", help=f"data set to build the problem on [first of the problem "
        f"file, else {DATA}]")  # fmt: skip
    add("--target", help="name of the target column")
    add_data_options(group)
    add = parser.add_argument_group("output").add_argument
    add("--as", dest="notation", type=_notation, metavar="NOTATION",
        help="print only the formula, as text, latex, optidef or mathml")  # fmt: skip
    for short in ("latex", "mathml"):
        add(f"--{short}", dest="notation", action="store_const", const=short,
            help=f"short for --as {short}")  # fmt: skip
    add("--save", type=Path, metavar="FILE",
        help="write the problem as .npz, .cbf, .mps, .qps, .lp or "
        ".dat-s, optionally with .gz")  # fmt: skip


def _notation(name: str) -> str:
    if name == "numpy":
        raise argparse.ArgumentTypeError(
            "numpy was removed: evaluate the problem's expressions in cvxpy, by .value"
        )
    if name not in NOTATIONS:
        raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(NOTATIONS)}")
    return name


@dataclass(frozen=True)
class Source:
    """A formulation or problem file named on the command line, and the problem it builds."""

    name: str
    equation: str
    formulation: Formulation
    file: ProblemFile | None = None

    @property
    def grid_point(self) -> dict[str, Any]:
        grid = {} if self.file is None else self.file.grid
        return {name: values[0] for name, values in grid.items()}

    @property
    def build(self) -> Callable[..., Any]:
        changed = self.file.build if self.file else None
        return changed or self.formulation.build

    @property
    def needs_data(self) -> bool:
        return self.file is None or bool(self.file.data) or not self.file.is_own

    def problem(
        self, data: Dataset | None, chosen: Mapping[str, Any]
    ) -> tuple[Any, dict[str, Any]]:
        """Return the first convex problem on `data` (cvxpy), and the values computed from them."""
        from convexfs.inspection import symbolic

        values, offered = self._offered(data if self.needs_data else None, chosen)
        state = partial(stated, self.formulation, build=self.file.build if self.file else None)
        with printed_aside():
            return symbolic(state, self.build, offered), values

    def _offered(
        self, data: Dataset | None, chosen: Mapping[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the values computed from the data, and all that `build` may take."""
        file = self.file
        if file is not None and file.is_own:
            samples = {} if data is None else samples_of(data, self.build)
            return {}, {"seed": file.seed or 0, **samples, **chosen}
        assert data is not None
        numbers = self.formulation.numbers
        values, hyper = numbers(data.X, data.y, **named_in(numbers, chosen))
        samples = samples_of(data, self.build, values)
        return values, {**values, **samples, **hyper, **chosen}


def _source(name: str) -> Source:
    is_path = Path(name).suffix == ".py" or len(Path(name).parts) > 1
    is_path = is_path or ending(name) is not None or ":" in name
    if name not in FORMULATIONS and (is_path or os.path.isfile(FOLDER / f"{name}.py")):
        file = load_problem_file(name)
        return Source(str(file.path.name), file.equation, file.formulation, file)
    row = named_formulation(name)
    return Source(name, row.equation, row)


def _data(sources: list[Source], arguments: argparse.Namespace) -> Dataset | None:
    """Return scaled training rows of --on, a file's first data or a default; None if unneeded."""
    if not any(source.needs_data for source in sources):
        if arguments.on:
            raise InputError(f"{sources[0].name} brings its own data: leave --on out")
        return None
    declared = [source.file.data[0] for source in sources if source.file and source.file.data]
    kinds = {target_of(source.formulation) for source in sources}
    numbers = kinds == {NUMBERS}
    spec = arguments.on or [*declared, DATA_OF_NUMBERS if numbers else DATA][0]
    data = load(
        spec,
        arguments.target,
        arguments.data,
        target_kind=NUMBERS if numbers else None,
        read_limit=arguments.read_limit,
    )
    if CLASSES in kinds:  # At least one source needs classes.
        require_kind(spec, data.numeric, CLASSES)
    return data.training.scaled()


def _shown(sources: list[Source], arguments: argparse.Namespace) -> str:
    from convexfs.formats import write_problem
    from convexfs.inspection import show as inspected

    (source,) = sources
    data = _data(sources, arguments)
    problem, values = source.problem(data, source.grid_point)
    seen = inspected(problem, values)
    if arguments.save is not None:
        write_problem(problem, arguments.save)
    if arguments.notation:
        written = str(getattr(seen, arguments.notation)).rstrip("\n")
        if arguments.notation == "mathml":
            # Write symbols as numeric entities, which every terminal and page accepts.
            return written.encode("ascii", "xmlcharrefreplace").decode()
        return written
    chosen = "".join(f", {name}={value}" for name, value in source.grid_point.items())
    title = f"{source.name}: {source.equation}" if source.equation else source.name
    heading = [line for text in (title, source.formulation.reference) for line in _wrapped(text)]
    lines = [*heading, f"\n{_place(data)}{chosen}:\n", str(seen)]
    if arguments.save is not None:
        lines.append(f"\nwritten: {arguments.save}")
    return "\n".join(lines)


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(
        text, WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )


def _place(data: Dataset | None) -> str:
    if data is None:
        return "On its own data"
    return f"On {data.name} ({data.n_samples} x {data.n_features})"


def _compared(sources: list[Source], arguments: argparse.Namespace) -> str:
    from convexfs.inspection import differences

    if arguments.notation or arguments.save is not None:
        raise InputError("--as and --save take one problem, not two")
    data = _data(sources, arguments)
    first, second = sources
    # A formulation has no grid: use the other's, so that only the formula differs.
    points = [first.grid_point or second.grid_point, second.grid_point or first.grid_point]
    made = [source.problem(data, point) for source, point in zip(sources, points, strict=True)]
    (one, its_values), (other, other_values) = made
    lines = [
        f"- {first.name}: {first.equation}",
        f"+ {second.name}: {second.equation}",
        f"\n{_place(data)}:\n",
        differences(one, other, its_values, other_values),
    ]
    return "\n".join(lines)
