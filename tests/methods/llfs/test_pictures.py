import numpy as np
import pytest

from convexfs import LLFS, load
from convexfs.methods.llfs.pictures import (
    distance_histograms,
    pareto_front,
    selection_shares,
    support_map,
    trace_picture,
)


@pytest.fixture(scope="module")
def fitted():
    data = load("subclasses:noise=6,n=8").scaled()
    return data, LLFS(max_features=2, betas=6).fit(data.X, data.y)


def test_the_map_has_a_line_between_classes(fitted):
    data, model = fitted
    axes = support_map(model.local_support_, data.y, data.groups).axes[0]
    shown = axes.images[0].get_array()
    assert shown.shape == model.local_support_.shape
    assert shown.sum() == model.local_support_.sum()
    assert len(axes.lines) == 1
    edge = axes.lines[0].get_ydata()[0]
    assert edge == (data.y == 0).sum() + 0.5
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["class 0", "class 1"]


def test_shares_are_percentages_by_group(fitted):
    data, model = fitted
    axes = selection_shares(model.local_support_, data.groups, ["a", "b", "c"]).axes[0]
    expected = 100 * model.local_support_[data.groups == 1].mean(axis=0)
    drawn = axes.lines[1].get_ydata()
    np.testing.assert_allclose(np.nan_to_num(drawn), expected)
    assert not (drawn == 0).any()
    sizes = [line.get_markersize() for line in axes.lines]
    assert sizes == sorted(set(sizes))  # equal shares stay visible
    assert sizes[0] > 0


def test_histograms_count_all_samples_but_the_centre(fitted):
    data, model = fitted
    features = np.flatnonzero(model.local_support_[0])
    axes = distance_histograms(data.X, data.y, 0, features, model.radii_[0]).axes[0]
    assert sum(patch.get_height() for patch in axes.patches) == len(data.y) - 1
    assert axes.lines[0].get_xdata()[0] == model.radii_[0]


def test_the_front_has_a_point_a_beta(fitted):
    axes = pareto_front(fitted[1].points_[0]).axes[0]
    relaxed, rounded = axes.lines
    assert len(relaxed.get_xdata()) == 6
    # More separation never costs less, and a set never less than the relaxed optimum.
    assert (np.diff(relaxed.get_ydata()) >= -1e-9).all()
    at = np.searchsorted(relaxed.get_xdata(), rounded.get_xdata())
    assert (rounded.get_ydata() >= relaxed.get_ydata()[at] - 1e-9).all()


def test_a_trace_shows_every_program_once(fitted):
    _, model = fitted
    trace = model.trace(0, 0.6)
    axes = trace_picture(trace).axes[0]
    way, *dots = axes.lines
    np.testing.assert_allclose(way.get_ydata(), [step.u1 for step in trace])
    assert sum(len(line.get_xdata()) for line in dots) == len(trace)
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    assert names == list(dict.fromkeys(step.name for step in trace))
    hollow = sum(len(line.get_xdata()) for line in dots if line.get_fillstyle() == "none")
    assert hollow == sum(step.u2 < step.level * (1 - 1e-9) for step in trace)
