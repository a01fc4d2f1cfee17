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

Instead of ``build`` a file may define ``change(problem)``: it gets the problem as printed, scalars
as named Parameters, and returns the changed one. Other arguments are given to it by name, as to
``build``.

A file of a method with several stages may instead define ``constraints(f, max_features)``, a list
of constraints that are added to the paper's in every stage, or ``feasible(f, max_features)``, which
takes their place and warns of those it drops.

A file without METHOD states a user-defined problem, on its own data or those of DATA::

    '''The cheapest portfolio of least risk.'''
    import cvxpy as cp
    GRID = {"risk": [0.1, 1.0]}                # problem's arguments
    SOLVERS = ["CLARABEL", "OSQP"]
    SEED = 3                                   # optional: given to an argument named seed
    def problem(risk, seed): ...               # returns a cvxpy.Problem; X, y, names and groups
                                               # of the samples are there too, if it has DATA

Several are named by ``PROBLEMS = {"small": one_function, "large": another}``. A file of a known
format (``.mps``, ``.cbf``, ...: see :mod:`convexfs.formats`) is a problem file too, and so is a
function of an installed package, ``package.module:function``.

A file is run by path, never imported or scanned for; its text is hashed, and a worker
refuses to read it again once the text has changed.
"""

import hashlib
import inspect
import os
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from convexfs.batch.problem_files import custom
from convexfs.batch.problem_files.base import ProblemFile, canonical
from convexfs.batch.problem_files.method import MethodReader
from convexfs.errors import ProblemFileError, RunError, did_you_mean
from convexfs.formats import ending

__all__ = ["FOLDER", "ProblemFile", "canonical", "load_problem_file", "with_fixed"]

FOLDER = Path("problems")
_AGAIN = (
    "finished tasks are stored: put the file back and run the same command again to resume, "
    "or start it with the new file to solve that"
)


def load_problem_file(name: str | Path, sha256: str | None = None) -> ProblemFile:
    """Read a problem file and check it against the contract.

    Parameters
    ----------
    name : str or Path
        A path, the bare name of a file in ``./problems``, or ``package.module:function``.
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
    if custom.is_function(path):
        return custom.of_function(path, digest)
    if ending(path):
        return custom.of_format(path, text, digest)
    return (custom.own_reader(path, text) or MethodReader(path, text)).problem_file(digest)


def _found(name: str | Path) -> tuple[Path, bytes]:
    if custom.is_function(Path(name)) and not os.path.isfile(name):
        return Path(name), custom.source_text(str(name))
    path = _find(name)
    try:
        return path, path.read_bytes()
    except OSError as error:
        raise ProblemFileError(f"{path} cannot be read ({error.strerror})") from error


def check_files(names: Iterable[str]) -> None:
    """Raise if a problem file cannot be found; nothing is loaded."""
    for name in names:
        if not custom.is_function(Path(name)):
            _find(name)


def _find(name: str | Path) -> Path:
    for candidate in (Path(name), FOLDER / name, FOLDER / f"{name}.py"):
        if os.path.isfile(candidate):  # False for a name too long to be one
            return candidate.resolve()
    known = [path.stem for path in FOLDER.glob("*.py")]
    if Path(name).suffix or len(Path(name).parts) > 1:
        raise ProblemFileError(f"there is no problem file {name}; check the spelling and folder")
    raise ProblemFileError(f"no file problems/{name}.py: {did_you_mean(str(name), known)}")


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
    fixed.__name__ = build.__name__ if build.__name__ != "<lambda>" else "build"
    return fixed
