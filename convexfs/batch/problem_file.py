"""Problem files: an equation, what to run it on, and which solvers to try.

::

    '''RELIEF without dominant features: max w'z, norm2(w) <= 1, 0 <= w <= cap.'''
    import cvxpy as cp
    METHOD = "relief"                          # whose numeric half feeds `build`
    DATA = ["wdbc", "spiral:noise=50"]         # as convexfs.load takes them
    GRID = {"cap": [0.1, 0.3]}                 # build's arguments and the method's
    SOLVERS = ["CLARABEL", "ECOS"]             # optional; "native" if build is left out
    FIT = False                                # True: the whole method with this step;
                                               # or its own tasks, such as "points"
    def build(z, cap): ...                     # leave out to use the formulation as printed

A file of a method with several stages may instead define ``feasible(f, max_features)``, a
list of constraints that takes the place of the paper's polytope in every stage.

A file is run by path, never imported or scanned for; its text is hashed, and a worker
refuses to read it again once the text has changed.
"""

import ast
import hashlib
import inspect
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NoReturn

from convexfs.errors import InputError, ProblemFileError, RunError, did_you_mean
from convexfs.methods import named_formulation, parts_of
from convexfs.methods.base.formulation import Formulation

FOLDER = Path("problems")
_KINDS = {
    "METHOD": (str, "the name of a method, such as 'relief'"),
    "DATA": (list, "a list of data sets, such as ['wdbc', 'spiral:noise=50']"),
    "GRID": (dict, "a dict of lists, such as {'lam': [0.5, 1.0]}"),
    "SOLVERS": (list, "a list of solver names, such as ['CLARABEL', 'SCS']"),
    "FIT": (bool | str, "True for the whole method or False for its first convex problem"),
}
_REQUIRED = ("METHOD", "DATA")
_AGAIN = (
    "what was finished is kept: put the file back and start the same command again to go on, "
    "or start it with the new file to solve that"
)
#: Arguments of a method that are not its hyper-parameters.
_PLUMBING = {"X", "codes", "seed", "map", "build", "verbose"} | {
    f"solver{part}" for part in ("", "_tol", "_options")
}


@dataclass(frozen=True)
class ProblemFile:
    """A problem file that keeps its contract.

    Attributes
    ----------
    path, sha256, equation : Path, str, str
        Where it is, the hash of its text, and the first line of its docstring.
    code_sha256 : str
        Hash of what is left without comments, docstring and the five names: an
        edited formula changes it, one more solver or grid value does not.
    formulation : Formulation
        Whose method and numeric half it uses.
    data, grid, solvers, fit
        What the file says, or the defaults; `fit` may be what the method calls its parts.
    text : str
        All of it.
    build : callable or None
        The changed problem; None for the formulation as printed.
    feasible : callable or None
        The changed constraints, if it is only these; `build` has them already.
    """

    path: Path
    sha256: str
    code_sha256: str
    equation: str
    formulation: Formulation
    data: tuple[str, ...]
    grid: Mapping[str, list[Any]]
    solvers: tuple[str, ...]
    fit: bool | str
    text: str
    build: Callable[..., Any] | None
    feasible: Callable[..., Any] | None = None

    @property
    def name(self) -> str:
        return self.path.stem


def load_problem_file(name: str | Path, sha256: str | None = None) -> ProblemFile:
    """Read a problem file and check it against the contract.

    Parameters
    ----------
    name : str or Path
        A path, or the bare name of a file in ``./problems``.
    sha256 : str, optional
        What its text had when the run began.

    Raises
    ------
    ProblemFileError
        Naming the file, the line, what was expected and the nearest valid name.
    RunError
        If the file is no longer as it was: what is left of the run would be another problem.
    """
    try:
        path, text = _found(name)
    except ProblemFileError as error:
        if sha256 is None:
            raise
        raise RunError(f"the run cannot go on: {error}; {_AGAIN}") from error
    digest = hashlib.sha256(text).hexdigest()
    if sha256 is not None and digest != sha256:
        raise RunError(f"{path} changed while the run was going; {_AGAIN}")
    return _read(path, text, digest)


@lru_cache(maxsize=64)
def _read(path: Path, text: bytes, digest: str) -> ProblemFile:
    return _Reader(path, text).problem_file(digest)


def _found(name: str | Path) -> tuple[Path, bytes]:
    path = _find(name)
    try:
        return path, path.read_bytes()
    except OSError as error:
        raise ProblemFileError(f"{path} cannot be read ({error.strerror})") from error


def _find(name: str | Path) -> Path:
    for candidate in (Path(name), FOLDER / name, FOLDER / f"{name}.py"):
        if os.path.isfile(candidate):  # False for a name too long to be one
            return candidate.resolve()
    known = [path.stem for path in FOLDER.glob("*.py")]
    if Path(name).suffix or len(Path(name).parts) > 1:
        raise ProblemFileError(f"there is no problem file {name}; check the spelling and folder")
    raise ProblemFileError(f"no file problems/{name}.py: {did_you_mean(str(name), known)}")


class _Reader:
    """Runs a file's text and checks what it defined, remembering the lines."""

    def __init__(self, path: Path, text: bytes):
        self.path, self.text = path, text
        try:
            tree = ast.parse(text, str(path))
        except (SyntaxError, ValueError) as error:
            self._fail(str(error), getattr(error, "lineno", None) or 1)
        self.lines = dict(_definitions(tree))
        self.code = _code(tree)
        self.names = self._run(compile(tree, str(path), "exec"))

    def problem_file(self, digest: str) -> ProblemFile:
        self._check_names()
        said = {name: self._checked(name) for name in _KINDS if name in self.names}
        formulation = self._formulation(said["METHOD"])
        feasible = self._feasible(formulation)
        build = self.names.get("build")
        if feasible is not None:
            build = partial(formulation.build, feasible=feasible)
        grid, fit = said.get("GRID", {}), said.get("FIT", False)
        part = self._part(formulation, fit)
        self._check_build(build, formulation, grid)
        self._check_grid(grid, build or formulation.build, formulation, bool(fit), part)
        if fit:
            self._check_fit(formulation, grid)
        return ProblemFile(
            path=self.path,
            sha256=digest,
            code_sha256=hashlib.sha256(self.code.encode()).hexdigest(),
            equation=(self.names.get("__doc__") or "").strip().partition("\n")[0],
            formulation=formulation,
            data=tuple(self._data(said["DATA"])),
            grid=grid,
            solvers=tuple(self._solvers(said.get("SOLVERS", ["auto"]), build, formulation)),
            fit=fit,
            text=self.text.decode(errors="replace"),
            build=build,
            feasible=feasible,
        )

    def _run(self, code: Any) -> dict[str, Any]:
        names: dict[str, Any] = {"__name__": self.path.stem, "__file__": str(self.path)}
        try:
            exec(code, names)
        except (Exception, SystemExit) as error:
            inside = [
                frame.lineno
                for frame in inspect.getinnerframes(error.__traceback__)  # type: ignore[arg-type]
                if frame.filename == str(self.path)
            ]
            self._fail(f"{type(error).__name__}: {error}", inside[-1] if inside else 1)
        return names

    def _check_names(self) -> None:
        for name in self.lines:
            if name != "build" and name.lower() == "build":
                self._fail(f"{name} is not called: write the function's name as build", name)
            if name in _KINDS or not name.isupper():
                continue
            # Other constants are the file's own, unless one looks like a slip.
            if get_close_matches(name, _KINDS, n=1, cutoff=0.75):
                self._fail(f"{name} means nothing here: {did_you_mean(name, _KINDS)}", name)
        for name in _REQUIRED:
            if name not in self.names:
                self._fail(f"{name} is missing: give {_KINDS[name][1]}", 1)

    def _checked(self, name: str) -> Any:
        kind, expected = _KINDS[name]
        value = self.names[name]
        if not isinstance(value, kind) or (kind is list and not self._is_list_of_names(value)):
            self._fail(f"{name} must be {expected}, not {value!r}", name)
        return value

    @staticmethod
    def _is_list_of_names(value: list[Any]) -> bool:
        return bool(value) and all(isinstance(entry, str) for entry in value)

    def _formulation(self, method: str) -> Formulation:
        try:
            return named_formulation(method)
        except InputError as error:
            self._fail(str(error), "METHOD")

    def _part(self, formulation: Formulation, fit: bool | str) -> set[str]:
        """What GRID calls one of the tasks that FIT asks for, if the method has its own."""
        if isinstance(fit, bool):
            return set()
        known = parts_of(formulation)
        if known is None or fit != known[0]:
            also = "" if known is None else f" or {known[0]!r}"
            self._fail(f"FIT of {formulation.name} must be True, False{also}, not {fit!r}", "FIT")
        return {known[1]}

    def _feasible(self, formulation: Formulation) -> Any:
        feasible = self.names.get("feasible")
        if feasible is None:
            return None
        if not callable(feasible):
            self._fail(f"feasible must be a function, not {feasible!r}", "feasible")
        if "build" in self.names:
            self._fail("give build or feasible, not both: build has constraints too", "feasible")
        if "feasible" not in inspect.signature(formulation.build).parameters:
            self._fail(f"{formulation.name} takes no feasible: change build instead", "feasible")
        return feasible

    def _check_build(
        self, build: Any, formulation: Formulation, grid: Mapping[str, list[Any]]
    ) -> None:
        if build is None:
            return
        if not callable(build):
            self._fail(f"build must be a function, not {build!r}", "build")
        offered = [*inspect.signature(formulation.build).parameters, *grid]
        for name, parameter in inspect.signature(build).parameters.items():
            if name not in offered and parameter.default is parameter.empty:
                self._fail(
                    f"build asks for {name!r}, which neither {formulation.name} nor GRID offers: "
                    f"{did_you_mean(name, offered)}",
                    "build",
                )

    def _check_grid(
        self,
        grid: Any,
        build: Callable[..., Any],
        formulation: Formulation,
        fit: bool,
        part: set[str],
    ) -> None:
        source = formulation.settings if fit else formulation.numbers
        takes = set(inspect.signature(source).parameters) - _PLUMBING | part
        # The whole method fills the arguments of the formulation as printed by itself.
        if not fit or build is not formulation.build:
            # A seed of its own that build takes stands for the run's.
            takes |= set(inspect.signature(build).parameters) - (_PLUMBING - {"seed"})
        for name, values in grid.items():
            if name not in takes:
                options = did_you_mean(str(name), takes)
                self._fail(
                    f"GRID names {name!r}, which neither build nor {formulation.name} takes: "
                    f"{options}",
                    "GRID",
                )
            if not isinstance(values, list) or not values:
                self._fail(f"GRID[{name!r}] must be a list of values, not {values!r}", "GRID")
            try:
                canonical(values)
            except TypeError:
                self._fail(
                    f"GRID[{name!r}] may hold numbers, words and lists of them, not {values!r}",
                    "GRID",
                )

    def _check_fit(self, formulation: Formulation, grid: Mapping[str, list[Any]]) -> None:
        chosen_by = formulation.chosen_by
        if chosen_by and None in grid.get(chosen_by, [None]):
            self._fail(
                f"{formulation.name} needs {chosen_by} in GRID, for without it FIT = True fits "
                "another formulation of the method",
                "METHOD",
            )

    def _data(self, specs: list[str]) -> list[str]:
        """Specs with relative paths made absolute: they start at this file."""
        here = self.path.parent
        return [str(here / spec) if (here / spec).is_file() else spec for spec in specs]

    def _solvers(self, names: list[str], build: Any, formulation: Formulation) -> list[str]:
        from convexfs.solving.backends import BACKENDS

        known = {"native", "auto", *BACKENDS}
        for name in names:
            if name not in known:
                self._fail(f"unknown solver {name!r}: {did_you_mean(name, known)}", "SOLVERS")
        if "native" in names and (build is not None or formulation.native is None):
            self._fail(
                f"'native' solves {formulation.name} as printed; this file changes it, "
                "so leave 'native' out of SOLVERS",
                "SOLVERS",
            )
        return names

    def _fail(self, message: str, place: str | int) -> NoReturn:
        line = place if isinstance(place, int) else self.lines.get(place, 1)
        raise ProblemFileError(f"{self.path}, line {line}: {message}")


def with_fixed(
    build: Callable[..., Any] | None, chosen: Mapping[str, Any]
) -> Callable[..., Any] | None:
    """`build` with those arguments fixed that it takes, under the signature of the others."""
    if build is None:
        return None
    parameters = inspect.signature(build).parameters
    values = {name: value for name, value in chosen.items() if name in parameters}

    def fixed(**offered: Any) -> Any:
        return build(**offered, **values)

    others = [parameter for name, parameter in parameters.items() if name not in values]
    fixed.__signature__ = inspect.Signature(others)  # type: ignore[attr-defined]
    return fixed


def canonical(value: Any) -> str:
    """JSON text that equal values share; TypeError for what JSON cannot say."""
    return json.dumps(value, sort_keys=True)


def _code(tree: ast.Module) -> str:
    """The statements of a file without its docstring and the names of the contract."""
    kept = [node for node in tree.body if not {name for name, _ in _bound(node)} & set(_KINDS)]
    if ast.get_docstring(tree) is not None:
        kept = kept[1:]
    return ast.unparse(ast.Module(kept, type_ignores=[]))


def _definitions(tree: ast.Module) -> list[tuple[str, int]]:
    """Names a module binds at its top level, with their lines."""
    return [name for node in tree.body for name in _bound(node)]


def _bound(node: ast.stmt) -> list[tuple[str, int]]:
    if isinstance(node, ast.FunctionDef):
        return [(node.name, node.lineno)]
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return [(target.id, node.lineno) for target in targets if isinstance(target, ast.Name)]
    return []
