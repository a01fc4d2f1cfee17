"""Every estimator with a convex step takes a changed one, and says what is wrong with it."""

import cvxpy as cp
import numpy as np
import pytest

from convexfs import LFE, LLFS, IRelief, Lmba, Logo, Relief
from convexfs.errors import InputError

X = np.random.default_rng(0).standard_normal((16, 4))
Y = np.arange(16) % 2
X[Y == 1, :2] += 1.5
SYMBOLS = {Relief: "w", IRelief: "w", Logo: "w", LFE: "W", Lmba: "u", LLFS: "f"}
METHODS = {estimator: estimator.__name__.lower() for estimator in SYMBOLS}
every = pytest.mark.parametrize("estimator", SYMBOLS, ids=lambda estimator: estimator.__name__)


def fit(estimator, formulation, solver="auto"):
    settings = {"max_features": 2, "betas": [0.5]} if estimator is LLFS else {}
    return estimator(formulation=formulation, solver=solver, **settings).fit(X, Y)


def problem_of(shape, name, *constraints, objective=cp.sum):
    v = cp.Variable(shape, name=name)
    return cp.Problem(cp.Minimize(objective(v)), [v >= 0, v <= 1, *(c(v) for c in constraints)])


def deviations(estimator):
    """Return a build with data times ``X @ v`` inside abs and pos: a linear program."""

    def build():
        v = cp.Variable(shape_of(estimator), name=SYMBOLS[estimator])
        weights = cp.diag(v) if estimator is LFE else v
        signed = cp.multiply(np.where(Y == 1, 1.0, -1.0), X @ weights)
        cost = cp.sum(cp.abs(signed - 1)) + cp.sum(cp.pos(1 - 2 * (X @ weights)))
        return cp.Problem(cp.Minimize(cost + 0.01 * cp.sum(v)), [v >= 0, v <= 5])

    return build


def shape_of(estimator):
    return (4, 4) if estimator is LFE else 4


@every
def test_a_missing_variable_is_named(estimator):
    symbol = SYMBOLS[estimator]
    message = f"has no variable named '{symbol}' \\(it has v\\): name the feature weights"
    with pytest.raises(InputError, match=message):
        fit(estimator, lambda: problem_of(shape_of(estimator), "v"))


@every
def test_a_wrong_shape_is_named(estimator):
    symbol, per = SYMBOLS[estimator], "pair " if estimator is LFE else ""
    message = f"'{symbol}' has shape \\(7,\\): it must have one entry for each {per}of the 4"
    with pytest.raises(InputError, match=message):
        fit(estimator, lambda: problem_of(7, symbol))


@every
def test_a_build_that_fails_is_told_with_its_line(estimator):
    def fails():
        raise ValueError("oops:\n  two lines")

    with pytest.raises(
        InputError,
        match=r"cannot be built: ValueError: oops: two lines \(.*test_custom_formulation.*, line",
    ):
        fit(estimator, fails)
    with pytest.raises(
        InputError, match=r"Incompatible dimensions.*test_custom_formulation.py, line \d+"
    ):
        fit(estimator, lambda: cp.Problem(cp.Minimize(cp.Variable(3) @ cp.Variable(5))))


@every
def test_what_is_no_problem_at_all_is_refused(estimator):
    with pytest.raises(InputError, match=r"must return a cvxpy\.Problem, not NoneType"):
        fit(estimator, lambda: None)
    with pytest.raises(InputError, match="build function or a problem file, not int"):
        fit(estimator, 3)
    with pytest.raises(InputError, match="build asks for 'margins', which is not offered here"):
        fit(estimator, lambda margins: None)


@every
def test_a_problem_that_is_not_convex_is_refused(estimator):
    concave = problem_of(shape_of(estimator), SYMBOLS[estimator], objective=lambda v: -cp.norm(v))
    with pytest.raises(InputError, match="not convex by cvxpy's rules"):
        fit(estimator, lambda: concave)


@every
def test_constraints_that_contradict_are_told_apart_from_a_failing_solver(estimator):
    clash = problem_of(shape_of(estimator), SYMBOLS[estimator], lambda v: v >= 2)
    with pytest.raises(InputError, match="cannot all hold"):
        fit(estimator, lambda: clash)


@every
def test_files_that_cannot_be_meant_are_refused(estimator, tmp_path):
    with pytest.raises(InputError, match=r"there is no problem file problems/nope\.py"):
        fit(estimator, "problems/nope.py")
    method = METHODS[estimator]
    other = "lfe" if method == "relief" else "relief"
    for name in (method, other):
        (tmp_path / f"{name}.py").write_text(f'"""P."""\nMETHOD = "{name}"\nDATA = ["iris"]\n')
    with pytest.raises(InputError, match=f"changes {other}: it cannot be the formulation of"):
        fit(estimator, tmp_path / f"{other}.py")
    with pytest.raises(InputError, match="changes nothing, for it defines no build"):
        fit(estimator, tmp_path / f"{method}.py")


def test_a_file_leaves_the_estimators_parameters_to_the_estimator(tmp_path):
    path = tmp_path / "ridge.py"
    path.write_text(
        '"""Logo with ridge."""\nimport cvxpy as cp\nMETHOD = "logo"\nDATA = ["iris"]\n'
        'GRID = {"lam": [50.0], "mu": [0.5]}\n'
        "def build(Z, lam, mu):\n"
        '    w = cp.Variable(Z.shape[1], name="w")\n'
        "    loss = cp.sum(cp.logistic(-(Z @ w)))\n"
        "    price = lam * cp.sum(w) + mu * cp.sum_squares(w)\n"
        "    return cp.Problem(cp.Minimize(loss + price), [w >= 0])\n"
    )

    def ridge(Z, lam):
        w = cp.Variable(Z.shape[1], name="w")
        loss = cp.sum(cp.logistic(-(Z @ w)))
        return cp.Problem(cp.Minimize(loss + lam * cp.sum(w) + 0.5 * cp.sum_squares(w)), [w >= 0])

    by_file, by_hand = (Logo(lam=0.5, formulation=form).fit(X, Y) for form in (path, ridge))
    np.testing.assert_array_equal(by_file.weights_, by_hand.weights_)
    assert by_file.weights_.any()


@every
def test_solvers_that_take_bounds_fit_products_with_data(estimator):
    found, expected = (fit(estimator, deviations(estimator), s) for s in ("HIGHS", "CLARABEL"))
    name = "metric_" if estimator is LFE else "weights_"
    np.testing.assert_allclose(getattr(found, name), getattr(expected, name), atol=1e-4)
    assert np.any(getattr(found, name))


def test_a_problem_without_a_best_answer_is_told():
    def endless(z):
        w = cp.Variable(len(z), name="w")
        return cp.Problem(cp.Maximize(cp.sum(w)), [w >= 0])

    with pytest.raises(InputError, match="is unbounded: nothing keeps its objective"):
        fit(Relief, endless)
