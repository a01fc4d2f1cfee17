import numpy as np
import pytest

from convexfs import FORMULATIONS, certify, load, solve
from convexfs.methods.lmba import native as native
from convexfs.methods.lmba.problem import lmba_box as lmba
from convexfs.methods.lmba.problem import lmba_simplex

lmba_problem = FORMULATIONS["lmba-simplex"].numbers

FORMS = {"lmba": (lmba, native.lmba_box), "lmba_simplex": (lmba_simplex, native.lmba_simplex)}


@pytest.fixture(scope="module")
def numbers():
    data = load("wdbc").scaled()
    rows = np.random.default_rng(0).permutation(len(data.X))[:60]
    return lmba_problem(data.X[rows], data.y[rows])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("solver", ["HIGHS", "CLARABEL"])
def test_backends_reach_the_native_value_and_prove_it(form, solver, numbers):
    values, hyper = numbers
    build, twin = FORMS[form]
    problem = build(**values, **hyper)
    solution = solve(problem, solver)
    assert solution.objective == pytest.approx(twin(**values, **hyper).objective, rel=1e-6)
    assert certify(problem, solution).ok


@pytest.mark.slow
def test_the_monolithic_program_of_100_samples_has_the_native_value():
    data = load("wdbc").scaled()
    rows = np.random.default_rng(1).permutation(len(data.X))[:100]
    values, hyper = lmba_problem(data.X[rows], data.y[rows])
    solution = solve(lmba_simplex(**values, **hyper), "HIGHS")
    expected = native.lmba_simplex(**values, **hyper)
    assert solution.objective == pytest.approx(expected.objective, rel=1e-6)


def test_small_classes_use_the_hits_they_have():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((14, 3)), np.r_[np.zeros(8, int), np.ones(4, int), [2, 2]]
    values, hyper = lmba_problem(X, y, n_neighbors=5)
    assert (values["targets"] == -1).any()
    for build, twin in FORMS.values():
        solution = solve(build(**values, **hyper), "HIGHS")
        assert solution.objective == pytest.approx(twin(**values, **hyper).objective, rel=1e-6)
