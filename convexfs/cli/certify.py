"""The command ``convexfs certify``: prove or refute solutions of any origin."""

import argparse
import ast
import csv
import json
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from convexfs.cli.options import (
    add_data_options,
    add_examples,
    add_json_option,
    add_problem_files_option,
)
from convexfs.cli.terminal import write
from convexfs.data.readers.memory_limit import read_limit
from convexfs.errors import (
    ConvexfsError,
    InputError,
    ProblemFileError,
    RunError,
    check_regular_file,
    did_you_mean,
)
from convexfs.records import OPTIMAL, VERDICTS, Solution, symbols

if TYPE_CHECKING:
    from convexfs.batch.recertify import Recertified

#: Estimated bytes of memory to read one byte of a solution file, which must fit the read limit.
_PARSED = 40
#: Exit code by verdict (refuted, undecided, proven), most severe first; a run exits with the first
#: that occurs.
_EXIT = {False: 1, None: 3, True: 0}
_NOT_CERTIFIED = "not certified"


def certify(arguments: argparse.Namespace) -> int:
    """Prove or refute a solution of any solver, or all solutions of a stored run."""
    if arguments.source.is_dir():
        return _run_folder(arguments)
    from convexfs.certification.certify import certify as verify

    name, problem = next(problems_in(arguments.source, arguments.data))
    if arguments.solution is None:
        unsolved = getattr(problem, "status", "") is None
        if unsolved and any(x.value is None for x in problem.variables()):
            raise InputError(f"{name} comes without a solution to certify: give one by --solution")
        certificate = verify(problem, tol=arguments.tol)
    else:
        point = _with_names(problem, read_solution(arguments.solution))
        certificate = verify(problem, tol=arguments.tol, primal=point)
        if arguments.objective is not None:
            claimed = Solution(OPTIMAL, "", primal=point, objective=arguments.objective)
            certificate = verify(problem, claimed, certificate.tol)
    if arguments.json:
        write(json.dumps({"problem": name, "ok": certificate.ok, **_plain(certificate)}))
    else:
        write(f"{name}\n{certificate.explained()}")
    return _EXIT[certificate.ok]


def add_certify_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``convexfs certify``."""
    add_examples(
        parser,
        "certify problem.py",
        "certify problem.py --solution values.json --objective 1.5",
        "certify runs/study --problem problems/relief.py",
        topic="certificates",
    )
    add = parser.add_argument
    add("source", type=Path, metavar="FILE|DIR",
        help="a problem file, a Python file that defines `problem`, or the result folder (--out) "
        "of a run")  # fmt: skip
    group = parser.add_argument_group("the solution")
    add = group.add_argument
    add("--solution", type=Path, metavar="FILE",
        help="values by variable name: .json, .npz, or .csv with a name and its numbers on each "
        "line, matrices row by row [the values that the Python file's own solve left]")  # fmt: skip
    add("--objective", type=float, metavar="VALUE", help="objective value reported with it")
    add("--tol", type=float, metavar="T", help="largest accepted relative residual [1e-5]")
    group = parser.add_argument_group("input and output")
    add_problem_files_option(group)
    add_data_options(group)
    add_json_option(group)


def problems_in(path: Path, data_dir: Path | None = None) -> Iterator[tuple[str, Any]]:
    """Yield (name, cvxpy problem): the variable ``problem``, or one per task of a problem file."""
    if path.suffix == ".py" and _assigns_problem(path):
        yield path.name, _own_problem(path)
        return
    from convexfs.batch.problem_files.base import OWN_DATA
    from convexfs.batch.problem_files.load import load_problem_file
    from convexfs.batch.tasks import expand, first_problem

    file = load_problem_file(path)
    for task in expand([file], data_dir=None if data_dir is None else str(data_dir)):
        on = "" if task.data == OWN_DATA else f" on {task.data}"
        at = "" if task.hyper == "{}" else f" {task.hyper}"
        yield f"{path.name}{on}{at}", first_problem(task, file)


def _assigns_problem(path: Path) -> bool:
    """Return whether a Python file assigns a variable called ``problem`` at top level."""
    check_regular_file(path)
    try:
        tree = ast.parse(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror})") from None
    except (SyntaxError, ValueError) as error:
        raise ProblemFileError(
            f"{path}, line {getattr(error, 'lineno', 1)}: {getattr(error, 'msg', error)}"
        ) from None
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
    """Read a solution's values by variable name from a .json, .npz or .csv file."""
    readers = {".json": _from_json, ".npz": _from_npz, ".csv": _from_csv}
    if path.suffix not in readers:
        raise InputError(f"{path}: give the solution as {', '.join(readers)}")
    check_regular_file(path)
    try:
        read_limit().check(_PARSED * path.stat().st_size, path.name, "give a smaller one")
        return readers[path.suffix](path)
    except ConvexfsError:
        raise
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror or error})") from None
    # json, csv, zipfile and numpy raise many classes of errors for invalid bytes.
    except Exception as error:
        said = " ".join(str(error).split())
        raise InputError(f"{path} holds no values by name: {said}") from None


def _from_json(path: Path) -> dict[str, Any]:
    import numpy as np

    content = json.loads(path.read_text())
    if not isinstance(content, dict):
        raise ValueError('it must be an object, such as {"x": [1, 2]}')
    return {str(name): np.array(value, dtype=float) for name, value in content.items()}


def _from_npz(path: Path) -> dict[str, Any]:
    import numpy as np

    from convexfs.data.readers.memory_estimate import check_npz

    check_npz(path, read_limit())
    with np.load(path, allow_pickle=False) as archive:
        return dict(archive)


def _from_csv(path: Path) -> dict[str, Any]:
    import numpy as np

    with path.open(newline="") as file:
        rows = [row for row in csv.reader(file) if row]
    return {row[0].strip(): np.array([float(cell) for cell in row[1:] if cell]) for row in rows}


def _with_names(problem: Any, values: dict[str, Any]) -> dict[str, Any]:
    """Return `values` unchanged; raise InputError if a name is no variable of the problem."""
    known = symbols(problem)
    for name in values:
        if name not in known:
            raise InputError(f"the problem has no variable {name!r}: {did_you_mean(name, known)}")
    return values


def _plain(certificate: Any) -> dict[str, Any]:
    """Return a certificate's fields as JSON values, with NaN and infinity as text."""
    return {
        name: str(value) if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in asdict(certificate).items()
    }


def _run_folder(arguments: argparse.Namespace) -> int:
    from convexfs.batch.recertify import certify_again

    if arguments.solution is not None:
        raise InputError("a run has its own solutions: leave --solution out")
    data_dir = None if arguments.data is None else str(arguments.data)
    found = []
    for task in certify_again(arguments.source, arguments.problem, arguments.tol, data_dir):
        found.append(task)
        write(_line(task))
    counts = Counter(map(_verdict, found))
    write(", ".join(f"{count} {word}" for word, count in counts.items()) or "no solutions")
    if arguments.tol is None:
        _renew(arguments.source, [each for each in found if each.older and each.certificate])
    certified = {each.certificate.ok for each in found if each.certificate is not None}
    return next((code for ok, code in _EXIT.items() if ok in certified), 0)


def _verdict(task: "Recertified") -> str:
    return _NOT_CERTIFIED if task.certificate is None else VERDICTS[task.certificate.ok]


def _line(task: "Recertified") -> str:
    """Return a line with the new verdict on a stored solution, and the old one if it differs."""
    if task.certificate is None:
        return f"{_NOT_CERTIFIED}: {task.task}, {task.status}: {task.reason}"
    details = f"{task.certificate}".partition(" ")[2]
    line = f"{_verdict(task)}: {task.task}, {task.status}: {details}"
    if task.certificate.ok == task.before:
        return line
    maker = " by an older version" if task.older else ""
    return f"{line}; before {VERDICTS[task.before]}{maker}"


def _renew(folder: Path, older: list["Recertified"]) -> None:
    """Store the new verdicts in place of those that an older version made, and print how many."""
    from convexfs.batch.recertify import renew

    if not older:
        return
    try:
        renew(folder, older)
    except RunError as error:
        write(f"the verdicts of the older version are not renewed: {error}")
    else:
        write(f"renewed {len(older)} verdicts of an older version")
