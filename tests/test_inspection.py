import cvxpy as cp
import pytest

from convexfs import show
from convexfs.errors import InputError
from tests.solving import problems


def test_the_text_has_formula_sizes_cones_and_solvers():
    problem = problems.second_order()
    problem.constraints[0].set_label("norm")
    text = str(show(problem))
    for words in ("maximize", "w (8,)", "norm (inequality, 1 row)", "SOC", "CLARABEL, ECOS, SCS"):
        assert words in text
    assert repr(show(problem)) == text


def test_every_solver_is_ready_or_told_why_not():
    verdicts = show(problems.second_order()).solvers
    assert verdicts["CLARABEL"] == "ready"
    assert verdicts["HIGHS"] == "cannot take SOC"
    assert verdicts["MOSEK"] == "pip install mosek"


def test_a_problem_that_is_not_convex_is_shown_too():
    x = cp.Variable(name="x")
    seen = show(cp.Problem(cp.Minimize(cp.sqrt(x))))
    assert seen.rules["DCP"] is False
    assert "concave; DCP no" in str(seen)


def test_long_constants_are_cut():
    import numpy as np

    x = cp.Variable(500, name="x")
    text = str(show(cp.Problem(cp.Minimize(np.arange(500.0) @ x), [x >= 0])))
    assert len(text) < 1000


def test_what_is_not_a_problem_is_refused():
    with pytest.raises(InputError, match=r"show takes a cvxpy.Problem, not int"):
        show(3)  # type: ignore[arg-type]
