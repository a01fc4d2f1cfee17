"""Files that cannot be used are refused in words that name the trouble."""

import gzip
import os
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse
from scipy.io import savemat

from convexfs.data import load
from convexfs.data.readers import files
from convexfs.errors import InputError
from tests.data.kinds import skip_without_packages
from tests.data.tables import TABLE, X, Y


@pytest.mark.parametrize(
    ("text", "target", "message"),
    [
        (
            "a,b,y\n1,2,0\n,3,1\n",
            None,
            r"t\.csv contains NaN at data row 2, column 'a'; drop.*--impute",
        ),
        ("a,b,y\n1,2,0\n1,inf,1\n", None, r"contains infinity at data row 2, column 'b'"),
        (
            "a,b,c,y\n1,!,u,0\n1,3,v,1\n",
            None,
            r"text in columns 'b', 'c', such as '!'; add --drop b,c",
        ),
        ("a,b,kind\n1,2,0\n1,3,1\n", None, "target=.*--target.*last columns are a, b, kind"),
        ("a,y,label\n1,2,0\n1,3,1\n", None, "2 columns called target, class, label or y"),
        ("a,b,kind\n1,2,0\n1,3,1\n", "kin", "no column 'kin'; did you mean kind"),
        ("a,b,kind\n1,2,0\n1,3,1\n", "zzz", "no column 'zzz'; its last columns are a, b, kind"),
        ("a,b,y\n1,2,0.5\n1,3,0.7\n", None, "target 'y' of .* looks continuous"),
        ("a,b,y\n1,2,0\n1,3,0\n", None, "only one class, '0'"),
        ("a,b,y\n1,2,\n1,3,\n", None, "target 'y' of .* missing value .*data row 1"),
        ("a,b,y\n1,1.2.2021,0\n1,3.4.2021,1\n", None, "dates in column 'b', such as '1.2.2021'"),
        ("PK\3\4\0\xff", None, "t.csv is no text but a zip archive, as Excel.*name it t.xlsx"),
        ("\xd0\xcf\x11\xe0\0", None, "t.csv is no text but .* old Excel: save it as t.xlsx"),
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
    skip_without_packages(path := tmp_path / f"d{suffix}")
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
    arrays: dict[str, Any] = {"X": np.eye(6), "y": np.arange(6) % 2, names: np.array("a")}
    np.savez(tmp_path / "d.npz", **arrays)
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
    path.write_text(header + "1,?\n2,?\n")
    with pytest.raises(InputError, match=r"target 'class' .*missing value .* data row 1"):
        load(path)
    path.write_text(header + "1,u\n2,?\n3,v\n")
    assert load(path).told == ("1 of 3 rows have no 'class', and are left out",)
