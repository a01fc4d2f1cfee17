import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from convexfs.data import make_dataset
from convexfs.errors import InputError


@pytest.fixture
def data():
    X = np.array([[0.0, 1.0, 5.0], [2.0, 3.0, 5.0], [4.0, 1.0, 5.0], [8.0, 7.0, 6.0]])
    return make_dataset(
        X,
        ["no", "yes", "no", "yes"],
        ["a", "b", "c"],
        name="small",
        split=[0, 0, 0, 1],
        relevant=(0, 2),
        groups=[0, 1, 2, 3],
    )


def test_shape_and_names(data):
    assert (data.n_samples, data.n_features, data.n_classes) == (4, 3, 2)
    assert data.labels.tolist() == ["no", "yes", "no", "yes"]
    assert data.X.dtype == np.float64
    assert data.X.flags.c_contiguous


def test_samples_become_contiguous_floats():
    data = make_dataset(np.asfortranarray([[True, False], [False, True]]), [0, 1])
    assert data.X.flags.c_contiguous
    assert data.X.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert data.feature_names == ("x1", "x2")


def test_a_frame_gives_its_column_names():
    frame = pd.DataFrame({"a": [1, 2], 3: [True, False]})
    assert make_dataset(frame, [0, 1]).feature_names == ("a", "3")


def test_class_names_without_samples_are_dropped():
    data = make_dataset(np.ones((2, 1)), [0, 2], class_names=["a", "b", "c"])
    assert data.class_names == ("a", "c")
    assert data.y.tolist() == [0, 1]


@pytest.mark.parametrize("y", [[0, 3], [-1, 1], [0.0, 1.0], ["a", "b"]])
def test_codes_must_be_positions_in_the_class_names(y):
    with pytest.raises(InputError, match="integers from 0 to 1, the positions"):
        make_dataset(np.ones((2, 1)), y, class_names=["a", "b"])


def test_as_many_feature_names_as_features():
    with pytest.raises(InputError, match="1 feature columns but 2 feature names"):
        make_dataset(np.ones((2, 1)), [0, 1], feature_names=["a", "b"])


@pytest.mark.parametrize(
    ("split", "message"), [([0, 2], "0 for training"), ([1, 1], "at least one")]
)
def test_split_is_zero_or_one(split, message):
    with pytest.raises(InputError, match=message):
        make_dataset(np.ones((2, 1)), [0, 1], split=split)


def test_split_has_one_value_per_row():
    with pytest.raises(InputError, match="split of data has 1 values for 2 rows"):
        make_dataset(np.ones((2, 1)), [0, 1], split=[0])


class TestScaling:
    def test_zscore_is_fitted_on_training_rows(self, data):
        Z = data.scaled().X
        np.testing.assert_allclose(Z[:3, :2].mean(axis=0), 0, atol=1e-15)
        np.testing.assert_allclose(Z[:3, :2].std(axis=0), 1)
        assert Z[3, 0] == pytest.approx((8 - 2) / np.std([0, 2, 4]))

    def test_minmax_lets_test_rows_leave_the_unit_interval(self, data):
        Z = data.scaled("minmax").X
        assert Z[:3].min() == 0
        assert Z[:3].max() == 1
        assert Z[3].tolist() == [2.0, 3.0, 1.0]

    def test_constant_features_are_only_shifted(self, data):
        assert data.scaled("zscore").X[:, 2].tolist() == [0, 0, 0, 1]
        tenths = make_dataset(np.full((10, 1), 0.1), [0, 1] * 5)
        assert not tenths.scaled("zscore").X.any()

    def test_fitting_rows_as_mask_or_positions(self, data):
        by_mask = data.scaled("minmax", fit_rows=np.array([True, False, False, True]))
        by_position = data.scaled("minmax", fit_rows=[0, 3])
        np.testing.assert_array_equal(by_mask.X, by_position.X)
        assert by_mask.X[[0, 3], 0].tolist() == [0, 1]

    def test_none_keeps_the_samples(self, data):
        assert data.scaled("none").X is data.X

    def test_scaling_once_is_enough(self, data):
        once = data.scaled()
        assert once.scaled().X is once.X

    def test_the_original_is_untouched(self, data):
        before = data.X.copy()
        data.scaled("zscore")
        np.testing.assert_array_equal(data.X, before)

    def test_unknown_scaling(self, data):
        with pytest.raises(InputError, match="'z-score'; did you mean zscore"):
            data.scaled("z-score")

    def test_no_rows_to_fit_on(self, data):
        with pytest.raises(InputError, match="no rows to fit"):
            data.scaled(fit_rows=[])

    @given(
        arrays(np.float64, (6, 3), elements=st.floats(-1e6, 1e6)),
        st.sampled_from(["zscore", "minmax"]),
    )
    def test_scaled_features_are_finite_and_bounded(self, X, how):
        Z = make_dataset(X, [0, 1] * 3).scaled(how).X
        limit = 1.0 if how == "minmax" else np.sqrt(6)
        assert np.isfinite(Z).all()
        assert np.abs(Z).max() <= limit * (1 + 1e-6)


class TestSubsets:
    def test_rows(self, data):
        part = data.subset([3, 0])
        assert part.X[:, 0].tolist() == [8, 0]
        assert part.labels.tolist() == ["yes", "no"]
        assert part.split.tolist() == [1, 0]
        assert part.groups.tolist() == [3, 0]

    def test_rows_of_one_class_keep_the_codes(self, data):
        part = data.subset(data.y == 1)
        assert part.y.tolist() == [1, 1]
        assert part.class_names == data.class_names

    def test_features(self, data):
        part = data.select([2, 1])
        assert part.feature_names == ("c", "b")
        assert part.relevant == (0,)
        assert part.X.flags.c_contiguous
        assert part.X[0].tolist() == [5, 1]

    def test_features_by_mask(self, data):
        assert data.select(np.array([True, False, True])).feature_names == ("a", "c")

    @pytest.mark.parametrize(
        ("features", "message"),
        [
            ([3], "features must lie between 0 and 2"),
            ([True], "mask for features has 1 values for 3 features"),
            (["a"], "positions or a boolean mask"),
        ],
    )
    def test_bad_positions(self, data, features, message):
        with pytest.raises(InputError, match=message):
            data.select(features)


class TestDigest:
    def test_depends_on_content_alone(self, data):
        again = make_dataset(
            data.X.copy(), data.labels, data.feature_names, name="other", split=data.split
        )
        assert again.digest == data.digest
        assert len(data.digest) == 64

    def test_names_and_a_split_without_test_rows_do_not_count(self, data):
        renamed = make_dataset(data.X, data.labels, ["a", "b", "d"], split=data.split)
        assert renamed.digest == data.digest
        training = data.training
        alone = make_dataset(training.X, training.labels, training.feature_names)
        assert training.split is not None
        assert alone.digest == training.digest

    @pytest.mark.parametrize(
        "change",
        [
            {"X": np.ones((4, 3))},
            {"y": ["yes", "no", "no", "yes"]},
            {"split": None},
        ],
    )
    def test_changes_with_the_content(self, data, change):
        same = {
            "X": data.X,
            "y": data.labels,
            "feature_names": data.feature_names,
            "split": data.split,
        }
        assert make_dataset(**(same | change)).digest != data.digest
