import numpy as np
import pytest

from convexfs import FORMULATIONS, certify, load, solve
from convexfs.methods.relief.native import relief as closed_form
from convexfs.methods.relief.problem import relief
from tests.kkt import assert_kkt
from tests.solvers import installed

relief_problem = FORMULATIONS["relief"].numbers

DATA = ["wdbc", "wine", "iris", "waveform:noise=60"]


@pytest.mark.parametrize("spec", DATA)
@pytest.mark.parametrize("n_neighbors", [1, 10])
@pytest.mark.parametrize("solver", installed("CLARABEL", "ECOS", "SCS"))
def test_backends_reach_the_closed_form_and_prove_it(spec, n_neighbors, solver):
    data = load(spec).scaled()
    values, hyper = relief_problem(data.X, data.y, n_neighbors=n_neighbors)
    problem = relief(**values, **hyper)
    solution = solve(problem, solver)
    expected = closed_form(**values, **hyper)
    np.testing.assert_allclose(solution.primal["w"], expected.primal["w"], atol=1e-4)
    assert solution.objective == pytest.approx(expected.objective, rel=1e-5)
    assert certify(problem, solution).ok
    moved = dict(solution.primal)
    moved["w"] = moved["w"] + 1e-2 * (np.arange(data.n_features) == 0)
    assert certify(problem, type(solution)(**{**vars(solution), "primal": moved})).ok is False


def test_waveform_with_noise_has_negative_margins_to_clip():
    data = load("waveform:noise=60").scaled()
    values, _ = relief_problem(data.X, data.y)
    assert (values["z"] < 0).sum() > 10


def test_multipliers_are_the_closed_forms():
    z = np.array([3.0, -1.0, 4.0, 0.5])
    problem = relief(z, lam=1.0)
    solution = solve(problem, "CLARABEL", tol=1e-9)
    expected = closed_form(z, lam=1.0)
    for label in ("norm", "sign"):
        np.testing.assert_allclose(solution.dual[label], expected.dual[label], atol=1e-5)
    assert_kkt(problem)


def test_the_norm_bound_is_slack_when_no_margin_is_positive():
    """The paper's equality, which is not convex, would return a unit vector here."""
    z = np.array([-1.0, -2.0])
    solution = solve(relief(z), "CLARABEL", tol=1e-8)
    np.testing.assert_allclose(solution.primal["w"], 0, atol=1e-6)
    assert solution.dual["norm"] == pytest.approx(0, abs=1e-6)
