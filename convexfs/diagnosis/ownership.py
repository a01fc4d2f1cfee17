"""Compile a problem to a cone program whose rows know the user's constraint they come from.

cvxpy shares equal sub-expressions between constraints, so that one auxiliary cone may serve
several. Here each constraint is compiled by itself: every auxiliary cone has one owner, and a
constraint, or a single row of one, can be left out together with its cones.
"""

import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from cvxpy.atoms.atom import Atom
from cvxpy.constraints import PSD, Equality, Inequality, NonNeg, Zero
from cvxpy.reductions.cvx_attr2constr import CvxAttr2Constr
from cvxpy.reductions.dcp2cone.cone_matrix_stuffing import ConeMatrixStuffing
from cvxpy.reductions.dcp2cone.dcp2cone import Dcp2Cone
from cvxpy.reductions.eval_params import EvalParams
from cvxpy.reductions.inverse_data import InverseData

from convexfs.certification.program.cone_program import verification_chain
from convexfs.certification.program.standard_form import StandardForm
from convexfs.errors import InputError

CONSTRAINT, ATTRIBUTE, OBJECTIVE = "constraint", "attribute", "objective"
#: Class to which cvxpy compiles each class of linear constraint.
_LOWERED = {Equality: Zero, Inequality: NonNeg}


@dataclass(frozen=True, order=True)
class Part:
    """Key of a part of the stated problem: kind and position of a constraint or variable."""

    kind: str
    position: int = 0


@dataclass(frozen=True)
class StatedRow:
    """A row as the user stated it: the program's rows for it (`own`), and all that it needs.

    `number` counts the rows of a constraint column by column, and those of attributes in all.
    """

    part: Part
    number: int
    own: np.ndarray
    rows: np.ndarray


class _Owned(Dcp2Cone):
    """cvxpy's reduction to cones, one constraint at a time; records the owner of each cone.

    An owner comes with whether the cone is auxiliary.
    """

    owners: dict[int, tuple[Part, bool]]

    def apply(self, problem: cp.Problem) -> Any:
        inverse = InverseData(problem)
        objective: Any
        objective, kept = self.canonicalize_tree(problem.objective, True)
        self.owners = {each.id: (Part(OBJECTIVE), True) for each in kept}
        for position, constraint in enumerate(problem.constraints):
            main, auxiliary = self.canonicalize_tree(constraint, False)
            part = Part(CONSTRAINT, position)
            self.owners |= {each.id: (part, True) for each in auxiliary}
            self.owners[main.id] = part, False
            inverse.cons_id_map[constraint.id] = main.id
            kept += [*auxiliary, main]
        self._cons_id_map = inverse.cons_id_map
        return cp.Problem(objective, kept), inverse


@dataclass(frozen=True)
class OwnedProgram:
    """A convex problem as a cone program that knows which stated constraint each row is from.

    Attributes
    ----------
    stated, problem : cvxpy.Problem
        The problem as stated, and the one that is convex by cvxpy's rules: the same, or the one
        in logarithms of a geometric problem's variables.
    epigraph : cvxpy.Problem
        The same with affine arguments only: every other atom is a cone of auxiliary variables.
    form : StandardForm
        What `epigraph` compiles to.
    epigraph_owners : mapping
        The part of each constraint of `epigraph`, by id, and whether it is auxiliary.
    owners : tuple
        The part that each row of the form comes from, and whether the row is auxiliary.
    numbers : ndarray
        The position of each row's cone within the constraint it comes from.
    """

    stated: cp.Problem
    problem: cp.Problem
    epigraph: cp.Problem
    form: StandardForm
    epigraph_owners: dict[int, tuple[Part, bool]]
    owners: tuple[tuple[Part, bool], ...]
    numbers: np.ndarray

    @classmethod
    def of(cls, problem: cp.Problem, stated: cp.Problem | None = None) -> "OwnedProgram":
        """Compile a convex problem constraint by constraint, at the parameters' current values."""
        with warnings.catch_warnings(action="ignore"):
            stage, _ = EvalParams().apply(problem) if problem.parameters() else (problem, None)
            reductions = verification_chain(stage).reductions
            epigraph, by_id = _epigraph(stage, reductions)
            form = StandardForm.of(epigraph)
            owners, numbers = _row_owners(epigraph, by_id, reductions, form, problem)
        return cls(stated or problem, problem, epigraph, form, by_id, tuple(owners), numbers)

    @cached_property
    def own_columns(self) -> np.ndarray:
        """Mask of the program's columns that are entries of the stated variables, not auxiliary."""
        own = np.zeros(self.form.q.size, dtype=bool)
        for variable in self.problem.variables():
            own[self.form.columns.get(variable.id, slice(0, 0))] = True
        return own

    @cached_property
    def boolean_rows(self) -> np.ndarray:
        """Indices of the rows ``0 <= x <= 1`` of boolean columns, which belong to integrality."""
        return np.arange(sum(map(_number_of_rows, self.form.constraints)), self.form.b.size)

    @cached_property
    def stated_rows(self) -> list[StatedRow]:
        """The stated rows of constraints, attributes and, if it has a domain, the objective."""
        domain = _has_domain(self.problem.objective.expr)
        boolean = set(self.boolean_rows.tolist())
        rows: dict[tuple[Part, int], list[int]] = defaultdict(list)
        auxiliary: dict[Part, list[int]] = defaultdict(list)
        for row, (part, is_auxiliary) in enumerate(self.owners):
            if row in boolean:
                continue
            if part.kind == OBJECTIVE:
                if domain:
                    rows[part, 0].append(row)
            elif is_auxiliary:
                auxiliary[part].append(row)
            else:
                rows[part, int(self.numbers[row])].append(row)
        links = _Links(self.form, self.own_columns)
        return [
            StatedRow(part, number, np.array(own), links.closure(own, auxiliary[part]))
            for (part, number), own in rows.items()
        ]

    @cached_property
    def parts(self) -> list[Part]:
        """The constraints, attributes and objective that have rows, in this order."""
        order = (CONSTRAINT, ATTRIBUTE, OBJECTIVE)
        found = {member.part for member in self.stated_rows}
        return sorted(found, key=lambda part: (order.index(part.kind), part.position))

    def restricted(
        self, members: Iterable[StatedRow], relaxed: bool = False
    ) -> tuple[StandardForm, np.ndarray]:
        """Return the program of these stated rows without objective, and its row indices.

        In the `relaxed` one no variable need be an integer.
        """
        kept = np.zeros(self.form.b.size, dtype=bool)
        for member in members:
            kept[member.rows] = True
        columns = np.unique(self.form.A[kept].indices)
        own = self.form.A.indices[self.form.A.indptr[self.boolean_rows]]
        kept[self.boolean_rows[np.isin(own, columns)]] = True
        part = self.form.without_objective().restricted(kept, columns)
        whole = np.empty(0, dtype=int) if relaxed else self.form.integer
        return replace(part, integer=np.flatnonzero(np.isin(columns, whole))), np.flatnonzero(kept)

    def column_name(self, column: int) -> str:
        """Return the user's name of a program's column, such as ``x[3]`` or ``X[0, 1]``."""
        names = getattr(self.problem, "columns", ())
        if names and self.own_columns[column]:
            return str(names[column]) if len(names) == int(self.own_columns.sum()) else "?"
        for variable in self.problem.variables():
            at = self.form.columns.get(variable.id, slice(0, 0))
            if at.start <= column < at.stop:
                return entry_name(variable.name(), variable.shape, column - at.start, at)
        return self.form.column_name(column)


def _has_domain(expression: Any) -> bool:
    """Return whether an expression contains an atom with a restricted domain, such as log."""
    if not isinstance(expression, Atom):
        return False
    own = any(each.variables() for each in expression._domain())
    return own or any(map(_has_domain, expression.args))


def entry_name(name: str, shape: tuple[int, ...], number: int, at: slice | None = None) -> str:
    """Return the name of a variable's entry, such as ``X[0, 1]``; `number` counts by columns."""
    size = int(np.prod(shape))
    if size == 1:
        return name
    # If the columns are fewer than the entries, they hold one triangle of a symmetric matrix.
    if at is not None and at.stop - at.start != size:
        columns, rows = np.tril_indices(shape[0])
        if rows.size != at.stop - at.start:
            return f"{name} (entry {number})"
        return f"{name}[{rows[number]}, {columns[number]}]"
    index = np.unravel_index(number, shape, order="F")
    return f"{name}[{', '.join(str(int(each)) for each in index)}]"


def _epigraph(
    stage: cp.Problem, reductions: list[Any]
) -> tuple[cp.Problem, dict[int, tuple[Part, bool]]]:
    """Return the problem compiled to cones of affine arguments, and cone owners by id."""
    for reduction in reductions:
        if isinstance(reduction, Dcp2Cone):
            owned = _Owned(quad_obj=False, solver_context=reduction.solver_context)
            epigraph, _ = owned.apply(stage)
            return epigraph, owned.owners
        before = len(stage.constraints)
        stage, _ = reduction.apply(stage)
        # Owners go by position in the stated problem, so no constraint may be added here.
        if len(stage.constraints) != before:
            break
    raise InputError("complex variables and finite sets cannot be traced to rows: state real ones")


def _row_owners(
    epigraph: cp.Problem,
    owners: dict[int, tuple[Part, bool]],
    reductions: list[Any],
    form: StandardForm,
    problem: cp.Problem,
) -> tuple[list[tuple[Part, bool]], np.ndarray]:
    """Return each program row's owner, and the number of its cone within the constraint."""
    by_kind: dict[type, Iterator[Any]] = {}
    final = _final_constraints(epigraph, owners, reductions, problem)
    for kind in {kind for kind, _ in final}:
        by_kind[kind] = iter([owner for each, owner in final if each is kind])
    rows: list[tuple[Part, bool]] = []
    numbers: list[int] = []
    first = form.first_rows
    for constraint in form.constraints:
        owner = next(by_kind[type(constraint)])
        start, size = len(rows), _number_of_rows(constraint)
        rows += [owner] * size
        # A variable may have several attributes; count their rows together.
        offset = start if owner[0].kind == ATTRIBUTE else 0
        within = np.unique(first[start : start + size], return_inverse=True)[1]
        numbers += (within + offset).tolist()
    for column in range(len(rows), form.b.size):  # The bounds of boolean columns come last.
        at = int(form.A.indices[form.A.indptr[column]])
        rows.append((_variable_part(form, problem, at), False))
        numbers.append(column)
    return rows, np.array(numbers, dtype=int)


def _variable_part(form: StandardForm, problem: cp.Problem, column: int) -> Part:
    for position, variable in enumerate(problem.variables()):
        at = form.columns.get(variable.id, slice(0, 0))
        if at.start <= column < at.stop:
            return Part(ATTRIBUTE, position)
    return Part(OBJECTIVE)


def _final_constraints(
    epigraph: cp.Problem,
    owners: dict[int, tuple[Part, bool]],
    reductions: list[Any],
    problem: cp.Problem,
) -> list[tuple[type, tuple[Part, bool]]]:
    """Return class and owner of every constraint that is compiled to rows."""
    stage, owners = epigraph, dict(owners)
    behind = next(k for k, each in enumerate(reductions) if isinstance(each, Dcp2Cone)) + 1
    for reduction in reductions[behind:]:
        if isinstance(reduction, ConeMatrixStuffing):
            break
        stage, inverse = reduction.apply(stage)
        attributes = isinstance(reduction, CvxAttr2Constr)
        renamed = inverse[2] if attributes and inverse else getattr(inverse, "cons_id_map", {})
        owners |= {new: owners[old] for old, new in renamed.items() if old in owners}
        if attributes:
            owners |= _attribute_owners(stage, owners, reduction, problem)
    return [
        (_LOWERED.get(type(each), type(each)), owners.get(each.id, (Part(OBJECTIVE), True)))
        for each in stage.constraints
        if each.size
    ]


def _attribute_owners(
    stage: cp.Problem, owners: dict[int, Any], reduction: Any, problem: cp.Problem
) -> dict[int, tuple[Part, bool]]:
    """Return, by id, the owners of constraints that cvxpy adds for attributes of variables."""
    positions = {each.id: position for position, each in enumerate(problem.variables())}
    positions |= {
        own.id: positions[stated.id]
        for stated, own in reduction._variables.items()
        if stated.id in positions
    }
    found = {}
    for constraint in stage.constraints:
        if constraint.id not in owners:
            ids = [each.id for each in constraint.variables() if each.id in positions]
            part = Part(ATTRIBUTE, positions[ids[0]]) if ids else Part(OBJECTIVE)
            found[constraint.id] = part, not ids
    return found


def _number_of_rows(constraint: Any) -> int:
    if isinstance(constraint, PSD):
        side = constraint.args[0].shape[-1]
        return constraint.size // side**2 * (side * (side + 1) // 2)
    return constraint.size


class _Links:
    """Finds the auxiliary rows that a row reaches through shared auxiliary columns."""

    def __init__(self, form: StandardForm, own_columns: np.ndarray):
        self.A: Any = form.A
        self.by_column: Any = sp.csc_array(form.A)
        self.own, self.first = own_columns, form.first_rows
        self.cones: dict[int, list[int]] = defaultdict(list)
        for row, start in enumerate(self.first):
            self.cones[int(start)].append(row)

    def closure(self, rows: list[int], auxiliary: list[int]) -> np.ndarray:
        """Return the indices of `rows` and of the auxiliary rows that they depend on, sorted."""
        if not auxiliary:
            return np.array(rows)
        allowed, found, todo = set(auxiliary), set(rows), list(rows)
        seen: set[int] = set()
        while todo:
            row = todo.pop()
            for column in self._columns(row):
                if self.own[column] or column in seen:
                    continue
                seen.add(int(column))
                at = slice(self.by_column.indptr[column], self.by_column.indptr[column + 1])
                for other in self.by_column.indices[at]:
                    if other in allowed and other not in found:
                        cone = self.cones[int(self.first[other])]
                        found.update(cone)
                        todo += cone
        # Cones of user columns only, such as the domain of a quotient, are needed by every row.
        for row in allowed - found:
            cone = self.cones[int(self.first[row])]
            if all(self.own[self._columns(each)].all() for each in cone):
                found.update(cone)
        return np.array(sorted(found))

    def _columns(self, row: int) -> np.ndarray:
        return self.A.indices[self.A.indptr[row] : self.A.indptr[row + 1]]
