"""A problem as a cone program: compiled for a solver, or for verification.

Verification compiles by one fixed chain of cvxpy's reductions that does not depend on the solver.
It propagates no bounds into auxiliary variables, which in cvxpy 1.9 can change the problem, and it
turns all bounds and other attributes of variables into rows.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any
from weakref import WeakKeyDictionary

import cvxpy as cp
import numpy as np
from cvxpy.constraints import PSD, SOC, ExpCone, NonNeg, PowCone3D, PowConeND, SvecPSD, Zero
from cvxpy.error import SolverError
from cvxpy.reductions.chain import Chain
from cvxpy.reductions.complex2real.complex2real import Complex2Real
from cvxpy.reductions.cvx_attr2constr import CvxAttr2Constr
from cvxpy.reductions.solvers.conic_solvers.clarabel_conif import CLARABEL
from cvxpy.reductions.solvers.solving_chain import _build_solving_chain, resolve_and_build_chain

from convexfs.certification.program.cones import Equality, NonNegative, SecondOrder, Semidefinite
from convexfs.certification.program.exponential_and_power import Exponential, Power
from convexfs.errors import InputError

#: Name of the cone kind of each of cvxpy's constraint classes.
_KINDS = {
    Zero: Equality.kind, NonNeg: NonNegative.kind, SOC: SecondOrder.kind, PSD: Semidefinite.kind,
    SvecPSD: Semidefinite.kind, ExpCone: Exponential.kind, PowCone3D: Power.kind,
    PowConeND: Power.kind,
}  # fmt: skip


@dataclass(frozen=True)
class Rows:
    """A slice of rows of a cone program, and the kind of cone they lie in."""

    kind: str
    rows: slice


@dataclass(frozen=True)
class ConeProgram:
    """Arrays of ``minimise 1/2 x'Px + q'x + d subject to Ax + b in K, l <= x <= u``.

    P is None where the objective is linear; a problem to be maximised is minimised here
    with the opposite sign. `columns` are the first column and the count of every variable;
    those that are not the problem's own are called ``aux_1`` and so on. `integer` are the
    columns that must be integers. `parts` are the real and the imaginary part of complex
    variables, by id. `memory` is shared by all values of the parameters of one compiled program.
    It is laid out for `solver`.
    """

    P: Any
    q: np.ndarray
    d: float
    A: Any
    b: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    cones: tuple[Rows, ...]
    columns: dict[str, tuple[int, int]]
    solver: str
    integer: np.ndarray
    constraints: tuple[Any, ...]
    starts: dict[int, int]
    parts: dict[int, tuple[cp.Variable | None, cp.Variable | None]]
    memory: dict[str, Any]

    @classmethod
    def of(cls, problem: cp.Problem, solver: str) -> "ConeProgram":
        """Compile `problem` as cvxpy does for `solver`; raise InputError if that cannot take it."""
        try:
            chain = resolve_and_build_chain(problem, solver)
        except SolverError as error:
            raise InputError(
                f"the program for {solver} can be shown only where it is installed, and able to "
                "take the problem"
            ) from error
        return cls.filled(problem, applied(problem, chain), solver)

    @classmethod
    def verified(cls, problem: cp.Problem) -> "ConeProgram":
        """Compile for verification, the same for all solvers; once if DPP with parameters."""
        compiled = _COMPILED.get(problem)
        if compiled is None:
            compiled = applied(problem, verification_chain(problem))
            if problem.parameters() and problem.is_dpp():
                _COMPILED[problem] = compiled
        return cls.filled(problem, compiled, "verification")

    @classmethod
    def filled(cls, problem: cp.Problem, program: Any, solver: str) -> "ConeProgram":
        """Return the ConeProgram of a compiled `program` at the parameters' current values."""
        for reduction in program.reductions:
            # Complex and structured parameters are replaced by others, whose values must be set
            # first.
            reduction.update_parameters(problem)
        parts = program.apply_parameters(quad_obj=program.P is not None)
        P, (q, d, A, b) = (None, parts) if program.P is None else (parts[0], parts[1:])
        lower, upper = _bounds(program, q.size)
        starts = program.var_id_to_col
        integer = {index for (index,) in (*program.x.boolean_idx, *program.x.integer_idx)}
        return cls(
            P=P,
            q=np.ravel(q),
            d=float(np.squeeze(d)),
            A=A,
            b=np.ravel(b),
            lower=lower,
            upper=upper,
            cones=tuple(_rows(program.constraints)),
            columns=_columns(problem, program),
            solver=solver,
            integer=np.array(sorted(integer), dtype=int),
            constraints=tuple(program.constraints),
            starts=starts
            | {stated: starts[own] for stated, own in program.replaced.items() if own in starts},
            parts=program.parts,
            memory=program.memory,
        )


class _Verified(CLARABEL):
    """Solver class that cvxpy compiles for in verification: Clarabel's cones, bounds as rows.

    Integers are marked only.
    """

    MIP_CAPABLE = True
    BOUNDED_VARIABLES = False
    MI_SUPPORTED_CONSTRAINTS = CLARABEL.SUPPORTED_CONSTRAINTS


def verification_chain(problem: cp.Problem) -> Any:
    """Return cvxpy's reduction chain for verification, the same whatever solver is used."""
    return _build_solving_chain(problem, _Verified())


#: Reductions of cvxpy that replace parameters.
_WITH_PARAMETERS = (Complex2Real, CvxAttr2Constr)

#: Cache of the compiled programs of DPP problems with parameters.
_COMPILED: WeakKeyDictionary[cp.Problem, Any] = WeakKeyDictionary()


def applied(problem: cp.Problem, chain: Any) -> Any:
    """Return the problem compiled by all reductions but the last, which is solver-specific."""
    reductions = chain.reductions[:-1]
    program, _ = Chain(reductions=reductions).apply(problem)
    program.reductions = [each for each in reductions if isinstance(each, _WITH_PARAMETERS)]
    program.memory = {}
    program.parts = {
        stated.id: parts
        for each in program.reductions
        if isinstance(each, Complex2Real) and each.canon_methods is not None
        for stated, parts in each.canon_methods._variables.items()
    }
    # cvxpy replaces a variable with attributes, such as symmetric, by one of its free entries.
    program.replaced = {
        stated.id: own.id
        for each in reductions
        if isinstance(each, CvxAttr2Constr)
        for stated, own in each._variables.items()
    }
    return program


def _rows(constraints: list[Any]) -> Iterator[Rows]:
    start = 0
    for constraint in constraints:
        rows = slice(start, start := start + constraint.size)
        yield Rows(_KINDS.get(type(constraint), type(constraint).__name__), rows)


def _bounds(program: Any, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return lower and upper bounds of all columns; boolean ones are within 0 and 1."""
    lower, upper = program.lower_bounds, program.upper_bounds
    lower = np.full(size, -np.inf) if lower is None else np.array(lower, dtype=float).ravel()
    upper = np.full(size, np.inf) if upper is None else np.array(upper, dtype=float).ravel()
    boolean = [index for (index,) in program.x.boolean_idx]
    lower[boolean] = np.maximum(lower[boolean], 0.0)
    upper[boolean] = np.minimum(upper[boolean], 1.0)
    return lower, upper


def _columns(problem: cp.Problem, program: Any) -> dict[str, tuple[int, int]]:
    by_id = {variable.id: variable.name() for variable in problem.variables()}
    columns: dict[str, tuple[int, int]] = {}
    auxiliary = (f"aux_{k}" for k in count(1))
    for variable in program.variables:
        # cvxpy replaces a variable with attributes by another of the same name.
        own = variable.name() if variable.name() in by_id.values() else next(auxiliary)
        name = by_id.get(variable.id, own)
        counted = (name if k == 1 else f"{name}_{k}" for k in count(1))
        free = next(each for each in counted if each not in columns)
        columns[free] = (int(program.var_id_to_col[variable.id]), int(variable.size))
    return columns
