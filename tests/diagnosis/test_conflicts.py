"""Conflicts: proven infeasible, and irreducible by showing every smaller subset feasible."""

from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from convexfs.certification.auxiliary import Budget
from convexfs.certification.certify import certify
from convexfs.diagnosis.conflicts import Conflict, find_conflict, further_conflicts
from convexfs.diagnosis.ownership import CONSTRAINT, OwnedProgram
from convexfs.solving.solve import solve
from tests.typed import constraints, labelled


def conflict_of(problem, seconds=20.0) -> Any:
    program = OwnedProgram.of(problem)
    return program, find_conflict(program, Budget.of(seconds))


def labels(problem, conflict):
    return {
        problem.constraints[part.position].label if part.kind == CONSTRAINT else part.kind
        for part in conflict.parts
    }


def linear():
    x = cp.Variable(3, name="x")
    return [labelled(cp.sum(x) >= 30, "total"), labelled(x <= 5, "most"), x >= -100], {
        "total", "most"
    }  # fmt: skip


def second_order():
    x = cp.Variable(2)
    stated = [labelled(cp.norm(x) <= 1, "ball"), labelled(x[0] >= 0.9, "a"),
              labelled(x[1] >= 0.9, "b"), x <= 50, cp.norm(x) <= 9]  # fmt: skip
    return stated, {"ball", "a", "b"}


def exponential():
    x = cp.Variable(3)
    stated = [labelled(cp.sum(cp.exp(x)) <= 2.9, "exp"), labelled(cp.sum(x) >= 0, "sum"),
              cp.exp(x) <= 99, x >= -50]  # fmt: skip
    return stated, {"exp", "sum"}


def power():
    x = cp.Variable(3)
    stated = [labelled(cp.sum(cp.power(cp.abs(x), 1.5)) <= 1, "power"),
              labelled(cp.sum(x) >= 2, "sum"), x <= 40]  # fmt: skip
    return stated, {"power", "sum"}


def semidefinite():
    X = cp.Variable((2, 2), symmetric=True)
    stated = [labelled(X >> 0, "psd"), labelled(cp.trace(X) == 1, "trace"),
              labelled(X[0, 1] >= 0.6, "off"), X[0, 0] <= 7]  # fmt: skip
    return stated, {"psd", "trace", "off"}


def attribute():
    x = cp.Variable(2, name="x", nonneg=True)
    stated = [labelled(cp.sum(x) <= -1, "sum"), labelled(x <= 9, "cap")]
    return stated, {"sum", "attribute"}


@pytest.mark.parametrize(
    "make", [linear, second_order, exponential, power, semidefinite, attribute]
)
def test_a_conflict_of_any_cone_is_irreducible(make):
    constraints, expected = make()
    problem = cp.Problem(cp.Minimize(0), constraints)
    _, found = conflict_of(problem)
    assert isinstance(found, Conflict)
    assert labels(problem, found) == expected
    assert found.irreducible
    assert found.irreducible_by_part
    kept = [constraints[part.position] for part in found.parts if part.kind == CONSTRAINT]
    assert verdict(kept) == ("infeasible", True)
    for left_out in kept:
        assert verdict([each for each in kept if each is not left_out]) == ("optimal", True)


def verdict(constraints):
    """Ask a solver and its certificate, which know nothing of the conflict."""
    rest = cp.Problem(cp.Minimize(0), constraints)
    if not rest.variables():
        return "optimal", True
    solution = solve(rest, "CLARABEL")
    return solution.status, certify(rest, solution).ok


def test_a_feasible_problem_has_no_conflict():
    x = cp.Variable(2)
    _, found = conflict_of(cp.Problem(cp.Minimize(cp.sum(x)), [x >= 1, cp.norm(x) <= 3]))
    assert not isinstance(found, Conflict)
    assert found.feasible is True


def test_a_conflict_is_found_in_the_rows_of_long_constraints():
    x = cp.Variable(40, name="x")
    problem = cp.Problem(cp.Minimize(0), [x <= 1, x[7] + x[31] >= 3])
    _, found = conflict_of(problem)
    assert found.exact
    assert sorted((row.part.position, row.number) for row in found.rows) == [
        (0, 7),
        (0, 31),
        (1, 0),
    ]


def test_equal_expressions_of_two_constraints_do_not_share_cones():
    x = cp.Variable(2)
    first, second = cp.exp(x) <= 1, cp.exp(x) <= 5
    program = OwnedProgram.of(cp.Problem(cp.Minimize(0), [first, second, x >= 1]))
    rows = [set(member.rows.tolist()) for member in program.stated_rows]
    assert all(len(each) == 4 for each in rows[:4])  # a limit and an exponential cone of 3 rows
    assert not any(rows[i] & rows[j] for i in range(4) for j in range(i))
    found: Any = find_conflict(program, Budget.of(10))
    assert {part.position for part in found.parts} == {0, 2}


def test_integers_make_a_conflict_that_fractions_do_not_have():
    b = cp.Variable(3, boolean=True, name="b")
    problem = cp.Problem(cp.Minimize(0), [labelled(2 * cp.sum(b) == 3, "odd"), b[0] <= b[1]])
    _, found = conflict_of(problem)
    assert labels(problem, found) == {"odd"}
    assert not found.relaxed
    assert found.irreducible


def test_a_conflict_of_the_relaxation_says_that_it_needs_no_integers():
    b = cp.Variable(3, boolean=True, name="b")
    problem = cp.Problem(cp.Minimize(0), constraints(cp.sum(b) >= 4))
    _, found = conflict_of(problem)
    assert found.relaxed


def test_the_domain_of_the_objective_takes_part():
    x = cp.Variable()
    _, found = conflict_of(cp.Problem(cp.Minimize(-cp.log(x)), [x <= -1]))
    assert {part.kind for part in found.parts} == {"constraint", "objective"}


def test_further_conflicts_share_no_row():
    x = cp.Variable(4)
    stated = [x[0] >= 2, x[0] <= 1, x[1] >= 2, x[1] <= 1, cp.norm(x[2:]) <= 1, x[2] >= 2]
    program, first = conflict_of(cp.Problem(cp.Minimize(0), stated))
    found = [first, *further_conflicts(program, Budget.of(20), first)]
    parts = [{part.position for part in each.parts} for each in found]
    assert sorted(map(sorted, parts)) == [[0, 1], [2, 3], [4, 5]]
    assert all(each.irreducible for each in found)


def test_what_the_time_does_not_allow_is_not_called_proven():
    _, found = conflict_of(cp.Problem(cp.Minimize(0), second_order()[0]), seconds=1e-9)
    assert not isinstance(found, Conflict)
    assert found.feasible is None


@pytest.mark.parametrize("seed", range(6))
def test_exact_conflicts_are_those_of_rational_arithmetic(seed):
    """A random linear system with one planted contradiction, checked by its multipliers."""
    rng = np.random.default_rng(seed)
    A = rng.integers(-4, 5, size=(6, 8)).astype(float)
    y = rng.integers(1, 4, size=6)
    x = cp.Variable(8, name="x")
    stated = [A @ x <= np.arange(6.0), -(y @ A) @ x <= -float(y @ np.arange(6.0)) - 1]
    _, found = conflict_of(cp.Problem(cp.Minimize(0), stated))
    assert found.exact
    assert found.irreducible
    rows = np.vstack([A, -(y @ A)[None]])
    sides = np.append(np.arange(6.0), -float(y @ np.arange(6.0)) - 1)
    numbers = [6 if row.part.position else row.number for row in found.rows]
    multipliers = np.array([float(value.p) / float(value.q) for _, value in found.multipliers])
    order = np.argsort(numbers)
    chosen = np.array(numbers)[order]
    weights = multipliers[order]
    np.testing.assert_allclose(weights @ rows[chosen], 0, atol=1e-9)
    assert weights @ sides[chosen] < 0
    assert (weights > 0).all()


def test_decimals_that_doubles_do_not_have_are_taken_as_written():
    x = cp.Variable(2)
    stated = [np.array([0.3, 0.1]) @ x == 1, np.array([3.0, 1]) @ x == 11]
    _, found = conflict_of(cp.Problem(cp.Minimize(0), stated))
    assert found.exact
    assert "decimals" in found.proof
