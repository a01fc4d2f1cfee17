import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from convexfs import FORMULATIONS, certify, load, solve
from convexfs.errors import InputError
from convexfs.methods.base.formulation import Solving
from convexfs.methods.lmnn.fit import Settings, lmnn
from convexfs.methods.lmnn.problem import lmnn as build
from tests.typed import known

lmnn_problem = FORMULATIONS["lmnn"].numbers


def few(spec, n, seed=0):
    data = load(spec).scaled()
    rows = np.random.default_rng(seed).permutation(len(data.X))[:n]
    return data.X[rows], data.y[rows]


def losses(X, triplets, M):
    """Written out one triplet after the other."""

    def distance(a, b):
        return (X[a] - X[b]) @ M @ (X[a] - X[b])

    return np.array([1 + distance(i, j) - distance(i, p) for i, j, p in triplets])


def whole_loss(X, targets, triplets, M, c):
    near = sum((X[i] - X[j]) @ M @ (X[i] - X[j]) for i, row in enumerate(targets) for j in row)
    return near + c * np.maximum(losses(X, triplets, M), 0).sum()


@pytest.mark.parametrize(("spec", "n"), [("iris", 40), ("wine", 30)])
def test_the_optimum_over_few_triplets_is_that_over_all(spec, n):
    X, codes = few(spec, n)
    X = X[:, :6]
    result = lmnn(X, codes, solving=Solving(tol=1e-7))
    values, hyper = lmnn_problem(X, codes)
    problem = build(**values, **hyper)
    whole = solve(problem, "CLARABEL", tol=1e-7)
    assert certify(problem, whole).ok
    assert result.certificate.ok
    assert result.solution.objective == pytest.approx(whole.objective, rel=1e-5)
    assert whole_loss(M=result.metric, **values, **hyper) == pytest.approx(
        whole.objective, rel=1e-5
    )
    assert len(result.rounds) > 1
    assert result.rounds[-1] < len(values["triplets"]) / 2


def test_no_triplet_left_out_is_violated():
    X, codes = few("iris", 60)
    result = lmnn(X, codes)
    values, _ = lmnn_problem(X, codes)
    violated = losses(X, values["triplets"], result.metric) > 1e-5
    invaded = np.count_nonzero(result.solution.primal["xi"] > 1e-5)
    assert np.count_nonzero(violated) == invaded > 0


def test_all_triplets_are_a_sample_a_target_and_another_class():
    X, codes = few("iris", 30)
    values, _ = lmnn_problem(X, codes, n_neighbors=2)
    triplets = {tuple(row) for row in values["triplets"].tolist()}
    expected = {
        (i, int(j), p)
        for i in range(30)
        for j in values["targets"][i]
        for p in range(30)
        if codes[p] != codes[i]
    }
    assert triplets == expected


@settings(max_examples=4, deadline=None)
@given(st.floats(0.05, 20.0), st.integers(0, 99))
def test_stretched_and_turned_samples_have_the_same_distances(factor, seed):
    """M takes back what was done to the samples, since targets stay the same."""
    rng = np.random.default_rng(seed)
    X, codes = rng.standard_normal((20, 3)), np.arange(20) % 2
    moved = factor * X @ np.linalg.qr(rng.standard_normal((3, 3)))[0]
    one, other = (
        lmnn(X, codes, Settings(n_neighbors=2)),
        lmnn(moved, codes, Settings(n_neighbors=2)),
    )
    assert other.solution.objective == pytest.approx(one.solution.objective, rel=1e-4)


def test_more_features_than_samples_is_solved_in_their_span():
    X, codes = few("wine", 16)
    wide = np.hstack([X, X @ np.random.default_rng(0).standard_normal((13, 20))])
    result = lmnn(wide, codes, Settings(n_neighbors=1))
    assert result.metric.shape == (33, 33)
    assert result.certificate.ok
    assert np.linalg.matrix_rank(result.metric, tol=1e-6) <= 15


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the solution of SCS is feasible")
def test_a_changed_problem_is_used():
    import cvxpy as cp

    def diagonal(X, targets, triplets, c):
        problem = build(X, targets, triplets, c)
        M = next(v for v in problem.variables() if v.name() == "M")
        off = 1 - np.eye(X.shape[1])
        return cp.Problem(problem.objective, [*problem.constraints, cp.multiply(off, M) == 0])

    X, codes = few("iris", 24)
    result = lmnn(X, codes, solving=Solving(build=diagonal))
    np.testing.assert_allclose(result.metric, np.diag(result.metric.diagonal()), atol=1e-5)
    assert known(result.solution.objective) > known(lmnn(X, codes).solution.objective)


@pytest.mark.parametrize("seed", [0, 3])
def test_a_changed_margin_is_solved_and_certified_over_all_triplets(seed):
    import cvxpy as cp

    def wide(X, targets, triplets, c):
        """The margin is 3 and M is kept small, so that the margin does not just scale it."""
        problem = build(X, targets, triplets, c)
        M, xi = (problem.var_dict[name] for name in ("M", "xi"))
        differences = (X[triplets[:, :1]] - X[triplets[:, 1:]]).transpose(1, 0, 2)
        near, far = (cp.sum(cp.multiply(d @ M, d), axis=1) for d in differences)
        return cp.Problem(
            problem.objective + cp.Minimize(cp.sum_squares(M)),
            [far - near >= 3 - xi, *problem.constraints[1:]],
        )

    rng = np.random.default_rng(seed)
    codes = np.repeat([0, 1], 30)
    X = rng.standard_normal((60, 3)) + 1.5 * np.eye(3)[codes]
    result = lmnn(X, codes, Settings(c=0.02, n_neighbors=2), Solving(build=wide))
    values, hyper = lmnn_problem(X, codes, c=0.02, n_neighbors=2)
    whole = solve(wide(**values, **hyper), "CLARABEL", tol=1e-7)
    M = result.metric
    near = whole_loss(X, values["targets"], values["triplets"], M, 0.0)
    invaded = np.maximum(losses(X, values["triplets"], M) + 2, 0).sum()
    assert near + 0.02 * invaded + (M**2).sum() == pytest.approx(whole.objective, rel=1e-4)
    assert result.certificate.ok
    assert result.rounds == (len(values["triplets"]),)


def test_targets_that_are_duplicates_cost_nothing():
    X = np.repeat(np.random.default_rng(0).standard_normal((10, 2)), 2, axis=0)
    result = lmnn(X, np.repeat(np.arange(10) % 2, 2), Settings(n_neighbors=1))
    assert result.solution.objective == pytest.approx(0, abs=1e-12)
    assert result.certificate.ok
    values, _ = lmnn_problem(X, np.repeat(np.arange(10) % 2, 2), n_neighbors=1)
    assert losses(X, values["triplets"], result.metric).max() < 1e-4


def test_bad_input_gets_one_clear_sentence():
    X, codes = few("iris", 30)
    with pytest.raises(InputError, match="c must be a number above 0"):
        lmnn(X, codes, Settings(c=0.0))
    with pytest.raises(InputError, match="samples that differ"):
        lmnn(np.ones((30, 4)), codes)
    with pytest.raises(InputError, match="no class has two samples"):
        lmnn(X[:3], np.arange(3), Settings(n_neighbors=1))
    with pytest.raises(InputError, match="HIGHS cannot take SDP"):
        lmnn(X, codes, solving=Solving(solver="HIGHS"))
    wide = np.random.default_rng(0).standard_normal((300, 250))
    with pytest.raises(InputError, match="too large for a solver: project on fewer components"):
        lmnn(wide, np.arange(300) % 2)
    with pytest.raises(InputError, match=r"135000 triplets .* too large for a solver"):
        lmnn(wide[:, :20], np.arange(300) % 2, solving=Solving(build=build))
