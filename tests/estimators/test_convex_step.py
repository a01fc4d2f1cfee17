"""Every estimator with a convex step hands it out, and is certified by it."""

import copy
import pickle
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from convexfs import (
    LFE,
    LLFS,
    LMNN,
    MMC,
    IRelief,
    KnockoffSelector,
    Lmba,
    Logo,
    LogoCV,
    LogoRegressor,
    Relief,
    ReliefRegressor,
    Simba,
    certify,
    load,
    show,
    solve,
)
from convexfs.errors import InputError
from convexfs.inspection import differences

DATA = load("iris").scaled()
X, Y = DATA.X[::3], DATA.y[::3]
NUMBERS = X @ [1.0, 2.0, 0.0, 0.0]
#: An estimator, its Parameters and the labels of its constraints.
STEPS: list[tuple[Any, set[str], list[str]]] = [
    (Relief(l1=0.2), {"lam"}, ["norm", "sign"]),
    (Relief(keep=2), {"lam"}, ["norm", "sign"]),
    (IRelief(), {"lam"}, ["norm", "sign"]),
    (IRelief(keep=2), {"lam"}, ["norm", "sign"]),
    (Logo(lam=2.0), {"lam"}, ["sign"]),
    (Logo(), {"lam"}, ["sign"]),
    (Logo(beta=1.0), {"beta"}, ["total", "sign"]),
    (LogoCV(sigmas=[2.0], lams=[1.0, 3.0], cv=2), {"lam"}, ["sign"]),
    (LFE(), set(), ["norm", "psd"]),
    (LFE(form="trace", lam=0.1, n_components=1), {"lam"}, ["norm", "psd"]),
    (LFE(form="row-sparse", lam=0.1), {"lam"}, ["norm", "psd"]),
    (Lmba(), {"c"}, ["sign", "total", "near", "far"]),
    (Lmba(form="box"), {"c"}, ["sign", "box", "near", "far"]),
    (LMNN(), {"c"}, ["margin", "slack", "psd"]),
    (MMC(n_components=2), {"q"}, ["psd", "unit", "rank"]),
    (KnockoffSelector(s="sdp", random_state=0), set(), ["sign", "one", "psd"]),
    (ReliefRegressor(), {"lam"}, ["norm", "sign"]),
    (LogoRegressor(lam=1.0), {"lam"}, ["sign"]),
]
every = pytest.mark.parametrize(
    ("model", "scalars", "labels"), STEPS, ids=[repr(model)[:40] for model, *_ in STEPS]
)
quiet = pytest.mark.filterwarnings("ignore::convexfs.errors.ConvexfsWarning")


def target_of(model):
    return NUMBERS if isinstance(model, ReliefRegressor | LogoRegressor) else Y


@quiet
@every
def test_the_step_is_stated_with_parameters_and_labels_and_proven(model, scalars, labels):
    y = target_of(model)
    before = model.problem(X=X, y=y)
    assert not hasattr(model, "n_features_in_")
    model.fit(X, y)
    problem = model.problem()
    for stated in (before, problem):
        assert set(stated.param_dict) == scalars
        assert [row.label for row in stated.constraints] == labels
        assert stated.is_dpp()
    assert certify(problem).ok
    again = certify(model)
    assert again.ok
    assert type(again) is type(model.certificate_)
    assert show(model).text == show(problem).text
    # An independent solver finds the optimum that the fitted solution claims.
    value: Any = problem.value if problem.value is not None else problem.objective.value
    assert solve(problem, "SCS", tol=1e-8).objective == pytest.approx(value, rel=1e-4, abs=1e-6)


@quiet
def test_wrong_weights_are_refuted():
    model = Relief().fit(X, Y)
    model.solution_.primal["w"][:] *= 1.05  # type: ignore[index]
    assert certify(model.problem()).ok is False
    assert certify(model).ok is False


def test_weights_that_are_no_fixed_point_are_refuted_though_they_solve_their_step():
    with pytest.warns(match="has not converged"):
        model = Logo(lam=2.0, max_iter=1, damping=0.0).fit(X, Y)
    assert certify(model.problem()).ok
    verdict = certify(model)
    assert verdict.ok is False
    assert verdict.residual == pytest.approx(model.certificate_.residual)  # type: ignore[union-attr]


def test_a_model_that_was_pickled_asks_for_its_samples():
    model = Logo(lam=2.0).fit(X, Y)
    assert X.tobytes() not in pickle.dumps(model)
    loaded = pickle.loads(pickle.dumps(model))
    with pytest.raises(InputError, match="does not hold its samples: give X and y"):
        loaded.problem()
    assert certify(loaded.problem(X=X, y=Y)).ok
    assert copy.deepcopy(model).problem() is not None


@pytest.mark.parametrize(
    ("model", "samples", "message"),
    [
        (Logo(), {}, "is not fitted: fit it first, or give X and y"),
        (Logo(), {"X": X}, "give both X and y, or neither"),
        (Simba(), {"X": X, "y": Y}, "Simba solves no convex problem"),
        (LLFS(), {"i": 0, "X": X}, "give both X and y"),
    ],
)
def test_what_cannot_be_stated_is_refused(model, samples, message):
    with pytest.raises(InputError, match=message):
        model.problem(**samples)


def test_samples_of_another_width_are_refused():
    model = Relief().fit(X, Y)
    with pytest.raises(InputError, match="X has 3 columns: the fit had others"):
        model.problem(X=X[:, :3], y=Y)
    assert model.n_features_in_ == 4


def test_sample_weights_are_in_the_problem():
    weights = np.where(Y == 0, 2.0, 1.0)
    model = Logo(lam=2.0).fit(X, Y, sample_weight=weights)
    assert certify(model).ok
    assert "counts" in {constant.name() for constant in model.problem().constants()}


@pytest.mark.parametrize("form", ["compactness", "linear", "lfs"])
def test_llfs_is_certified_sample_by_sample(form):
    model = LLFS(max_features=2, betas=[0.3, 0.6], form=form).fit(X[::2], Y[::2])
    problem = model.problem(1)
    assert {"alpha"} < set(problem.param_dict) <= {"alpha", "eps", "beta"}
    assert all(row.label for row in problem.constraints)
    assert certify(problem).ok
    verdict = certify(model)
    assert verdict.ok is (None if form == "compactness" else True)
    assert verdict.reason.startswith("local: ") == (form == "compactness")
    assert LLFS(max_features=2).problem(1, X=X, y=Y).param_dict["alpha"].value == 2


def test_a_sweep_compiles_the_problem_once(monkeypatch):
    problem = Logo(lam=2.0).fit(X, Y).problem()
    made = []
    monkeypatch.setattr(
        "convexfs.solving.parametrized.resolve_and_build_chain",
        lambda *given: made.append(given) or _chain(*given),
    )
    found = []
    for lam in (1.0, 2.0, 4.0):
        problem.param_dict["lam"].value = lam
        found.append(solve(problem, "CLARABEL").objective)
    assert len(made) == 1
    alone = [Logo(lam=lam).problem(X=X, y=Y) for lam in (1.0, 4.0)]
    assert found[0] < found[1] < found[2]
    assert [problem.param_dict["lam"].value for problem in alone] == [1.0, 4.0]


def _chain(*given):
    from cvxpy.reductions.solvers.solving_chain import resolve_and_build_chain

    return resolve_and_build_chain(*given)


def test_notebooks_show_the_problem_as_mathematics():
    html = Relief().fit(X, Y).problem()._repr_html_()
    assert "<math" in html
    assert "variables" in html


def test_a_build_of_the_users_own_has_parameters_too():
    def capped(z, lam):
        w = cp.Variable(len(z), name="w")
        rows = [cp.norm(w) <= 1, w >= 0, w <= 0.8]
        return cp.Problem(cp.Maximize(w @ z - lam * cp.sum(w)), rows)

    model = Relief(l1=0.1, formulation=capped).fit(X, Y)
    assert set(model.problem().param_dict) == {"lam"}
    assert certify(model).ok


@pytest.mark.parametrize(
    "model",
    [Relief(n_features_to_select=2), Logo(lam=2.0), LFE(), LLFS(max_features=2, betas=[0.5])],
    ids=lambda model: type(model).__name__,
)
def test_notebooks_show_a_fit_with_its_formulation(model):
    assert "<math" not in model._repr_mimebundle_()["text/html"]
    assert "<math" in model.fit(X, Y)._repr_mimebundle_()["text/html"]


def test_notebooks_do_not_state_large_problems():
    wide = np.random.default_rng(0).standard_normal((30, 1000))
    model = Relief(n_features_to_select=2).fit(wide, np.arange(30) % 2)
    assert "<math" not in model._repr_mimebundle_()["text/html"]


def test_solutions_and_certificates_are_tables():
    problem = Relief().fit(X, Y).problem()
    solution = solve(problem, "CLARABEL")
    html = solution._repr_html_()
    assert "CLARABEL" in html
    assert "multiplier of norm" in html
    assert "proven bound" in certify(problem, solution)._repr_html_()


def test_differences_stand_side_by_side():
    problem = Relief().fit(X, Y).problem()
    w = problem.var_dict["w"]
    other = cp.Problem(problem.objective, [(cp.norm(w) <= 2).set_label("norm"), w >= 0, w <= 0.5])
    found = differences(problem, other)
    assert isinstance(found, str)
    assert "<td><code>norm: norm2(w) &lt;= 1</code></td><td><code>norm: norm2(w) &lt;= 2" in (
        found._repr_html_()
    )


def test_samples_on_disk_and_with_missing_values_are_stated_too(tmp_path):
    gaps = X.copy()
    gaps[::7, 1] = np.nan
    model = Logo(lam=2.0).fit(gaps, Y)
    assert certify(model).ok
    columns = np.memmap(tmp_path / "x.dat", dtype=np.float32, mode="w+", shape=X.shape)
    columns[:] = X
    model.fit(columns, Y)
    assert certify(model).ok
    in_memory = Logo(lam=2.0).fit(columns.astype(np.float64), Y).problem()
    values = [solve(each).objective for each in (model.problem(), in_memory)]
    assert values[0] == pytest.approx(values[1], rel=1e-5)
