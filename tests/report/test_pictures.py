import numpy as np

from convexfs.report.pictures import LONGEST_NAME, MOST_BARS, block_order, sample_map, weight_bars


def test_few_features_are_named_bars_largest_first():
    figure = weight_bars(np.array([0.1, 0.5, 0.3]), ["a", "b", "c"], np.array([False, True, True]))
    axes = figure.axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["b", "c", "a"]
    assert [bar.get_width() for bar in axes.patches] == [0.5, 0.3, 0.1]
    assert axes.get_title(loc="left") == "2 of 3 features selected"
    first, last = axes.patches[0].get_facecolor(), axes.patches[2].get_facecolor()
    assert first != last


def test_of_many_features_the_heaviest_are_shown_by_name():
    weights = np.linspace(0, 1, 2 * MOST_BARS)
    names = [f"x{j}" for j in range(len(weights))]
    axes = weight_bars(weights, names, weights > 0.5).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == names[: MOST_BARS - 1 : -1]
    assert axes.get_title(loc="left") == (
        f"{MOST_BARS} of {2 * MOST_BARS} features selected; the {MOST_BARS} heaviest are shown"
    )


HOSTILE = ["$\\frac{", "same", "same", "", "two\nlines", "long" * 100, "</script>", "基因", "a_b^c"]


def test_any_name_can_stand_beside_a_bar():
    figure = weight_bars(np.arange(9.0, 0, -1), HOSTILE, np.ones(9, bool))
    figure.canvas.draw()
    axes = figure.axes[0]
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels[:5] == [r"\$\frac{", "same", "same", "(no name)", "two lines"]
    assert len(labels[5]) == LONGEST_NAME
    assert [bar.get_width() for bar in axes.patches] == list(range(9, 0, -1))


def test_samples_that_select_alike_stand_together():
    shares = np.array([[0, 1, 0], [1, 0, 0], [0, 1, 0], [1, 0, 0], [1, 1, 0.0]])
    codes = np.array([0, 0, 0, 0, 1])
    assert block_order(shares, codes).tolist() == [1, 3, 0, 2, 4]
    axes = sample_map(shares, codes, names=["a", "b", "c"], class_names=["no", "yes"]).axes[0]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["a", "b"]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["no", "yes"]
    np.testing.assert_array_equal(axes.images[0].get_array()[:, 0], [1, 1, 0, 0, 1])
