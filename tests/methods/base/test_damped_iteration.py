from dataclasses import dataclass

import numpy as np
import pytest

from convexfs.methods.base.fixed_point import History, iterate, relative_change


@dataclass
class Step:
    w: np.ndarray
    value: float = 1.0
    gap: float = 0.0


def loop(step, start, **limits):
    history = History()
    settings = {"tol": 1e-6, "max_iter": 100, "damping": 0.0} | limits
    return iterate(
        lambda w: Step(step(w)), np.array(start, dtype=float), history, **settings
    ), history


def test_a_contraction_converges_and_its_factor_is_seen():
    outcome, history = loop(lambda w: 0.5 * w + 1.0, [10.0])
    assert outcome.converged
    assert outcome.answer.w == pytest.approx([2.0], abs=1e-5)
    assert history.rows[-1]["contraction"] == pytest.approx(0.5, rel=1e-2)
    # Eq. 19 bounds the true relative error of the last iterate.
    assert abs(outcome.answer.w[0] - 2.0) / 2.0 <= history.rows[-1]["error_bound"] * (1 + 1e-6)


@pytest.mark.parametrize("period", [2, 3, 5])
def test_a_cycle_is_recognised_by_its_period(period):
    circle = np.exp(2j * np.pi / period)

    def turn(w):
        moved = circle * complex(*(w - 3))
        return np.array([moved.real, moved.imag]) + 3

    outcome, history = loop(turn, [4.0, 3.0])
    assert not outcome.converged
    assert outcome.period == period
    assert len(history.rows) <= period + 2


def test_damping_turns_a_cycle_into_its_centre():
    assert loop(lambda w: 4.0 - w, [1.0])[0].period == 2
    outcome, _ = loop(lambda w: 4.0 - w, [1.0], damping=0.5)
    assert outcome.converged
    assert outcome.answer.w == pytest.approx([2.0])


def test_slow_convergence_is_no_cycle_but_may_exhaust_patience():
    outcome, history = loop(lambda w: 0.999 * w + 1.0, [1.0], max_iter=300)
    assert outcome.period == 0
    assert len(history.rows) == 300
    outcome, history = loop(lambda w: w + 1e3, [1e9], max_iter=300, tol=1e-9, patience=10)
    assert outcome.stalled
    assert len(history.rows) == 11


def test_a_step_to_zero_is_taken_whole():
    outcome, history = loop(np.zeros_like, [1.0, 2.0], damping=0.5)
    assert outcome.converged
    assert not outcome.answer.w.any()
    assert len(history.rows) == 2


def test_damping_leaves_no_dust():
    outcome, _ = loop(lambda w: np.array([1.0, 0.0]), [1.0, 1.0], damping=0.5, tol=0.0)
    assert outcome.converged
    assert np.count_nonzero(outcome.before) == 1


def test_change_is_relative_to_the_new_weights():
    assert relative_change(np.array([1.0]), np.array([2.0])) == 0.5
    assert relative_change(np.zeros(2), np.zeros(2)) == 0.0
    assert relative_change(np.ones(2), np.zeros(2)) == np.inf
