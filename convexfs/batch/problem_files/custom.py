"""Problem files without METHOD: a function, an importable function, or a file of a known format."""

import ast
import hashlib
import importlib
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from convexfs.batch.problem_files.base import SAMPLES, ProblemFile, Reader
from convexfs.errors import InputError, ProblemFileError, check_seed, did_you_mean
from convexfs.formats import ending

_FUNCTION = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*")


def own_reader(path: Path, text: bytes) -> "OwnReader | None":
    """Return a reader if a file defines ``problem`` or PROBLEMS but no METHOD, else None."""
    try:
        nodes = ast.parse(text, str(path)).body
    except (SyntaxError, ValueError):
        return None
    defined = {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
    targets = (node.targets for node in nodes if isinstance(node, ast.Assign))
    defined |= {at.id for each in targets for at in each if isinstance(at, ast.Name)}
    is_own = bool(defined & {"problem", "PROBLEMS"}) and "METHOD" not in defined
    return OwnReader(path, text) if is_own else None


class OwnReader(Reader):
    """Reader of problem files without METHOD, which define ``problem`` or PROBLEMS."""

    def problem_file(self, digest: str) -> ProblemFile:
        """Check the file and return it as a ProblemFile."""
        defined = self.definitions()
        if "FIT" in defined:
            self.fail("FIT is for files with a METHOD: a custom problem has no fit", "FIT")
        grid = defined.get("GRID", {})
        data = tuple(self.data_specs(defined["DATA"])) if "DATA" in defined else ()
        function, grid = self._function(grid)
        build = self._build(function, grid, data)
        solvers = defined.get("SOLVERS", ["auto"])
        self.check_solvers(solvers)
        if "native" in solvers:
            self.fail("'native' solves problems of methods: leave it out of SOLVERS", "SOLVERS")
        held = {"data": data, "grid": grid, "build": build, "seed": self._seed()}
        return self.made(digest, solvers, **held)

    def _function(self, grid: Mapping[str, Any]) -> tuple[Callable[..., Any], dict[str, Any]]:
        """Return the function that builds the problem, and GRID, with "problem" if PROBLEMS is."""
        problem, several = self.names.get("problem"), self.names.get("PROBLEMS")
        if problem is not None and several is not None:
            self.fail("give problem or PROBLEMS, not both", "PROBLEMS")
        if several is None:
            if not callable(problem):
                self.fail(
                    "problem must be a function that returns a cvxpy.Problem (def problem(): ...), "
                    f"not a {type(problem).__name__}",
                    "problem",
                )
            return problem, dict(grid)
        if not isinstance(several, dict) or not several:
            self.fail("PROBLEMS must be a dict of functions by their names", "PROBLEMS")
        for name, function in several.items():
            if not isinstance(name, str) or not callable(function):
                self.fail(f"PROBLEMS[{name!r}] must be a function, not {function!r}", "PROBLEMS")
        if "problem" in grid:
            self.fail("GRID cannot name 'problem': PROBLEMS says which there are", "GRID")
        return _one_of(several), {"problem": list(several), **grid}

    def _build(
        self, function: Callable[..., Any], grid: Mapping[str, Any], data: tuple[str, ...]
    ) -> Callable[..., Any]:
        place = "problem" if "problem" in self.names else "PROBLEMS"
        build = _taking(function, grid)
        takes = inspect.signature(build).parameters
        self.check_grid(grid, set(takes), "problem does not take")
        offered = [*grid, "seed", *(SAMPLES if data else ())]
        for name, parameter in takes.items():
            if name not in offered and parameter.default is parameter.empty:
                why = f"GRID does not offer: {did_you_mean(name, offered)}"
                if name in SAMPLES:
                    why = "is there only if the file has DATA"
                self.fail(f"problem asks for {name!r}, which {why}", place)
        return build

    def _seed(self) -> int | None:
        seed = self.names.get("SEED")
        try:
            if seed is not None:
                check_seed("SEED", seed)
        except InputError as error:
            self.fail(str(error), "SEED")
        return seed


def _parameters(functions: Iterable[Callable[..., Any]]) -> dict[str, inspect.Parameter]:
    """Return the parameters of all functions by name; required if one has no default for it."""
    found: dict[str, inspect.Parameter] = {}
    for function in functions:
        for name, parameter in inspect.signature(function).parameters.items():
            if name not in found or parameter.default is parameter.empty:
                found[name] = parameter
    return found


def _taking(function: Callable[..., Any], grid: Mapping[str, Any]) -> Callable[..., Any]:
    """Wrap `function` with a keyword-only signature, in which ``**kwargs`` becomes GRID's names."""
    found = _parameters([function])
    kept = {
        name: parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for name, parameter in found.items()
        if parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
    }
    if len(kept) < len(found):
        named = (inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in grid)
        kept = {parameter.name: parameter for parameter in named} | kept

    def build(**offered: Any) -> Any:
        return function(**offered)

    build.__signature__ = inspect.Signature(list(kept.values()))  # type: ignore[attr-defined]
    return build


def _one_of(several: Mapping[str, Callable[..., Any]]) -> Callable[..., Any]:
    """Return a function that calls the one in `several` that its argument ``problem`` names."""

    def named(problem: str, **offered: Any) -> Any:
        function = several[problem]
        takes = inspect.signature(function).parameters.values()
        if any(parameter.kind is parameter.VAR_KEYWORD for parameter in takes):
            return function(**offered)
        return function(**{at.name: offered[at.name] for at in takes if at.name in offered})

    which = inspect.Parameter("problem", inspect.Parameter.KEYWORD_ONLY)
    taken = [
        parameter if parameter.kind is parameter.VAR_KEYWORD
        else parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for parameter in _parameters(several.values()).values()
    ]  # fmt: skip
    named.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        sorted([which, *taken], key=lambda parameter: parameter.kind)
    )
    return named


def is_function(path: Path) -> bool:
    """Return whether a name has the form ``package.module:function``."""
    return _FUNCTION.fullmatch(str(path)) is not None


def source_text(name: str) -> bytes:
    """Return the text of the file that defines the function ``package.module:function``."""
    function = _imported(name)
    try:
        return Path(inspect.getsourcefile(inspect.unwrap(function)) or "").read_bytes()
    except (OSError, TypeError) as error:
        raise ProblemFileError(f"{name}: its source cannot be read") from error


def of_function(path: Path, digest: str) -> ProblemFile:
    """Return the ProblemFile of an importable function, called with its default arguments."""
    name = str(path)
    function = _imported(name)
    takes = inspect.signature(function).parameters.values()
    for parameter in takes:
        is_many = parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
        if parameter.default is parameter.empty and not is_many and parameter.name != "seed":
            raise ProblemFileError(
                f"{name} needs {parameter.name!r}, which has no default: call it from a problem "
                "file that does"
            )
    return _plain(
        path, digest, _taking(function, {}),
        code=f"{name} {digest}",
        called=name.partition(":")[2],
        equation=(inspect.getdoc(function) or "").partition("\n")[0],
        text=source_text(name).decode(errors="replace"),
    )  # fmt: skip


def _imported(name: str) -> Callable[..., Any]:
    module, _, attribute = name.partition(":")
    try:
        function = getattr(importlib.import_module(module), attribute, None)
    except Exception as error:
        raise ProblemFileError(f"{name}: {type(error).__name__}: {error}") from error
    if not callable(function):
        raise ProblemFileError(f"{name}: {module} has no function {attribute}")
    return function


def of_format(path: Path, content: bytes, digest: str) -> ProblemFile:
    """Read an MPS, LP, CBF, SDPA, npz or .mat file once as a check; return its ProblemFile."""
    from convexfs.formats import read_problem

    read_problem(path)
    known = ending(path) or ""
    name = path.name.lower().removesuffix(".gz")
    return _plain(
        path, digest, _taking(partial(read_problem, path), {}),
        code=digest,
        called=path.name[: len(name) - len(known)],
        equation=f"the problem of {path.name}",
        text=f"{path.name}: {len(content)} bytes, sha256 {digest}",
    )  # fmt: skip


def _plain(
    path: Path, digest: str, build: Callable[..., Any], *, code: str, **more: Any
) -> ProblemFile:
    """Return a ProblemFile without data and grid, for solver "auto"."""
    code_sha256 = hashlib.sha256(code.encode()).hexdigest()
    return ProblemFile(path=path, sha256=digest, code_sha256=code_sha256, build=build, **more)
