"""Compile problems for solvers without the bounds that cvxpy derives for auxiliary variables.

cvxpy 1.9.3 takes ``0 * inf`` for NaN and then for 0 when it bounds a product such as
``2 * (A @ x)``, and gives the result to the auxiliary variables of abs, pos, max, norm_inf
and other atoms. Solvers that take bounds (HIGHS, SCIPY, SCIP, DAQP, PIQP, PROXQP and
commercial ones) then solve another problem. No solver needs these bounds: the constraints
that define an auxiliary variable imply them.
"""

from collections.abc import Mapping
from typing import Any

import cvxpy as cp
from cvxpy.reductions.solvers.solving_chain import resolve_and_build_chain


def compile_problem(
    problem: cp.Problem, solver: str, options: Mapping[str, Any]
) -> tuple[dict[str, Any], Any, list[Any]]:
    """Return data, chain and inverse data, as ``problem.get_problem_data`` does.

    Bounds that the user gives as attributes of a variable stay bounds. A problem with
    parameters is compiled once; later calls only apply their values, as in cvxpy.
    """
    cache: Any = problem._cache
    key = cache.make_key(solver, False, False, None)
    if key != cache.key or cache.solving_chain.solver_context.solver_supports_bounds:
        chain: Any = resolve_and_build_chain(problem, solver)
        # All reductions of the chain read this one record.
        chain.solver_context.solver_supports_bounds = False
        cache.invalidate()
        cache.key, cache.solving_chain = key, chain
        problem._solver_cache = {}
    return problem.get_problem_data(solver, solver_opts=dict(options))
