import time

import numpy as np
import pytest

from convexfs import FORMULATIONS, load
from convexfs.data import make_dataset
from convexfs.errors import InputError
from convexfs.methods import named_formulation
from convexfs.solving.backends import needs_of


@pytest.fixture(scope="module")
def data():
    """Every third sample of iris, standardised."""
    iris = load("iris")
    return make_dataset(iris.X[::3], iris.labels[::3], iris.feature_names).scaled()


@pytest.mark.parametrize("row", FORMULATIONS.values(), ids=FORMULATIONS)
def test_the_problem_is_what_the_row_says(row, data):
    values, hyper = row.numbers(data.X, data.y)
    problem = row.build(**values, **hyper)
    assert problem.is_dcp()
    needs = needs_of(problem)
    assert (needs.cones, needs.integer) == (row.cones, row.integer)
    assert row.symbol in [variable.name() for variable in problem.variables()]
    assert row.build.__doc__
    assert callable(row.method)


@pytest.mark.parametrize("row", FORMULATIONS.values(), ids=FORMULATIONS)
def test_bounds_are_constraints_so_that_each_has_a_multiplier(row, data):
    values, hyper = row.numbers(data.X, data.y)
    for variable in row.build(**values, **hyper).variables():
        assert not any(variable.attributes[a] for a in ("nonneg", "nonpos", "pos", "neg"))
        assert variable.attributes["bounds"] is None


@pytest.mark.parametrize("row", FORMULATIONS.values(), ids=FORMULATIONS)
def test_gap_and_violation_tell_the_optimum_from_a_moved_point(row, data):
    if row.native is None:
        pytest.skip("no native solver")
    values, hyper = row.numbers(data.X, data.y)
    began = time.perf_counter()
    solution = row.native(**values, **hyper)
    assert 0 < solution.solve_seconds <= time.perf_counter() - began
    scale = 1 + abs(solution.objective)
    assert abs(row.gap(values, hyper, solution.primal)) <= 1e-7 * scale
    assert row.violation(values, hyper, solution.primal) <= 1e-9
    best = np.asarray(solution.primal[row.symbol])
    moved = {**solution.primal, row.symbol: 0.9 * best}
    outside = {**solution.primal, row.symbol: best - 1.0 - best.max()}
    assert row.gap(values, hyper, moved) > 1e-4 * scale
    assert row.violation(values, hyper, outside) > 0.1


def test_an_unknown_formulation_gets_the_nearest_name():
    with pytest.raises(
        InputError, match="unknown method or formulation 'releif': did you mean relief"
    ):
        named_formulation("releif")
