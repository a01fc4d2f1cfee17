"""The command ``convexfs show``: a problem as mathematics, or what differs between two."""

import argparse
import inspect
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from convexfs.batch.problem_file import FOLDER, ProblemFile, load_problem_file
from convexfs.cli.terminal import write
from convexfs.data.dataset import Dataset
from convexfs.data.specs import load
from convexfs.errors import InputError
from convexfs.methods import FORMULATIONS, named_formulation
from convexfs.methods.base.formulation import Formulation
from convexfs.methods.base.step import stated

#: What a formulation is stated on if nothing else is said; it takes no library to make.
DATA = "subclasses:noise=2"
NOTATIONS = ("text", "latex", "optidef", "mathml", "numpy")


def show(arguments: argparse.Namespace) -> int:
    """Print a formulation or problem file as mathematics, or what differs between two."""
    if len(arguments.sources) > 2:
        raise InputError("show takes one problem, or two to compare")
    sources = [_source(name) for name in arguments.sources]
    written = (_compared if len(sources) == 2 else _shown)(sources, arguments)
    write(written)
    return 0


def add_show_options(parser: argparse.ArgumentParser) -> None:
    """Options of ``convexfs show``."""
    add = parser.add_argument
    add(
        "sources",
        nargs="+",
        metavar="NAME|FILE",
        help="a name that `convexfs list` prints, or a problem file; two are compared",
    )
    add("--on", metavar="DATA", help=f"data to state it on [a file's first, else {DATA}]")
    add("--target", help="name of the class column")
    add("--data", type=Path, metavar="DIR", help="folder behind data:NAME")
    add("--read-limit", metavar="SIZE", help="memory that reading may take [half of the machine's]")
    add("--as", dest="notation", choices=NOTATIONS, help="print only the formula, written so")
    for short in ("latex", "mathml"):
        add(f"--{short}", dest="notation", action="store_const", const=short, help=f"--as {short}")
    add(
        "--save",
        type=Path,
        metavar="FILE",
        help="write the cone program (.npz), or a linear problem (.lp .mps)",
    )


@dataclass(frozen=True)
class Source:
    """What a word on the command line names: a formulation, perhaps changed by a file."""

    name: str
    equation: str
    formulation: Formulation
    file: ProblemFile | None = None

    @property
    def grid_point(self) -> dict[str, Any]:
        grid = {} if self.file is None else self.file.grid
        return {name: values[0] for name, values in grid.items()}

    def problem(self, data: Dataset, chosen: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
        """The first convex problem on `data`, and the values it is made of."""
        from convexfs.inspection import symbolic

        numbers = self.formulation.numbers
        taken = inspect.signature(numbers).parameters
        for_numbers = {name: value for name, value in chosen.items() if name in taken}
        values, hyper = numbers(data.X, data.y, **for_numbers)
        changed = self.file.build if self.file else None
        state = partial(stated, self.formulation, build=changed)
        offered = {**values, **hyper, **chosen}
        return symbolic(state, changed or self.formulation.build, offered), values


def _source(name: str) -> Source:
    if name in FORMULATIONS:
        row = FORMULATIONS[name]
        return Source(name, row.equation, row)
    is_path = Path(name).suffix == ".py" or len(Path(name).parts) > 1
    if is_path or os.path.isfile(FOLDER / f"{name}.py"):
        file = load_problem_file(name)
        return Source(str(file.path.name), file.equation, file.formulation, file)
    row = named_formulation(name)
    return Source(name, row.equation, row)


def _data(sources: list[Source], arguments: argparse.Namespace) -> Dataset:
    """The training rows of the data asked for, or of the first file's first data set."""
    declared = [source.file.data[0] for source in sources if source.file is not None]
    spec = arguments.on or (declared[0] if declared else DATA)
    limit = arguments.read_limit
    return load(spec, arguments.target, arguments.data, read_limit=limit).training.scaled()


def _shown(sources: list[Source], arguments: argparse.Namespace) -> str:
    from convexfs.inspection import save
    from convexfs.inspection import show as inspected

    (source,) = sources
    data = _data(sources, arguments)
    problem, values = source.problem(data, source.grid_point)
    seen = inspected(problem, values)
    if arguments.save is not None:
        save(problem, arguments.save)
    if arguments.notation:
        written = str(getattr(seen, arguments.notation)).rstrip("\n")
        if (
            arguments.notation == "mathml"
        ):  # its symbols by number: any terminal and page takes them
            return written.encode("ascii", "xmlcharrefreplace").decode()
        return written
    chosen = "".join(f", {name}={value}" for name, value in source.grid_point.items())
    lines = [
        f"{source.name}: {source.equation}",
        source.formulation.reference,
        f"\nOn {data.name} ({data.n_samples} x {data.n_features}){chosen}:\n",
        str(seen),
    ]
    if arguments.save is not None:
        lines.append(f"\nwritten: {arguments.save}")
    return "\n".join(lines)


def _compared(sources: list[Source], arguments: argparse.Namespace) -> str:
    from convexfs.inspection import differences

    if arguments.notation or arguments.save is not None:
        raise InputError("--as and --save take one problem, not two")
    data = _data(sources, arguments)
    first, second = sources
    # A formulation has no grid: it takes the other's, so that only the formula differs.
    points = [first.grid_point or second.grid_point, second.grid_point or first.grid_point]
    made = [source.problem(data, point) for source, point in zip(sources, points, strict=True)]
    (one, its_values), (other, other_values) = made
    lines = [
        f"- {first.name}: {first.equation}",
        f"+ {second.name}: {second.equation}",
        f"\nOn {data.name} ({data.n_samples} x {data.n_features}):\n",
        differences(one, other, its_values, other_values),
    ]
    return "\n".join(lines)


COMMANDS: dict[str, tuple[Callable[..., int], Callable[..., None]]] = {
    "show": (show, add_show_options),
}
