"""Saved problems hold all that is needed to solve them elsewhere."""

import json

import cvxpy as cp
import highspy
import numpy as np
import pytest
from scipy import sparse

from convexfs.errors import InputError
from convexfs.inspection import save
from convexfs.inspection.canonical import canonical
from tests.solving import problems
from tests.typed import known, number


def loaded(path):
    held = np.load(path)
    matrices = {
        name: sparse.csc_array(
            (held[f"{name}_data"], held[f"{name}_indices"], held[f"{name}_indptr"]),
            shape=held[f"{name}_shape"],
        )
        for name in ("A", "P")
    }
    return held, matrices["A"], matrices["P"]


@pytest.mark.parametrize("name", ["linear", "quadratic", "second_order"])
def test_an_archive_has_the_same_optimum(tmp_path, name):
    problem = problems.CONVEX[name]()
    save(problem, tmp_path / "form.npz")
    held, A, P = loaded(tmp_path / "form.npz")
    x = cp.Variable(held["q"].size)
    rows, start, constraints = A @ x + held["b"], 0, []
    for kind, size in json.loads(str(held["cones"])):
        part = rows[start : start + size]
        start += size
        if kind == "second-order cone":
            constraints.append(cp.SOC(part[0], part[1:]))
        else:
            constraints.append(part == 0 if kind == "equal to 0" else part >= 0)
    cost = 0.5 * cp.quad_form(x, cp.psd_wrap(P)) + held["q"] @ x + held["offset"].item()
    again = cp.Problem(cp.Minimize(cost), constraints)
    again.solve(solver="CLARABEL")
    problem.solve(solver="CLARABEL")
    sign = -1 if isinstance(problem.objective, cp.Maximize) else 1
    assert again.value == pytest.approx(sign * number(problem.value), abs=1e-5)
    columns = json.loads(str(held["columns"]))
    for variable in problem.variables():
        first, size = columns[variable.name()]
        part = known(x.value)[first : first + size]
        np.testing.assert_allclose(part, known(variable.value), atol=1e-3)


@pytest.mark.parametrize("ending", ["lp", "mps"])
@pytest.mark.parametrize("build", [problems.linear_with_bounds, problems.integer])
def test_a_model_file_has_the_same_optimum(tmp_path, ending, build):
    problem, path = build(), tmp_path / f"model.{ending}"
    save(problem, path)
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.readModel(str(path))
    solver.run()
    problem.solve(solver="HIGHS")
    assert -solver.getInfo().objective_function_value == pytest.approx(problem.value)


@pytest.mark.parametrize(
    ("build", "file", "message"),
    [
        (problems.second_order, "x.lp", "needs SOC: save it as .npz"),
        (problems.linear, "x.txt", "save as .npz"),
        (lambda: cp.Problem(cp.Minimize(cp.Constant(3))), "x.npz", "without variables"),
        (
            lambda: cp.Problem(cp.Minimize(cp.Variable(name="eta"))),
            "x.mps",
            "column name: eta: rename the variable, or save as .npz",
        ),
        (problems.linear, "nowhere/x.npz", "there is no folder"),
        (lambda: cp.Problem(cp.Minimize(cp.sqrt(cp.Variable()))), "x.npz", "not convex"),
        (
            lambda: cp.Problem(cp.Minimize(cp.Parameter(name="a") * cp.Variable())),
            "x.lp",
            "a value",
        ),
    ],
)
def test_what_cannot_be_saved_is_refused(tmp_path, build, file, message):
    with pytest.raises(InputError, match=message):
        save(build(), tmp_path / file)
    assert list(tmp_path.iterdir()) == []


def test_variables_of_one_name_have_columns_each():
    first, second = cp.Variable(2, name="x"), cp.Variable(3, name="x")
    problem = cp.Problem(cp.Minimize(cp.sum(first) + cp.sum(second)), [first >= 0, second >= 1])
    columns = canonical(problem).columns
    assert sorted(columns) == ["x", "x_2"]
    assert sorted(size for _, size in columns.values()) == [2, 3]
