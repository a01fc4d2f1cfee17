import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from convexfs import FORMULATIONS, load
from convexfs.methods.base.solve_step import solve_step
from convexfs.methods.lmba import program as programs
from convexfs.methods.lmba import working_set
from convexfs.methods.lmba.interior_point import InteriorPoint, _factor, minimise
from convexfs.methods.lmba.native import (
    _shares_at,
    least_useful_c,
    lmba_box_gap,
    lmba_simplex,
    lmba_simplex_gap,
    program_of,
)
from convexfs.methods.lmba.native import lmba_box as lmba
from convexfs.methods.lmba.working_set import minimise_by_working_sets
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
    value = program.value(u)
    slope = program.linear + program.share_sums((program.hinges(u) > 0).astype(float))
    assert value == pytest.approx(near + 0.7 * far)
    step = 1e-7
    for f in range(4):
        moved = program.value(u + step * (np.arange(4) == f))
        assert (moved - value) / step == pytest.approx(slope[f], rel=1e-4, abs=1e-4)


@forms
def test_every_bound_is_a_bound(form):
    """Whatever shares it is made from."""
    data = load("iris").scaled()
    values, _ = lmba_problem(data.X[::3], data.y[::3])
    program = program_of(**values, c=1.0, simplex=form == "simplex")
    least = minimise(program, 1e-10, 1000).value
    rng = np.random.default_rng(0)
    hinge = program.hinges(program.equal_weights())
    for width in (1e-6, 1e-3, 1.0, 100.0):
        share = np.clip(hinge / width + rng.normal(size=len(hinge)), 0.0, 1.0)
        assert program.bound(share) <= least + 1e-9 * least
    near = rng.dirichlet(np.ones(4)) * (4 if form == "simplex" else 1)
    assert program.bound(_shares_at(program, near)) <= least + 1e-9 * least


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
        program_of(**values, c=1e6, simplex=False).value(solution.primal["u"])
    )
    assert certificate.ok


def test_equations_that_are_not_definite_get_a_ridge_or_raise():
    factor, _ = _factor(np.ones((2, 2)))
    assert np.all(np.isfinite(factor))
    for H in (np.array([[1.0, 2.0], [2.0, 1.0]]), np.array([[np.nan]])):
        with pytest.raises(np.linalg.LinAlgError):
            _factor(H)


@forms
def test_working_sets_find_what_the_whole_program_does(form, monkeypatch):
    values, hyper = lmba_problem(*sample(1, n=24, j=60))
    program = program_of(**values, c=hyper["c"], simplex=form == "simplex")
    whole = minimise(program, 1e-10, 2000)
    monkeypatch.setattr(working_set, "FEW", 8)
    monkeypatch.setattr(working_set, "FEW_TRIPLETS", 40)
    monkeypatch.setattr(working_set, "_UNDECIDED", 0.0)
    sizes = []

    def recorded(restricted: programs.Program) -> InteriorPoint:
        sizes.append(len(restricted.triplets.goal))
        return InteriorPoint(restricted)

    monkeypatch.setattr(working_set, "InteriorPoint", recorded)
    small = minimise_by_working_sets(program, 1e-10, 2000)
    assert small.gap <= 1e-10
    # Hinges of which the sign is known from the start never enter.
    assert max(sizes) < 0.8 * len(program.triplets.goal)
    assert small.value == pytest.approx(whole.value, rel=1e-9)
    assert program.bound(small.share) == pytest.approx(small.bound, rel=1e-12)
    assert abs(FORMS[form][1](values, hyper, {"u": small.u})) <= 1e-9 * small.value


@forms
def test_a_step_limit_leaves_a_bound_below_and_a_value_above(form):
    values, hyper = lmba_problem(*sample(1, n=24, j=20))
    program = program_of(**values, c=hyper["c"], simplex=form == "simplex")
    best = minimise(program, 1e-10, 2000).value
    for steps in (1, 5, 8):
        answer = minimise_by_working_sets(program, 1e-10, steps)
        assert answer.steps <= steps
        assert answer.bound <= best * (1 + 1e-9)
        assert answer.value >= best * (1 - 1e-9)


@forms
def test_weights_out_of_use_are_exactly_0(form):
    values, _ = lmba_problem(*sample(4, n=24, j=30))
    u = FORMS[form][0](**values).primal["u"]
    assert np.count_nonzero(u) < 30
    assert u[u > 0].min() > 1e-6


def test_the_gap_of_rough_weights_is_what_they_lose():
    values, hyper = lmba_problem(*sample(4, n=24, j=10))
    solution = lmba(**values, c=1.0)
    rough = {"u": 0.999 * solution.primal["u"]}
    program = program_of(**values, c=1.0, simplex=False)
    lost = program.value(rough["u"]) - known(solution.objective)
    assert lost > 0
    assert lost <= lmba_box_gap(values, hyper, rough) * (1 + 1e-9) <= 2 * lost


@pytest.mark.parametrize("few", [0, 10**6])
def test_curvature_and_slopes_are_sums_over_triplets(few, monkeypatch):
    monkeypatch.setattr(programs, "_FEW_ENTRIES", few)
    values, _ = lmba_problem(*sample(3))
    program = program_of(**values, c=0.7, simplex=True)
    X = program.X
    i, j, p = triplets(values).T
    rows = (X[i] - X[j]) ** 2 - (X[i] - X[p]) ** 2
    rng = np.random.default_rng(0)
    weights, u = rng.random(len(i)), rng.normal(size=4)
    assert (program.rows is None) == (few == 0)
    np.testing.assert_allclose(program.curvature(weights), (rows.T * weights) @ rows)
    np.testing.assert_allclose(program.share_sums(weights), 0.7 * weights @ rows)
    np.testing.assert_allclose(program.changes(u), rows @ u, atol=1e-12)
    part = rng.choice(len(i), len(i) // 2, replace=False)
    small = program.over(part, weights)
    # With fixed shares the loss is linear in their hinges.
    fixed = np.setdiff1d(np.arange(len(i)), part)
    expected = weights[fixed] @ program.hinges(u)[fixed]
    expected += np.maximum(program.hinges(u)[part], 0.0).sum()
    assert small.value(u) == pytest.approx(program.linear @ u + 0.7 * expected)
    assert small.bound(weights[part]) == pytest.approx(program.bound(weights))
