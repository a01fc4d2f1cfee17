"""The cone program that is shown has columns for every variable."""

import cvxpy as cp

from convexfs.inspection.report import canonical


def test_variables_of_one_name_have_columns_each():
    first, second = cp.Variable(2, name="x"), cp.Variable(3, name="x")
    problem = cp.Problem(cp.Minimize(cp.sum(first) + cp.sum(second)), [first >= 0, second >= 1])
    columns = canonical(problem).columns
    assert sorted(columns) == ["x", "x_2"]
    assert sorted(size for _, size in columns.values()) == [2, 3]
