"""The command ``convexfs certify``: proofs of answers, whoever found them."""

import argparse
import ast
import csv
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from convexfs.cli.terminal import write
from convexfs.errors import InputError, ProblemFileError

#: Marks of a verdict in a table.
_SAID = {True: "proven", False: "refused", None: "not proven"}


def certify(arguments: argparse.Namespace) -> int:
    """Prove or refuse an answer found elsewhere, or all answers of a stored run."""
    if arguments.source.is_dir():
        return _run_folder(arguments)
    from convexfs.solving.certify import certify as judge

    name, problem = next(problems_in(arguments.source, arguments.data))
    if arguments.solution is None:
        unsolved = getattr(problem, "status", "") is None
        if unsolved and any(x.value is None for x in problem.variables()):
            raise InputError(f"{name} comes without an answer to judge: give one by --solution")
        certificate = judge(problem, tol=arguments.tol)
    else:
        from convexfs.records import OPTIMAL, Solution

        point = _with_names(problem, read_solution(arguments.solution))
        certificate = judge(problem, tol=arguments.tol, primal=point)
        if arguments.objective is not None:
            claimed = Solution(OPTIMAL, "", primal=point, objective=arguments.objective)
            certificate = judge(problem, claimed, certificate.tol)
    if arguments.json:
        write(json.dumps({"problem": name, "ok": certificate.ok, **_plain(certificate)}))
    else:
        write(f"{name}\n{certificate.explained()}")
    return 0 if certificate.ok else 1


def add_certify_options(parser: argparse.ArgumentParser) -> None:
    """Options of ``convexfs certify``."""
    add = parser.add_argument
    add(
        "source",
        type=Path,
        metavar="FILE|DIR",
        help="a problem file, a Python file that defines `problem`, or the --out of a run",
    )
    add(
        "--solution",
        type=Path,
        metavar="FILE",
        help="values by variable: .json, .npz, or .csv with a name and its numbers in each line "
        "(matrices row by row) [what the file's own solve left]",
    )
    add("--objective", type=float, metavar="VALUE", help="the objective that was reported with it")
    add("--problem", action="append", default=[], metavar="FILE", help="of DIR: its problem files")
    add("--tol", type=float, metavar="T", help="largest residual accepted [1e-5]")
    add("--data", type=Path, metavar="DIR", help="folder behind data:NAME")
    add("--json", action="store_true", help="print all numbers as JSON")


def problems_in(path: Path, data_dir: Path | None = None) -> Iterator[tuple[str, Any]]:
    """Yield the problems that a file states, with a name each."""
    if path.suffix == ".py" and _assigns_problem(path):
        yield path.name, _own_problem(path)
        return
    from convexfs.batch.problem_file import load_problem_file
    from convexfs.batch.tasks import expand, first_numbers
    from convexfs.methods.base.step import stated

    file = load_problem_file(path)
    for task in expand([file], data_dir=None if data_dir is None else str(data_dir)):
        values, hyper = first_numbers(task, file)
        problem = stated(file.formulation, {**values, **hyper}, file.build)
        yield f"{path.name} on {task.data} {task.hyper}", problem


def _assigns_problem(path: Path) -> bool:
    """Whether a file makes a problem of its own, to be found by that name."""
    try:
        tree = ast.parse(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror})") from None
    except (SyntaxError, ValueError) as error:
        raise ProblemFileError(f"{path}, line {getattr(error, 'lineno', 1)}: {error}") from None
    targets = [
        target
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
    ]
    return any(isinstance(target, ast.Name) and target.id == "problem" for target in targets)


def _own_problem(path: Path) -> Any:
    names: dict[str, Any] = {"__name__": path.stem, "__file__": str(path)}
    try:
        exec(compile(path.read_bytes(), str(path), "exec"), names)
    except Exception as error:
        said = " ".join(str(error).split())
        raise ProblemFileError(f"{path}: {type(error).__name__}: {said}") from error
    return names["problem"]


def read_solution(path: Path) -> dict[str, Any]:
    """Read values by name from a .json, .npz or .csv file."""
    readers = {".json": _from_json, ".npz": _from_npz, ".csv": _from_csv}
    if path.suffix not in readers:
        raise InputError(f"{path}: give the solution as {', '.join(readers)}")
    try:
        return readers[path.suffix](path)
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror or error})") from None
    except (ValueError, TypeError) as error:
        said = " ".join(str(error).split())
        raise InputError(f"{path} holds no values by name: {said}") from None


def _from_json(path: Path) -> dict[str, Any]:
    import numpy as np

    content = json.loads(path.read_text())
    if not isinstance(content, dict):
        raise ValueError('it must be an object, such as {"x": [1, 2]}')
    return {str(name): np.array(value, dtype=float) for name, value in content.items()}


def _from_npz(path: Path) -> dict[str, Any]:
    import zipfile

    import numpy as np

    try:
        with np.load(path, allow_pickle=False) as archive:
            return dict(archive)
    except (zipfile.BadZipFile, AttributeError) as error:
        raise ValueError("it is no archive of arrays") from error


def _from_csv(path: Path) -> dict[str, Any]:
    import numpy as np

    with path.open(newline="") as file:
        rows = [row for row in csv.reader(file) if row]
    return {row[0].strip(): np.array([float(cell) for cell in row[1:] if cell]) for row in rows}


def _with_names(problem: Any, values: dict[str, Any]) -> dict[str, Any]:
    """Return the values that the problem asks for; names that it does not know are errors."""
    from convexfs.errors import did_you_mean
    from convexfs.records import symbols

    known = symbols(problem)
    for name in values:
        if name not in known:
            raise InputError(f"the problem has no variable {name!r}: {did_you_mean(name, known)}")
    return values


def _plain(certificate: Any) -> dict[str, Any]:
    """Return all fields as JSON has them: what is not finite as a word."""
    import math

    return {
        name: str(value) if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in asdict(certificate).items()
    }


def _run_folder(arguments: argparse.Namespace) -> int:
    from convexfs.batch.judging import judged_again

    if arguments.solution is not None:
        raise InputError("a run has its own answers: leave --solution out")
    data_dir = None if arguments.data is None else str(arguments.data)
    counts: dict[str, int] = {}
    for judged in judged_again(arguments.source, arguments.problem, arguments.tol, data_dir):
        said = "not judged" if judged.certificate is None else _SAID[judged.certificate.ok]
        counts[said] = counts.get(said, 0) + 1
        why = judged.reason if judged.certificate is None else str(judged.certificate)
        changed = judged.certificate is not None and judged.certificate.ok != judged.before
        was = f"; before {_SAID[judged.before]}" if changed else ""
        write(f"{said}: {judged.task}, {judged.status}: {why}{was}")
    write(", ".join(f"{count} {said}" for said, count in counts.items()) or "no answers")
    return 1 if counts.get("refused") else 0


COMMANDS: dict[str, tuple[Callable[..., int], Callable[..., None]]] = {
    "certify": (certify, add_certify_options),
}
