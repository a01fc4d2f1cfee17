"""State a problem with its hyperparameters as symbols instead of numbers."""

import inspect
import warnings
from collections.abc import Callable, Mapping
from numbers import Real
from typing import Any

import cvxpy as cp
import numpy as np

from convexfs.solving.named_leaves import letter_of

#: A function that makes the problem from values by name.
State = Callable[[dict[str, Any]], cp.Problem]


def symbolic(
    state: State, build: Callable[..., cp.Problem], offered: Mapping[str, Any]
) -> cp.Problem:
    """Return the problem of `state`, with scalars of `build` as Parameters where that works.

    A scalar that `build` computes with where only a number will do stays a number, and so
    does one that would make another problem (``slope * at`` of arrays is a product entry by
    entry in numpy, and an inner product in cvxpy).

    Parameters
    ----------
    state : callable
        Makes the problem from what is offered.
    build : callable
        What `state` calls; its defaults are hyper-parameters too.
    offered : mapping
        Values and hyper-parameters by name.
    """
    takes = inspect.signature(build).parameters
    known = {name: each.default for name, each in takes.items() if _is_scalar(each.default)}
    known |= {name: offered[name] for name in takes if _is_scalar(offered.get(name))}
    symbols = {
        name: _parameter(letter_of(takes[name]), float(value)) for name, value in known.items()
    }
    plain = state(dict(offered))
    if _stated(state, {**offered, **symbols}, plain) is None:
        symbols = {name: symbol for name, symbol in symbols.items()
                   if _stated(state, {**offered, name: symbol}, plain)}  # fmt: skip
    return _stated(state, {**offered, **symbols}, plain) or plain


def _is_scalar(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _parameter(name: str, value: float) -> cp.Parameter:
    return cp.Parameter(name=name, value=value, pos=value > 0, nonneg=value == 0, neg=value < 0)


def _stated(state: State, offered: dict[str, Any], plain: cp.Problem) -> cp.Problem | None:
    """Return the problem stated with Parameters; None if that fails or changes its meaning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # User code may raise anything if it gets a Parameter instead of a number.
        try:
            problem = state(offered)
            same = problem.is_dcp() == plain.is_dcp() and _agree(problem, plain)
        except Exception:
            return None
    return problem if same else None


def _agree(one: cp.Problem, other: cp.Problem) -> bool:
    """Return whether objective and constraints of two problems agree at a random point."""
    random, values = np.random.default_rng(0), {}
    for variable in other.variables():
        values[variable.name()] = variable.project(random.uniform(0.1, 0.9, variable.shape))
    for variable in [*one.variables(), *other.variables()]:
        variable.save_value(values[variable.name()])
    parts = zip(_sides(one), _sides(other), strict=True)
    agree = all(np.allclose(mine, theirs, equal_nan=True) for mine, theirs in parts)
    for variable in [*one.variables(), *other.variables()]:
        variable.save_value(None)
    return agree


def _sides(problem: cp.Problem) -> list[Any]:
    return [problem.objective.value, *(a.value for c in problem.constraints for a in c.args)]
