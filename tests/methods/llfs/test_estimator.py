import numpy as np
import pandas as pd
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from convexfs import LLFS, certify, load, solve
from convexfs.errors import ConvexfsError, ConvexfsWarning, InputError
from convexfs.methods.llfs.numbers import local_values
from convexfs.methods.llfs.utility import utility
from tests.typed import known


@parametrize_with_checks([LLFS(betas=2)])
@pytest.mark.filterwarnings("ignore::convexfs.errors.ConvexfsWarning")
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def toy():
    return load("subclasses:noise=10,n=15").scaled()


@pytest.fixture(scope="module")
def model(toy):
    return LLFS(max_features=2).fit(toy.X, toy.y)


def test_it_selects_and_classifies(toy, model):
    assert model.score(toy.X, toy.y) >= 0.95
    shares = model.predict_proba(toy.X)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    np.testing.assert_array_equal(model.classes_[shares.argmax(axis=1)], model.predict(toy.X))
    np.testing.assert_allclose(model.weights_, model.local_support_.mean(axis=0))
    np.testing.assert_array_equal(model.get_support(indices=True), [0, 1])
    assert model.points_.shape == (45, 21)
    assert model.certificate_.ok is None


def test_support_is_the_frequent_features_or_all_of_them(toy):
    union = LLFS(max_features=2, support="union").fit(toy.X, toy.y)
    np.testing.assert_array_equal(union.get_support(), union.local_support_.any(axis=0))
    three = LLFS(max_features=2, n_features_to_select=3).fit(toy.X, toy.y)
    assert known(three.get_support()).sum() == min(3, known(union.get_support()).sum())


def test_an_explanation_names_the_spheres_that_hold_the_query(toy, model):
    voters = model.explain(toy.X[0])
    assert voters[0]["sample"] == 0
    for voter in voters:
        assert voter["distance"] <= voter["radius"]
        np.testing.assert_array_equal(
            voter["features"], np.flatnonzero(model.local_support_[voter["sample"]])
        )
    assert model.explain(np.full(12, 1e3)) == []


def test_the_last_step_of_a_sample_can_be_changed_and_solved_again(model):
    problem = model.problem(3, beta=0.5)
    solution = solve(problem)
    row = model.points_[3][10]
    assert certify(problem, solution).ok
    assert solution.objective == pytest.approx(row["u1"], rel=1e-4)
    f = problem.var_dict["f"]
    import cvxpy as cp

    chosen = int(np.argmax(solution.primal["f"]))
    changed = cp.Problem(problem.objective, [*problem.constraints, f[chosen] <= 0.1])
    assert known(solve(changed).objective) >= known(solution.objective) - 1e-9


def test_processes_change_nothing(toy, model):
    two = LLFS(max_features=2, n_jobs=2).fit(toy.X, toy.y)
    np.testing.assert_array_equal(two.local_support_, model.local_support_)
    np.testing.assert_array_equal(two.radii_, model.radii_)


def test_pruning_is_visible(toy):
    pruned = LLFS(max_features=2, prune_to=5).fit(toy.X, toy.y)
    assert (~pruned.pruned_).sum() == 5
    assert not pruned.local_support_[:, pruned.pruned_].any()
    assert pruned.score(toy.X, toy.y) >= 0.9


def test_three_classes_and_names():
    data = load("iris").scaled()
    frame = pd.DataFrame(data.X[::3], columns=list(data.feature_names))
    names = np.array(["a", "b", "c"])[data.y[::3]]
    model = LLFS(max_features=2).fit(frame, names)
    assert model.score(frame, names) > 0.9
    assert model.predict_proba(frame).shape == (50, 3)


def test_a_problem_file_changes_every_stage(toy, tmp_path):
    file = tmp_path / "without_first.py"
    file.write_text(
        '"""LLFS without feature 0."""\nimport cvxpy as cp\nMETHOD = "llfs"\nDATA = ["iris"]\n'
        "def feasible(f, max_features):\n"
        "    return [f >= 0, f <= 1, cp.sum(f) >= 1, cp.sum(f) <= max_features, f[0] == 0]\n"
    )
    rows = np.r_[0:4, 15:19, 30:34]
    model = LLFS(max_features=2, betas=[0.2, 0.6], formulation=file)
    model.fit(toy.X[rows][:, :4], toy.y[rows])
    assert not model.local_support_[:, 0].any()


X = np.random.default_rng(0).standard_normal((12, 4))
Y = np.arange(12) % 2


@pytest.mark.parametrize(
    ("labels", "settings", "message"),
    [
        (Y, {"max_features": 0}, "max_features must be an integer of at least 1"),
        (Y, {"max_features": 5}, "at most 4, not 5"),
        (Y, {"gamma": 0.0}, "gamma must be a number above 0 and below 1"),
        (Y, {"gamma": 1.0}, "gamma must be a number above 0 and below 1"),
        (Y, {"form": "exakt"}, "did you mean exact"),
        (Y, {"vote": "loud"}, "unknown vote"),
        (Y, {"solver": "CLARABLE"}, "did you mean CLARABEL"),
        (np.r_[Y[:-1], 7], {}, "class '7' has one sample only, at data row 12"),
        (np.zeros(12), {}, "only one class"),
        (Y, {"betas": []}, "betas is empty"),
        (Y, {"betas": [0.5, 1.5]}, "each of betas must be a number of at least 0 and at most 1"),
        (Y, {"swap": True, "formulation": lambda f, m: []}, "swap=True exchanges features"),
        (Y, {"swap": np.ones(2)}, "swap must be True or False"),
        (Y, {"bound": "a"}, "bound must be True or False, not 'a'"),
        (Y, {"neighbor_vote": None}, "neighbor_vote must be True or False, not None"),
        (Y, {"formulation": lambda f, m: None, "max_features": 2}, "must return a list of"),
        (
            Y,
            {"formulation": eval("lambda f, m: [f >= 0]"), "run_dir": "runs"},
            "source of <lambda> cannot be read .* put it into a problem file",
        ),
    ],
)
def test_bad_input_gets_one_clear_sentence(labels, settings, message):
    with pytest.raises(ValueError, match=message):
        LLFS(**settings).fit(X, labels)


def test_constant_features_only_is_an_error_that_names_a_sample():
    with pytest.raises(InputError, match="sample 1 is equal"), pytest.warns(ConvexfsWarning):
        LLFS(max_features=2).fit(np.ones((12, 4)), Y)


def test_copies_with_other_labels_are_named_and_survived():
    doubled = np.vstack([X, X])
    with pytest.warns(ConvexfsWarning, match=r"rows 1 and 13 are equal .* \(and 11 more such"):
        model = LLFS(max_features=2).fit(doubled, np.r_[Y, 1 - Y])
    assert np.isfinite(model.radii_).all()
    assert set(model.predict(doubled)) <= {0, 1}
    # Copies of the same label are nothing to warn of; a negative zero is a zero.
    LLFS(max_features=2).fit(doubled, np.r_[Y, Y])
    zeros = X.copy()
    zeros[0], zeros[1] = 0.0, -0.0
    with pytest.warns(ConvexfsWarning, match="rows 1 and 2 are equal but of different classes:"):
        LLFS(max_features=2).fit(zeros, Y)


def test_verbose_shows_a_bar_on_a_terminal_and_logs(toy, capsys, caplog, monkeypatch):
    rows = slice(None, None, 3)
    LLFS(max_features=2, betas=3).fit(toy.X[rows], toy.y[rows])
    with caplog.at_level("INFO", "convexfs.methods.llfs.tasks"):
        LLFS(max_features=2, betas=3, verbose=1).fit(toy.X[rows], toy.y[rows])
    assert "15 of 15 points" in caplog.text
    assert capsys.readouterr() == ("", "")
    monkeypatch.setenv("FORCE_COLOR", "1")
    LLFS(max_features=2, betas=3, verbose=1, n_jobs=2).fit(toy.X[rows], toy.y[rows])
    out, err = capsys.readouterr()
    assert not out
    assert "15/15" in err


def test_changed_constraints_hold_for_what_is_selected(toy):
    import cvxpy as cp

    def first_is_dear(f, max_features):
        price = np.r_[5.0, np.ones(f.size - 1)]
        return [f >= 0, f <= 1, cp.sum(f) >= 1, cp.sum(f) <= max_features, price @ f <= 3]

    rows = np.r_[0:4, 15:19, 30:34]
    given = toy.X[rows][:, :4], toy.y[rows]
    free = LLFS(max_features=2, betas=[0.3, 0.9]).fit(*given)
    model = LLFS(max_features=2, betas=[0.3, 0.9], formulation=first_is_dear).fit(*given)
    assert free.local_support_[:, 0].any()
    assert not model.local_support_[:, 0].any()
    problem = model.problem(0)
    assert certify(problem, solve(problem)).ok
    f = problem.var_dict["f"].value
    assert 5 * f[0] + f[1:].sum() <= 3 + 1e-6


@pytest.mark.filterwarnings("ignore:.*drops the default constraints")
@pytest.mark.parametrize("form", ["compactness", "linear"])
def test_roundings_keep_the_changed_constraints_and_no_others(form):
    import cvxpy as cp

    def exactly_three(f, max_features):
        return [f >= 0, f <= 1, cp.sum(f) == 3]

    def no_budget(f, max_features):
        return [f >= 0, f <= 1, cp.sum(f) >= 1]

    settings = {"max_features": 2, "betas": [0.5, 1.0], "form": form, "bound": True}
    model = LLFS(**settings, formulation=exactly_three).fit(X, Y)
    assert (model.local_support_.sum(axis=1) == 3).all()
    model = LLFS(**settings, formulation=no_budget).fit(X, Y)
    # At beta = 1 every feature that adds to U2 is wanted, and that set is a rounding.
    assert np.isfinite(model.points_["rounded_u1"]).all()
    # Only the compactness is bounded from below.
    bounded = model.points_["bound"] <= model.points_["u1"] + 1e-6
    assert bounded.all() == (form == "compactness")


@pytest.mark.filterwarnings("ignore:.*drops the default constraints")
@pytest.mark.parametrize("form", ["compactness", "exact"])
def test_a_constraint_without_f_is_named(form):
    import cvxpy as cp

    for odd in (cp.Constant(1) <= 2, True):
        with pytest.raises(InputError, match=r"constraint 2 of feasible.* leave it out"):
            LLFS(form=form, formulation=lambda f, _, odd=odd: [cp.sum(f) == 1, odd]).fit(X, Y)


@pytest.mark.filterwarnings("ignore:.*drops the default constraints")
def test_a_sample_without_an_allowed_rounding_falls_back_on_one_feature_or_says_so():
    import cvxpy as cp

    def at_most(limit, least=0.0):
        price = np.array([3.0, 2.0, 2.0, 2.0])
        return lambda f, _: [f >= 0, f <= 1, cp.sum(f) >= 1, price @ f <= limit, f[0] >= least]

    # At beta = 1 the relaxed f is spread over features that together cost too much.
    model = LLFS(max_features=4, betas=[1.0], formulation=at_most(2.9)).fit(X, Y)
    assert (model.local_support_ @ [3, 2, 2, 2] <= 2.9).all()
    fallback = np.isinf(model.points_["rounded_u1"][:, 0])
    assert fallback.any()
    for i in np.flatnonzero(fallback):
        own = local_values(X, Y, int(i), 4)
        u1 = utility(own["a_same"], own["s"], own["lam"]).mean(axis=0)
        np.testing.assert_array_equal(
            np.flatnonzero(model.local_support_[i]), [1 + np.argmin(u1[1:])]
        )
    with pytest.raises(ConvexfsError, match="sample 1: at no beta could f be rounded"):
        LLFS(max_features=4, betas=[1.0], formulation=at_most(2.9, least=0.5)).fit(X, Y)
