import io

import numpy as np
import pytest

from convexfs import Logo, load
from convexfs.report.pictures import convergence_curve, neighbor_map, weight_stems


@pytest.fixture(scope="module")
def data():
    return load("spiral:noise=30,n=60")


@pytest.fixture(scope="module")
def model(data):
    return Logo().fit(data.X, data.y)


def drawn(figure):
    figure.savefig(target := io.BytesIO(), format="png")
    return target.getvalue()


def test_a_million_weights_are_few_lines():
    weights = np.zeros(1_000_000)
    weights[[0, 1, 777_777]] = 2.0, 1.5, 0.1
    figure = weight_stems(weights, relevant=(0, 1))
    others, known = figure.axes[0].lines
    np.testing.assert_array_equal(known.get_xdata(), [1, 2])
    np.testing.assert_array_equal(others.get_xydata(), [[777_778, 0.1]])
    assert "3 of 1000000" in figure.axes[0].get_title(loc="left")
    assert drawn(figure)


def test_convergence_is_a_line_a_fit(data, model):
    wide = Logo(sigma=10.0).fit(data.X, data.y)
    figure = convergence_curve({"2": model.history_, "10": wide.history_})
    first, second = figure.axes[0].lines
    assert len(first.get_xdata()) == model.n_iter_
    assert first.get_ydata()[-1] == model.certificate_.residual
    assert len(second.get_xdata()) == wide.n_iter_
    assert drawn(figure)


def test_neighbours_are_shaded_by_their_probability(data, model):
    names = data.feature_names
    figure = neighbor_map(data.X, data.y, model.weights_, 2.0, sample=40, names=names)
    hits, misses = figure.axes[:2]
    shades = hits.collections[0].get_array()
    assert shades.sum() == pytest.approx(1.0)
    assert shades[data.y != data.y[40]].max() == 0
    # On the arm itself the neighbours along the curve are the probable hits.
    assert abs(int(shades.argmax()) - 40) == 1
    assert misses.collections[0].get_array()[data.y == data.y[40]].max() == 0
    assert hits.get_xlabel() == "x1"
    assert drawn(figure)
