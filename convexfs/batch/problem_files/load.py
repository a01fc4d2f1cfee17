"""Problem files: an equation, what to run it on, and which solvers to try.

::

    '''RELIEF without dominant features: max w'z, norm2(w) <= 1, 0 <= w <= cap.'''
    import cvxpy as cp
    METHOD = "relief"                          # whose numeric half feeds `build`
    DATA = ["wdbc", "spiral:noise=50"]         # as convexfs.load takes them
    GRID = {"cap": [0.1, 0.3]}                 # build's arguments and the method's
    SOLVERS = ["CLARABEL", "ECOS"]             # optional; "native" if build is left out
    FIT = False                                # True: fit the method; "points" (LLFS): by sample
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
    def problem(risk, seed): ...               # returns a cvxpy.Problem

With DATA, ``problem`` may also take X, y, names (of features) and groups of the samples.

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
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from convexfs.batch.problem_files import custom
from convexfs.batch.problem_files.base import KINDS, SAMPLES, ProblemFile, Reader, canonical
from convexfs.errors import InputError, ProblemFileError, RunError, did_you_mean
from convexfs.formats import ending
from convexfs.methods import named_formulation, parts_of
from convexfs.methods.base.change import PROBLEM, added, as_build, is_change, replacing
from convexfs.methods.base.formulation import Formulation

#: Names of functions in a problem file that replace or add constraints, or change the problem.
FEASIBLE, CONSTRAINTS, CHANGE = "feasible", "constraints", "change"
_REQUIRED = ("METHOD", "DATA")
#: Arguments of a method or of ``build`` that are not hyperparameters.
_PLUMBING = {"X", "codes", "seed", "map", "build", "verbose"} | {
    f"solver{part}" for part in ("", "_tol", "_options")
}


class MethodReader(Reader):
    """Reader of problem files with METHOD: problems of a method, as printed or changed."""

    def problem_file(self, digest: str) -> ProblemFile:
        """Check the file and return it as a ProblemFile."""
        defined = self.definitions()
        for name in _REQUIRED:
            if name not in defined:
                more = ", or define problem(...) -> cvxpy.Problem" * (name == "METHOD")
                self.fail(f"{name} is missing: give {KINDS[name][1]}{more}", 1)
        formulation = self._formulation(defined["METHOD"])
        feasible = self._feasible(formulation)
        build = self._build(formulation)
        if feasible is not None:
            build = partial(formulation.build, feasible=feasible)
        grid, fit = defined.get("GRID", {}), defined.get("FIT", False)
        part = self._part(formulation, fit)
        self._check_build(build, formulation, grid, bool(fit))
        self._check_grid(grid, build or formulation.build, formulation, bool(fit), part)
        if fit:
            self._check_fit(formulation, grid)
        data = tuple(self.data_specs(defined["DATA"]))
        solvers = self._solvers(defined.get("SOLVERS", ["auto"]), build, formulation)
        held = {"data": data, "grid": grid, "fit": fit, "build": build, "feasible": feasible}
        return self.made(digest, solvers, formulation=formulation, **held)

    def _formulation(self, method: str) -> Formulation:
        try:
            return named_formulation(method)
        except InputError as error:
            self.fail(str(error), "METHOD")

    def _part(self, formulation: Formulation, fit: bool | str) -> set[str]:
        """Return {name in GRID that selects a part of a fit}, as {"point"}; empty if FIT is a bool.

        Raise if the formulation has no such parts.
        """
        if isinstance(fit, bool):
            return set()
        known = parts_of(formulation)
        if known is None or fit != known[0]:
            also = "" if known is None else f" or {known[0]!r}"
            self.fail(f"FIT of {formulation.name} must be True, False{also}, not {fit!r}", "FIT")
        return {known[1]}

    def _feasible(self, formulation: Formulation) -> Any:
        """Return the function for the constraints that the file adds or replaces, or None."""
        found = [name for name in (FEASIBLE, CONSTRAINTS) if name in self.names]
        if not found:
            return None
        name, function = found[0], self.names[found[0]]
        if not callable(function):
            self.fail(f"{name} must be a function, not {function!r}", name)
        for other in (*found[1:], "build", CHANGE):
            if other in self.names:
                also = ": build has constraints too" if other == "build" else ""
                self.fail(f"give {other} or {name}, not both{also}", name)
        taken = inspect.signature(formulation.build).parameters
        if FEASIBLE not in taken:
            instead = "build" if name == FEASIBLE else "change(problem)"
            self.fail(f"{formulation.name} takes no {name}: define {instead} instead", name)
        return (added if name == CONSTRAINTS else replacing)(taken[FEASIBLE].default, function)

    def _build(self, formulation: Formulation) -> Any:
        """Return the file's ``build``, made from ``change`` if it has that; None if neither."""
        build, change = self.names.get("build"), self.names.get(CHANGE)
        if change is None:
            if callable(build) and is_change(build):
                return as_build(build, formulation.build)
            return build
        if build is not None:
            self.fail("give build or change, not both", CHANGE)
        if not callable(change) or not is_change(change):
            self.fail("change must be a function with an argument named problem", CHANGE)
        return as_build(change, formulation.build)

    def _check_build(
        self, build: Any, formulation: Formulation, grid: Mapping[str, list[Any]], fit: bool
    ) -> None:
        if build is None:
            return
        if not callable(build):
            self.fail(f"build must be a function, not {build!r}", "build")
        offered = [*inspect.signature(formulation.build).parameters, *grid, PROBLEM]
        # X, y and the like are not offered with FIT = True: the fit may leave out samples and
        # features.
        offered += [] if fit else SAMPLES
        for name, parameter in inspect.signature(build).parameters.items():
            if name not in offered and parameter.default is parameter.empty:
                self.fail(
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
        # The full fit supplies the arguments of the printed formulation.
        if not fit or build is not formulation.build:
            # An explicit seed argument of build replaces the seed of the run.
            takes |= set(inspect.signature(build).parameters) - (_PLUMBING - {"seed"}) - {PROBLEM}
        self.check_grid(grid, takes, f"neither build nor {formulation.name} takes")

    def _check_fit(self, formulation: Formulation, grid: Mapping[str, list[Any]]) -> None:
        chosen_by = formulation.chosen_by
        if chosen_by and None in grid.get(chosen_by, [None]):
            self.fail(
                f"{formulation.name} needs {chosen_by} in GRID, for without it FIT = True fits "
                "another formulation of the method",
                "METHOD",
            )

    def _solvers(self, names: list[str], build: Any, formulation: Formulation) -> list[str]:
        self.check_solvers(names)
        if "native" in names and (build is not None or formulation.native is None):
            self.fail(
                f"'native' solves {formulation.name} as printed; this file changes it, "
                "so leave 'native' out of SOLVERS",
                "SOLVERS",
            )
        return names


__all__ = ["FOLDER", "ProblemFile", "canonical", "load_problem_file", "with_fixed"]

FOLDER = Path("problems")
_AGAIN = (
    "finished tasks are stored: put the file back and run the same command again to resume, "
    "or start it with the new file to solve that"
)


def load_problem_file(name: str | Path, sha256: str | None = None) -> ProblemFile:
    """Return a problem file, checked; raise RunError if its hash is not `sha256`, if given.

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
    """Raise ProblemFileError if a file does not exist; names of functions are not looked up."""
    for name in names:
        if not custom.is_function(Path(name)):
            _find(name)


def _find(name: str | Path) -> Path:
    for candidate in (Path(name), FOLDER / name, FOLDER / f"{name}.py"):
        if os.path.isfile(candidate):  # isfile returns False for names that are too long.
            return candidate.resolve()
    known = [path.stem for path in FOLDER.glob("*.py")]
    if Path(name).suffix or len(Path(name).parts) > 1:
        raise ProblemFileError(f"there is no problem file {name}; check the spelling and folder")
    raise ProblemFileError(f"no file problems/{name}.py: {did_you_mean(str(name), known)}")


def with_fixed(
    build: Callable[..., Any] | None, chosen: Mapping[str, Any]
) -> Callable[..., Any] | None:
    """Return `build` with the arguments in `chosen` fixed and no longer taken; None for None."""
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
