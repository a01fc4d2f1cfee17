import math

import numpy as np
import pytest

from convexfs import FORMULATIONS, certify, load, solve
from convexfs.errors import InputError
from convexfs.methods.base.formulation import Solving
from convexfs.methods.base.solve_step import certify_by_formula
from convexfs.methods.stability.fit import (
    Settings,
    largest_tail,
    meinshausen_buhlmann,
    stability,
)
from convexfs.methods.stability.numbers import tail_problem
from tests.typed import known

ROW = FORMULATIONS["stability-unimodal"]


def unimodal_closed_form(
    n_selected: float, n_features: int, threshold: float, n_pairs: int
) -> float:
    r"""Return the paper's bound on expected false selections (Shah & Samworth 2013, Theorem 2).

    It is the number of features times ``largest_tail`` at thresholds on the grid of 1/2B:

    :math:`C q^2 / J`, with :math:`C = 1 / (2 (2\tau - 1 - 1/2B))` up to :math:`\tau = 3/4` and
    :math:`4 (1 - \tau + 1/2B) / (1 + 1/B)` above, for :math:`\theta = q / J \le 1 / \sqrt 3` and
    :math:`\tau` above the smaller of :math:`1/2 + \theta^2` and
    :math:`1/2 + 1/2B + 3 \theta^2/4`.
    """
    half_step = 1.0 / (2 * n_pairs)
    if threshold <= 0.75:
        factor = 1.0 / (2.0 * (2.0 * threshold - 1.0 - half_step))
    else:
        factor = 4.0 * (1.0 - threshold + half_step) / (1.0 + 2.0 * half_step)
    return factor * n_selected**2 / n_features


@pytest.mark.parametrize(
    ("n_pairs", "threshold", "eta", "mode"),
    [(50, 0.6, 0.0025, 0), (50, 0.9, 0.0025, 0), (10, 0.7, 0.3, 0), (10, 0.7, 0.3, 3),
     (10, 0.7, 0.3, 6), (20, 0.95, 0.04, 1), (7, 0.8, 0.5, 7), (5, 1.0, 1.0, 5), (1, 1.0, 0.2, 0)],
)  # fmt: skip
def test_the_native_answer_is_that_of_the_linear_program(n_pairs, threshold, eta, mode):
    values, hyper = tail_problem(n_pairs, threshold, eta, mode)
    problem = ROW.build(**values, **hyper)
    backend = solve(problem, "HIGHS")
    assert certify(problem, backend).ok
    native = known(ROW.native)(**values, **hyper)
    assert native.objective == pytest.approx(backend.objective, rel=1e-6, abs=1e-9)
    assert certify_by_formula(ROW, values, hyper, native).ok
    worse = {"p": np.eye(n_pairs + 1)[0] if mode == 0 else np.full(n_pairs + 1, 0.0)}
    assert ROW.gap(values, hyper, worse) == pytest.approx(native.objective)


@pytest.mark.parametrize(("n_selected", "n_features"), [(50, 1000), (45, 2000), (2, 10)])
def test_on_its_grid_it_is_the_closed_form(n_selected, n_features):
    first = 55 if n_features == 10 else 52  # below it the printed form does not hold
    for halves in range(first, 101):
        threshold = halves / 100
        found = largest_tail(50, threshold, (n_selected / n_features) ** 2)
        assert found.certificate.ok
        printed = unimodal_closed_form(n_selected, n_features, threshold, 50)
        assert n_features * found.probability == pytest.approx(printed, rel=1e-9)


def test_between_the_points_of_the_grid_it_is_tighter():
    tail = largest_tail(50, 0.905, 0.0025).probability
    assert 1000 * tail < unimodal_closed_form(50, 1000, 0.905, 50)


def test_it_is_below_the_bound_without_assumption_and_falls():
    bounds = [1000 * largest_tail(50, tau, 0.0025).probability for tau in (0.6, 0.75, 0.9, 1.0)]
    wider = [meinshausen_buhlmann(50, 1000, tau) for tau in (0.6, 0.75, 0.9, 1.0)]
    assert all(found < other for found, other in zip(bounds, wider, strict=True))
    assert bounds == sorted(bounds, reverse=True)
    assert math.isinf(meinshausen_buhlmann(50, 1000, 0.5))


def test_a_mode_that_leaves_no_room_for_the_tail_is_proven_as_well():
    values, hyper = tail_problem(50, 0.95, 0.2**2, 4)
    native = known(ROW.native)(**values, **hyper)
    assert native.objective == pytest.approx(0.0, abs=1e-15)
    assert certify_by_formula(ROW, values, hyper, native).ok


def test_every_mode_that_can_be_is_tried():
    # Beyond a mean of a third, laws that rise first have the larger tail.
    found = largest_tail(10, 0.7, 0.45)
    tails = {
        mode: known(ROW.native)(**values, **hyper).objective
        for mode in range(10)
        for values, hyper in [tail_problem(10, 0.7, 0.45, mode)]
    }
    assert found.probability == max(tails.values())
    assert found.mode == max(tails, key=lambda mode: tails[mode])


def test_laws_of_too_small_a_mean_for_a_mode_are_one_clear_sentence():
    with pytest.raises(InputError, match=r"mode at 5 of 10 pairs .* at most 2"):
        tail_problem(10, 0.7, 0.1, 5)


def test_the_whole_method_takes_the_number_of_features_from_the_samples():
    data = load("wdbc")
    chosen = Settings(n_pairs=20, threshold=0.8, n_selected=6)
    native, backend = (
        stability(data.X, data.y, chosen, Solving(solver=name)) for name in ("native", "HIGHS")
    )
    assert native.certificate.ok
    assert backend.certificate.ok
    printed = unimodal_closed_form(6, data.n_features, 0.8, 20) / data.n_features
    assert native.probability == pytest.approx(printed)
    assert backend.probability == pytest.approx(printed)
    default = stability(data.X, data.y).solution
    assert default.objective == pytest.approx(
        unimodal_closed_form(math.sqrt(30), 30, 0.75, 50) / 30
    )
