from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from convexfs import load
from convexfs.errors import InputError
from convexfs.methods.base.formulation import Solving
from convexfs.methods.llfs.fit import Settings, llfs
from convexfs.methods.llfs.numbers import checked_max_features, local_values
from convexfs.methods.llfs.relaxation import relaxed_path
from convexfs.methods.llfs.settings import PointSettings, beta_values
from tests.methods.llfs.points import sample

BETAS = [0.0, 0.3, 0.6, 0.9, 1.0]


def test_subclasses_get_their_own_features():
    data = load("subclasses:gap=8,noise=100").scaled()
    support = llfs(data.X, data.y, Settings(max_features=2)).support
    share = [support[data.groups == group].mean(axis=0) for group in range(3)]
    assert share[0][0] >= 0.95
    assert share[1][1] >= 0.95
    assert min(share[2][:2]) >= 0.95
    assert share[0][1] <= 0.05
    assert share[1][0] <= 0.05


@pytest.mark.parametrize("classes", [2, 3])
def test_every_row_of_the_table_keeps_its_word(classes):
    X, y = sample(0, n=24, m=10, classes=classes)
    result = llfs(X, y, Settings(max_features=3, bound=True))
    assert result.solution.status == "optimal"
    assert result.certificate.ok is None
    assert "local" in result.certificate.basis
    for point in result.points:
        table = point.table
        assert set(table["status"]) <= {"global", "local"}
        assert table["status"][0] == "global"
        assert (table["residual"] <= 1e-6).all()
        assert (table["u2"] >= table["level"] * (1 - 1e-9)).all()
        assert (table["bound"] <= table["u1"] + 1e-9).all()
        assert (np.diff(table["u1"]) >= -1e-9).all()
        kept = np.isfinite(table["rounded_u1"])
        assert (kept == np.isfinite(table["score"])).all()
        best = np.flatnonzero(table["score"] >= table["score"].max() - 1e-9)[0]
        assert point.beta == table["beta"][best]
        assert 1 <= len(point.features) <= 3


def test_exact_sets_are_never_worse_than_rounded_ones():
    X, y = sample(1, n=20, m=9)
    plain = Settings(max_features=3, betas=BETAS)
    rounded, swapped, exact = (
        llfs(X, y, own) for own in (plain, replace(plain, swap=True), replace(plain, form="exact"))
    )
    for one, two, three in zip(rounded.points, swapped.points, exact.points, strict=True):
        assert (three.table["rounded_u1"] <= two.table["rounded_u1"] + 1e-9).all()
        assert (two.table["rounded_u1"] <= one.table["rounded_u1"] + 1e-9).all()
        # Where even the best set does not exist, rounding finds none either.
        assert np.isinf(one.table["rounded_u1"][np.isinf(three.table["rounded_u1"])]).all()
        relaxed = one.table["u1"][np.isfinite(three.table["u1"])]
        assert (relaxed <= three.table["u1"][np.isfinite(three.table["u1"])] * 1.2).all()


@pytest.mark.parametrize("form", ["linear", "compactness"])
def test_a_backend_chooses_what_native_chooses(form):
    X, y = sample(2, n=8, m=5)
    given = {"max_features": 2, "betas": [0.0, 0.5, 1.0], "form": form}
    native, backend = (
        llfs(X, y, Settings(**given), Solving(solver=solver)) for solver in ("native", "HIGHS")
    )
    assert (native.solution.solver, backend.solution.solver) == ("native", "HIGHS")
    for one, other in zip(native.points, backend.points, strict=True):
        below = one.table["beta"] < 1
        assert one.table["u1"][below] == pytest.approx(other.table["u1"][below], rel=0.05)
    assert (native.support == backend.support).mean() > 0.9


def test_random_roundings_are_seeded_by_point_and_beta():
    X, y = sample(3, n=16, m=20)
    given = {"max_features": 5, "betas": BETAS, "rounding": "random", "n_roundings": 20}
    one, same, other = (llfs(X, y, Settings(**given), seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.support, same.support)
    first, second = ([p.table["rounded_u1"] for p in r.points] for r in (one, other))
    assert not np.array_equal(first, second)


def test_points_do_not_depend_on_their_order_of_work():
    X, y = sample(4, n=16, m=8)

    def backwards(work, points):
        return [work(point) for point in reversed(list(points))]

    one, other = (llfs(X, y, Settings(max_features=3), map=m) for m in (map, backwards))
    np.testing.assert_array_equal(one.support, other.support)


def test_forbidding_a_feature_no_stage_used_changes_nothing():
    X, y = sample(5, n=6, m=5)
    betas = [0.4, 0.8]
    free = llfs(X, y, Settings(max_features=2, betas=betas), Solving(solver="HIGHS"))
    # At beta = 1 it is the maximiser of (6), which sets every level.
    settings = PointSettings(
        max_features=2, betas=np.array([*betas, 1.0]), solving=Solving(solver="HIGHS")
    )
    unused = 0
    for j in (3, 4):
        limited = llfs(X, y, Settings(max_features=2, betas=betas), feasible=without(j))
        for i in range(len(X)):
            path = relaxed_path(local_values(X, y, i, 2), settings)
            if not path.f[:, j].any():
                unused += 1
                np.testing.assert_array_equal(free.support[i], limited.support[i])
        assert not limited.support[:, j].any()
    assert unused >= 1


def without(j):
    def feasible(f, max_features):
        import cvxpy as cp

        return [f >= 0, f <= 1, cp.sum(f) >= 1, cp.sum(f) <= max_features, f[j] == 0]

    return feasible


@given(seed=st.integers(0, 10**6))
@settings(deadline=None, max_examples=60)
@example(seed=4259)
@example(seed=1795)
def test_no_bound_is_above_what_was_attained(seed):
    rng = np.random.default_rng(seed)
    n, m = (int(rng.integers(low, high)) for low, high in ((6, 16), (2, 7)))
    X = rng.integers(0, 5, (n, m)).astype(float)
    betas = [0.5, 0.99, 1.0]
    found = llfs(X, np.arange(n) % 2, Settings(max_features=m, bound=True, betas=betas))
    for point in found.points:
        assert (point.table["bound"] <= point.table["u1"]).all()


def test_budget_and_betas_have_defaults_and_bounds():
    assert checked_max_features(None, 160) == 13
    np.testing.assert_allclose(beta_values(5), [0, 0.25, 0.5, 0.75, 1])
    np.testing.assert_allclose(beta_values([0.5, 0.1, 0.5]), [0.1, 0.5])
    bad: Any
    for bad in (0, 13, 2.5):
        with pytest.raises(InputError, match="max_features must be an integer"):
            checked_max_features(bad, 12)
    with pytest.raises(InputError, match="each of betas"):
        beta_values([0.5, 1.2])


def test_a_sample_equal_to_all_it_is_compared_with_is_named():
    X, y = sample(6, n=10, m=3)
    X[y == 1] = X[0]
    with pytest.raises(InputError, match="sample 1 is equal, in every feature"):
        llfs(X, y, Settings(max_features=2))


def test_sets_are_called_exact_only_if_programs_ended(monkeypatch):
    X, y = sample(2, n=8, m=5)
    asked = Settings(max_features=2, betas=[0.0, 0.5], form="exact")
    solving = Solving(solver="HIGHS")
    ended = llfs(X, y, asked, solving)
    assert {status for point in ended.points for status in point.table["status"]} == {"exact"}
    monkeypatch.setattr("convexfs.methods.llfs.backend.custom.MOST_PROGRAMS", 1)
    stopped = llfs(X, y, asked, solving)
    found = {status for point in stopped.points for status in point.table["status"]}
    assert "unconverged" in found
