"""Functions of the printed problem: what they are given, and what is said of those that fail."""

import re
from functools import partial
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from convexfs import FORMULATIONS, LLFS, Logo, Relief, load, solve
from convexfs.batch.problem_files.load import load_problem_file
from convexfs.batch.tasks import do, expand
from convexfs.errors import ConvexfsWarning, InputError, ProblemFileError
from convexfs.methods.base.change import called, is_change
from convexfs.methods.base.formulation import Solving
from convexfs.methods.base.solve_step import solve_step
from convexfs.methods.llfs.backend import custom
from convexfs.methods.llfs.problem import llfs_tangent_step
from convexfs.methods.llfs.utility import mean_utility_gradient

RELIEF = FORMULATIONS["relief"]
VALUES, HYPER = {"z": np.array([3.0, -1.0, 4.0])}, {"lam": 0.5}
WINE = load("wine").scaled()
X, Y = WINE.X[::24], WINE.y[::24]


def capped(problem, cap=0.7):
    w = problem.var_dict["w"]
    return cp.Problem(problem.objective, [*problem.constraints, w <= cap])


def test_a_change_is_told_by_its_argument():
    assert is_change(capped)
    assert is_change(lambda problem: problem)
    assert is_change(partial(capped, cap=0.3))
    assert not is_change(lambda z, lam: None)
    assert not is_change(None)


def test_a_change_gets_the_problem_with_its_scalars_as_parameters_and_its_constants_named():
    seen = []

    def change(problem):
        seen.append(problem)
        return problem

    solution, certificate = solve_step(RELIEF, VALUES, HYPER, Solving(build=change))
    assert certificate.ok
    assert solution.objective == pytest.approx(np.hypot(2.5, 3.5), rel=1e-6)
    assert seen[0].param_dict["lam"].value == 0.5
    assert [constant.name() for constant in seen[0].constants() if constant.shape] == ["z"]


def test_a_change_may_ask_for_the_arguments_of_the_printed_problem():
    def shifted(problem, z, lam):
        w = problem.var_dict["w"]
        return cp.Problem(cp.Maximize(w @ (z + 1) - lam * cp.sum(w)), problem.constraints)

    solution, _ = solve_step(RELIEF, VALUES, HYPER, Solving(build=shifted))
    assert solution.objective == pytest.approx(np.hypot(3.5, 4.5), rel=1e-6)


def test_a_change_is_the_same_as_a_build_that_states_it_all():
    def build(z, lam):
        w = cp.Variable(len(z), name="w")
        return cp.Problem(cp.Maximize(w @ z - lam * cp.sum(w)), [cp.norm(w) <= 1, w >= 0, w <= 0.7])

    one, other = (
        solve_step(RELIEF, VALUES, HYPER, Solving(build=each))[0] for each in (capped, build)
    )
    np.testing.assert_allclose(one.primal["w"], other.primal["w"], atol=1e-6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda problem: None, "must return a cvxpy.Problem, not NoneType: is a return missing?"),
        (lambda problem: problem.nope, "cannot be built: AttributeError"),
        (lambda problem, cap: problem, "asks for 'cap', which is not offered here"),
        (
            lambda problem: cp.Problem(cp.Minimize(cp.sum(cp.Variable(3, name="v")))),
            "has no variable named 'w'",
        ),
    ],
)
def test_a_change_that_fails_is_named(change, message):
    with pytest.raises(InputError, match=message):
        solve_step(RELIEF, VALUES, HYPER, Solving(build=change))


def infeasible(problem):
    return cp.Problem(problem.objective, [*problem.constraints, problem.variables()[0] <= -1])


def test_an_infeasible_step_says_whose_change_it_is_and_where():
    with pytest.raises(InputError, match=r"\(infeasible\) is infeasible: its constraints cannot"):
        Relief(formulation=infeasible).fit(X, Y)
    place = r"\(infeasible, iteration 1, neighbours at 13 weights\) is infeasible"
    with pytest.raises(InputError, match=place):
        Logo(lam=1.0, formulation=infeasible).fit(X, Y)
    with pytest.raises(InputError, match=r"sample 1: .*\(infeasible, llfs-separation\) is infeasi"):
        LLFS(max_features=2, betas=[0.5], formulation=infeasible).fit(X, Y)


def test_an_unbounded_step_says_so():
    def free(problem):
        return cp.Problem(problem.objective, [])

    with pytest.raises(InputError, match=r"\(free\) is unbounded: nothing keeps its objective"):
        Relief(formulation=free).fit(X, Y)
    with pytest.raises(InputError, match=r"sample 1: .*\(free, llfs-separation\) is unbounded"):
        LLFS(max_features=2, betas=[0.5], formulation=free).fit(X, Y)


def test_a_step_that_alone_is_infeasible_is_named_with_its_sample_and_beta():
    def contradicting(problem: Any):
        v = cp.Variable(name="v")
        return cp.Problem(problem.objective, [*problem.constraints, v >= 1, v <= 0])

    place = r"sample 1: .*\(contradicting, llfs-compactness at beta 0.5\) is infeasible"
    with (
        pytest.warns(ConvexfsWarning, match="2 constraints with variables other than f"),
        pytest.raises(InputError, match=place),
    ):
        LLFS(max_features=2, betas=[0.5], formulation=contradicting).fit(X, Y)


def test_a_lambda_is_called_by_its_line():
    assert re.fullmatch(r"lambda in line \d+ of .*test_change.py", called(lambda problem: problem))


# LLFS: constraints that are added, and those that replace


def constraints(f, max_features):
    return [f[0] == 1]


def test_constraints_are_added_and_feasible_replaces():
    settings = {"max_features": 2, "betas": [0.5]}
    more = LLFS(**settings, formulation=constraints).fit(X, Y).local_support_
    assert more[:, 0].all()
    assert more.sum(axis=1).max() <= 2

    def feasible(f, max_features):
        return [f >= 0, f <= 1, cp.sum(f) == 3]

    with pytest.warns(ConvexfsWarning, match="feasible drops the default constraints budget: "):
        other = LLFS(**settings, formulation=feasible).fit(X, Y).local_support_
    assert (other.sum(axis=1) == 3).all()


def test_constraints_that_state_the_default_ones_again_are_not_warned_of(recwarn):
    def feasible(f, max_features):
        return [f >= 0, 2 * f <= 2, cp.sum(f) == max_features]

    model = LLFS(max_features=2, betas=[0.5], formulation=feasible).fit(X, Y)
    assert (model.local_support_.sum(axis=1) == 2).all()
    assert not [each for each in recwarn if "drops" in str(each.message)]


def test_a_change_of_constraints_is_the_same_as_constraints():
    def first(problem):
        return cp.Problem(problem.objective, [*problem.constraints, problem.var_dict["f"][0] == 1])

    settings = {"max_features": 2, "betas": [0.3, 0.6]}
    one, other = (LLFS(**settings, formulation=each).fit(X, Y) for each in (first, constraints))
    np.testing.assert_array_equal(one.local_support_, other.local_support_)
    np.testing.assert_allclose(one.points_["u1"], other.points_["u1"], rtol=1e-9)


def test_a_changed_objective_needs_the_form_whose_steps_it_changes():
    def ridge(problem):
        more = cp.Minimize(cp.sum_squares(problem.var_dict["f"]))
        return cp.Problem(problem.objective + more, problem.constraints)

    with pytest.raises(InputError, match=r"ridge changes more than constraints.*'compactness'"):
        LLFS(form="linear", formulation=ridge).fit(X, Y)


def test_points_are_stored_by_the_source_of_a_function(tmp_path):
    def limited(limit):
        def change(problem):
            f = problem.var_dict["f"]
            return cp.Problem(problem.objective, [*problem.constraints, f[9] <= limit])

        return change

    settings = {"max_features": 2, "betas": [0.5], "run_dir": tmp_path, "random_state": 0}
    one = LLFS(**settings, formulation=limited(0.0)).fit(X, Y)
    other = LLFS(**settings, formulation=limited(1.0)).fit(X, Y)
    again = LLFS(**settings, formulation=limited(0.0)).fit(X, Y)
    assert not one.local_support_[:, 9].any()
    assert other.local_support_[:, 9].any()
    np.testing.assert_array_equal(one.local_support_, again.local_support_)
    with pytest.raises(InputError, match=r"was computed with|holds 2 models"):
        LLFS.from_run(tmp_path, (X, Y))


# Problem files

FILE = '''"""RELIEF with a cap."""
import cvxpy as cp

METHOD = "relief"
DATA = ["iris"]
GRID = {"cap": [0.5, 1.0], "lam": [0.1], "n_neighbors": [3]}
SOLVERS = ["CLARABEL", "SCS"]


def change(problem, cap):
    w = problem.var_dict["w"]
    return cp.Problem(problem.objective, [*problem.constraints, (w <= cap).set_label("cap")])
'''


def test_a_file_may_change_the_problem(tmp_path):
    path = tmp_path / "capped.py"
    path.write_text(FILE)
    tasks = expand([load_problem_file(path)])
    results = [do(task) for task in tasks]
    assert all(result.row["ok"] for result in results)
    largest = [result.solutions[-1]["primal"]["w"].max() for result in results]
    assert max(largest[:2]) <= 0.5 + 1e-6 < min(largest[2:])
    iris = load("iris").scaled()
    model = Relief(n_neighbors=3, formulation=path).fit(iris.X, iris.y)
    assert model.weights_.max() <= 0.5 + 1e-6
    assert [row.label for row in model.problem().constraints] == ["norm", "sign", "cap"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("def change(problem, cap)", "def change(z, cap)", "argument named problem"),
        ("problem, cap)", "problem, cap, beta)", "asks for 'beta', which neither relief nor GRID"),
        ('"""RELIEF', 'def build(z): ...\n"""RELIEF', "give build or change, not both"),
        ('"""RELIEF', 'def constraints(f): ...\n"""RELIEF', "give change or constraints, not both"),
        ("def change(problem, cap)", "def constraints(f, cap)", "relief takes no constraints"),
    ],
)
def test_a_file_whose_change_breaks_the_contract_is_refused(old, new, message, tmp_path):
    path = tmp_path / "wrong.py"
    path.write_text(FILE.replace(old, new))
    with pytest.raises(ProblemFileError, match=message):
        load_problem_file(path)


def test_a_build_of_llfs_that_asks_for_tangents_is_stated_outside_a_fit_too(monkeypatch):
    monkeypatch.setattr(custom, "MOST_PROGRAMS", 5)

    def build(a_same, a_other, s, lam, eps, max_features, iterate, tangents):
        slope = mean_utility_gradient(a_same, iterate, s, lam)
        return llfs_tangent_step(slope, a_other, s, lam, eps, max_features, tangents)

    model = LLFS(max_features=3, betas=[0.5], formulation=build).fit(X[:5], Y[:5])
    assert model.solution_.solver == "HIGHS"
    assert solve(model.problem(2)).solved
