"""Convert between cone programs of files and ``cvxpy.Problem``."""

import warnings
from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from types import MappingProxyType
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.constraints import PSD, SOC, ExpCone, NonNeg, PowCone3D, Zero
from cvxpy.reductions.solvers.conic_solvers.clarabel_conif import CLARABEL
from cvxpy.reductions.solvers.solving_chain import resolve_and_build_chain
from scipy import sparse

from convexfs.certification.duals.dual_bound import has_no_negative_eigenvalue
from convexfs.certification.program.cone_program import ConeProgram, applied
from convexfs.errors import InputError
from convexfs.formats import instance as cones
from convexfs.formats.instance import Cone, Program, Variable
from convexfs.records import symbols
from convexfs.solving.dcp_rules import why_not_convex


class StoredProblem(cp.Problem):
    """A problem that was read from a file.

    `columns` are the names that its columns have there; `row_names` those of the rows of its
    constraints, by the constraint's position, with which of them are lower limits.
    """

    columns: tuple[str, ...] = ()
    row_names: Mapping[int, tuple[tuple[str, bool], ...]] = MappingProxyType({})


def stored_problem(program: Program) -> StoredProblem:
    """Convert a program to a problem: linear rows as ``A x <= b``, others as cones."""
    statement = _Statement(program)
    sense = cp.Maximize if program.maximise else cp.Minimize
    problem = StoredProblem(sense(statement.objective()), list(statement.constraints()))
    problem.columns = program.names
    if program.row_names:
        kinds = (program.rows(kind) for kind in (cones.ZERO, cones.NONNEGATIVE))
        problem.row_names = {
            position: tuple(program.row_names[row] for row in rows)
            for position, rows in enumerate(rows for rows in kinds if rows.size)
        }
    return problem


class _Statement:
    """Builder of the cvxpy variables, objective and constraints of a program."""

    def __init__(self, program: Program):
        self.program = program
        self.variables: list[tuple[cp.Variable, slice]] = []
        start = 0
        for own in program.variables:
            columns = slice(start, start + own.size)
            start = columns.stop
            self.variables.append((self._variable(own, columns), columns))

    def _variable(self, own: Variable, columns: slice) -> cp.Variable:
        if own.semidefinite:
            return cp.Variable(own.shape, name=own.name, symmetric=True)
        whole = np.flatnonzero(self.program.integer[columns])
        if whole.size == own.size:
            return cp.Variable(own.shape, name=own.name, integer=True)
        attributes: dict[str, Any] = {"integer": (whole,)} if whole.size else {}
        return cp.Variable(own.shape, name=own.name, **attributes)

    def objective(self) -> cp.Expression:
        program = self.program
        terms = [] if program.P is None else self._squares(sparse.csr_array(program.P))
        for variable, columns in self.variables:
            costs = program.c[columns]
            if costs.any():
                vector = cp.vec(variable, order="F") if variable.ndim == 2 else variable
                terms.append(cp.Constant(costs, name=self._named("c", variable)) @ vector)
        if program.d or not terms:
            terms.append(cp.Constant(program.d))
        return sum(terms[1:], start=terms[0])

    def _named(self, letter: str, variable: cp.Variable) -> str:
        """Return the name of a variable's coefficients, numbered if there are several."""
        ids = [own.id for own, _ in self.variables]
        return letter if len(ids) == 1 else f"{letter}_{ids.index(variable.id) + 1}"

    def _squares(self, P: Any) -> list[cp.Expression]:
        """Return ``x'Px / 2``, per variable if P has no products between variables."""
        convex = not self.program.maximise and has_no_negative_eigenvalue(P)
        blocks = [(own, P[at, at]) for own, at in self.variables]
        if sum(block.nnz for _, block in blocks) == P.nnz:
            parts = [(own, block, self._named("P", own)) for own, block in blocks if block.nnz]
        else:
            parts = [(cp.hstack([own for own, _ in blocks]), P, "P")]
        return [
            0.5 * cp.quad_form(own, cp.Constant(block.tocsc(), name=name), assume_PSD=convex)
            for own, block, name in parts
        ]

    def constraints(self) -> Iterator[cp.Constraint]:
        program = self.program
        zero, least = program.rows(cones.ZERO), program.rows(cones.NONNEGATIVE)
        if zero.size:
            sides = cp.Constant(-program.b[zero], name="b_eq")
            yield self._linear(program.A[zero], "A_eq") == sides
        if least.size:
            sides = cp.Constant(program.b[least], name="b_in")
            yield self._linear(-program.A[least], "A_in") <= sides
        yield from self._second_order()
        yield from self._of_three(cones.EXPONENTIAL, "exp")
        yield from self._of_three(cones.POWER, "pow")
        for number, (cone, rows) in enumerate(self._blocks(cones.SEMIDEFINITE), 1):
            entries = self._affine(np.arange(rows.start, rows.stop), f"F_{number}")
            yield cp.reshape(entries, (cone.side, cone.side), order="F") >> 0
        for (variable, columns), own in zip(self.variables, program.variables, strict=True):
            if own.semidefinite:
                yield variable >> 0
            else:
                yield from _bounds(variable, program.lower[columns], program.upper[columns])

    def _blocks(self, kind: str) -> list[tuple[Cone, slice]]:
        return [(cone, rows) for cone, rows in self.program.blocks if cone.kind == kind]

    def _second_order(self) -> Iterator[cp.Constraint]:
        """Yield one constraint per cone size, because cvxpy is slow with thousands of them."""
        by_size: dict[int, list[slice]] = {}
        for cone, rows in self._blocks(cones.SECOND_ORDER):
            by_size.setdefault(cone.size, []).append(rows)
        for number, (size, found) in enumerate(by_size.items(), 1):
            at = np.array([np.arange(rows.start, rows.stop) for rows in found])
            heads = self._affine(at[:, 0], f"T_{number}")
            if size == 1:
                yield heads >= 0
                continue
            tails = self._affine(at[:, 1:].ravel(), f"S_{number}")
            if len(found) == 1:
                yield SOC(heads[0], tails)
            else:
                yield SOC(heads, cp.reshape(tails, (size - 1, len(found)), order="F"), axis=0)

    def _of_three(self, kind: str, name: str) -> Iterator[cp.Constraint]:
        blocks = self._blocks(kind)
        if not blocks:
            return
        first = np.array([rows.start for _, rows in blocks])
        x, y, z = (self._affine(first + i, f"{'XYZ'[i]}_{name}") for i in range(3))
        if kind == cones.EXPONENTIAL:
            yield ExpCone(x, y, z)
        else:
            yield PowCone3D(x, y, z, np.array([cone.alpha for cone, _ in blocks]))

    def _affine(self, at: np.ndarray, name: str) -> cp.Expression:
        constant = self.program.b[at]
        linear = self._product(self.program.A[at], name)
        if linear is None:
            return cp.Constant(constant)
        return linear + constant if constant.any() else linear

    def _linear(self, rows: Any, name: str) -> cp.Expression:
        linear = self._product(rows, name)
        if linear is None:  # All rows are empty.
            variable, columns = self.variables[0]
            nothing = sparse.csr_array((rows.shape[0], columns.stop - columns.start))
            return nothing @ cp.vec(variable, order="F")
        return linear

    def _product(self, rows: Any, name: str) -> cp.Expression | None:
        """Return ``rows @ x`` over the variables with an entry; None if there are none."""
        terms = []
        for variable, columns in self.variables:
            part = sparse.csc_array(rows[:, columns])
            if part.nnz:
                vector = cp.vec(variable, order="F") if variable.ndim == 2 else variable
                terms.append(cp.Constant(part, name=self._named(name, variable)) @ vector)
        return sum(terms[1:], start=terms[0]) if terms else None


def _bounds(variable: cp.Variable, lower: np.ndarray, upper: np.ndarray) -> Iterator[cp.Constraint]:
    fixed = np.isfinite(lower) & (lower == upper)
    for bounds, symbol in ((lower, "l"), (upper, "u")):
        at = np.flatnonzero(np.isfinite(bounds) & ~fixed)
        if at.size:
            part = variable if at.size == variable.size else variable[at]
            limit: Any = bounds[at]
            limit = limit[0] if (limit == limit[0]).all() else cp.Constant(limit, name=symbol)
            yield part >= limit if symbol == "l" else part <= limit
    if fixed.any():
        yield variable[np.flatnonzero(fixed)] == lower[fixed]


class _File(CLARABEL):
    """Compilation target for cvxpy that takes every cone a file may hold."""

    MIP_CAPABLE = True
    # Otherwise cvxpy derives bounds of auxiliary variables, some of them NaN.
    BOUNDED_VARIABLES = False
    SUPPORTED_CONSTRAINTS = [Zero, NonNeg, SOC, ExpCone, PowCone3D, PSD]  # noqa: RUF012
    MI_SUPPORTED_CONSTRAINTS = SUPPORTED_CONSTRAINTS

    def __init__(self, quadratic: bool):
        self.quadratic = quadratic

    def name(self) -> str:  # pyright: ignore[reportIncompatibleMethodOverride]
        return "FILE"

    def supports_quad_obj(self) -> bool:
        return self.quadratic


def program_of(problem: cp.Problem, *, quadratic: bool) -> Program:
    """Compile a DCP problem to a cone program; `quadratic` allows a quadratic objective."""
    _check(problem)
    with warnings.catch_warnings():
        # Ignore that a problem is not DPP: it only slows later solves, and none follows.
        warnings.simplefilter("ignore", UserWarning)
        compiled = applied(problem, resolve_and_build_chain(problem, _File(quadratic)))
    program = ConeProgram.filled(problem, compiled, "FILE")
    maximise = isinstance(problem.objective, cp.Maximize)
    sign = -1.0 if maximise else 1.0
    rows, found = _in_order(program.constraints)
    spread = rows @ sparse.csr_array(program.A)
    spread.eliminate_zeros()
    has_square = program.P is not None and program.P.nnz
    return Program(
        c=sign * program.q,
        A=sparse.csr_array(spread),
        b=rows @ program.b,
        cones=tuple(found),
        lower=program.lower,
        upper=program.upper,
        integer=np.isin(np.arange(program.q.size), program.integer),
        d=sign * program.d,
        P=sign * sparse.csc_array(program.P) if has_square else None,
        maximise=maximise,
        variables=tuple(_variables(problem, compiled)),
    )


def _check(problem: cp.Problem) -> None:
    if not isinstance(problem, cp.Problem):
        raise InputError(f"a cvxpy.Problem is written, not {type(problem).__name__}")
    if not problem.is_dcp():
        raise InputError(
            "a problem that is not convex by cvxpy's rules has no canonical form: "
            + why_not_convex(problem)
        )
    if not problem.variables():
        raise InputError("a problem without variables has no canonical form")
    unset = [parameter.name() for parameter in problem.parameters() if parameter.value is None]
    if unset:
        raise InputError(f"give parameter {', '.join(unset)} a value before saving")


def _in_order(constraints: Iterable[Any]) -> tuple[Any, list[Cone]]:
    """Return the matrix that reorders cvxpy's rows to those of a program, and the cones.

    cvxpy has of second-order cones all t, then the rest cone by cone; of cones of three all
    first entries, all second, all third.
    """
    blocks, found = [sparse.csr_array((0, 0))], []
    for constraint in constraints:
        size = constraint.size
        at = np.arange(size)
        match constraint:
            case Zero() | NonNeg():
                found.append(Cone(cones.ZERO if isinstance(constraint, Zero) else
                                  cones.NONNEGATIVE, size))  # fmt: skip
            case SOC():
                each = constraint.cone_sizes()[0]
                count_ = size // each
                at = np.column_stack([at[:count_], at[count_:].reshape(count_, each - 1)]).ravel()
                found += [Cone(cones.SECOND_ORDER, each)] * count_
            case ExpCone() | PowCone3D():
                at = at.reshape(3, -1).T.ravel()
                found += _cones_of_three(constraint, size // 3)
            case PSD():
                blocks.append(_symmetric(constraint.args[0].shape[-1], size))
                side = constraint.args[0].shape[-1]
                found += [Cone(cones.SEMIDEFINITE, side * side)] * (size // (side * side))
                continue
            case _:
                kind = type(constraint).__name__
                raise InputError(f"no file format here has a place for cvxpy's {kind}")
        blocks.append(sparse.csr_array((np.ones(size), (np.arange(size), at)), (size, size)))
    return sparse.csr_array(sparse.block_diag(blocks)), found


def _cones_of_three(constraint: Any, count_: int) -> list[Cone]:
    if isinstance(constraint, ExpCone):
        return [Cone(cones.EXPONENTIAL, 3)] * count_
    alphas = np.broadcast_to(np.ravel(constraint.alpha.value, order="F"), count_)
    return [Cone(cones.POWER, 3, float(alpha)) for alpha in alphas]


def _symmetric(side: int, size: int) -> Any:
    """Return the matrix that averages each entry with its mirror image."""
    at = np.arange(side * side).reshape(side, side)
    unit: Any = sparse.eye_array(side * side, format="csr")
    return sparse.block_diag([0.5 * (unit + unit[at.T.ravel()])] * (size // (side * side)))


def _variables(problem: cp.Problem, compiled: Any) -> Iterator[Variable]:
    """Yield the variables in column order; those added by cvxpy are named ``aux_1`` and so on."""
    by_id = {variable.id: name for name, variable in symbols(problem).items()}
    renamed = {variable.name(): by_id[variable.id] for variable in problem.variables()}
    auxiliary = (f"aux_{k}" for k in count(1))
    taken: set[str] = set()
    by_column = sorted(compiled.variables, key=lambda own: compiled.var_id_to_col[own.id])
    for variable in by_column:
        # cvxpy replaces a variable with attributes by another of the same name.
        name = by_id.get(variable.id) or renamed.get(variable.name()) or next(auxiliary)
        free = next(
            each for each in (name, *(f"{name}_{k}" for k in range(2, 9999))) if each not in taken
        )
        taken.add(free)
        yield Variable(free, int(variable.size))
