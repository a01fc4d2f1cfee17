import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from convexfs import Simba, load
from convexfs.errors import InputError


@pytest.mark.slow(cases=48)
@parametrize_with_checks([Simba(), Simba(utility="sigmoid", n_starts=2)])
@pytest.mark.filterwarnings("ignore::convexfs.errors.ConvexfsWarning")
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def test_starts_follow_random_state():
    data = load("wine").scaled()
    fits = [Simba(random_state=s).fit(data.X, data.y).weights_ for s in (1, 1, 2)]
    np.testing.assert_array_equal(fits[0], fits[1])
    assert np.abs(fits[0] - fits[2]).max() > 0
    assert fits[0].max() == 1


def test_no_backend_can_take_it():
    data = load("iris")
    with pytest.raises(InputError, match=r"not convex, .* leave the solver 'CLARABEL' out"):
        Simba(solver="CLARABEL").fit(data.X, data.y)
    with pytest.raises(InputError, match=r"not convex, .* leave the formulation out"):
        Simba(formulation=lambda z: z).fit(data.X, data.y)
