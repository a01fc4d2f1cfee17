"""A solver that aborts its process does not end the caller's."""

import faulthandler
import os
import signal

import cvxpy as cp
import numpy as np
import pytest

import convexfs
from convexfs.solving.backends import BACKENDS
from convexfs.solving.child_process import call_in_child

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked here")
needs_glpk = pytest.mark.skipif(not BACKENDS["GLPK"].installed, reason="needs GLPK")


@pytest.fixture
def silent_children(monkeypatch):
    """Children for whose intended abort pytest prints no stack."""

    def fork(fork=os.fork):
        child = fork()
        if not child:
            faulthandler.disable()
        return child

    monkeypatch.setattr(os, "fork", fork)


def test_what_a_function_returns_and_raises_comes_back():
    assert call_in_child(lambda: np.arange(3)).tolist() == [0, 1, 2]
    with pytest.raises(ZeroDivisionError):
        call_in_child(lambda: 1 // 0)

    class Local(Exception):
        pass

    def fail():
        raise Local("no pickle")

    with pytest.raises(RuntimeError, match="Local: no pickle"):
        call_in_child(fail)


@pytest.mark.usefixtures("silent_children")
@pytest.mark.parametrize("ends", [os.abort, lambda: os._exit(3), lambda: os._exit(0)])
def test_a_function_that_ends_its_process_is_an_exception(ends):
    with pytest.raises(ChildProcessError, match=r"SIGABRT|exit code [03]"):
        call_in_child(ends)


def test_results_that_are_larger_than_a_pipe_come_back_where_sigchld_is_ignored():
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        assert call_in_child(lambda: np.ones(1_000_000)).sum() == 1_000_000
    finally:
        signal.signal(signal.SIGCHLD, before)


@needs_glpk
@pytest.mark.parametrize("solver", ["GLPK", "GLPK_MI"])
def test_glpk_solves_as_before(solver):
    x = cp.Variable(2, name="x", integer=solver == "GLPK_MI")
    problem = cp.Problem(cp.Minimize(cp.sum(x)), [x >= 2])
    solution = convexfs.solve(problem, solver)
    assert (solution.status, round(solution.objective or 0, 6)) == ("optimal", 4)
    assert convexfs.certify(problem, solution).ok


@needs_glpk
@pytest.mark.usefixtures("silent_children")
def test_an_abort_of_glpk_is_a_failed_solution():
    x = cp.Variable(2, name="x")
    problem = cp.Problem(cp.Minimize(cp.sum(x)), [x >= 1])
    options = {"glpk": {"tm_lim": -1}}
    solution = convexfs.solve(problem, "GLPK", solver_options=options)
    assert solution.status == "error"
    assert "the solver ended its process (SIGABRT)" in solution.failure


@pytest.mark.parametrize("solver", ["CLARABEL", "HIGHS", "SCIPY", "GLPK_MI"])
def test_nan_among_the_numbers_is_named(solver):
    if not BACKENDS[solver].installed:
        pytest.skip(f"needs {solver}")
    x = cp.Variable(2, name="x")
    problem = cp.Problem(cp.Minimize(cp.sum(x)), [x >= np.array([np.nan, 1.0])])
    solution = convexfs.solve(problem, solver)
    assert solution.status == "error"
    assert "NaN among its numbers" in solution.failure
