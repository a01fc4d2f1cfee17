"""What every estimator makes of data that are hard to take, or cannot be taken."""

import datetime

import numpy as np
import pandas as pd
import pytest

from convexfs import LFE, LLFS, IRelief, Lmba, Logo, LogoCV, Relief, Simba
from convexfs.errors import ConvexfsWarning, InputError

MODELS = [
    Relief(),
    Relief(metric="sqeuclidean", n_neighbors=3),
    IRelief(),
    Simba(random_state=0),
    Logo(),
    LogoCV(cv=2),
    LFE(),
    LFE(form="trace", lam=0.1),
    Lmba(),
    Lmba(form="box", c=3.0),
    Lmba(form="gradient", random_state=0),
    LLFS(betas=5),
    LLFS(form="linear", betas=5),
    LLFS(form="lfs", betas=5),
    LLFS(form="exact", betas=3, max_features=2),
]
everyone = pytest.mark.parametrize("model", MODELS, ids=str)
pytestmark = pytest.mark.filterwarnings("ignore::convexfs.errors.ConvexfsWarning")

X = np.random.default_rng(0).standard_normal((24, 4))
Y = np.arange(24) % 2
X[:, 1] += 2 * Y


def weights_of(model):
    return np.diag(model.metric_) if isinstance(model, LFE) else model.weights_


@everyone
def test_a_constant_column_weighs_nothing_and_changes_nothing(model):
    wide = np.column_stack([np.full(24, 0.1), X, np.full(24, -3.0)])
    if isinstance(model, LLFS):  # its budget is a share of the features that vary
        model.set_params(max_features=2)
    narrow = weights_of(model.fit(X, Y)).copy()
    with pytest.warns(ConvexfsWarning, match="constant columns '1', '6'"):
        model.fit(wide, Y)
    found = weights_of(model)
    assert not found[[0, 5]].any()
    np.testing.assert_allclose(found[1:5], narrow, rtol=1e-6, atol=1e-9)


@everyone
def test_a_constant_column_is_not_selected_even_where_more_features_are_asked_for(model):
    if isinstance(model, LFE):
        pytest.skip("a projection selects no features")
    wide = np.column_stack([np.full(24, 7.0), X, np.zeros(24)])
    asked = type(model)(**model.get_params() | {"n_features_to_select": 6})
    assert not asked.fit(wide, Y).get_support()[[0, 5]].any()
    assert not model.fit(wide, Y).get_support()[[0, 5]].any()


@everyone
def test_only_constant_columns_give_no_weight_or_a_clear_error(model):
    same = np.ones((24, 30))
    if isinstance(model, LLFS):
        with pytest.raises(InputError, match=r"sample 1 is equal.*leave out constant features"):
            model.fit(same, Y)
        return
    assert not weights_of(model.fit(same, Y)).any()
    assert model.certificate_.ok is not False


@everyone
def test_a_copied_column_is_like_the_one_it_copies(model):
    model.fit(np.column_stack([X, X[:, 1]]), Y)
    found = weights_of(model)
    assert np.isfinite(found).all()
    assert model.certificate_.ok is not False
    # The others may choose either of two equal columns.
    shares = isinstance(model, Relief | IRelief | Simba | LFE)
    assert not shares or found[1] == pytest.approx(found[4])


@everyone
def test_samples_that_are_in_both_classes_leave_nothing_to_select(model):
    """Every nearest miss is at distance 0, and no feature has a positive margin."""
    model.fit(np.vstack([X, X]), np.r_[Y, 1 - Y])
    assert np.isfinite(weights_of(model)).all()
    assert model.certificate_.ok is not False
    by_margin = isinstance(model, Relief | IRelief | LFE | Logo | LogoCV)
    assert not by_margin or not weights_of(model).any()


@pytest.mark.parametrize(
    ("model", "column"),
    [
        (Relief(), [0.3, 0.1, 0.3, 0.4, 0.3]),
        (Relief(), [0.5, 0.3, 0.1, 0.2, 0.5, 0.1]),
        (LFE(), [0.3, 0.1, 0.5, 0.3, 0.5]),
        (LFE(), [0.4, 0.2, 0.4, 0.4, 0.5, 0.4]),
    ],
)
def test_a_margin_that_cancels_is_0_and_not_all_the_weight_there_is(model, column):
    """What its rounding leaves over is positive."""
    with pytest.warns(ConvexfsWarning, match="has a positive margin"):
        model.fit(np.array(column)[:, None], np.arange(len(column)) % 2)
    assert not weights_of(model).any()
    assert model.certificate_.ok


def test_a_sphere_that_cannot_grow_holds_its_centre_only():
    line = np.arange(8.0)[:, None]
    model = LLFS(betas=3).fit(line, Y[:8])
    assert model.radii_.tolist() == [0.5] * 8
    np.testing.assert_allclose(model.predict_proba(line).sum(axis=1), 1)
    contradicted = LLFS(betas=3).fit(np.vstack([line, line]), np.r_[Y[:8], 1 - Y[:8]])
    assert not contradicted.radii_.any()


@everyone
@pytest.mark.parametrize("value", [1e308, -1e200, 1e61])
def test_values_whose_squares_overflow_are_refused_by_column(model, value):
    huge = pd.DataFrame(X, columns=list("abcd"))
    huge.loc[5, "c"] = value
    with pytest.raises(InputError, match=r"column 'c'.*rescale"):
        model.fit(huge, Y)


@everyone
@pytest.mark.parametrize("scale", [1e-61, 1e-200, 5e-324])
def test_differences_that_vanish_when_squared_are_refused(model, scale):
    with pytest.raises(InputError, match=r"differ by .* at most.*rescale"):
        model.fit(np.round(X) * scale, Y)


@everyone
@pytest.mark.parametrize("scale", [1e-25, 1e25])
def test_large_and_small_units_are_taken_as_they_are(model, scale):
    model.fit(X * scale, Y)
    assert np.isfinite(weights_of(model)).all()


@everyone
@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([None, *Y[1:].tolist()], r"missing value .* data row 1 "),
        (np.where(Y, 1.0, np.nan), r"missing value .* data row 1 \(12 in all\)"),
        (pd.Series(["a", pd.NA, *["b", "a"] * 11]), "missing value .* data row 2 "),
        (np.array([0, "a"] * 12, dtype=object), "mixes .* 'a'.* as text"),
    ],
)
def test_labels_that_are_none(model, labels, message):
    with pytest.raises(InputError, match=message):
        model.fit(X, labels)


@everyone
def test_labels_held_as_objects_are_what_they_are(model):
    model.fit(X, pd.Series(Y).astype(object))
    assert model.classes_.tolist() == [0, 1]


@everyone
@pytest.mark.parametrize(
    ("cell", "message"),
    [
        (np.datetime64("2020-01-02"), "dates in column 'c', such as '2020-01-02"),
        (pd.Timestamp("2020-01-02"), "dates in column 'c', such as '2020-01-02"),
        (datetime.date(2020, 1, 2), "Input X"),
        ({"a": 1}, "Input X"),
        (10**400, "Input X"),
    ],
)
def test_cells_that_are_no_numbers(model, cell, message):
    frame = pd.DataFrame(X, columns=list("abcd")).astype({"c": object})
    frame["c"] = [cell] * 24
    with pytest.raises(InputError, match=message):
        model.fit(frame, Y)


@everyone
def test_text_among_numbers_is_named(model):
    frame = pd.DataFrame(X, columns=list("abcd")).astype({"c": object})
    frame.loc[3, "c"] = "high"
    with pytest.raises(InputError, match="text in column 'c', such as 'high'"):
        model.fit(frame, Y)


@everyone
def test_arrays_of_dates_are_not_numbers(model):
    with pytest.raises(InputError, match="columns '1', '2', '3', '4', such as '1970-01-01"):
        model.fit(X.astype("M8[D]"), Y)


@everyone
@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"n_jobs": 0}, "n_jobs"),
        ({"verbose": "a"}, "verbose"),
        ({"solver_options": 3}, "solver_options"),
        ({"n_jobs": 10**400}, "n_jobs"),
        ({"solver": None}, "solver must be a name"),
    ],
)
def test_parameters_all_have(model, setting, message):
    with pytest.raises(InputError, match=message):
        type(model)(**model.get_params() | setting).fit(X, Y)


@pytest.mark.parametrize("model", [Logo(), LogoCV(cv=2), LFE(), LLFS(betas=3)], ids=str)
@pytest.mark.parametrize(
    ("value", "message"),
    [
        (1e308, r"column 2 .*rescale"),
        (np.inf, "infinity at data row 1, column 2"),
        ("high", "text in column '2', such as 'high'"),
    ],
)
def test_queries_are_checked_as_samples_are(model, value, message):
    queries = X[:2].astype(object)
    queries[0, 1] = value
    model.fit(X, Y)
    answer = model.transform if isinstance(model, LFE) else model.predict
    with pytest.raises(InputError, match=message):
        answer(queries)
    answer(np.full((2, 4), [[0.0], [1e-70]]))  # near each other, which is no matter


@pytest.mark.parametrize("model", [LogoCV(cv=2), LFE(), LLFS(betas=3)], ids=str)
def test_missing_values_of_queries_are_named_by_who_takes_none(model):
    queries = X[:2].copy()
    queries[0, 1] = np.nan
    model.fit(X, Y)
    answer = model.transform if isinstance(model, LFE) else model.predict
    with pytest.raises(InputError, match=r"NaN at data row 1, column 2 .*SimpleImputer.* or Logo"):
        answer(queries)


def test_ties_and_duplicate_samples_leave_every_answer_finite():
    rng = np.random.default_rng(1)
    for model in MODELS:
        for _ in range(3):
            tied = rng.integers(0, 2, size=(12, 3)).astype(float)
            try:
                model.fit(tied, np.arange(12) % 2)
            except InputError:
                continue
            assert np.isfinite(weights_of(model)).all()
            assert model.certificate_.ok is not False, (model, tied)


def test_the_optimum_of_no_positive_direction_is_certified():
    rows = np.arange(32.0).reshape(8, 4)
    with pytest.warns(ConvexfsWarning, match="no direction has a positive margin"):
        model = LFE().fit(rows, [0, 0, 1, 0, 1, 0, 1, 1])
    assert model.certificate_.ok
    assert not model.metric_.any()


def test_a_loss_of_zero_is_certified():
    model = Lmba().fit([[-1, 0, 0], [0, 0, 0], [0, 0, 1], [0, 0, 1]], [0, 0, 1, 1])
    assert model.loss_ == pytest.approx(0, abs=1e-12)
    assert model.certificate_.ok
    assert model.solution_.status == "optimal"


def test_a_class_of_equal_samples_is_at_the_least_utility_there_is():
    rows = [[0, 0, 0, 0], [0, 0, 0, -1], [0, -1, 0, 0], [0, 0, 0, 0], [0, 0, 0, -1]]
    model = LLFS().fit(rows, [1, 0, 0, 1, 0])
    assert model.certificate_.ok is None
    assert set(model.points_["status"][[0, 3]].ravel()) == {"global"}
    assert not (model.points_["status"] == "unconverged").any()


def test_overflow_is_refused_before_it_becomes_a_certified_nan():
    huge = [[-1e200, 1.7e308], [-1e300, 1e200], [-1e200, 1e308], [-1e300, -1e308]]
    with pytest.raises(InputError, match=r"column 2 .*rescale"):
        IRelief().fit(huge, [0, 1, 0, 1])


def test_a_search_that_loses_all_weight_says_so():
    with pytest.warns(ConvexfsWarning, match="every start ends with all weights 0"):
        model = Simba(random_state=0).fit(np.arange(8.0)[:, None], [0, 1, 0, 1, 1, 0, 1, 0])
    assert model.weights_.tolist() == [0.0]


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (LLFS(betas=2**63), "betas, when it is a count,"),
        (Simba(n_starts=2**63), "n_starts"),
        (Simba(n_epochs=2**63), "n_epochs"),
        (Relief(online=True, n_epochs=2**63), "n_epochs"),
        (Relief(n_neighbors=10**400), "n_neighbors"),
        (Lmba(c=10**400), "c"),
        (Lmba(c=1e-320), "c, a penalty,"),
    ],
)
def test_numbers_have_an_end(model, name):
    with pytest.raises(InputError, match=name):
        model.fit(X, Y)


def test_without_a_penalty_logo_is_undecided_because_no_bound_exists():
    """The solution is right, but a feature of tiny scale could lower the loss for ever."""
    rng = np.random.default_rng(4)
    with pytest.warns(ConvexfsWarning, match=r"lam=0 \(eq. 6\) has no bound to certify by"):
        model = Logo(lam=0).fit(rng.standard_normal((8, 1)), Y[:8])
    assert model.certificate_.ok is None
    assert np.isfinite(model.weights_).all()
