"""The cone program a solver is given, its size, and files that hold it."""

import contextlib
import json
import warnings
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.constraints import PSD, SOC, ExpCone, NonNeg, PowCone3D, PowConeND, SvecPSD, Zero
from cvxpy.reductions.chain import Chain
from cvxpy.reductions.solvers.solving_chain import resolve_and_build_chain
from scipy import sparse

from convexfs.errors import InputError
from convexfs.solving.backends import LP, choose, needs_of

_KINDS = {Zero: "equal to 0", NonNeg: "at least 0", SOC: "second-order cone", PSD: "psd matrix",
          SvecPSD: "psd matrix", ExpCone: "exponential cone", PowCone3D: "power cone",
          PowConeND: "power cone"}  # fmt: skip
_MODELS = (".lp", ".mps")


@dataclass(frozen=True)
class CanonicalForm:
    """``minimise 1/2 x'Px + q'x + d  subject to  Ax + b in K``.

    Attributes
    ----------
    solver : str
        For which the problem was rewritten.
    P, q, d, A, b
        Numbers of the program; P is None where the objective is linear. A problem
        to be maximised is minimised here with the opposite sign.
    lower, upper : ndarray
        Bounds of x that are not rows of A.
    cones : tuple of (str, int)
        What the rows of ``Ax + b`` must lie in, in order, and how many rows.
    columns : dict
        First column and count of every variable; those that are not the
        problem's own are called ``aux_1`` and so on.
    """

    solver: str
    P: Any
    q: np.ndarray
    d: float
    A: Any
    b: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    cones: tuple[tuple[str, int], ...]
    columns: dict[str, tuple[int, int]]

    @classmethod
    def of(cls, problem: cp.Problem, solver: str = "auto") -> "CanonicalForm":
        """Rewrite `problem` as it is for `solver`."""
        _check_variables(problem)
        name = choose(problem, solver).name
        with warnings.catch_warnings():
            # That a problem is not parametrised (DPP) slows later solves, and none follows.
            warnings.simplefilter("ignore", UserWarning)
            reductions = resolve_and_build_chain(problem, name).reductions[:-1]
            program, _ = Chain(reductions=reductions).apply(problem)
        parts = program.apply_parameters(quad_obj=program.P is not None)
        P, (q, d, A, b) = (None, parts) if program.P is None else (parts[0], parts[1:])
        size = q.size
        lower, upper = program.lower_bounds, program.upper_bounds
        return cls(
            solver=name,
            P=P,
            q=np.ravel(q),
            d=float(np.squeeze(d)),
            A=A,
            b=np.ravel(b),
            lower=np.full(size, -np.inf) if lower is None else np.ravel(lower),
            upper=np.full(size, np.inf) if upper is None else np.ravel(upper),
            cones=tuple((_kind(c), c.size) for c in program.constraints),
            columns=_columns(problem, program),
        )

    @property
    def nonzeros(self) -> int:
        """Entries of A and P that are not zero."""
        return int(self.A.nnz) + (0 if self.P is None else int(self.P.nnz))

    def __str__(self) -> str:
        rows: Counter[str] = Counter()
        for kind, size in self.cones:
            rows[kind] += size
        listed = ", ".join(f"{count} {kind}" for kind, count in rows.items()) or "none"
        quadratic = "" if self.P is None else ", quadratic objective"
        return (
            f"{self.q.size} columns, {self.b.size} rows ({listed}), {self.nonzeros} nonzeros"
            f"{quadratic}, as {self.solver} takes it"
        )

    def write(self, path: Path) -> None:
        """Write every number as a numpy archive; matrices as their CSC parts."""
        A, P = sparse.csc_array(self.A), sparse.csc_array(
            (self.q.size, self.q.size) if self.P is None else self.P
        )  # fmt: skip
        matrices = {
            f"{name}_{part}": getattr(matrix, part)
            for name, matrix in (("A", A), ("P", P))
            for part in ("data", "indices", "indptr", "shape")
        }
        np.savez_compressed(
            path, **matrices, q=self.q, b=self.b, offset=self.d, lower=self.lower,
            upper=self.upper, cones=json.dumps(self.cones), columns=json.dumps(self.columns),
        )  # fmt: skip


def save(problem: cp.Problem, path: Path) -> None:
    """Write the canonical form as ``.npz``, or a linear problem as ``.lp`` or ``.mps``.

    All minimise: a problem to be maximised has its sign turned. The last two leave
    out a constant of the objective.

    Raises
    ------
    InputError
        For other endings, files that cannot be written, and problems that have no
        such form.
    """
    suffix = path.suffix.lower()
    if suffix not in (".npz", *_MODELS):
        raise InputError(f"{path}: save as .npz, or as .lp or .mps if the problem is linear")
    if not path.parent.is_dir():
        raise InputError(f"there is no folder {path.parent}")
    _check_convex(problem)
    if suffix == ".npz":
        write = CanonicalForm.of(problem).write
    else:
        _check_linear(problem, suffix)
        write = partial(_write_model, problem)
    try:
        # HiGHS does not survive a file that it may not write.
        path.open("wb").close()
        write(path)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}") from None


def _check_variables(problem: cp.Problem) -> None:
    if not problem.variables():
        raise InputError("a problem without variables has no canonical form")


def _check_convex(problem: cp.Problem) -> None:
    _check_variables(problem)
    if not problem.is_dcp():
        raise InputError("a problem that is not convex by cvxpy's rules has no canonical form")
    unset = [parameter.name() for parameter in problem.parameters() if parameter.value is None]
    if unset:
        raise InputError(f"give parameter {', '.join(unset)} a value before saving")


def _check_linear(problem: cp.Problem, suffix: str) -> None:
    needs = needs_of(problem)
    if needs.cones != {LP}:
        raise InputError(
            f"{suffix} files hold linear problems and this one needs {needs}: save it as .npz"
        )


def _write_model(problem: cp.Problem, path: Path) -> None:
    data, chain, _ = problem.get_problem_data("HIGHS")
    assert chain is not None
    # HiGHS writes the model before it solves; whatever it then says is of no interest.
    options = {"write_model_file": str(path), "time_limit": 0.0}
    try:
        with contextlib.suppress(cp.SolverError):
            chain.solve_via_data(problem, data, False, False, options)
    except ValueError as error:  # a name such as eta, which the format takes for a number
        path.unlink()
        reason = str(error).partition("\n")[0].lower()
        raise InputError(f"{reason}: rename the variable, or save as .npz") from None
    if path.stat().st_size == 0:
        raise InputError(f"HiGHS could not write {path}")


def _kind(constraint: Any) -> str:
    return _KINDS.get(type(constraint), type(constraint).__name__)


def _columns(problem: cp.Problem, program: Any) -> dict[str, tuple[int, int]]:
    by_id = {variable.id: variable.name() for variable in problem.variables()}
    # cvxpy replaces a variable with attributes by another of the same name.
    own_names = set(by_id.values())
    columns: dict[str, tuple[int, int]] = {}
    extra = 0
    for variable in program.variables:
        name = by_id.get(variable.id) or (variable.name() if variable.name() in own_names else "")
        if not name:
            extra += 1
            name = f"aux_{extra}"
        columns[_free(name, columns)] = (
            int(program.var_id_to_col[variable.id]),
            int(variable.size),
        )
    return columns


def _free(name: str, taken: Mapping[str, Any]) -> str:
    """The name, counted on if another variable has it already."""
    return next(free for k in count(1) if (free := name if k == 1 else f"{name}_{k}") not in taken)
