"""The cone program a solver is given, its size, and files that hold it."""

import contextlib
import json
import warnings
from collections import Counter
from functools import partial
from pathlib import Path

import cvxpy as cp
import numpy as np
from scipy import sparse

from convexfs.errors import InputError
from convexfs.solving.backends import LP, choose, needs_of
from convexfs.solving.cone_program import ConeProgram

_MODELS = (".lp", ".mps")


def canonical(problem: cp.Problem) -> ConeProgram:
    """The cone program the preferred solver is given."""
    if not problem.variables():
        raise InputError("a problem without variables has no canonical form")
    name = choose(problem, "auto").name
    with warnings.catch_warnings():
        # That a problem is not parametrised (DPP) slows later solves, and none follows.
        warnings.simplefilter("ignore", UserWarning)
        return ConeProgram.of(problem, name)


def sizes(program: ConeProgram) -> str:
    """How large a cone program is, and of which cones, in words."""
    rows: Counter[str] = Counter()
    for cone in program.cones:
        rows[cone.kind] += cone.rows.stop - cone.rows.start
    listed = ", ".join(f"{count} {kind}" for kind, count in rows.items()) or "none"
    nonzeros = int(program.A.nnz) + (0 if program.P is None else int(program.P.nnz))
    quadratic = "" if program.P is None else ", quadratic objective"
    return (
        f"{program.q.size} columns, {program.b.size} rows ({listed}), {nonzeros} nonzeros"
        f"{quadratic}, as {program.solver} takes it"
    )


def _write_archive(program: ConeProgram, path: Path) -> None:
    """Write every number as a numpy archive; matrices as their CSC parts."""
    no_square = (program.q.size, program.q.size)
    A, P = (
        sparse.csc_array(matrix)
        for matrix in (program.A, no_square if program.P is None else program.P)
    )
    matrices = {
        f"{name}_{part}": getattr(matrix, part)
        for name, matrix in (("A", A), ("P", P))
        for part in ("data", "indices", "indptr", "shape")
    }
    cones = [(cone.kind, cone.rows.stop - cone.rows.start) for cone in program.cones]
    np.savez_compressed(
        path, **matrices, q=program.q, b=program.b, offset=program.d, lower=program.lower,
        upper=program.upper, cones=json.dumps(cones), columns=json.dumps(program.columns),
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
        write = partial(_write_archive, canonical(problem))
    else:
        _check_linear(problem, suffix)
        write = partial(_write_model, problem)
    try:
        # HiGHS does not survive a file that it may not write.
        path.open("wb").close()
        write(path)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}") from None


def _check_convex(problem: cp.Problem) -> None:
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
