"""Changed problems that fail in a fit are explained in the error."""

import cvxpy as cp
import pytest

import convexfs
from convexfs.errors import InputError
from tests.typed import labelled

LLFS_FILE = '''
"""LLFS with more must-haves than features are allowed."""
import cvxpy as cp
METHOD = "llfs"
DATA = ["iris"]
GRID = {"max_features": [2]}


def feasible(f, max_features):
    return [f >= 0, f <= 1, cp.sum(f) >= 1, (cp.sum(f) <= max_features).set_label("size"),
            (f[:3] >= 0.9).set_label("must_have")]
'''


@pytest.fixture(scope="module")
def iris():
    data = convexfs.load("iris")
    return data.X[::5], data.y[::5]


def test_a_changed_logo_names_the_constraints_that_conflict(iris):
    def build(Z, lam):
        w = cp.Variable(Z.shape[1], name="w", nonneg=True)
        limits = [labelled(w >= 1, "must_have"), labelled(cp.sum(w) <= 3, "budget")]
        return cp.Problem(cp.Minimize(cp.sum(cp.logistic(-Z @ w)) + lam * cp.sum(w)), limits)

    words = r"infeasible: .* \(INFEASIBLE, proven: 5 of 9 rows .* must_have\[0\]"
    with pytest.raises(InputError, match=words):
        convexfs.Logo(formulation=build, solver="CLARABEL").fit(*iris)


def test_a_changed_objective_without_a_bound_names_the_ray(iris):
    def build(Z):
        w = cp.Variable(Z.shape[1], name="w")
        return cp.Problem(cp.Minimize(-w[0]), [w[1:] == 0])

    with pytest.raises(InputError, match=r"UNBOUNDED, proven: .* as w\[0\] grows"):
        convexfs.Logo(formulation=build, solver="CLARABEL").fit(*iris)


def test_changed_constraints_of_llfs_are_named(iris, tmp_path):
    file = tmp_path / "must_have.py"
    file.write_text(LLFS_FILE)
    words = r"cannot all hold: .*INFEASIBLE, proven: .*size.*must_have"
    with pytest.raises(InputError, match=words):
        convexfs.LLFS(max_features=2, formulation=str(file)).fit(*iris)


def test_an_estimator_with_a_problem_is_explained():
    class Fitted:
        def problem(self):
            x = cp.Variable(name="x")
            return cp.Problem(cp.Minimize(x), [x >= 1])

    assert convexfs.explain(Fitted()).status == "optimal"
