import numpy as np
import pytest

from convexfs import FORMULATIONS, certify, load, solve
from convexfs.errors import InputError
from convexfs.methods.base.formulation import Solving
from convexfs.methods.mmc.fit import Settings, mmc
from convexfs.methods.mmc.problem import mmc as build

mmc_problem = FORMULATIONS["mmc"].numbers


@pytest.mark.parametrize("solver", ["SCS", "CLARABEL"])
@pytest.mark.parametrize("q", [1, 2, 3])
def test_backends_reach_the_leading_eigenvectors_and_prove_it(solver, q):
    data = load("wine").scaled()
    values, hyper = mmc_problem(data.X, data.y, q=q)
    problem = build(**values, **hyper)
    solution = solve(problem, solver)
    expected = mmc(data.X, data.y, Settings(n_components=q))
    assert expected.certificate.ok
    assert certify(problem, solution).ok
    assert solution.objective == pytest.approx(expected.solution.objective, rel=1e-5)
    projector = expected.components.T @ expected.components
    np.testing.assert_allclose(solution.primal["W"], projector, atol=1e-3)


def test_a_backend_gives_the_same_components():
    data = load("wine").scaled()
    native, scs = (
        mmc(data.X, data.y, Settings(n_components=2), Solving(solver=name))
        for name in ("native", "SCS")
    )
    np.testing.assert_allclose(np.abs(scs.components), np.abs(native.components), atol=1e-3)
    np.testing.assert_allclose(scs.eigenvalues, native.eigenvalues, rtol=1e-4)


def test_scatters_add_up_to_the_total():
    data = load("iris").scaled()
    values, _ = mmc_problem(data.X, data.y)
    np.testing.assert_allclose(values["Sb"] + values["Sw"], np.cov(data.X.T, bias=True))


def test_more_directions_than_features_is_one_clear_sentence():
    data = load("iris")
    with pytest.raises(InputError, match="q, the number of directions, must be an integer"):
        mmc(data.X, data.y, Settings(n_components=5))
