import numpy as np

from convexfs.pictures import MOST_BARS, weight_bars


def test_few_features_are_named_bars_largest_first():
    figure = weight_bars(np.array([0.1, 0.5, 0.3]), ["a", "b", "c"], np.array([False, True, True]))
    axes = figure.axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["b", "c", "a"]
    assert [bar.get_width() for bar in axes.patches] == [0.5, 0.3, 0.1]
    assert axes.get_title(loc="left") == "2 of 3 features selected"
    first, last = axes.patches[0].get_facecolor(), axes.patches[2].get_facecolor()
    assert first != last


def test_many_features_are_stems_over_the_index():
    weights = np.linspace(0, 1, MOST_BARS + 1)
    names = [f"x{j}" for j in range(len(weights))]
    axes = weight_bars(weights, names, weights > 0.5).axes[0]
    assert axes.get_xlabel() == "feature index"
    stems = [len(group.get_segments()) for group in axes.collections]
    assert stems == [MOST_BARS // 2, MOST_BARS // 2]
    assert axes.get_title(loc="left") == f"{MOST_BARS // 2} of {MOST_BARS + 1} features selected"
