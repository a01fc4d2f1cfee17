"""What is shown is what is solved: the code of a formula gives cvxpy's own numbers."""

from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from cvxpy.constraints import Equality, Inequality
from cvxpy.transforms.partial_optimize import partial_optimize

from convexfs import FORMULATIONS, show
from tests.inspection.numpy_code import numpy_code
from tests.inspection.zoo import ZOO, place, stated


def assert_same_numbers(problem, seed=0, names=None):
    place(problem, seed)
    seen = show(problem, names)
    given = {
        symbol.name: _dense(symbol.stands_for.value)
        for symbol in seen.formula.symbols.declared.values()
        if isinstance(symbol.stands_for, cp.Variable | cp.Parameter)
    }
    code = numpy_code(seen.formula, problem.constraints)
    _assert_close(code.objective(given), problem.objective.expr.value, ())
    residuals = code.residuals(given)
    for position, constraint in enumerate(problem.constraints):
        found = residuals[constraint.label or str(position)]
        two_sided = isinstance(constraint, Inequality | Equality)
        wanted = [constraint.expr] if two_sided else constraint.args
        assert len(found) == len(wanted)
        for value, expression in zip(found, wanted, strict=True):
            _assert_close(value, expression.value, expression.shape)


def _assert_close(found, wanted, shape):
    found, wanted = np.broadcast_to(_dense(found), shape), np.reshape(_dense(wanted), shape)
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)


def _dense(value):
    return value.toarray() if hasattr(value, "toarray") else value


@pytest.mark.parametrize("name", FORMULATIONS)
def test_every_formulation_evaluates_to_cvxpys_numbers(name):
    problem, values = stated(name)
    for seed in range(3):
        assert_same_numbers(problem, seed, values)


@pytest.mark.filterwarnings("ignore:Reading from a sparse CVXPY expression")
@pytest.mark.parametrize("name", ZOO)
def test_every_atom_evaluates_to_cvxpys_numbers(name):
    for seed in range(3):
        assert_same_numbers(ZOO[name](), seed)


def test_a_parameter_inside_an_atom_may_take_another_value():
    t = cp.Variable(name="t")
    lam: Any = cp.Parameter(nonneg=True, name="lam", value=1.0)
    code = numpy_code(show(cp.Problem(cp.Minimize(cp.huber(t, lam)))).formula)
    assert code.objective({"t": 5.0, "lam": 2.0}) == 2 * 2 * 5 - 2**2


def test_an_optimal_value_inside_a_formula_is_cvxpys_and_leaves_the_leaves_alone():
    x, y = cp.Variable(2, name="x"), cp.Variable(2, name="y", value=np.array([7.0, 7.0]))
    inner = cp.Problem(cp.Minimize(cp.norm1(x - y)), [x >= 1])
    code = numpy_code(show(cp.Problem(cp.Minimize(partial_optimize(inner, opt_vars=[x])))).formula)
    found = code.objective({"x": np.zeros(2), "y": np.array([0.0, 3.0])})
    np.testing.assert_allclose(found, 1.0, atol=1e-6)
    np.testing.assert_array_equal(y.value, [7.0, 7.0])


def test_an_atom_numpy_cannot_spell_is_cvxpys_own():
    x = cp.Variable(3, name="x")
    code = numpy_code(show(cp.Problem(cp.Minimize(cp.sum_largest(x, 2)))).formula)
    assert code.objective({"x": np.array([1.0, 5.0, 3.0])}) == 8.0
