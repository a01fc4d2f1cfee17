import io

import numpy as np
import pytest

from convexfs import LFE, load
from convexfs.errors import InputError
from convexfs.methods.lfe.pictures import (
    MOST_COLOURS,
    MOST_NAMES,
    component_scatter,
    metric_map,
    power_loss_curve,
)


@pytest.fixture(scope="module")
def wine():
    data = load("wine").scaled()
    return data, LFE().fit(data.X, data.y)


def drawn(figure):
    """Draw it, so that anything matplotlib only finds out then is found out."""
    figure.canvas.draw()
    return figure.axes[0]


def test_the_metric_is_drawn_entry_by_entry_around_white(wine):
    data, model = wine
    axes = drawn(metric_map(model.metric_, data.feature_names))
    (image,) = axes.images
    np.testing.assert_array_equal(np.asarray(image.get_array()), model.metric_)
    low, high = image.get_clim()
    assert low == -high == -np.abs(model.metric_).max()
    assert [label.get_text() for label in axes.get_yticklabels()] == list(data.feature_names)


def test_many_features_go_by_index_and_a_zero_metric_is_drawn_too():
    size = MOST_NAMES + 1
    axes = drawn(metric_map(np.zeros((size, size)), [f"x{j}" for j in range(size)]))
    assert axes.get_xlabel() == "feature index"


def test_samples_are_coloured_by_class(wine):
    data, model = wine
    figure = component_scatter(model.transform(data.X), data.y, data.class_names)
    figure.savefig(io.BytesIO())  # colours are mapped when a figure is rendered
    axes = figure.axes[0]
    assert [len(dots.get_offsets()) for dots in axes.collections] == np.bincount(data.y).tolist()
    assert [text.get_text() for text in axes.get_legend().get_texts()] == list(data.class_names)
    assert len({tuple(dots.get_facecolor()[0]) for dots in axes.collections}) == 3


def test_one_component_is_a_line_a_class(wine):
    data, model = wine
    axes = drawn(component_scatter(model.transform(data.X)[:, :1], data.y))
    assert axes.get_ylabel() == "class"
    for c, dots in enumerate(axes.collections):
        assert np.abs(dots.get_offsets()[:, 1] - (c + 1)).max() < 0.5


def test_very_many_classes_share_one_scale_of_colours():
    codes = np.arange(2 * (MOST_COLOURS + 1)) % (MOST_COLOURS + 1)
    figure = component_scatter(np.random.default_rng(0).standard_normal((len(codes), 2)), codes)
    assert drawn(figure).get_legend() is None
    assert len(figure.axes) == 2


def test_no_component_cannot_be_drawn():
    with pytest.raises(InputError, match="no component to draw"):
        component_scatter(np.zeros((5, 0)), np.arange(5) % 2)


def test_power_losses_fall_from_all_to_none(wine):
    model = wine[1]
    axes = drawn(power_loss_curve(model.power_loss_, model.renormalised_loss_))
    for line in axes.lines:
        share = np.asarray(line.get_ydata())
        assert share[0] == pytest.approx(100)
        assert share[-1] == pytest.approx(0, abs=1e-9)
        assert (np.diff(share) <= 1e-9).all()
    assert len(drawn(power_loss_curve(model.power_loss_)).lines) == 1
