"""The cone program a solver is given, and its size."""

import warnings
from collections import Counter

import cvxpy as cp

from convexfs.certification.cone_program import ConeProgram
from convexfs.errors import InputError
from convexfs.solving.backends import choose


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
