"""Call solvers by their own Python interfaces, in any interpreter that has them.

A solver is given a compiled program in plain arrays,

    minimise 1/2 x'Px + q'x   subject to   b - A x in K,   low <= x <= high,

with the rows of K in the order zero, nonnegative, second-order, semidefinite, exponential and
power cones; bounds are infinite for solvers that take none. Converting it into the solver's own
objects is not timed; setting the solver up and running it is.

This file runs as a script in other Python environments: it imports numpy, scipy and the solver,
and nothing of convexfs. A request comes by standard input and the answer goes to standard output,
both as npz files without pickles.
"""

import importlib
import importlib.metadata
import io
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

#: Types of dicts with a compiled program, and with a solver's answer in plain numbers.
Program = dict[str, Any]
Answer = dict[str, Any]
#: Names of the arrays in a request: vectors, and parts of sparse matrices.
_VECTORS, _SPARSE = ("q", "b", "low", "high"), ("data", "indices", "indptr")
_ARRAYS = (*_VECTORS, *(f"{name}_{part}" for name in "PA" for part in _SPARSE))
#: Names of the arrays in an answer.
_ANSWERED = ("x", "y", "z", "z_u", "prim_inf_cert", "ray")
VERSIONS = "versions"


def _clarabel(program: Program, options: dict[str, Any]) -> Callable[[], Any]:
    clarabel: Any = importlib.import_module("clarabel")
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    for name, value in options.items():
        setattr(settings, name, value)
    sizes = program["cones"]
    cones = [clarabel.ZeroConeT(sizes["z"])] if sizes["z"] else []
    cones += [clarabel.NonnegativeConeT(sizes["l"])] if sizes["l"] else []
    cones += [clarabel.SecondOrderConeT(size) for size in sizes["q"]]
    cones += [clarabel.PSDTriangleConeT(size) for size in sizes["s"]]
    cones += [clarabel.ExponentialConeT() for _ in range(sizes["ep"])]
    cones += [clarabel.PowerConeT(exponent) for exponent in sizes["p"]]
    upper = sparse.csc_matrix(sparse.triu(program["P"]))
    parts = (upper, program["q"], program["A"], program["b"], cones, settings)
    return lambda: clarabel.DefaultSolver(*parts).solve()


def _scs(program: Program, options: dict[str, Any]) -> Callable[[], Any]:
    import scs

    sizes = {name: size for name, size in program["cones"].items() if size}
    data = {"A": program["A"], "b": program["b"], "c": program["q"]}
    if program["P"].nnz:
        data["P"] = sparse.csc_matrix(sparse.triu(program["P"]))
    return lambda: scs.solve(data, sizes, verbose=False, **options)


def _osqp(program: Program, options: dict[str, Any]) -> Callable[[], Any]:
    import osqp

    low = program["b"].copy()
    low[program["cones"]["z"] :] = -np.inf
    solver = osqp.OSQP()
    strict = {} if osqp.__version__.startswith("0.") else {"raise_error": False}

    def call() -> Any:
        parts = (program["P"], program["q"], program["A"], low, program["b"])
        solver.setup(*parts, verbose=False, **options)
        return solver.solve(**strict)

    return call


def _highs(program: Program, options: dict[str, Any]) -> Callable[[], Any]:
    import highspy

    solver = highspy.Highs()
    model: Any = highspy.HighsModel()
    rows, columns = program["A"].shape
    lp, equations = model.lp_, program["cones"]["z"]
    lp.num_col_, lp.num_row_ = columns, rows
    lp.col_cost_, lp.row_upper_ = program["q"], program["b"]
    lp.row_lower_ = np.where(np.arange(rows) < equations, program["b"], -solver.inf)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_, lp.a_matrix_.index_ = program["A"].indptr, program["A"].indices
    lp.a_matrix_.value_ = program["A"].data
    low, high = program["low"].copy(), program["high"].copy()
    low[program["booleans"]] = np.maximum(low[program["booleans"]], 0.0)
    high[program["booleans"]] = np.minimum(high[program["booleans"]], 1.0)
    lp.col_lower_, lp.col_upper_ = low, high
    whole = {*program["booleans"], *program["integers"]}
    if whole:
        kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
        lp.integrality_ = [kinds[column in whole] for column in range(columns)]
    if program["P"].nnz:
        upper = sparse.csc_matrix(sparse.triu(program["P"]))
        model.hessian_.dim_ = columns
        model.hessian_.format_ = highspy.HessianFormat.kTriangular
        model.hessian_.start_, model.hessian_.index_ = upper.indptr, upper.indices
        model.hessian_.value_ = upper.data
    solver.setOptionValue("log_to_console", False)
    for name, value in options.items():
        if solver.setOptionValue(name, value) == highspy.HighsStatus.kError:
            raise ValueError(f"HiGHS does not take the option {name} = {value!r}")

    def call() -> Any:
        solver.passModel(model)
        solver.run()
        return solver

    return call


def _read_highs(solver: Any) -> Answer:
    told, status, point = solver.getInfo(), solver.getModelStatus().name, solver.getSolution()
    counts = ("ipm", "crossover", "pdlp", "qp", "simplex")
    return {
        "status": status, "x": point.col_value, "y": point.row_dual,
        "objective": told.objective_function_value,
        "iterations": sum(getattr(told, f"{name}_iteration_count", 0) for name in counts),
        "clock": solver.getRunTime(),
        "ray": solver.getDualRay()[2] if status == "kInfeasible" else None,
    }  # fmt: skip


def _split(program: Program) -> tuple[Any, Any, Any, Any]:
    """Return matrix and right-hand side of the equations, and those of the inequalities."""
    equations, rows = program["cones"]["z"], program["A"].tocsr()
    above, below = sparse.csc_matrix(rows[:equations]), sparse.csc_matrix(rows[equations:])
    return above, program["b"][:equations], below, program["b"][equations:]


def _ecos(program: Program, options: dict[str, Any]) -> Callable[[], Any]:
    import ecos

    A, b, G, h = _split(program)
    sizes = program["cones"]
    cones = {"l": sizes["l"], "q": sizes["q"], "e": sizes["ep"]}
    equations = {"A": A, "b": b} if len(b) else {}
    return lambda: ecos.solve(program["q"], G, h, cones, **equations, verbose=False, **options)


def _piqp(program: Program, options: dict[str, Any]) -> Callable[[], Any]:
    import piqp

    A, b, G, h = _split(program)
    solver = piqp.SparseSolver()
    for name, value in options.items():
        setattr(solver.settings, name, value)

    def call() -> Any:
        bounds = {"x_l": program["low"], "x_u": program["high"]}
        solver.setup(P=program["P"], c=program["q"], A=A, b=b, G=G, h_u=h, **bounds)
        solver.solve()
        return solver.result

    return call


def _qoco(program: Program, options: dict[str, Any]) -> Callable[[], Any]:
    import qoco

    A, b, G, h = _split(program)
    sizes = program["cones"]
    soc = np.array(sizes["q"], dtype=np.int32)
    parts = (len(program["q"]), len(h), len(b), program["P"] if program["P"].nnz else None)
    parts += (program["q"], A if len(b) else None, b if len(b) else None)
    parts += (G if len(h) else None, h if len(h) else None, sizes["l"], len(soc), soc)
    solver = qoco.QOCO()

    def call() -> Any:
        solver.setup(*parts, verbose=False, **options)
        return solver.solve()

    return call


#: By solver: the function that prepares a call.
SOLVERS: dict[str, Callable[..., Callable[[], Any]]] = {
    "CLARABEL": _clarabel, "SCS": _scs, "OSQP": _osqp, "HIGHS": _highs, "ECOS": _ecos,
    "PIQP": _piqp, "QOCO": _qoco,
}  # fmt: skip
#: What is read of each solver's result: attributes or keys, and those of its parts after a dot.
_READ = {
    "CLARABEL": "status x z obj_val solve_time iterations",
    "SCS": "x y info.status_val info.pobj info.iter info.solve_time info.setup_time",
    "OSQP": "x y prim_inf_cert info.status info.obj_val info.iter info.run_time info.setup_time",
    "ECOS": "x y z info.exitFlag info.pcost info.iter info.timing.tsolve info.timing.tsetup",
    "PIQP": "x y z_u info.status.name info.primal_obj info.iter info.run_time",
    "QOCO": "x y z status obj iters solve_time_sec setup_time_sec",
}


def timed(function: Callable[..., Any], *arguments: Any) -> tuple[Any, float, float]:
    """Return a function's result, its wall seconds and its CPU seconds."""
    began, cpu_began = time.perf_counter(), time.process_time()
    returned = function(*arguments)
    return returned, time.perf_counter() - began, time.process_time() - cpu_began


def call_solver(solver: str, program: Program, options: dict[str, Any]) -> Answer:
    """Solve a program by a solver's own interface; return the answer with its seconds."""
    found, seconds, cpu_seconds = timed(SOLVERS[solver](program, options))
    answer = {"seconds": seconds, "cpu_seconds": cpu_seconds}
    if solver == "HIGHS":
        return answer | {name: _plain(value) for name, value in _read_highs(found).items()}
    return answer | {path: _plain(_part(found, path)) for path in _READ[solver].split()}


def _part(found: Any, path: str) -> Any:
    for name in path.split("."):
        found = found[name] if isinstance(found, dict) else getattr(found, name)
    return found


def _plain(value: Any) -> Any:
    """Return an array, a number or None as such, and anything else, such as a status, as text."""
    if isinstance(value, list | tuple | np.ndarray):
        return np.asarray(value, dtype=float)
    return value if value is None or isinstance(value, int | float | np.number) else str(value)


def pack_program(solver: str, program: Program, options: dict[str, Any]) -> bytes:
    """Pack solver, program and options as the bytes of an npz file."""
    told = {name: program[name] for name in ("cones", "booleans", "integers")}
    plain = json.dumps({"solver": solver, "options": options, **told})
    arrays = {name: program[name] for name in _VECTORS}
    for name in ("P", "A"):
        arrays |= {f"{name}_{part}": getattr(program[name], part) for part in _SPARSE}
    return _packed(plain, arrays)


def unpack_program(parcel: bytes) -> tuple[str, Program, dict[str, Any]]:
    """Return solver, program and options from the bytes of :func:`pack_program`."""
    told, arrays = _unpacked(parcel, _ARRAYS)
    n = len(arrays["q"])
    for name, height in (("P", n), ("A", len(arrays["b"]))):
        parts = tuple(arrays.pop(f"{name}_{part}") for part in _SPARSE)
        arrays[name] = sparse.csc_matrix(parts, shape=(height, n))
    solver, options = told.pop("solver"), told.pop("options")
    return solver, {**told, **arrays}, options


def pack_answer(answer: Answer) -> bytes:
    """Pack a solver's answer as the bytes of an npz file."""
    arrays = {name: answer[name] for name in answer if isinstance(answer[name], np.ndarray)}
    plain = {name: value for name, value in answer.items() if name not in arrays}
    return _packed(json.dumps(plain, default=float), arrays)


def unpack_answer(parcel: bytes) -> Answer:
    """Return a solver's answer from the bytes of :func:`pack_answer`."""
    told, arrays = _unpacked(parcel, _ANSWERED)
    return {**told, **arrays}


def _packed(plain: str, arrays: dict[str, Any]) -> bytes:
    file = io.BytesIO()
    np.savez(file, plain=np.frombuffer(plain.encode(), dtype=np.uint8), **arrays)
    return file.getvalue()


def _unpacked(parcel: bytes, names: tuple[str, ...]) -> tuple[dict[str, Any], dict[str, Any]]:
    with np.load(io.BytesIO(parcel), allow_pickle=False) as file:
        told = json.loads(file["plain"].tobytes())
        return told, {name: file[name] for name in names if name in file}


def _versions(packages: list[str]) -> dict[str, str]:
    found = {}
    for package in packages:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def main() -> None:
    """Write package versions, or the solved program of standard input, to standard output."""
    # Solvers print to standard output from C, but it must carry the answer only.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    if sys.argv[1:2] == [VERSIONS]:
        answer = json.dumps(_versions(sys.argv[2:])).encode()
    else:
        try:
            answer = pack_answer(call_solver(*unpack_program(sys.stdin.buffer.read())))
        except Exception as error:
            answer = pack_answer({"failure": f"{type(error).__name__}: {error}"})
    with answers:
        answers.write(answer)


if __name__ == "__main__":
    main()
