"""The guide's eight changes: every solver agrees, each is certified, and each fits."""

import ast
import inspect
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from convexfs import LFE, LLFS, Lmba, Logo, Relief, certify, load, solve
from convexfs.cli.guide import pages
from convexfs.solving.backends import BACKENDS, needs_of
from tests.solvers import installed

BLOCK = next(
    block for block in pages()["change"].text.split("```") if block.startswith("python\nPRICE =")
).removeprefix("python\n")
CHANGES: dict[str, Any] = {"cp": cp, "np": np}
exec(BLOCK, CHANGES)
EIGHT = (
    "costs", "fair", "elastic_net", "groups", "must_have", "robust", "exactly_two",
    "squared_hinge",
)  # fmt: skip
SOLVERS = installed("CLARABEL", "ECOS", "SCS", "HIGHS", "SCIPY")
WINE = load("wine").scaled()
X, Y = WINE.X[::3], WINE.y[::3]
FEW_X, FEW_Y = WINE.X[::18], WINE.y[::18]
#: The five features that Logo selects.
FIVE = X[:, [0, 6, 9, 11, 12]]


def exactly_three(problem):
    """Three features of LLFS, whose f is rounded to a set."""
    return CHANGES["with_rows"](problem, cp.sum(problem.var_dict["f"]) == 3)


def mean_square(problem, a_same):
    """Another loss of LLFS."""
    loss = cp.sum_squares(a_same @ problem.var_dict["f"]) / len(a_same)
    return cp.Problem(cp.Minimize(loss), problem.constraints)


OF_LLFS = {
    "exactly_three": exactly_three,
    **{name: CHANGES[name] for name in EIGHT[:6]},
    "mean_square": mean_square,
}


def assert_solvers_agree(change, state, fewest=2):
    """Solve by every solver that takes it; certify each, and compare the objectives."""
    needs = needs_of(change(state()))
    rows = [BACKENDS[solver] for solver in SOLVERS]
    suited = [row.name for row in rows if row.takes(needs) and not needs.cones & row.weak]
    objectives = {}
    for solver in suited:
        problem = change(state())
        solution = solve(problem, solver, tol=1e-7)
        assert certify(problem, solution).ok, solver
        objectives[solver] = solution.objective
    assert len(suited) >= fewest
    expected = objectives[suited[0]]
    assert objectives == pytest.approx(dict.fromkeys(suited, expected), rel=2e-5)


def with_values(change, values):
    """A change with those of the values that it asks for."""
    asked = {name: values[name] for name in inspect.signature(change).parameters if name in values}
    return lambda problem: change(problem, **asked)


def test_every_change_is_shorter_than_fifteen_lines():
    functions = [node for node in ast.parse(BLOCK).body if isinstance(node, ast.FunctionDef)]
    lengths = {node.name: ast.unparse(node).count("\n") + 1 for node in functions}
    lengths = {name: lengths[name] for name in EIGHT}
    assert max(lengths.values()) < 15
    assert sum(lengths.values()) < 30


@pytest.fixture(scope="module")
def logo():
    return Logo(lam=2.0, sigma=20.0).fit(X, Y)


@pytest.fixture(scope="module")
def logo_of_five():
    return Logo(lam=2.0, sigma=20.0).fit(FIVE, Y)


@pytest.mark.parametrize("name", EIGHT)
def test_logo_by_all_solvers(name, logo, logo_of_five):
    model = logo_of_five if name == "exactly_two" else logo
    values = model._stated()[1].values
    assert_solvers_agree(with_values(CHANGES[name], values), model.problem)


#: What holds of the weights of a changed fit, and not of the printed one.
EFFECTS = {
    "elastic_net": lambda w: w.max() < 1.2,
    "groups": lambda w: w.max() < 1.2,
    "fair": lambda w: CHANGES["BIAS"] @ w <= 0.4 * w.sum() + 1e-5,
    "costs": lambda w: CHANGES["PRICE"] @ w <= 4 + 1e-5,
    "must_have": lambda w: w[1] >= 1 - 1e-5,
    "robust": lambda w: w.max() < 1.2,
    "squared_hinge": lambda w: w.max() < 1.0,
}


@pytest.mark.slow(cases=4)
@pytest.mark.parametrize("name", EFFECTS)
def test_logo_fits_with_it(name, logo):
    assert not EFFECTS[name](logo.weights_)
    model = Logo(lam=2.0, sigma=20.0, formulation=CHANGES[name]).fit(X, Y)
    assert EFFECTS[name](model.weights_)
    assert model.certificate_.ok
    assert model.converged_
    assert certify(model).ok
    assert model.solution_.solver == "CLARABEL"


def test_logo_fits_with_exactly_two_features(logo_of_five):
    assert np.count_nonzero(logo_of_five.weights_) > 2
    exact = Logo(lam=2.0, sigma=20.0, formulation=CHANGES["exactly_two"]).fit(FIVE, Y)
    assert np.count_nonzero(exact.weights_) == 2
    assert exact.certificate_.ok
    assert exact.solution_.solver == "HIGHS"


@pytest.fixture(scope="module")
def llfs():
    return LLFS(max_features=3, betas=[0.5]).fit(FEW_X, FEW_Y)


@pytest.mark.parametrize("name", OF_LLFS)
def test_llfs_by_all_solvers(name, llfs):
    change = with_values(OF_LLFS[name], llfs._work.values(3))
    assert_solvers_agree(change, lambda: llfs.problem(3), fewest=3)


@pytest.mark.slow(cases=4)
@pytest.mark.parametrize("name", OF_LLFS)
def test_llfs_fits_with_it(name):
    model = LLFS(max_features=3, betas=[0.5], formulation=OF_LLFS[name]).fit(FEW_X, FEW_Y)
    assert (model.points_["status"] == "local").all()
    assert model.solution_.solver == "CLARABEL"
    assert certify(model.problem(3)).ok
    sets, few = model.local_support_, model.local_support_.sum(axis=1)
    held = {
        "costs": (sets @ CHANGES["PRICE"] <= 4).all(),
        "fair": (sets @ CHANGES["BIAS"] <= 0.4 * few + 1e-9).all(),
        "must_have": sets[:, 1].all(),
        "exactly_three": (few == 3).all(),
    }
    assert held.get(name, few.max() <= 3)


OTHERS = {
    "Relief": (Relief(n_neighbors=3), X, Y),
    "LFE": (LFE(n_neighbors=3), FEW_X, FEW_Y),
    "Lmba": (Lmba(), WINE.X[::9], WINE.y[::9]),
}


@pytest.mark.slow(cases=3)
@pytest.mark.parametrize(
    ("method", "name"),
    [
        ("Relief", "elastic_net"), ("LFE", "groups"), ("Lmba", "costs"),
        ("Relief", "groups"), ("LFE", "costs"), ("Lmba", "elastic_net"),
        ("Relief", "costs"), ("LFE", "elastic_net"), ("Lmba", "groups"),
    ],
)  # fmt: skip
def test_other_methods_fit_with_it(method, name, monkeypatch):
    model, X, y = OTHERS[method]
    model.fit(X, y)
    weights = CHANGES["weights"](model.problem()).value
    # Twice of what may be spent.
    monkeypatch.setitem(CHANGES, "PRICE", 8 * CHANGES["PRICE"] / (CHANGES["PRICE"] @ weights))
    assert_solvers_agree(CHANGES[name], model.problem)
    changed = type(model)(**{**model.get_params(), "formulation": CHANGES[name]}).fit(X, y)
    assert changed.certificate_.ok
    assert certify(changed).ok
    assert changed.solution_.objective != pytest.approx(model.solution_.objective, rel=1e-9)
