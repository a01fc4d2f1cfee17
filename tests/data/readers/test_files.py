import numpy as np
import pandas as pd
import pytest
from scipy.io import savemat
from sklearn.datasets import dump_svmlight_file

from convexfs.data import load, make_dataset
from convexfs.errors import InputError
from tests.data.kinds import skip_without_packages
from tests.data.tables import LABELS, TABLE, WRITERS, X, Y


@pytest.mark.parametrize("name", WRITERS)
def test_tables_round_trip(tmp_path, name):
    path = tmp_path / name
    WRITERS[name](path)
    data = load(path, target="kind")
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(data.y, Y)
    assert data.feature_names == ("a", "b", "c")
    assert data.class_names == ("ham", "spam")
    assert data.name == str(path)


@pytest.mark.parametrize("mark", ["\ufeff", ""], ids=["bom", "no bom"])
@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["unix", "windows"])
def test_marks_and_line_ends_of_other_programs_change_nothing(tmp_path, mark, end):
    text = TABLE[["kind", "a", "b", "c"]].to_csv(index=False)
    (tmp_path / "t.csv").write_bytes((mark + text.replace("\n", end)).encode())
    data = load(tmp_path / "t.csv", target="kind")
    np.testing.assert_array_equal(data.X, X)
    assert data.feature_names == ("a", "b", "c")


@pytest.mark.parametrize("name", WRITERS)
def test_columns_are_left_out_by_name(tmp_path, name):
    path = tmp_path / name
    WRITERS[name](path)
    data = load(path, target="kind", drop=["c", "a"])
    assert data.feature_names == ("b",)
    np.testing.assert_array_equal(data.X, X[:, [1]])
    assert data.labels.tolist() == LABELS.tolist()


@pytest.mark.parametrize("cells", [["p1", "p2", "p1", "p2"], [np.nan] * 4, [np.inf] * 4])
def test_what_a_column_left_out_holds_does_not_matter(tmp_path, cells):
    path = tmp_path / "t.csv"
    TABLE.assign(odd=cells).to_csv(path, index=False)
    with pytest.raises(InputError, match="column 'odd'"):
        load(path, target="kind")
    assert load(path, target="kind", drop="odd").digest == make_dataset(X, LABELS, "abc").digest


def test_a_text_column_is_told_how_to_leave_it_out(tmp_path):
    frame = TABLE.assign(**{"patient id": list("wxxz"), "ward": "n"})
    frame.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(InputError, match=r"--drop 'patient id,ward' .from Python drop=\["):
        load(tmp_path / "t.csv", target="kind")


@pytest.mark.parametrize(
    ("drop", "message"),
    [
        (["kind"], r"'kind' is the target of .*t\.csv; keep it"),
        (["a", "bb"], r"t\.csv has no column 'bb' to drop; did you mean b\?"),
        (["zzz"], "no column 'zzz' to drop; its last columns are a, b, c"),
        (["c", "a", "b"], "no feature left"),
    ],
)
def test_what_cannot_be_left_out(tmp_path, drop, message):
    TABLE.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(InputError, match=message):
        load(tmp_path / "t.csv", target="kind", drop=drop)


def test_features_of_arrays_are_left_out_if_they_have_names(tmp_path):
    np.savez(tmp_path / "named.npz", X=X, y=Y, feature_names=list("abc"))
    data = load(tmp_path / "named.npz", drop=["b"])
    assert data.feature_names == ("a", "c")
    np.testing.assert_array_equal(data.X, X[:, [0, 2]])
    np.savez(tmp_path / "nameless.npz", X=X, y=Y)
    with pytest.raises(InputError, match=r"nameless\.npz has no column names to drop by"):
        load(tmp_path / "nameless.npz", drop=["x1"])
    np.savez(tmp_path / "odd.npz", X=X, y=Y, feature_names=list("abcd"))
    with pytest.raises(InputError, match="3 feature columns but 4 feature names"):
        load(tmp_path / "odd.npz", drop=["d"])


def test_npz_round_trip(tmp_path):
    path = tmp_path / "d.npz"
    np.savez(
        path, X=X, y=Y, class_names=["ham", "spam"], feature_names=list("abc"), split=[0, 0, 1, 1]
    )
    data = load(str(path))
    np.testing.assert_array_equal(data.X, X)
    assert data.labels.tolist() == LABELS.tolist()
    assert data.feature_names == ("a", "b", "c")
    assert data.split is not None
    assert data.split.tolist() == [0, 0, 1, 1]


def test_repeated_names_in_a_container_are_numbered(tmp_path):
    np.savez(tmp_path / "d.npz", X=X, y=Y, feature_names=["g", "h", "g"])
    assert load(tmp_path / "d.npz").feature_names == ("g", "h", "g#2")


@pytest.mark.parametrize("suffix", [".libsvm", ".svm", ".svmlight"])
def test_libsvm_round_trip(tmp_path, suffix):
    path = tmp_path / f"d{suffix}"
    dump_svmlight_file(X, 2 * Y - 1, str(path))
    data = load(path)
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(data.y, Y)
    assert data.class_names == ("-1", "1")


@pytest.mark.parametrize("labels", [Y[:, None] + 1, LABELS, LABELS.astype(object)[:, None]])
def test_mat_round_trip(tmp_path, labels):
    savemat(tmp_path / "d.mat", {"X": X, "Y": labels})
    data = load(tmp_path / "d.mat")
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(data.y, Y)
    assert data.class_names in {("1", "2"), ("ham ", "spam"), ("ham", "spam")}


def test_target_can_name_the_label_array(tmp_path):
    np.savez(tmp_path / "d.npz", X=X, y=Y, other=1 - Y)
    assert load(tmp_path / "d.npz", target="other").y.tolist() == (1 - Y).tolist()


def test_the_digest_does_not_depend_on_path_or_format(tmp_path):
    for name, write in WRITERS.items():
        write(tmp_path / name)
    assert len({load(tmp_path / name, target="kind").digest for name in WRITERS}) == 1


@pytest.mark.parametrize("name", ["target", "Class", "LABEL", "y"])
def test_a_usual_name_is_the_target(tmp_path, name):
    TABLE.rename(columns={"kind": name}).to_csv(tmp_path / "t.csv", index=False)
    assert load(tmp_path / "t.csv").class_names == ("ham", "spam")


def test_booleans_and_integers_are_numbers(tmp_path):
    frame = pd.DataFrame({"b": [True, False, True], "i": [1, 2, 3], "y": [True, False, False]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    data = load(tmp_path / "t.csv")
    assert data.X.tolist() == [[1, 1], [0, 2], [1, 3]]
    assert data.class_names == ("False", "True")


def test_workbooks(tmp_path):
    skip_without_packages("d.xlsx")
    with pd.ExcelWriter(tmp_path / "d.xlsx") as book:
        TABLE.assign(sample=list("wxyz")).to_excel(book, sheet_name="first", index=False)
        TABLE.assign(a=X[:, 0] + 1).to_excel(book, sheet_name="second")
    data = load(tmp_path / "d.xlsx", target="kind")
    np.testing.assert_array_equal(data.X, X)
    assert data.ids == ("w", "x", "y", "z")
    assert data.told[0] == "of 2 sheets 'first' is read, the first"
    other = load(tmp_path / "d.xlsx", target="kind", sheet="second", drop=["id"])
    np.testing.assert_array_equal(other.X[:, 0], X[:, 0] + 1)
    with pytest.raises(InputError, match="no sheet 'secnd'; did you mean second"):
        load(tmp_path / "d.xlsx", target="kind", sheet="secnd")


def test_a_workbook_with_samples_in_columns(tmp_path):
    skip_without_packages("d.xlsx")
    turned = TABLE.assign(sample=list("wxyz")).set_index("sample").T
    turned.to_excel(tmp_path / "d.xlsx")
    data = load(tmp_path / "d.xlsx", target="kind", transpose=True)
    np.testing.assert_array_equal(data.X, X)
    assert data.ids == ("w", "x", "y", "z")
