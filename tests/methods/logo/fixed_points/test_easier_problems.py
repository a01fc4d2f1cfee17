from dataclasses import replace

import numpy as np
import pytest

from convexfs.methods.base.fixed_point import History
from convexfs.methods.base.formulation import Solving
from convexfs.methods.logo.fit import fit_logo
from convexfs.methods.logo.fixed_points import candidate_features, easier_problems
from convexfs.methods.logo.fixed_points.complementarity import State, newton_fixed_point
from convexfs.methods.logo.fixed_points.easier_problems import approach, improve
from convexfs.methods.logo.margins import Locality, entry_scores
from convexfs.methods.logo.newton import Constrained, Penalised
from convexfs.methods.logo.settings import LogoRequest, Settings


@pytest.fixture(scope="module")
def crowd() -> tuple[np.ndarray, np.ndarray]:
    """Samples whose classes ten faint features decide: far more features get weight."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 150))
    score = X[:, :10].sum(axis=1) + 2.0 * rng.standard_normal(300)
    return X, (score > 0).astype(int)


@pytest.fixture(scope="module")
def rough(crowd):
    X, codes = crowd
    return replace(Locality(X, codes, 0.5), dtype=np.float32)


def test_penalties_fall_by_half_to_the_given_one(rough):
    Z = rough.margins(rough.X, rough.signed_at(np.zeros((300, 300), np.float32)))
    lams = [each.lam for each in easier_problems._falling_penalties(Penalised(0.3), Z)]
    top = np.max(entry_scores(rough))
    np.testing.assert_allclose(lams[0], top / 2, rtol=0.2)
    assert lams[-1] == pytest.approx(0.3)
    assert len(lams) > 4
    ratios = np.divide(lams[1:], lams[:-1])
    np.testing.assert_allclose(ratios, ratios[0])
    assert 0.5 <= ratios[0] < 0.75
    # Above the highest score there is nothing on the way.
    assert len(list(easier_problems._falling_penalties(Penalised(2 * top), Z))) == 1


def test_the_way_ends_nearer_than_weights_that_lead_nowhere(rough):
    start, history = State(rough, Penalised(0.3), rough.X, np.ones(150)), History()
    w = approach(start, history, 500)
    assert replace(start, w=w).residual < 0.2 * start.residual
    assert len(history.rows) > easier_problems._TRIED
    found = approach(start, short := History(), 2)
    assert len(short.rows) == 2
    assert found.shape == (150,)


def test_a_budget_has_no_way(rough):
    history = History()
    approach(State(rough, Constrained(30.0), rough.X, np.full(150, 0.2)), history, 500)
    assert len(history.rows) <= easier_problems._TRIED


def test_a_detour_ends_at_a_better_fixed_point_or_where_it_began(rough, monkeypatch):
    start = State(rough, Penalised(0.3), rough.X, np.full(150, 0.5))
    here, ends = newton_fixed_point(start, History(), 500), []
    for fraction in (0.3, 0.5, 0.7, 3.0):
        monkeypatch.setattr(easier_problems, "_DETOUR", fraction)
        there = improve(here, history := History(), 300)
        assert len(history.rows) > 1
        assert there.residual <= max(here.residual, easier_problems._SETTLED)
        assert there.value <= here.value
        ends.append(there.value < here.value - 1e-3)
    assert any(ends)
    # Without steps left there is no detour.
    assert improve(here, History(), 0) is here


def test_hard_problems_are_proven_along_the_way(crowd, monkeypatch):
    request = LogoRequest(Settings(lam=0.3, sigma=0.5), Solving())
    calls = []

    def watched(*args):
        calls.append(args)
        return approach(*args)

    monkeypatch.setattr(candidate_features, "approach", watched)
    X, codes = crowd
    found = fit_logo(X, codes, request)
    assert found.certificate.ok
    assert len(calls) == 1
    # A start that was given is not left for another one.
    other = fit_logo(X, codes, request, start=np.ones(150))
    assert other.certificate.ok is not None
    assert len(calls) == 1
