"""Call solvers by their own interfaces, in this or another Python environment.

cvxpy compiles a problem and reads the solution as always. Between the two, cvxpy's interface to the
solver is replaced by :mod:`convexfs.solving.direct_calls`. The measured times are then those of the
solver's setup and solve alone.
"""

import json
import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy import sparse

from convexfs.errors import InputError, SolverUnsuitable
from convexfs.solving import direct_calls
from convexfs.solving.direct_calls import SOLVERS, VERSIONS
from convexfs.solving.solve import DIRECT_CALL

#: Seconds that another interpreter gets, beyond the time limit, to start and read a program.
START_SECONDS = 20.0
#: Environment variables that limit linear algebra to one thread, with their values.
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"), "1"
)
#: OSQP's status codes by status, which differ between its versions.
_OSQP_CODES = {
    "solved": 1, "solved inaccurate": 2, "primal infeasible": 3, "primal infeasible inaccurate": 4,
    "dual infeasible": 5, "dual infeasible inaccurate": 6, "maximum iterations reached": 7,
    "run time limit reached": 8,
}  # fmt: skip


@contextmanager
def called_directly(python: Path | None = None) -> Iterator[None]:
    """Call solvers without cvxpy's interfaces in this block: here, or in interpreter `python`."""

    def call(
        solver: str, data: Mapping[str, Any], options: Mapping[str, Any], seconds: float | None
    ) -> tuple[Any, float, float]:
        program = plain_program(solver, data)
        if python is None:
            answer = direct_calls.call_solver(solver, program, dict(options))
        else:
            request = direct_calls.pack_program(solver, program, dict(options))
            answer = direct_calls.unpack_answer(_ask(python, request, seconds))
            if "failure" in answer:
                raise RuntimeError(answer["failure"])
        return as_returned(solver, answer), answer["seconds"], answer["cpu_seconds"]

    token = DIRECT_CALL.set(call)
    try:
        yield
    finally:
        DIRECT_CALL.reset(token)


@dataclass(frozen=True)
class Environment:
    """Another Python environment: name, interpreter, and versions of the solvers it has."""

    name: str
    python: Path
    versions: Mapping[str, str]


def find_environment(name: str, python: str | Path) -> Environment:
    """Return an Environment, asking the interpreter for solver versions; raise if it has none."""
    from convexfs.solving.backends import BACKENDS

    path = Path(python).expanduser().absolute()
    if not (path.is_file() and os.access(path, os.X_OK)):
        raise InputError(f"environment {name}: {path} is no Python interpreter")
    packages = {solver: BACKENDS[solver].package for solver in SOLVERS}
    try:
        versions = json.loads(_ask(path, b"", START_SECONDS, VERSIONS, *packages.values()))
    except (OSError, ValueError, RuntimeError, TimeoutError) as error:
        raise InputError(f"environment {name}: {path} cannot be used: {error}") from error
    found = {solver: versions[own] for solver, own in packages.items() if own in versions}
    if not found:
        raise InputError(f"environment {name}: {path} has none of {', '.join(SOLVERS)}")
    return Environment(name, path, found)


def _ask(python: Path, request: bytes, seconds: float | None, *words: str) -> bytes:
    """Run the script direct_calls.py in another interpreter; return its standard output."""
    command = [str(python), "-I", direct_calls.__file__, *words]
    limit = None if seconds is None else seconds + START_SECONDS
    try:
        done = subprocess.run(
            command, input=request, capture_output=True, timeout=limit, env=os.environ | ONE_THREAD
        )
    except subprocess.TimeoutExpired as late:
        raise TimeoutError(f"stopped after {late.timeout:g} s") from late
    if done.returncode or not done.stdout:
        last = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
        raise RuntimeError(f"{python} ended with code {done.returncode} {' '.join(last)}".strip())
    return done.stdout


def plain_program(solver: str, data: Mapping[str, Any]) -> direct_calls.Program:
    """Convert cvxpy's data for a solver to plain arrays; raise if it is not called directly."""
    if solver not in SOLVERS:
        raise SolverUnsuitable(f"{solver} is not called directly: {', '.join(SOLVERS)} are")
    dims = data["dims"]
    if any(getattr(dims, kind, ()) for kind in ("pnd", "svec_psd")):
        raise SolverUnsuitable(f"{solver} is not called directly with cones of this kind")
    q = np.asarray(data["q"] if "q" in data else data["c"], dtype=float)
    parts = [(data.get("A"), data.get("b")), (data.get("F"), data.get("G"))]
    if "F" not in data:
        parts[1] = (data.get("G"), data.get("h"))
    there: list[tuple[Any, Any]] = [own for own in parts if own[0] is not None]
    A = sparse.vstack([matrix for matrix, _ in there]) if there else sparse.csc_array((0, len(q)))
    b = np.concatenate([right for _, right in there]) if there else np.empty(0)
    bounds = [data.get(f"{end}_bounds") for end in ("lower", "upper")]
    low, high = (
        np.full(len(q), none) if own is None else np.asarray(own, dtype=float)
        for own, none in zip(bounds, (-np.inf, np.inf), strict=True)
    )
    P = data["P"] if data.get("P") is not None else sparse.csc_array((len(q), len(q)))
    cones = {
        "z": int(dims.zero), "l": int(dims.nonneg), "q": [int(size) for size in dims.soc],
        "s": [int(size) for size in dims.psd], "ep": int(dims.exp),
        "p": [float(exponent) for exponent in dims.p3d],
    }  # fmt: skip
    return {
        "P": _columns(P), "q": q, "A": _columns(A), "b": np.asarray(b, dtype=float),
        "low": low, "high": high, "cones": cones,
        "booleans": [int(column) for column in data.get("bool_vars_idx") or []],
        "integers": [int(column) for column in data.get("int_vars_idx") or []],
    }  # fmt: skip


def _columns(matrix: Any) -> sparse.csc_matrix:
    """Return a sparse matrix as CSC with 32-bit indices, which all solvers accept."""
    found = sparse.csc_matrix(matrix)
    found.indices, found.indptr = found.indices.astype(np.int32), found.indptr.astype(np.int32)
    return found


def as_returned(solver: str, answer: direct_calls.Answer) -> Any:
    """Return a plain answer in the form that the solver returns, so far as cvxpy reads it."""
    if solver == "HIGHS":
        return _highs(SimpleNamespace(**answer))
    found = nested(answer.items())
    if solver == "OSQP":
        found["info"]["status_val"] = _OSQP_CODES.get(found["info"]["status"])
        ray = found["prim_inf_cert"]
        found["prim_inf_cert"] = found["y"] if ray is None else ray
    if solver == "QOCO":
        found |= dict.fromkeys(("pres", "dres", "gap"))
    return found if solver in ("SCS", "ECOS") else _with_attributes(found)


def nested(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return (name, value) pairs as a nested dict; dots in names separate the levels."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        *outer, last = name.split(".")
        place = found
        for part in outer:
            place = place.setdefault(part, {})
        place[last] = value
    return found


def _with_attributes(found: Mapping[str, Any]) -> SimpleNamespace:
    parts = {
        name: _with_attributes(value) if isinstance(value, dict) else value
        for name, value in found.items()
    }
    return SimpleNamespace(**parts)


def _highs(a: Any) -> Any:
    counts = dict.fromkeys(("ipm", "crossover", "pdlp", "qp"), 0) | {"simplex": a.iterations}
    info = SimpleNamespace(
        objective_function_value=a.objective,
        **{f"{name}_iteration_count": count for name, count in counts.items()},
    )
    point = SimpleNamespace(col_value=a.x, row_dual=a.y)
    told = {"model_status": a.status, "run_time": a.clock, "dual_ray": (None, None, a.ray)}
    return {"solution": point, "info": info, **told}
