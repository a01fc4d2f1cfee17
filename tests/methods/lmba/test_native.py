import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from convexfs import FORMULATIONS, load
from convexfs.methods.base.solve_step import solve_step
from convexfs.methods.lmba.active_hinges import polish
from convexfs.methods.lmba.native import (
    least_useful_c,
    lmba_box_gap,
    lmba_simplex,
    lmba_simplex_gap,
    program_of,
)
from convexfs.methods.lmba.native import lmba_box as lmba
from convexfs.methods.lmba.newton import (
    Answer,
    _add_outer_products,
    _polished,
    _solve_scaled,
    minimise,
)
from convexfs.methods.lmba.working_set import FEW, minimise_wide
from tests.typed import known

lmba_problem = FORMULATIONS["lmba-simplex"].numbers

FORMS = {"box": (lmba, lmba_box_gap), "simplex": (lmba_simplex, lmba_simplex_gap)}
forms = pytest.mark.parametrize("form", FORMS)


def triplets(values):
    """Every (i, j, p) by brute force."""
    codes, targets = values["codes"], values["targets"]
    return np.array(
        [
            (i, j, p)
            for i in range(len(codes))
            for j in targets[i]
            if j >= 0
            for p in np.flatnonzero(codes != codes[i])
        ]
    )


def whole_program(values, c, form):
    """Value of the linear program with every hinge written out, by HiGHS."""
    X, n = values["X"], values["X"].shape[1]
    i, j, p = triplets(values).T
    R = (X[i] - X[j]) ** 2 - (X[i] - X[p]) ** 2
    pairs = np.unique(np.column_stack([i, j]), axis=0)
    A = ((X[pairs[:, 0]] - X[pairs[:, 1]]) ** 2).sum(axis=0)
    solved = linprog(
        np.r_[A, np.full(len(i), c)],
        A_ub=np.hstack([R, -np.eye(len(i))]),
        b_ub=-values["theta"][i],
        A_eq=np.r_[np.ones(n), np.zeros(len(i))][None] if form == "simplex" else None,
        b_eq=[n] if form == "simplex" else None,
        bounds=[(0, 1 if form == "box" else None)] * n + [(0, None)] * len(i),
    )
    return solved.fun


def sample(seed, n=14, j=4, classes=3):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    return rng.standard_normal((n, j)) + y[:, None] * (np.arange(j) < 2), y


@forms
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), c=st.sampled_from([1e-3, 0.02, 0.1, 1.0, 50.0]))
def test_the_whole_linear_program_has_the_same_value(form, seed, c):
    values, hyper = lmba_problem(*sample(seed), c=c, n_neighbors=2)
    solve, gap = FORMS[form]
    solution = solve(**values, **hyper)
    assert solution.objective == pytest.approx(whole_program(values, c, form), rel=1e-6)
    assert abs(gap(values, hyper, solution.primal)) <= 1e-9 * (1 + known(solution.objective))


@forms
def test_the_loss_is_the_sum_over_triplets(form):
    values, _ = lmba_problem(*sample(3))
    program = program_of(**values, c=0.7, simplex=form == "simplex")
    u = np.random.default_rng(0).random(4)
    X, targets = values["X"], values["targets"]

    def d(a, b):
        return ((X[a] - X[b]) ** 2) @ u

    near = sum(d(i, j) for i in range(len(X)) for j in targets[i] if j >= 0)
    far = sum(max(values["theta"][i] + d(i, j) - d(i, p), 0.0) for i, j, p in triplets(values))
    value, slope = program.value(u)
    assert value == pytest.approx(near + 0.7 * far)
    step = 1e-7
    for f in range(4):
        moved = program.value(u + step * (np.arange(4) == f))[0]
        assert (moved - value) / step == pytest.approx(slope[f], rel=1e-4, abs=1e-4)


@forms
def test_every_bound_is_a_bound(form):
    """Whatever u and width the shares are made from."""
    data = load("iris").scaled()
    values, _ = lmba_problem(data.X[::3], data.y[::3])
    program = program_of(**values, c=1.0, simplex=form == "simplex")
    least = minimise(program, 1e-10, 1000).value
    rng = np.random.default_rng(0)
    weights = rng.dirichlet(np.ones(4), 4) * 4
    for u, width in zip(weights, (0.0, 1e-3, 1.0, 100.0), strict=True):
        assert program.bound(u, width) <= least + 1e-9 * least
    assert known(polish(program, weights[-1])).bound <= least + 1e-9 * least


@pytest.mark.parametrize("n", [100])
@forms
def test_the_gap_closes_to_rounding_on_real_data(form, n):
    data = load("wdbc").scaled()
    rows = np.random.default_rng(0).permutation(len(data.X))[:n]
    values, hyper = lmba_problem(data.X[rows], data.y[rows])
    solve, gap = FORMS[form]
    solution = solve(**values, **hyper)
    assert solution.status == "optimal"
    assert abs(gap(values, hyper, solution.primal)) <= 1e-10 * known(solution.objective)
    assert gap(values, hyper, {"u": np.full(30, 0.9)}) > 1e-3 * known(solution.objective)


def test_up_to_c0_the_box_is_empty_and_beyond_it_is_not():
    data = load("iris").scaled("minmax")
    values, _ = lmba_problem(data.X, data.y)
    c0 = least_useful_c(values)
    assert 1e-5 < c0 < 1e-3
    np.testing.assert_allclose(lmba(**values, c=0.99 * c0).primal["u"], 0, atol=1e-9)
    assert lmba(**values, c=1.05 * c0).primal["u"].max() > 1e-4


def test_samples_that_are_all_one_point_have_nothing_to_lose():
    values = {
        "X": np.ones((4, 2)),
        "codes": np.array([0, 0, 1, 1]),
        "targets": np.array([[1], [0], [3], [2]]),
        "theta": np.zeros(4),
    }
    solution = lmba_simplex(**values)
    assert solution.objective == 0
    np.testing.assert_array_equal(solution.primal["u"], 1)


def test_integer_data_with_many_ties_are_solved_too():
    rng = np.random.default_rng(2)
    X = rng.integers(0, 3, (40, 5)).astype(float)
    y = (X[:, 0] + rng.integers(0, 2, 40) > 1.5).astype(int)
    values, hyper = lmba_problem(X, y)
    for form, (solve, _) in FORMS.items():
        solution = solve(**values, **hyper)
        assert solution.objective == pytest.approx(whole_program(values, 1.0, form), rel=1e-7)


@pytest.mark.parametrize("seed", [1, 4, 7])
@pytest.mark.parametrize("scale", [1e-20, 1.0, 1e20])
def test_more_hinges_at_0_than_usual_are_certified_at_any_scale(scale, seed):
    flags = np.random.default_rng(seed).integers(0, 2, size=(30, 3)) * scale
    values, hyper = lmba_problem(flags, np.arange(30) % 2, c=1e6)
    solution, certificate = solve_step(FORMULATIONS["lmba-box"], values, hyper)
    assert solution.objective == pytest.approx(
        program_of(**values, c=1e6, simplex=False).value(solution.primal["u"])[0]
    )
    assert certificate.ok


def test_no_curvature_left_is_not_divided_by():
    with pytest.raises(np.linalg.LinAlgError):
        _solve_scaled(np.diag([1.0, 0.0]), np.ones(2))


@forms
def test_a_working_set_finds_what_all_features_at_once_do(form):
    values, hyper = lmba_problem(*sample(1, n=24, j=FEW + 60))
    program = program_of(**values, c=hyper["c"], simplex=form == "simplex")
    wide, whole = minimise_wide(program, 1e-10, 2000), minimise(program, 1e-10, 2000)
    assert wide.gap <= 1e-10
    assert wide.value == pytest.approx(whole.value, rel=1e-9)
    assert abs(FORMS[form][1](values, hyper, {"u": wide.u})) <= 1e-9 * wide.value


@forms
def test_pricing_brings_in_every_feature_that_pays(form, monkeypatch):
    values, hyper = lmba_problem(*sample(4, n=24, j=60))
    program = program_of(**values, c=hyper["c"], simplex=form == "simplex")
    start = np.eye(60)[-1] * (program.total or 1.0)
    bounds, sizes = [], []
    for at_first in (0, 60):
        monkeypatch.setattr("convexfs.methods.lmba.active_hinges._FEATURES", at_first)
        polished = polish(program, start)
        assert polished is not None
        bounds.append(polished.bound)
        sizes.append(len(polished.features))
    assert bounds[0] == pytest.approx(bounds[1], rel=1e-9)
    assert 1 < sizes[0] <= sizes[1] == 60


def test_a_rough_answer_is_improved_by_the_program_over_hinges_near_0():
    values, hyper = lmba_problem(*sample(4, n=24, j=10))
    program = program_of(**values, c=hyper["c"], simplex=False)
    near = 1.001 * minimise(program, 1e-10, 1000).u
    rough = Answer(near, program.value(near)[0], 0.0, 1)
    better = _polished(program, rough)
    assert better.value < rough.value
    assert better.gap < 0.1 * rough.gap


def test_curvature_is_the_sum_over_triplets():
    rng = np.random.default_rng(0)
    X, targets, rows = rng.normal(size=(6, 3)), np.array([1, 2, -1]), rng.random((3, 6))
    rows[:, [0, 3]] = 0.0
    rows[2] = 0.0
    H = np.eye(3)
    _add_outer_products(H, X, 0, targets, rows)
    expected = np.eye(3)
    for j, target in enumerate(targets[:2]):
        for p in range(6):
            apart = (X[target] - X[0]) ** 2 - (X[p] - X[0]) ** 2
            expected += rows[j, p] * np.outer(apart, apart)
    assert pytest.approx(expected) == H
