"""What every fitted estimator says of its features: a ranking, a picture, lines in a notebook."""

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

import convexfs
from convexfs.estimators.ranking import ranking_frame
from convexfs.estimators.regression import NumberSelector
from convexfs.inference import KnockoffSelector, StabilitySelector
from convexfs.methods import estimator_homes
from tests.typed import known

HOMES = estimator_homes()
#: Cheap settings of what is slow otherwise.
SETTINGS = {
    "llfs": {"betas": 3},
    "logo-cv": {"cv": 2, "lams": [1.0], "sigmas": [2.0]},
    "simba": {"n_features_to_select": 1, "random_state": 0},
}
PROJECTIONS = {name for name, home in HOMES.items() if home.component_number}
NAMES = ["tells</script>", "noise $1$", "", "基因" * 30]


@pytest.fixture(scope="module")
def samples():
    X = np.random.default_rng(0).standard_normal((40, 4))
    y = np.array(["no", "yes"])[np.arange(40) % 2]
    X[y == "yes", 0] += 3
    return pd.DataFrame(X, columns=NAMES), y


@pytest.fixture(scope="module")
def fitted(samples):
    """A function that fits the estimator of a name, once."""
    made = {}

    def fitted(name):
        if name not in made:
            model = HOMES[name].estimator(name)(**SETTINGS.get(name, {}))
            X, y = samples
            made[name] = model.fit(X, y == "yes" if isinstance(model, NumberSelector) else y)
        return made[name]

    return fitted


@pytest.mark.parametrize("name", HOMES)
def test_every_estimator_ranks_its_features(fitted, name):
    ranking = fitted(name).ranking()
    assert list(ranking) == ["name", "weight", "rank", "selected"]
    assert sorted(ranking["name"]) == sorted(NAMES)
    assert ranking["rank"].tolist()[0] == 1
    assert ranking["weight"].is_monotonic_decreasing


@pytest.mark.parametrize("name", sorted(HOMES.keys() - PROJECTIONS))
def test_a_selectors_ranking_says_what_is_selected(fitted, name):
    model = fitted(name)
    ranking = model.ranking().set_index("name")
    assert ranking["selected"].dtype == bool
    assert ranking["selected"][NAMES].tolist() == model.get_support().tolist()
    np.testing.assert_array_equal(ranking["weight"][NAMES], model.weights_)


@pytest.mark.parametrize("name", sorted(PROJECTIONS))
def test_a_projection_selects_nothing_and_ranks_by_its_metric(fitted, name):
    model = fitted(name)
    ranking = model.ranking().set_index("name")
    assert ranking["selected"].isna().all()
    metric = model.components_.T @ model.components_
    np.testing.assert_allclose(ranking["weight"][NAMES], metric.diagonal())


@pytest.mark.parametrize("name", HOMES)
def test_every_picture_shows_names(fitted, name):
    figure = fitted(name).plot()
    figure.canvas.draw()
    labels = [
        label.get_text()
        for axes in figure.axes
        for label in [*axes.get_yticklabels(), *axes.get_xticklabels()]
    ]
    assert NAMES[0] in labels


@pytest.mark.parametrize("name", sorted(PROJECTIONS))
def test_samples_are_drawn_along_components_by_class(fitted, samples, name):
    figure = fitted(name).plot(*samples)
    labels = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert labels == ["no", "yes"]


def test_logo_shows_how_it_converged(fitted):
    model = fitted("logo")
    bars, convergence = model.plot().axes
    assert bars.get_xlabel() == "weight"
    assert len(convergence.lines[0].get_xdata()) == model.n_iter_


def test_llfs_shows_samples_by_class(fitted):
    axes = fitted("llfs").plot().axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["no", "yes"]


def test_features_without_names_are_numbered_and_equals_share_a_rank(samples):
    X, y = samples
    model = convexfs.Relief(n_features_to_select=1).fit(X.to_numpy(), y)
    assert set(model.ranking()["name"]) == {f"feature {j}" for j in range(1, 5)}
    ranking = ranking_frame(list("abcd"), np.array([0.0, 2.0, 0.0, 1.0]), np.zeros(4, bool))
    assert ranking["name"].tolist() == ["b", "d", "a", "c"]
    assert ranking["rank"].tolist() == [1, 2, 3, 3]


def test_what_judges_estimators_ranks_too(samples):
    X, y = samples
    stable = StabilitySelector(
        convexfs.Relief(n_features_to_select=1), n_pairs=5, random_state=0
    ).fit(X, y)
    ranking = stable.ranking()
    assert max(ranking["weight"]) == stable.probabilities_.max()
    assert list(ranking["selected"]).count(True) == len(stable.selected_)
    rng = np.random.default_rng(0)
    wide = rng.standard_normal((200, 6))
    wide[:, :5] += 2 * (np.arange(200) % 2)[:, None]
    copied = KnockoffSelector(random_state=0).fit(wide, np.arange(200) % 2)
    assert list(copied.ranking()["weight"]) == sorted(copied.W_, reverse=True)
    copied.plot().canvas.draw()


def test_before_fit_there_is_nothing_to_rank_or_draw():
    for ask in ("ranking", "plot"):
        with pytest.raises(NotFittedError):
            getattr(convexfs.Relief(), ask)()
    assert "convexfs-fit" not in convexfs.Relief()._repr_mimebundle_()["text/html"]


def test_a_notebook_shows_weights_and_the_certificate_and_runs_no_test(samples):
    model = convexfs.Relief(n_neighbors=0.25).fit(*samples)
    html = model._repr_mimebundle_()["text/html"]
    assert model._repr_html_().partition("convexfs-fit")[2] == html.partition("convexfs-fit")[2]
    assert "sk-top-container" in html
    assert "tells&lt;/script&gt;" in html
    assert "tells</script>" not in html
    assert "this proves nothing about the features" in html
    assert "<th>selected</th>" not in html
    assert not known(model._held).answered
    model.get_support()
    assert "1 of 4 features selected" in model._repr_html_()
    with config_context(display="text"):
        assert "text/html" not in model._repr_mimebundle_()


def test_a_clone_is_not_fitted(samples):
    from sklearn.base import clone

    model = clone(convexfs.Logo().fit(*samples))
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
