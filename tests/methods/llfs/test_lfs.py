"""LFS, form="lfs": its program, its weights, its passes, and what the authors' package gives."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from convexfs import FORMULATIONS, LLFS, certify, solve
from convexfs.batch.run import solve_files
from convexfs.batch.store.store import Store
from convexfs.errors import InputError
from convexfs.methods.base.formulation import Solving
from convexfs.methods.llfs.fit import Settings, llfs
from convexfs.methods.llfs.lfs import localities
from tests.methods.llfs.points import sample
from tests.typed import known

ROW = FORMULATIONS["lfs"]
SMALL = Settings(form="lfs", max_features=3, betas=6)

#: By LFSpy 1.0.4 (its `LocalFeatureSelection(alpha=4, tau=tau, rr_seed=0)`) under numpy 1.26.4
#: and scipy 1.10.1, fitted to the first 30 of 60 samples `sample(seed, n=60, m=12)` and asked of
#: the others: by (seed, tau) what each sample chose, a bit a feature, and what was predicted.
LFSPY = {
    (0, 1): (
        "103 252 107 26 80 14 2 6 3 606 505 6 103 2 588 4 107 a5 "
        "103 10 2 4 905 21a 104 6 c82 6 103 2",
        "100101011001011101000101010101",
    ),
    (0, 2): (
        "503 42 107 406 80 4 2 406 107 642 505 606 103 612 588 "
        "4 906 16 103 74 102 4 905 250 104 6 2 606 503 642",
        "100101011011010101000101010111",
    ),
    (1, 1): (
        "800 6 f 4 d08 407 401 7 405 7 6 17 6 682 f 7 c0a 42 7 4 4b 17 3 3 7 6 7 81 55 6",
        "110101111101010101001101010100",
    ),
    (1, 2): (
        "9 40e 6 4 4 443 405 7 7 7 6 17 6 422 7 7 406 53 7 4 7 55 406 103 7 6 7 11 74 4",
        "110101011101010101001101010100",
    ),
    (2, 1): (
        "7 5 81 83 81 3 7 12 7 5 3 8d 85 7 6 109 3 3 41 17 7 12 7 5 3 7 87 5 3 3",
        "010101000101110111010011010101",
    ),
    (2, 2): (
        "7 5 201 83 281 3 17 82 7 5 3 85 5 7 6 129 3 3 241 5 3 82 7 5 3 7 85 5 3 3",
        "010101000101110101010011010101",
    ),
}


def weights_by_definition(X, codes, i, supports, width):
    """As printed: for every k and class, relative to the nearest; averaged; summing to 1."""
    v = np.zeros((len(X), len(X)))
    for k, f in enumerate(supports):
        d = np.sqrt(((X - X[i]) ** 2 * f).sum(axis=1))
        for code in np.unique(codes):
            members = (codes == code) & (np.arange(len(X)) != i)
            v[k, members] = np.exp(-((d[members] - d[members].min()) ** 2) / width)
    v = v.mean(axis=0)
    for code in np.unique(codes):
        v[codes == code] /= v[codes == code].sum()
    return v


@pytest.mark.parametrize("classes", [2, 3])
def test_near_samples_weigh_most_as_the_definition_says(classes):
    X, y = sample(0, n=18, m=6, classes=classes)
    supports = np.random.default_rng(1).random(X.shape) < 0.4
    values = localities(X, y, 4, supports, 0.7)
    v = weights_by_definition(X, y, 4, supports, 0.7)
    own = (y == y[4]) & (np.arange(18) != 4)
    np.testing.assert_allclose(values["v_same"], v[own], rtol=1e-12)
    np.testing.assert_allclose(values["v_other"], v[y != y[4]], rtol=1e-12)
    np.testing.assert_array_equal(values["d_same"], (X[own] - X[4]) ** 2)


def test_in_the_first_pass_all_weigh_the_same():
    X, y = sample(0, n=18, m=6)
    nothing = localities(X, y, 4, np.zeros(X.shape, dtype=bool), 1.0)
    first = localities(X, y, 4, None, 1.0)
    np.testing.assert_allclose(first["v_same"], nothing["v_same"])
    np.testing.assert_allclose(first["v_other"], np.full(9, 1 / 9))


@given(
    seed=st.integers(0, 2**32 - 1), beta=st.floats(0, 1), earlier=st.sampled_from(["none", "all"])
)
@settings(deadline=None, max_examples=25)
def test_the_closed_form_is_what_a_solver_of_linear_programs_finds(seed, beta, earlier):
    X, y = sample(seed, n=14, m=7, classes=2 + seed % 2)
    values, hyper = ROW.numbers(X, y, point=3, beta=beta, max_features=3, earlier=earlier)
    native = known(ROW.native)(**values, **hyper)
    a, b = values["v_same"] @ values["d_same"], values["v_other"] @ values["d_other"]
    level = beta * np.sort(b)[-3:].sum()
    rows = np.array([np.ones(7), -np.ones(7), -b])
    # What rounding errors may leave out of reach at beta = 1.
    other = linprog(a, A_ub=rows, b_ub=[3, -1, -level * (1 - 1e-12)], bounds=(0, 1))
    assert native.objective == pytest.approx(other.fun, rel=1e-6, abs=1e-9)
    assert ROW.violation(values, hyper, native.primal) <= 1e-9
    assert abs(ROW.gap(values, hyper, native.primal)) <= 1e-9 * max(1.0, known(native.objective))


@pytest.mark.parametrize("beta", [0.1, 0.45, 0.9])
def test_the_statement_is_solved_and_certified_by_a_backend_too(beta):
    values, hyper = ROW.numbers(*sample(3, n=16, m=6), point=2, beta=beta, max_features=2)
    problem = ROW.build(**values, **hyper)
    backend, native = solve(problem, "HIGHS"), known(ROW.native)(**values, **hyper)
    assert certify(problem, backend).ok
    assert backend.objective == pytest.approx(native.objective, rel=1e-7)
    assert backend.dual["level"] == pytest.approx(native.dual["level"], rel=1e-5)


def best_set(a, b, level, alpha):
    """Least a over all sets of features that reach the level, one by one."""
    sets = itertools.chain.from_iterable(
        itertools.combinations(range(len(a)), k) for k in range(1, alpha + 1)
    )
    return min(a[list(s)].sum() for s in sets if b[list(s)].sum() >= level - 1e-12)


def test_relaxed_below_best_below_rounded():
    X, y = sample(5, n=14, m=7)
    result = llfs(X, y, SMALL)
    for point in result.points:
        values = result.work.localities(point.point)
        a, b = values["v_same"] @ values["d_same"], values["v_other"] @ values["d_other"]
        for row in point.table[np.isfinite(point.table["rounded_u1"])]:
            best = best_set(a, b, row["level"], 3)
            assert row["u1"] <= best + 1e-9
            assert best <= row["rounded_u1"] + 1e-9


def test_a_fit_is_proven_and_says_of_what():
    X, y = sample(2, n=20, m=8, classes=3)
    result = llfs(X, y, SMALL)
    assert result.certificate.ok
    assert result.certificate.gap == pytest.approx(0, abs=1e-9)
    assert "not its rounding" in result.certificate.basis
    np.testing.assert_allclose(result.points[0].table["beta"], [0.2, 0.4, 0.6, 0.8, 1.0])
    assert {str(s) for point in result.points for s in point.table["status"]} == {"lfs"}


@pytest.mark.parametrize("solver", ["HIGHS", "CLARABEL"])
def test_backends_choose_what_the_closed_form_chooses(solver):
    X, y = sample(2, n=14, m=8)
    native, backend = llfs(X, y, SMALL), llfs(X, y, SMALL, Solving(solver=solver))
    np.testing.assert_array_equal(native.support, backend.support)
    assert backend.certificate.ok
    assert backend.solution.solver == solver


def test_a_second_pass_weighs_by_what_the_first_chose():
    X, y = sample(4, n=24, m=8)
    first, second = (LLFS(form="lfs", max_features=3, n_passes=n).fit(X, y) for n in (1, 2))
    i, b = 5, 9
    values = localities(X, y, i, first.local_support_, 1.0)
    beta = float(second.points_["beta"][i, b])
    by_hand = known(ROW.native)(**values, beta=beta, max_features=3)
    assert second.points_["u1"][i, b] == pytest.approx(by_hand.objective, rel=1e-9)
    assert solve(second.problem(i, beta)).objective == pytest.approx(by_hand.objective, rel=1e-6)
    assert (first.points_["u1"] != second.points_["u1"]).any()


def test_wide_weights_make_the_second_pass_the_first():
    X, y = sample(4, n=24, m=8)
    once = LLFS(form="lfs", max_features=3, n_passes=1).fit(X, y)
    twice = LLFS(form="lfs", max_features=3, width=1e9).fit(X, y)
    np.testing.assert_allclose(once.points_["u1"], twice.points_["u1"], rtol=1e-6)


def test_a_kept_fit_goes_on_and_is_read_again(tmp_path):
    X, y = sample(4, n=16, m=6)
    asked = {"form": "lfs", "max_features": 2, "betas": 5}
    plain = LLFS(**asked).fit(X, y)
    kept = LLFS(**asked, run_dir=tmp_path).fit(X, y)
    with Store.read(tmp_path) as store:
        assert len(store.tasks()) == 2 * 16
    again = LLFS.from_run(tmp_path, (X, y), n_passes=2)
    for other in (kept, again):
        np.testing.assert_array_equal(other.local_support_, plain.local_support_)
        np.testing.assert_array_equal(other.radii_, plain.radii_)
    with pytest.raises(InputError, match=r"holds 2 models.*n_passes=1, 2"):
        LLFS.from_run(tmp_path, (X, y))


def test_points_of_a_batch_are_those_of_a_fit(tmp_path):
    file = tmp_path / "own.py"
    file.write_text(
        '"""LFS."""\nMETHOD = "llfs"\nDATA = ["subclasses:noise=3,n=4"]\nFIT = "points"\n'
        'GRID = {"form": ["lfs"], "max_features": [2], "betas": [4]}\nSOLVERS = ["native"]\n'
    )
    solve_files([file], tmp_path / "run")
    model = LLFS.from_run(tmp_path / "run")
    fitted = LLFS(form="lfs", max_features=2, betas=4).fit(model._spheres.X, model._spheres.codes)
    np.testing.assert_array_equal(model.local_support_, fitted.local_support_)


@pytest.mark.parametrize(
    ("asked", "message"),
    [({"n_passes": 0}, "n_passes"), ({"width": 0.0}, "width"), ({"width": np.inf}, "width")],
)
def test_passes_and_width_are_checked(asked, message):
    with pytest.raises(InputError, match=message):
        LLFS(form="lfs", **asked).fit(*sample(0, n=10, m=4))


def test_lfs_has_one_stage():
    model = LLFS(form="lfs", max_features=2).fit(*sample(0, n=12, m=4))
    with pytest.raises(InputError, match="stage"):
        model.problem(0, stage="separation")


@pytest.mark.parametrize(("seed", "tau"), LFSPY)
def test_it_chooses_and_predicts_as_the_authors_package(seed, tau):
    """Where its interior point and draws decide otherwise, a point may choose another set."""
    X, y = sample(seed, n=60, m=12)
    chosen, said = LFSPY[seed, tau]
    model = LLFS(form="lfs", max_features=4, n_passes=tau).fit(X[:30], y[:30])
    sets = [int(bits, 16) for bits in chosen.split()]
    same = model.local_support_ @ (1 << np.arange(12)) == sets
    assert same.sum() >= (28 if tau == 1 else 26)
    assert (model.predict(X[30:]) != [int(digit) for digit in said]).sum() <= 1
