import numpy as np
import pytest

from convexfs import FORMULATIONS, certify, solve
from convexfs.methods.base.formulation import Solving
from convexfs.methods.base.solve_step import certify_by_formula
from convexfs.methods.lmnn.fit import lmnn
from tests.methods.lmnn.test_fit import few
from tests.typed import known

ROW = FORMULATIONS["lmnn"]


def problem_of(X, codes, **hyper):
    values, hyper = ROW.numbers(X, codes, **hyper)
    return values, hyper, ROW.build(**values, **hyper)


@pytest.mark.parametrize(("spec", "n_features", "c"), [("iris", 4, 1.0), ("wine", 5, 0.1)])
def test_the_optimum_is_clarabels_and_each_is_certified(spec, n_features, c):
    X, codes = few(spec, 24)
    values, hyper, problem = problem_of(X[:, :n_features], codes, c=c, n_neighbors=2)
    native = known(ROW.native)(**values, **hyper)
    assert native.solved
    assert certify_by_formula(ROW, values, hyper, native).ok
    backend = solve(problem, "CLARABEL", tol=1e-8)
    assert certify(problem, backend).ok
    assert native.objective == pytest.approx(backend.objective, rel=1e-7)
    for name, value in native.primal.items():
        problem.var_dict[name].value = value
    assert native.objective == pytest.approx(problem.objective.value, rel=1e-12)


def test_multipliers_that_are_wrong_prove_less():
    X, codes = few("iris", 30)
    values, hyper, _ = problem_of(X, codes)
    native = known(ROW.native)(**values, **hyper)
    point = {**native.dual, **native.primal}
    assert ROW.gap(values, hyper, point) <= 1e-9 * known(native.objective)
    for wrong in (0.0 * point["margin"], point["margin"] + 1.0, point["margin"][::-1]):
        gap = ROW.gap(values, hyper, point | {"margin": wrong})
        assert gap > 1e-2 * known(native.objective)


def test_a_metric_is_free_along_directions_in_which_no_targets_differ():
    """Targets differ along the first axis, impostors of half of the samples along the second."""
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.2, 3.0], [1.2, 3.0], [0.4, 0.0], [1.6, 0.0]])
    codes = np.array([0, 0, 1, 1, 2, 2])
    values, hyper, problem = problem_of(X, codes, n_neighbors=1)
    native = known(ROW.native)(**values, **hyper)
    assert certify_by_formula(ROW, values, hyper, native).ok
    backend = solve(problem, "CLARABEL", tol=1e-8)
    assert known(native.objective) > 1.0
    assert native.objective == pytest.approx(backend.objective, rel=1e-6)


def test_a_backend_and_the_native_solver_end_at_the_same_value():
    X, codes = few("wine", 30)
    native, backend = (lmnn(X[:, :4], codes, solving=Solving(solver=s)) for s in ("native", "SCS"))
    assert native.solution.solver == "native"
    assert native.certificate.ok
    assert native.solution.objective == pytest.approx(backend.solution.objective, rel=1e-5)
