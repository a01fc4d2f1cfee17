import gzip
import os

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse
from scipy.io import savemat
from sklearn.datasets import dump_svmlight_file

from convexfs.data import files, load, make_dataset
from convexfs.errors import InputError

X = np.array([[1.5, -2.0, 0.25], [3.0, 1e-9, 7.0], [0.0, 4.0, 0.1], [2.0, 2.0, 1.0 / 3]])
Y = np.array([0, 1, 1, 0])
LABELS = np.array(["ham", "spam"])[Y]
TABLE = pd.DataFrame(X, columns=["a", "b", "c"]).assign(kind=LABELS)


def write_arff(path):
    lines = ["@relation r", *(f"@attribute {name} numeric" for name in "abc")]
    lines += ["@attribute kind {ham,spam}", "@data"]
    lines += [
        ",".join(map(repr, row.tolist())) + f",{label}"
        for row, label in zip(X, LABELS, strict=True)
    ]
    path.write_text("\n".join(lines) + "\n")


WRITERS = {
    "t.csv": lambda path: TABLE.to_csv(path, index=False),
    "t.csv.gz": lambda path: TABLE.to_csv(path, index=False),
    "t.TSV": lambda path: TABLE.to_csv(path, index=False, sep="\t"),
    "t.parquet": lambda path: TABLE.to_parquet(path),
    "t.arff": write_arff,
}


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
    with pytest.raises(InputError, match=r"--drop 'patient id,ward', from Python drop=\["):
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


@pytest.mark.parametrize(
    ("text", "target", "message"),
    [
        (
            "a,b,y\n1,2,0\n,3,1\n",
            None,
            r"t\.csv contains NaN at data row 2, column 'a'; drop.*--impute",
        ),
        ("a,b,y\n1,2,0\n1,inf,1\n", None, r"contains infinity at data row 2, column 'b'"),
        ("a,b,c,y\n1,!,u,0\n1,3,v,1\n", None, r"text in columns 'b', 'c', such as '!'; encode"),
        ("a,b,kind\n1,2,0\n1,3,1\n", None, "target=.*--target.*last columns are a, b, kind"),
        ("a,y,label\n1,2,0\n1,3,1\n", None, "2 columns called target, class, label or y"),
        ("a,b,kind\n1,2,0\n1,3,1\n", "kin", "no column 'kin'; did you mean kind"),
        ("a,b,kind\n1,2,0\n1,3,1\n", "zzz", "no column 'zzz'; its last columns are a, b, kind"),
        ("a,b,y\n1,2,0.5\n1,3,0.7\n", None, "target 'y' of .* looks continuous"),
        ("a,b,y\n1,2,0\n1,3,0\n", None, "only one class, '0'"),
        ("a,b,y\n1,2,\n1,3,0\n", None, "target 'y' of .* missing value .*data row 1"),
        (",a,y\n5,2,0\n5,3,1\n", None, "no name for column 1; name it"),
        ("a,y\n7,1,0\n8,2,1\n", None, "more cells than the header"),
        ("a,y\n1,2\n1,2,3,4\n", None, r"cannot be read as \.csv \(.*line 3"),
        ("", None, "empty file"),
        ("\n\n", None, "t.csv has blank lines only"),
        ("a,y\n", None, "has no rows"),
        ("y\n0\n1\n", None, "single column 'y', so no feature columns"),
        ("\0\0", None, "t.csv is not text in UTF-8; save it"),
    ],
)
def test_unusable_tables(tmp_path, text, target, message):
    path = tmp_path / "t.csv"
    path.write_text(text, encoding="latin-1")
    with pytest.raises(InputError, match=message):
        load(path, target=target)


def test_a_single_column_of_a_long_name_is_cut_short(tmp_path):
    (tmp_path / "t.csv").write_text("<" * 9999 + "\n1\n")
    with pytest.raises(InputError, match=r"single column '<{40}', so"):
        load(tmp_path / "t.csv")


def test_messages_use_the_name_the_user_gave(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("a,y\n,0\n1,1\n")
    with pytest.raises(InputError, match=r"^t\.csv contains NaN"):
        load("t.csv")


def test_duplicate_columns_of_a_parquet_file(tmp_path):
    pq.write_table(
        pa.table([[1, 2], [3, 4], [0, 1]], names=["a", "a", "y"]), tmp_path / "t.parquet"
    )
    data = load(tmp_path / "t.parquet")
    assert data.feature_names == ("a", "a#2")
    assert data.told == ("column name 'a' repeated: copies are numbered, as 'a#2'",)


@pytest.mark.parametrize("suffix", sorted(files._READERS))
def test_corrupt_files(tmp_path, suffix):
    path = tmp_path / f"d{suffix}"
    path.write_bytes(b"\x80\x81hello\x00" * 40)
    for beside in (".bim", ".fam"):
        (tmp_path / f"d{beside}").write_text("")
    with pytest.raises(InputError, match=f"cannot be read as {suffix}|is not text|v7.3"):
        load(path, target="y")


def test_text_attributes_of_arff_files(tmp_path):
    path = tmp_path / "t.arff"
    path.write_text("@relation r\n@attribute id string\n@attribute y {0,1}\n@data\np,0\nq,1\n")
    with pytest.raises(InputError, match=r"t\.arff has attributes of type string, .* or as csv"):
        load(path, drop=["id"])


def test_truncated_gzip(tmp_path):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(TABLE.to_csv(index=False).encode())[:40])
    with pytest.raises(InputError, match=r"cannot be read as \.csv.*whole"):
        load(path, target="kind")


def test_unknown_format(tmp_path):
    (tmp_path / "d.doc").write_text("x")
    with pytest.raises(InputError, match=r"no known format; .*\.arff, \.bed, \.csv, .*\.parquet"):
        load(tmp_path / "d.doc")


def test_folder_instead_of_file(tmp_path):
    with pytest.raises(InputError, match="is a folder; name a file in it"):
        load(tmp_path)
    (tmp_path / "d.csv").mkdir()
    with pytest.raises(InputError, match="is a folder"):
        files.read_file(tmp_path / "d.csv")


def test_missing_file(tmp_path):
    with pytest.raises(InputError, match="there is no file"):
        files.read_file(tmp_path / "d.csv")


def test_forbidden_file(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    TABLE.to_csv(path, index=False)
    path.chmod(0)
    if os.access(path, os.R_OK):  # the superuser may read everything

        def refuse(*_):
            raise PermissionError(13, "Permission denied")

        monkeypatch.setitem(files._READERS, ".csv", (refuse, refuse))
    with pytest.raises(InputError, match="may not be read; change its permissions"):
        load(path)


@pytest.mark.parametrize(
    ("arrays", "target", "message"),
    [
        ({"X": X}, None, "must hold arrays X and y, but holds X"),
        ({"y": Y}, None, "must hold arrays X and y, but holds y"),
        ({"X": X, "y": Y, "kind": Y}, "kin", "no label array 'kin'; did you mean kind"),
        ({"X": np.where(X > 3, np.nan, X), "y": Y}, None, "NaN at data row 2, column 'x3'"),
        ({"X": X, "y": Y + 1, "class_names": ["a", "b"]}, None, "positions of the class names"),
    ],
)
def test_unusable_npz(tmp_path, arrays, target, message):
    np.savez(tmp_path / "d.npz", **arrays)
    with pytest.raises(InputError, match=message):
        load(tmp_path / "d.npz", target=target)


def test_pickled_arrays_are_not_opened(tmp_path):
    np.savez(tmp_path / "d.npz", X=X.astype(object), y=Y)
    with pytest.raises(InputError, match="allow_pickle=False"):
        load(tmp_path / "d.npz")


def test_sparse_containers(tmp_path):
    sparse.save_npz(tmp_path / "d.npz", sparse.csr_matrix(X))
    with pytest.raises(InputError, match=r"X\.toarray\(\)"):
        load(tmp_path / "d.npz")
    savemat(tmp_path / "d.mat", {"X": sparse.csc_matrix(X), "Y": Y})
    with pytest.raises(InputError, match=r"sparse matrix.*X\.toarray\(\)"):
        load(tmp_path / "d.mat")


def test_libsvm_too_large_to_be_dense(tmp_path):
    (tmp_path / "d.svm").write_text("0 1:1 900000000:1\n1 2:1\n")
    with pytest.raises(InputError, match=r"dense matrix of 2 x 900000000, would need 14\.4 GB"):
        load(tmp_path / "d.svm", read_limit="4GB")


@pytest.mark.parametrize("code", [0xD800, 0x20202020])
def test_text_that_is_no_unicode_is_refused(tmp_path, code):
    text = np.full((6, 1), code, "<u4").view("<U1")
    np.savez(tmp_path / "d.npz", X=text, y=np.arange(6) % 2)
    with pytest.raises(InputError, match=r"cannot be read as \.npz \(its X holds text that is no"):
        load(tmp_path / "d.npz")


@pytest.mark.parametrize("names", ["feature_names", "class_names"])
def test_a_single_name_instead_of_a_list_is_refused(tmp_path, names):
    np.savez(tmp_path / "d.npz", X=np.eye(6), y=np.arange(6) % 2, **{names: np.array("a")})
    with pytest.raises(InputError, match=r"6 feature columns but 1 feature names|from 0 to 0"):
        load(tmp_path / "d.npz")


def test_matlab_73_file(tmp_path):
    header = b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM"
    (tmp_path / "d.mat").write_bytes(header + bytes(400))
    with pytest.raises(InputError, match=r"v7\.3 file, which is HDF5; save it with -v7"):
        load(tmp_path / "d.mat")


def test_nominal_features_of_an_arff_file(tmp_path):
    path = tmp_path / "d.arff"
    header = "@relation r\n@attribute c {red,blue}\n@attribute class {u,v}\n@data\n"
    path.write_text(header + "red,u\nblue,v\n")
    with pytest.raises(InputError, match="text in column 'c', such as 'red'"):
        load(path)


def test_missing_nominal_target_of_an_arff_file(tmp_path):
    path = tmp_path / "d.arff"
    header = "@relation r\n@attribute c numeric\n@attribute class {u,v}\n@data\n"
    path.write_text(header + "1,u\n2,?\n")
    with pytest.raises(InputError, match=r"target 'class' .*missing value .* data row 2"):
        load(path)


def test_workbooks(tmp_path):
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
    turned = TABLE.assign(sample=list("wxyz")).set_index("sample").T
    turned.to_excel(tmp_path / "d.xlsx")
    data = load(tmp_path / "d.xlsx", target="kind", transpose=True)
    np.testing.assert_array_equal(data.X, X)
    assert data.ids == ("w", "x", "y", "z")
