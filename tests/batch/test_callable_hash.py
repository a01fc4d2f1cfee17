"""The hash of a change follows its code and the values it refers to, and nothing else."""

from functools import partial

import cvxpy as cp
import numpy as np
import pytest

from convexfs.batch.callable_hash import callable_sha256
from convexfs.errors import InputError

LIMIT = 4.0
PRICES = np.array([1.0, 2.0])


def capped(problem):
    """Word this as you like."""
    return cp.Problem(problem.objective, [*problem.constraints, PRICES @ helper(problem) <= LIMIT])


def helper(problem):
    return problem.var_dict["w"]


def made(limit):
    def change(problem, cap=limit):
        # A remark.
        return cp.Problem(problem.objective, [problem.var_dict["w"] <= cap])

    return change


def test_equal_functions_share_a_hash():
    assert callable_sha256(made(1.0)) == callable_sha256(made(1.0))
    assert callable_sha256(capped) == callable_sha256(capped)


@pytest.mark.parametrize(
    ("name", "value"), [("LIMIT", 5.0), ("PRICES", np.array([1.0, 3.0])), ("helper", made)]
)
def test_a_value_that_is_referred_to_changes_it(name, value, monkeypatch):
    before = callable_sha256(capped)
    monkeypatch.setitem(globals(), name, value)
    assert callable_sha256(capped) != before


def test_defaults_closures_and_arguments_change_it():
    assert callable_sha256(made(1.0)) != callable_sha256(made(2.0))
    low, high = (partial(made, limit=limit) for limit in (1, 2))
    assert callable_sha256(low) != callable_sha256(high)
    limit = 3
    inner = lambda problem: limit  # noqa: E731
    before = callable_sha256(inner)
    limit = 4
    assert callable_sha256(inner) != before


def test_lambdas_of_different_code_differ():
    one = lambda problem: problem  # noqa: E731
    two = lambda problem: cp.Problem(problem.objective)  # noqa: E731
    assert callable_sha256(one) != callable_sha256(two)


def test_what_cannot_be_hashed_is_refused():
    with pytest.raises(InputError, match=r"source of <lambda> cannot be read .*problem file"):
        callable_sha256(eval("lambda problem: problem"))
    two = [lambda problem: problem, lambda problem: None]
    with pytest.raises(InputError, match="no lambda, or several: give it a name by def"):
        callable_sha256(two[0])
    constant = cp.Constant(1.0)
    with pytest.raises(InputError, match="refers to a value of type Constant"):
        callable_sha256(lambda problem: constant)
