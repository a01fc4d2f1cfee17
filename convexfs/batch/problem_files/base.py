"""The contract of problem files: the names they may define, and the checked result."""

import ast
import hashlib
import inspect
import io
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NoReturn

from convexfs.data.dataset import Dataset
from convexfs.data.specs import renamed, split_spec
from convexfs.errors import InputError, ProblemFileError, did_you_mean
from convexfs.methods.base.formulation import OWN, Formulation

KINDS = {
    "METHOD": (str, "the name of a method, such as 'relief'"),
    "DATA": (list, "a list of data sets, such as ['wdbc', 'spiral:noise=50']"),
    "GRID": (dict, "a dict of lists, such as {'lam': [0.5, 1.0]}"),
    "SOLVERS": (list, "a list of solver names, such as ['CLARABEL', 'SCS']"),
    "FIT": (bool | str, "True for the whole method or False for its first convex problem"),
}
#: Name that stands for the data set if a problem makes its own data.
OWN_DATA = "own data"
#: Arguments that a problem file's function may take beside GRID's names, if the file has DATA.
SAMPLES = ("X", "y", "names", "groups")


@dataclass(frozen=True)
class ProblemFile:
    """The definitions of a problem file after checks: formulation, data, grid, solvers, function.

    Attributes
    ----------
    path, sha256, equation : Path, str, str
        Where it is, the hash of its text, and the first line of its docstring.
    code_sha256 : str
        Hash of what is left without comments, docstring and the five names: an
        edited formula changes it, one more solver or grid value does not.
    formulation : Formulation
        Whose method and numeric half it uses; :data:`~convexfs.methods.base.formulation.OWN` of a
        file that states a user-defined problem.
    data, grid, solvers, fit
        What the file says, or the defaults; `fit` may be what the method calls its parts.
        A user-defined problem that makes its own data has no `data`.
    text : str
        All of it.
    build : callable or None
        The changed problem, or the file's own; None for the formulation as printed.
    feasible : callable or None
        The changed constraints, if it is only these; `build` has them already.
    seed : int or None
        What anything random starts from; None for the run's.
    called : str
        Its name, if that is not the file's.
    """

    path: Path
    sha256: str
    code_sha256: str
    equation: str
    text: str
    build: Callable[..., Any] | None
    formulation: Formulation = OWN
    data: tuple[str, ...] = ()
    grid: Mapping[str, list[Any]] = field(default_factory=dict)
    solvers: tuple[str, ...] = ("auto",)
    fit: bool | str = False
    feasible: Callable[..., Any] | None = None
    seed: int | None = None
    called: str = ""

    @property
    def name(self) -> str:
        return self.called or self.path.stem

    @property
    def is_own(self) -> bool:
        """Return whether the file states a user-defined problem, not a method's."""
        return self.formulation is OWN


class Reader:
    """Base class that runs a problem file and checks its definitions; errors name the line."""

    def __init__(self, path: Path, text: bytes):
        self.path, self.text = path, text
        try:
            tree = ast.parse(text, str(path))
        except (SyntaxError, ValueError) as error:
            self.fail(getattr(error, "msg", str(error)), getattr(error, "lineno", None) or 1)
        self.lines = dict(name for node in tree.body for name in _bound(node))
        self.code = _code(tree)
        self.names = self._run(compile(tree, str(path), "exec"))

    def _run(self, code: Any) -> dict[str, Any]:
        names: dict[str, Any] = {"__name__": self.path.stem, "__file__": str(self.path)}
        try:
            with printed_aside():
                exec(code, names)
        except (Exception, SystemExit) as error:
            inside = [
                frame.lineno
                for frame in inspect.getinnerframes(error.__traceback__)  # type: ignore[arg-type]
                if frame.filename == str(self.path)
            ]
            self.fail(f"{type(error).__name__}: {error}", inside[-1] if inside else 1)
        return names

    def _check_names(self) -> None:
        for name in self.lines:
            if name != "build" and name.lower() == "build":
                self.fail(f"{name} is not called: write the function's name as build", name)
            if name in KINDS or not name.isupper():
                continue
            # Other constants are the file's own, unless one looks like a misspelt name.
            if get_close_matches(name, KINDS, n=1, cutoff=0.75):
                self.fail(f"{name} means nothing here: {did_you_mean(name, KINDS)}", name)

    def definitions(self) -> dict[str, Any]:
        """Return the values of METHOD, DATA, GRID and the like that the file has, types checked."""
        self._check_names()
        return {name: self._checked(name) for name in KINDS if name in self.names}

    def made(self, digest: str, solvers: list[str], **more: Any) -> ProblemFile:
        """Return the ProblemFile of this text with these solvers and further fields."""
        return ProblemFile(
            path=self.path,
            sha256=digest,
            code_sha256=hashlib.sha256(self.code.encode()).hexdigest(),
            equation=(self.names.get("__doc__") or "").strip().partition("\n")[0],
            solvers=tuple(solvers),
            text=self.text.decode(errors="replace"),
            **more,
        )

    def _checked(self, name: str) -> Any:
        kind, expected = KINDS[name]
        value = self.names[name]
        fits = isinstance(value, kind)
        if fits and kind is list:
            fits = bool(value) and all(isinstance(entry, str) for entry in value)
        if not fits:
            self.fail(f"{name} must be {expected}, not {value!r}", name)
        return value

    def check_grid(self, grid: Mapping[Any, Any], takes: set[str], whose: str) -> None:
        """Raise unless each name of GRID is in `takes` and has a nonempty list of JSON values."""
        for name, values in grid.items():
            if name not in takes:
                options = did_you_mean(str(name), takes)
                self.fail(f"GRID names {name!r}, which {whose}: {options}", "GRID")
            if not isinstance(values, list) or not values:
                self.fail(f"GRID[{name!r}] must be a list of values, not {values!r}", "GRID")
            try:
                canonical(values)
            except TypeError:
                self.fail(
                    f"GRID[{name!r}] may hold numbers, words and lists of them, not {values!r}",
                    "GRID",
                )

    def data_specs(self, specs: list[str]) -> list[str]:
        """Return data specs; names of files that exist in this file's folder become their paths."""
        here = self.path.parent

        def placed(spec: str) -> str:
            if (here / spec).is_file():
                return str(here / spec)
            path = here / split_spec(spec)[0]
            return renamed(spec, str(path)) if path.is_file() else spec

        try:
            return [placed(spec) for spec in specs]
        except InputError as error:
            self.fail(str(error), "DATA")

    def check_solvers(self, names: list[str]) -> None:
        """Raise ProblemFileError unless all names in SOLVERS are known."""
        from convexfs.solving.backends import BACKENDS

        known = {"native", "auto", *BACKENDS}
        for name in names:
            if name not in known:
                self.fail(f"unknown solver {name!r}: {did_you_mean(name, known)}", "SOLVERS")

    def fail(self, message: str, place: str | int) -> NoReturn:
        """Raise ProblemFileError that names the file and the line: a number, or a name's line."""
        line = place if isinstance(place, int) else self.lines.get(place, 1)
        raise ProblemFileError(f"{self.path}, line {line}: {message}")


def samples_of(
    data: Dataset, build: Callable[..., Any], values: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return those of X, y, names (of features) and groups that `build` takes, as a dict.

    Names in the method's `values` are left out: those values take precedence.
    """
    held = (data.X, data.y, list(data.feature_names), data.groups)
    takes = inspect.signature(build).parameters
    offered = zip(SAMPLES, held, strict=True)
    asked = {name: value for name, value in offered if name in takes and name not in (values or ())}
    if asked.get("groups", 0) is None:
        raise InputError(f"{data.name} knows no groups of its samples: leave 'groups' out")
    return asked


@contextmanager
def printed_aside() -> Iterator[None]:
    """Redirect standard output to standard error in this block; a worker's log stays as it is.

    A worker's prints go to the log as they are.
    """
    if not isinstance(sys.stdout, io.TextIOWrapper):
        yield
        return
    try:
        aside: Any = _StaysOpen(os.fdopen(os.dup(sys.stderr.fileno()), "wb"), write_through=True)
    except (OSError, ValueError, AttributeError):  # Standard error has no file descriptor.
        aside = sys.stderr
    with redirect_stdout(aside):
        yield


class _StaysOpen(io.TextIOWrapper):
    """A text stream whose close() only flushes, so that problem files can print afterwards."""

    def close(self) -> None:
        self.flush()


def canonical(value: Any) -> str:
    """Return JSON with sorted keys, equal for equal values; raise TypeError if impossible."""
    return json.dumps(value, sort_keys=True)


def _code(tree: ast.Module) -> str:
    """Return the code of a file without module docstring, comments, and METHOD, DATA etc."""
    kept = [node for node in tree.body if not {name for name, _ in _bound(node)} & set(KINDS)]
    if ast.get_docstring(tree) is not None:
        kept = kept[1:]
    return ast.unparse(ast.Module(kept, type_ignores=[]))


def _bound(node: ast.stmt) -> list[tuple[str, int]]:
    if isinstance(node, ast.FunctionDef):
        return [(node.name, node.lineno)]
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return [(target.id, node.lineno) for target in targets if isinstance(target, ast.Name)]
    return []
