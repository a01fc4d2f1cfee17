"""A problem in canonical form, as its solver is given it, canonicalised afresh."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.constraints import PSD, SOC, ExpCone, NonNeg, PowCone3D, PowConeND, SvecPSD, Zero
from cvxpy.error import SolverError
from cvxpy.reductions.chain import Chain
from cvxpy.reductions.solvers.solving_chain import resolve_and_build_chain
from cvxpy.utilities.psd_utils import TriangleKind

from convexfs.errors import InputError
from convexfs.solving.cones import (
    Equality,
    Exponential,
    NonNegative,
    Power,
    SecondOrder,
    Semidefinite,
)

#: What cvxpy's constraints are called here.
_KINDS = {
    Zero: Equality.kind, NonNeg: NonNegative.kind, SOC: SecondOrder.kind, PSD: Semidefinite.kind,
    SvecPSD: Semidefinite.kind, ExpCone: Exponential.kind, PowCone3D: Power.kind,
    PowConeND: Power.kind,
}  # fmt: skip


@dataclass(frozen=True)
class Rows:
    """Some rows of a cone program and the kind of cone they lie in."""

    kind: str
    rows: slice


@dataclass(frozen=True)
class ConeProgram:
    """``minimise 1/2 x'Px + q'x + d subject to Ax + b in K, l <= x <= u`` in numpy.

    P is None where the objective is linear; a problem to be maximised is minimised here
    with the opposite sign. `columns` are the first column and the count of every variable;
    those that are not the problem's own are called ``aux_1`` and so on. `integer` are the
    columns that must be whole. It is laid out for `solver`.
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
    triangle: TriangleKind | None

    @classmethod
    def of(cls, problem: cp.Problem, solver: str) -> "ConeProgram":
        """Canonicalise `problem` afresh, as it is for `solver`."""
        try:
            chain = resolve_and_build_chain(problem, solver)
        except SolverError as error:
            raise InputError(
                f"judging an answer of {solver} needs it installed here, and able to take the "
                "problem"
            ) from error
        # All but the last reduction: the solver's own layout of the rows.
        program, _ = Chain(reductions=chain.reductions[:-1]).apply(problem)
        parts = program.apply_parameters(quad_obj=program.P is not None)
        P, (q, d, A, b) = (None, parts) if program.P is None else (parts[0], parts[1:])
        lower, upper = _bounds(program, q.size)
        whole = {index for (index,) in (*program.x.boolean_idx, *program.x.integer_idx)}
        context = chain.solver_context
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
            integer=np.array(sorted(whole), dtype=int),
            constraints=tuple(program.constraints),
            starts=dict(program.var_id_to_col),
            triangle=context.psd_triangle_kind if context is not None else None,
        )


def _rows(constraints: list[Any]) -> Iterator[Rows]:
    start = 0
    for constraint in constraints:
        rows = slice(start, start := start + constraint.size)
        yield Rows(_KINDS.get(type(constraint), type(constraint).__name__), rows)


def _bounds(program: Any, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Least and largest values of the variables; boolean ones are relaxed to 0 .. 1."""
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
