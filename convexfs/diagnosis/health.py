"""Find numbers that trouble solvers: wide ranges, near-parallel rows, big M, extreme limits."""

from collections.abc import Iterator
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from convexfs.certification.auxiliary import Budget
from convexfs.certification.rigorous.implied_bounds import BoundPropagation
from convexfs.diagnosis.explanation import Line, Section
from convexfs.diagnosis.naming import Names
from convexfs.diagnosis.ownership import CONSTRAINT, StatedRow
from convexfs.diagnosis.scaling import propose_scaling

#: A constraint's or variable's coefficients are reported if the largest exceeds this multiple of
#: the smallest.
WIDE = 1e6
#: Limits of rows above this, or below its inverse, are reported as extreme.
EXTREME = 1e7
#: An integer variable's coefficient is a big M if it is at least this multiple of the others in its
#: row.
BIG = 1e3
#: Rows are reported as nearly parallel if their unit normals are not equal but differ by less than
#: the square root of this. With more rows than the second number, none are compared.
PARALLEL, MOST_COMPARED = 1e-6, 4000
#: Most lines of each kind of finding.
MOST_LINES = 5


def health_sections(
    names: Names, problem: cp.Problem, budget: Budget, certified: bool = False
) -> tuple[list[Section], dict[str, Any]]:
    """Return sections on numerical trouble and a proposed scaling ([] if none), and the data.

    A scaling is proposed if the problem is not `certified`, or if its numbers are extreme.
    """
    found = {
        "wide ranges": list(_wide_ranges(names)), "extreme limits": list(_extreme(names)),
        "big M": list(_big_m(names)), "near-parallel rows": list(_parallel(names)),
    }  # fmt: skip
    lines = [Line(words, name) for each in found.values() for name, words in each[:MOST_LINES]]
    sections = [Section("Numerical health", lines)] if lines else []
    data: dict[str, Any] = {"health": found}
    extreme = found["wide ranges"] or found["extreme limits"]
    if (extreme or not certified) and names.program.stated is names.program.problem:
        proposal = propose_scaling(problem, budget)
        if proposal is not None:
            sections.append(Section("Proposed scaling: more solvers are certified to 1e-6",
                                    [Line(each) for each in proposal.sentences]))  # fmt: skip
            sections.append(Section("Solvers before and after", table=proposal.table))
            data["scaling"] = {"sentences": proposal.sentences, "solvers": proposal.table[1:]}
    return sections, data


def _own_rows(names: Names) -> Iterator[tuple[StatedRow, np.ndarray, np.ndarray]]:
    """Yield (stated row, columns, coefficients) of each row, without auxiliary columns."""
    program = names.program
    A, own = program.form.A, program.own_columns
    for member in program.stated_rows:
        for row in member.own:
            at = slice(A.indptr[row], A.indptr[row + 1])
            kept = own[A.indices[at]] & (A.data[at] != 0)
            if kept.any():
                yield member, A.indices[at][kept], A.data[at][kept]


def _wide_ranges(names: Names) -> Iterator[tuple[str, str]]:
    """Yield (name, sentence) of constraints and variables with coefficients of a WIDE range."""
    groups: dict[str, list[tuple[float, str]]] = {}
    program = names.program
    owner = {}
    for variable in program.problem.variables():
        at = program.form.columns.get(variable.id, slice(0, 0))
        owner |= dict.fromkeys(range(at.start, at.stop), variable.name())
    for member, columns, entries in _own_rows(names):
        key = names.part(member.part)
        for column, entry in zip(columns.tolist(), np.abs(entries).tolist(), strict=True):
            groups.setdefault(key, []).append((entry, program.column_name(column)))
            groups.setdefault(owner[column], []).append((entry, names.row(member)))
    worst = sorted(groups.items(), key=lambda each: min(each[1])[0] / max(each[1])[0])
    for key, entries in worst:
        (low, least), (high, most) = min(entries), max(entries)
        if high > WIDE * low:
            yield key, (f"coefficients range from {low:.1g} ({least}) to {high:.1g} ({most}): "
                        f"{high / low:.0e} times")  # fmt: skip


def _extreme(names: Names) -> Iterator[tuple[str, str]]:
    """Yield (row name, sentence) of rows with an extremely large or small limit."""
    for member in names.program.stated_rows:
        if member.part.kind == CONSTRAINT:
            limit = names.limit(member)
            size = 1.0 if limit is None else abs(limit[0])
            if size and not 1 / EXTREME < size < EXTREME:
                yield names.row(member), f"has the limit {size:.3g}: use another unit"


def _big_m(names: Names) -> Iterator[tuple[str, str]]:
    """Yield (row name, sentence) for big M rows where less than half of M is enough.

    If no M can be computed, advise to bound the other variables.
    """
    form, program = names.program.form, names.program
    if not form.integer.size:
        return
    box = BoundPropagation(form).run()
    integer = set(form.integer.tolist())
    for member in program.stated_rows:
        row = int(member.own[0])
        if member.rows.size > 1 or form.equalities[row] or form.curved[row]:
            continue
        at = slice(form.A.indptr[row], form.A.indptr[row + 1])
        columns, entries = form.A.indices[at], form.A.data[at]
        switch = np.array([int(each) in integer for each in columns], dtype=bool)
        if switch.sum() != 1 or switch.size < 2:
            continue
        M, others = float(abs(entries[switch][0])), ~switch
        if BIG * np.abs(entries[others]).max() > M:
            continue
        ends = np.where(entries[others] > 0, box.lower[columns[others]], box.upper[columns[others]])
        least = float(entries[others] @ ends) + form.b[row]
        # With the switch y, the row "others + b + M y >= 0" must hold at y = 1; a row "... - M y",
        # whose b contains M, at y = 0.
        need = -least if entries[switch][0] > 0 else M - least
        name = program.column_name(int(columns[switch][0]))
        if np.isfinite(need) and need < 0.5 * M:
            yield names.row(member), f"big M = {M:.6g} on {name}: {max(need, 0.0):.6g} is enough"
        elif not np.isfinite(need):
            yield names.row(member), f"big M = {M:.6g} on {name}: bound its other variables"


def _parallel(names: Names) -> Iterator[tuple[str, str]]:
    """Yield (row name, sentence) of pairs of rows that are nearly, not exactly, parallel."""
    form = names.program.form
    members = [each for each in names.program.stated_rows if each.rows.size == 1]
    rows = np.array([int(each.own[0]) for each in members], dtype=int)
    wide = np.diff(form.A.indptr)[rows] > 1 if rows.size else np.zeros(0, dtype=bool)
    rows, members = rows[wide], [each for each, kept in zip(members, wide, strict=True) if kept]
    if not 1 < rows.size <= MOST_COMPARED:
        return
    A = sp.csr_array(form.A[rows])
    norms = np.sqrt(np.asarray(A.multiply(A).sum(axis=1)).ravel())
    A = sp.csr_array(sp.diags_array(1.0 / norms) @ A)
    products = sp.coo_array(sp.triu(A @ A.T, k=1))
    for i, j, value in zip(products.row, products.col, products.data, strict=True):
        if abs(abs(value) - 1.0) < PARALLEL:
            gap = A[[i]] - np.sign(value) * A[[j]]
            distance = float(np.sqrt((gap.multiply(gap)).sum()))
            if 1e-14 < distance < np.sqrt(PARALLEL):
                words = f"is parallel to {names.row(members[j])} up to {distance:.0e}"
                yield names.row(members[i]), words
