"""Read and write the LP format by HiGHS: linear programs as formulas."""

import re
import tempfile
from pathlib import Path
from typing import Any

import highspy
import numpy as np
from scipy import sparse

from convexfs.certification.exact.linear_program import silent_highs
from convexfs.errors import InputError
from convexfs.formats import mps_writer
from convexfs.formats.instance import INFINITE, Program, between, by_index, grouped, names_between
from convexfs.formats.text import FormatError, read_bytes

#: Smallest size of entries that HiGHS keeps; by default it drops those below 1e-9.
SMALL = 1e-12
#: Files with more lines are not searched for the line that HiGHS cannot read.
_SEARCHED = 500


def read(path: Path) -> Program:
    """Read an LP file into a Program by HiGHS."""
    text = read_bytes(path).decode("utf-8", errors="replace")
    model = _parsed(text)
    if model is None:
        raise FormatError(f"{path}, {_place(text)}: HiGHS cannot read this as .lp")
    if model.lp_.num_col_ == 0:
        raise FormatError(f"{path}, line 1: HiGHS finds no variables in it")
    return _program(model)


def dumps(program: Program) -> str:
    """Return a cone program as the text of an LP file; HiGHS writes numbers with 15 digits."""
    mps_writer.check_linear(program, ".lp")
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "m.mps", Path(folder) / "m.lp"
        source.write_text(mps_writer.dumps(program))
        solver = silent_highs(small_matrix_value=SMALL)
        read, wrote = solver.readModel(str(source)), solver.writeModel(str(target))
        if highspy.HighsStatus.kError in (read, wrote):
            raise InputError("HiGHS cannot write this as .lp: save it as .mps")
        return target.read_text()


def _parsed(text: str) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.lp"
        path.write_text(text)
        solver = silent_highs(small_matrix_value=SMALL)
        status = solver.readModel(str(path))
        return None if status == highspy.HighsStatus.kError else solver.getModel()


def _place(text: str) -> str:
    """Return the line of a syntax error as text, if there are at most 500 lines to search."""
    lines = text.splitlines()
    if len(lines) > _SEARCHED:
        return f"one of {len(lines)} lines"
    for count in range(len(lines) - 1, 0, -1):
        part = "\n".join([*lines[:count], "end", ""])
        if not re.fullmatch(r"\s*end\s*", part) and _parsed(part) is not None:
            return f"line {count + 1}"
    return "line 1"


def _program(model: Any) -> Program:
    lp, size, n_rows = model.lp_, model.lp_.num_col_, model.lp_.num_row_
    P = _square(model.hessian_, size)
    held = lp.a_matrix_
    parts = (np.array(held.value_), np.array(held.index_), np.array(held.start_))
    by_column = held.format_ == highspy.MatrixFormat.kColwise
    kind = sparse.csc_array if by_column else sparse.csr_array
    A = sparse.csr_array(kind(parts, shape=(n_rows, size)) if n_rows else (0, size))
    ends = np.array(lp.row_lower_), np.array(lp.row_upper_)
    A, b, cones = between(A, *ends)
    named = len(lp.row_names_) == n_rows
    whole = [kind == highspy.HighsVarType.kInteger for kind in lp.integrality_] or [False] * size
    other = {highspy.HighsVarType.kSemiContinuous, highspy.HighsVarType.kSemiInteger}
    if other & set(lp.integrality_):
        raise InputError("semi-continuous variables are not read here")
    # The format defines no column order: columns are in order of appearance.
    order = by_index(lp.col_names_)
    names = tuple(lp.col_names_[column] for column in order)
    return Program(
        c=np.array(lp.col_cost_)[order],
        A=sparse.csr_array(A[:, order]),
        b=b,
        cones=cones,
        lower=_finite(lp.col_lower_)[order],
        upper=_finite(lp.col_upper_)[order],
        integer=np.array(whole)[order],
        d=lp.offset_,
        P=None if P is None else sparse.csc_array(P[order][:, order]),
        maximise=lp.sense_ == highspy.ObjSense.kMaximize,
        variables=grouped(names),
        names=names,
        row_names=names_between(lp.row_names_, *ends) if named else (),
    )


def _finite(bounds: Any) -> np.ndarray:
    """Return bounds with values of absolute size 1e20 or more as infinity."""
    values = np.array(bounds, dtype=float)
    return np.where(np.abs(values) >= INFINITE, np.copysign(np.inf, values), values)


def _square(held: Any, size: int) -> Any:
    if not len(held.value_):
        return None
    parts = (np.array(held.value_), np.array(held.index_), np.array(held.start_))
    P = sparse.csc_array(parts, shape=(size, size))
    if held.format_ == highspy.HessianFormat.kTriangular:
        P = P + P.T - sparse.diags_array(P.diagonal())
    return sparse.csc_array(P)
