"""Files that change a method's problem, or name what to run it on."""

import hashlib
import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from convexfs.batch.problem_files.base import KINDS, SAMPLES, ProblemFile, Reader
from convexfs.errors import InputError, did_you_mean
from convexfs.methods import named_formulation, parts_of
from convexfs.methods.base.change import PROBLEM, added, as_build, is_change, replacing
from convexfs.methods.base.formulation import Formulation

#: Functions of a file that change constraints, or the problem.
FEASIBLE, CONSTRAINTS, CHANGE = "feasible", "constraints", "change"
_REQUIRED = ("METHOD", "DATA")
#: Arguments of a method that are not its hyper-parameters.
_PLUMBING = {"X", "codes", "seed", "map", "build", "verbose"} | {
    f"solver{part}" for part in ("", "_tol", "_options")
}


class MethodReader(Reader):
    """Reads a file with a METHOD."""

    def problem_file(self, digest: str) -> ProblemFile:
        """Check the file and return its problem."""
        said = self.said()
        for name in _REQUIRED:
            if name not in said:
                more = ", or define problem(...) -> cvxpy.Problem" * (name == "METHOD")
                self.fail(f"{name} is missing: give {KINDS[name][1]}{more}", 1)
        formulation = self._formulation(said["METHOD"])
        feasible = self._feasible(formulation)
        build = self._build(formulation)
        if feasible is not None:
            build = partial(formulation.build, feasible=feasible)
        grid, fit = said.get("GRID", {}), said.get("FIT", False)
        part = self._part(formulation, fit)
        self._check_build(build, formulation, grid, bool(fit))
        self._check_grid(grid, build or formulation.build, formulation, bool(fit), part)
        if fit:
            self._check_fit(formulation, grid)
        return ProblemFile(
            path=self.path,
            sha256=digest,
            code_sha256=hashlib.sha256(self.code.encode()).hexdigest(),
            equation=self.equation,
            formulation=formulation,
            data=tuple(self.data_specs(said["DATA"])),
            grid=grid,
            solvers=tuple(self._solvers(said.get("SOLVERS", ["auto"]), build, formulation)),
            fit=fit,
            text=self.text.decode(errors="replace"),
            build=build,
            feasible=feasible,
        )

    def _formulation(self, method: str) -> Formulation:
        try:
            return named_formulation(method)
        except InputError as error:
            self.fail(str(error), "METHOD")

    def _part(self, formulation: Formulation, fit: bool | str) -> set[str]:
        """Return the name that GRID may use for one part of a fit, such as "point" for LLFS."""
        if isinstance(fit, bool):
            return set()
        known = parts_of(formulation)
        if known is None or fit != known[0]:
            also = "" if known is None else f" or {known[0]!r}"
            self.fail(f"FIT of {formulation.name} must be True, False{also}, not {fit!r}", "FIT")
        return {known[1]}

    def _feasible(self, formulation: Formulation) -> Any:
        """Return a function for the constraints as the file changes them; None if it does not."""
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
        default = taken[FEASIBLE].default
        return (added if name == CONSTRAINTS else replacing)(default, function)

    def _build(self, formulation: Formulation) -> Any:
        """Return the changed problem: `build`, or `change` as one; None if there is neither."""
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
        # A whole fit may leave samples and features out on its way.
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
        # The whole method fills the arguments of the formulation as printed by itself.
        if not fit or build is not formulation.build:
            # A seed that build takes replaces the run's.
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
