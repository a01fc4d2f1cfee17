r"""Compile a parametrised problem once, and solve it for many parameter values.

cvxpy compiles a DPP problem once, but applies its parameters by sparse products that take longer
than solving a small program. Most numbers of such a program are affine in one entry of one
parameter, :math:`a + s\\,\\theta_i`. Probes with random values determine a, s and i, another probe
verifies them, and later values are written directly into the solver's arrays. If the check fails,
cvxpy applies the parameters.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy import settings as cvxpy_settings
from cvxpy.reductions.solvers.solving_chain import resolve_and_build_chain
from scipy.sparse import issparse

from convexfs.errors import InputError
from convexfs.records import ERROR
from convexfs.solving.backends import backend, check_takes, needs_of

#: Scales found by probes are rounded if this close to an integer, offsets if this close to 0; the
#: last probe must agree to this too.
ROUNDING = 1e-9
#: Statuses that may come with a useful point; the caller verifies the point.
WITH_POINT = (*cvxpy_settings.SOLUTION_PRESENT, cvxpy_settings.USER_LIMIT)


@dataclass(frozen=True)
class Answer:
    """A solver's status, its point by variable name ({} if none), and the failure's text."""

    status: str
    primal: Mapping[str, np.ndarray]
    failure: str = ""


@dataclass(frozen=True)
class _Places:
    """Which entries of a compiled array depend on parameters: offset + scale * parameter."""

    array: str
    entries: np.ndarray
    parameter: np.ndarray
    scale: np.ndarray
    offset: np.ndarray

    def at(self, theta: np.ndarray) -> np.ndarray:
        return self.offset + self.scale * theta[self.parameter]


class CompiledProblem:
    """A DPP `problem` compiled once for `solver`; :meth:`solve` takes parameters by name.

    It keeps nothing of one solve for the next: a warm start lives in the `memory` that
    the caller hands over, a dict, empty at first.
    """

    def __init__(self, problem: cp.Problem, solver: str):
        self.row = backend(solver)
        check_takes(self.row, needs_of(problem))
        if not problem.is_dpp():
            raise InputError("a problem that is compiled once must be DPP in its parameters")
        self.problem = problem
        self.parameters = {each.name(): each for each in problem.parameters()}
        self._data: dict[str, Any] = {}
        self._chain: Any = None
        self._inverse: Any = None
        self.places = self._found_places()
        program = self._data[cvxpy_settings.PARAM_PROB]
        self._columns = {
            each.name(): slice(start := program.var_id_to_col[each.id], start + each.size)
            for each in problem.variables()
        }

    @property
    def written(self) -> bool:
        """Whether parameters are written directly into the compiled arrays; else cvxpy does it."""
        return self.places is not None

    def solve(
        self,
        values: Mapping[str, Any],
        options: Mapping[str, Any],
        memory: dict[str, Any] | None = None,
    ) -> Answer:
        """Solve with these parameter values; return the Answer, solver errors as a status."""
        try:
            # Copy, because SCIP's interface replaces a matrix by one of another type.
            data = dict(self._filled(values))
            if memory is not None:
                # Solvers compare updates with the arrays of the last call, so pass new arrays.
                data = {name: _copied(part) for name, part in data.items()}
            solver = self._chain.solver
            raw = solver.solve_via_data(data, memory is not None, False, dict(options), memory)
            answer = solver.invert(raw, self._inverse[-1])
        except (KeyboardInterrupt, SystemExit):
            raise
        # Solvers raise many classes; panics of those in Rust do not derive from Exception.
        except BaseException as failure:
            return Answer(ERROR, {}, f"{type(failure).__name__}: {failure}")
        return Answer(answer.status, self._primal(answer))

    def _primal(self, answer: Any) -> dict[str, np.ndarray]:
        if answer.status not in WITH_POINT or not answer.primal_vars:
            return {}
        x = np.ravel(next(iter(answer.primal_vars.values())))
        if not np.isfinite(x).all():
            return {}
        return {name: x[columns] for name, columns in self._columns.items()}

    def _filled(self, values: Mapping[str, Any]) -> dict[str, Any]:
        if self.places is None:
            return self._applied(values)
        theta = np.concatenate([np.ravel(values[name]) for name in self.parameters])
        for place in self.places:
            _numbers(self._data[place.array])[place.entries] = place.at(theta)
        return self._data

    def _applied(self, values: Mapping[str, Any]) -> dict[str, Any]:
        for name, parameter in self.parameters.items():
            parameter.value = values[name]
        self._data, self._chain, self._inverse = compile_problem(self.problem, self.row.name, {})
        return self._data

    def _found_places(self) -> list[_Places] | None:
        rng = np.random.default_rng(0)
        thetas, probes = [], []
        for _ in range(4):
            values = {name: rng.uniform(1, 2, p.shape) for name, p in self.parameters.items()}
            data = self._applied(values)
            thetas.append(np.concatenate([np.ravel(value) for value in values.values()]))
            probes.append({name: _numbers(part).copy() for name, part in _arrays(data)})
        places = []
        for name in probes[0]:
            found = _places(name, [probe[name] for probe in probes], thetas)
            if found is None:
                return None
            places.append(found)
        return places


def _places(name: str, probes: list[np.ndarray], thetas: list[np.ndarray]) -> _Places | None:
    """Return which parameter entry each varying number depends on, by probes; None if unsure."""
    if len({probe.shape for probe in probes}) > 1:
        return None
    v0, v1, v2, v3 = probes
    t0, t1, t2, t3 = thetas
    moved = np.flatnonzero(v1 != v0)
    if not len(moved):
        return _Places(name, moved, moved, v0[moved], v0[moved]) if (v3 == v0).all() else None
    rise = (v1 - v0)[moved]
    # A number and the parameter it is affine in change by the same ratio.
    known = (t1 - t0) / (t2 - t0)
    order = np.argsort(known)
    known = known[order]
    with np.errstate(divide="ignore", invalid="ignore"):
        quotient = rise / (v2 - v0)[moved]
    at = np.clip(np.searchsorted(known, quotient), 1, max(len(known) - 1, 1))
    if len(known) == 1:
        at = np.zeros_like(at)
    else:
        at = at - (np.abs(known[at - 1] - quotient) < np.abs(known[at] - quotient))
    parameter = order[at]
    scale = rise / (t1 - t0)[parameter]
    offset = v0[moved] - scale * t0[parameter]
    whole = np.abs(scale - np.round(scale)) < ROUNDING
    scale = np.where(whole, np.round(scale), scale)
    offset = np.where(np.abs(offset) < ROUNDING, 0.0, offset)
    place = _Places(name, moved, parameter, scale, offset)
    expected = v0.copy()
    expected[moved] = place.at(t3)
    return place if np.allclose(expected, v3, rtol=ROUNDING, atol=ROUNDING) else None


def _arrays(data: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return [
        (name, part)
        for name, part in data.items()
        if issparse(part) or (isinstance(part, np.ndarray) and part.dtype == float)
    ]


def _numbers(part: Any) -> np.ndarray:
    return part.data if issparse(part) else part


def _copied(part: Any) -> Any:
    return part.copy() if issparse(part) or isinstance(part, np.ndarray) else part


def compile_problem(
    problem: cp.Problem, solver: str, options: Mapping[str, Any]
) -> tuple[dict[str, Any], Any, list[Any]]:
    """Return solver data, chain and inverse data of a problem; compiled once if parametrised.

    Bounds that the user gives as attributes of a variable stay bounds. A problem with
    parameters is compiled once; later calls only apply their values, as in cvxpy.
    """
    cache: Any = problem._cache
    key = cache.make_key(solver, False, False, None)
    if key != cache.key or cache.solving_chain.solver_context.solver_supports_bounds:
        chain: Any = resolve_and_build_chain(problem, solver)
        # All reductions of the chain read this context.
        chain.solver_context.solver_supports_bounds = False
        cache.invalidate()
        cache.key, cache.solving_chain = key, chain
        problem._solver_cache = {}
    return problem.get_problem_data(solver, solver_opts=dict(options))
