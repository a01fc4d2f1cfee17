import codecs
import gzip

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from convexfs.data import load
from convexfs.data.readers import text as separated
from convexfs.data.readers.options import Reading
from convexfs.errors import InputError
from tests.data.kinds import package_of_tables

X = [[1.5, -2.0], [3.0, 0.5], [0.25, 4.0]]
KINDS = ["ham", "spam", "ham"]


def text(separator=",", decimal=".", end="\n"):
    """The same table, however it is written."""
    rows = [["a", "b", "kind"]]
    rows += [
        [*(str(x).replace(".", decimal) for x in row), kind]
        for row, kind in zip(X, KINDS, strict=True)
    ]
    return end.join(separator.join(row) for row in rows) + end


def check(data):
    np.testing.assert_array_equal(data.X, X)
    assert data.feature_names == ("a", "b")
    assert data.labels.tolist() == KINDS


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".txt"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["unix", "windows", "old"])
@pytest.mark.parametrize("decimal", [".", ","])
@pytest.mark.parametrize("separator", [",", ";", "\t", "|", " "])
def test_separators_and_decimals_are_recognised(tmp_path, separator, decimal, end, suffix):
    if separator == decimal:
        pytest.skip("cannot be told apart by anyone")
    (tmp_path / f"t{suffix}").write_text(text(separator, decimal, end), newline="")
    data = load(tmp_path / f"t{suffix}", target="kind")
    check(data)
    usual = "," if suffix == ".csv" else "\t"
    said = [sentence for sentence in data.told if "separated" in sentence]
    assert bool(said) == (separator != usual)
    assert ("numbers have decimal commas" in data.told) == (decimal == ",")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_encodings_are_recognised(tmp_path, encoding):
    (tmp_path / "t.csv").write_bytes(text().replace("kind", "größe").encode(encoding))
    data = load(tmp_path / "t.csv", target="größe")
    check(data)
    assert any(encoding in sentence for sentence in data.told) == (encoding in ("utf-16", "cp1252"))


def test_another_encoding_far_down_is_noticed(tmp_path):
    far = "".join(f"{i}.5,1,{'ham' if i % 2 else 'spam'}\n" for i in range(30_000))
    (tmp_path / "t.csv").write_bytes(f"a,b,kind\n{far}1,2,häm\n".encode("cp1252"))
    data = load(tmp_path / "t.csv", target="kind")
    assert data.class_names == ("ham", "häm", "spam")
    assert data.told == ("it is not UTF-8 throughout, and is read as cp1252",)


def pack_by_zstandard(content):
    return package_of_tables("zstandard").ZstdCompressor().compress(content)


@pytest.mark.parametrize("pack", [gzip.compress, pack_by_zstandard])
@pytest.mark.parametrize("name", ["t.csv.gz", "t.csv.zst", "t.csv"])
def test_packed_files_are_told_by_their_bytes(tmp_path, pack, name):
    (tmp_path / name).write_bytes(pack(text().encode()))
    check(load(tmp_path / name, target="kind"))


@pytest.mark.parametrize("mark", ["#", "!"])
def test_lines_of_comment_before_the_header_are_left_out(tmp_path, mark):
    comments = f"{mark} made by a machine, with commas\n\n{mark}on a day\n"
    (tmp_path / "t.csv").write_text(comments + text())
    data = load(tmp_path / "t.csv", target="kind")
    check(data)
    assert data.told == ("3 lines of comment before the header are left out",)


def test_what_the_user_insists_on_is_done(tmp_path):
    (tmp_path / "t.csv").write_text(text(";", ","))
    check(load(tmp_path / "t.csv", target="kind", sep=";", decimal=",", encoding="utf-8"))
    check(load(tmp_path / "t.csv", target="kind", sep="semicolon"))
    assert load(tmp_path / "t.csv", target="kind", sep=";", decimal=",").told == ()
    with pytest.raises(InputError, match=r"not separated by '\|'"):
        load(tmp_path / "t.csv", target="kind", sep="|")
    with pytest.raises(InputError, match="one character"):
        load(tmp_path / "t.csv", target="kind", sep=";;")
    with pytest.raises(InputError, match="decimals stand after"):
        load(tmp_path / "t.csv", target="kind", decimal="x")
    with pytest.raises(InputError, match="no encoding is called 'klingon'"):
        load(tmp_path / "t.csv", target="kind", encoding="klingon")


@pytest.mark.parametrize("missing", ["", "NA", "NaN", "?", "n/a", ".", "null"])
def test_words_for_a_missing_cell(tmp_path, missing):
    (tmp_path / "t.csv").write_text(f"a,b,y\n1,2,0\n{missing},3,1\n5,6,1\n")
    with pytest.raises(InputError, match=r"NaN at data row 2, column 'a'; .*--impute median"):
        load(tmp_path / "t.csv")
    assert load(tmp_path / "t.csv", impute="median").X[:, 0].tolist() == [1, 3, 5]


def test_row_names_as_r_writes_them(tmp_path):
    (tmp_path / "t.csv").write_text('"a","y"\n"s1",1,"u"\n"s2",2,"v"\n"s3",4,"v"\n')
    data = load(tmp_path / "t.csv")
    assert data.ids == ("s1", "s2", "s3")
    assert data.feature_names == ("a",)
    (tmp_path / "t.csv").write_text(",a,y\ns1,1,u\ns2,2,v\ns3,4,v\n")
    assert load(tmp_path / "t.csv").ids == ("s1", "s2", "s3")


@given(
    st.lists(st.lists(st.floats(-1e9, 1e9), min_size=2, max_size=2), min_size=4, max_size=8),
    st.sampled_from([(",", "."), (";", "."), (";", ","), ("\t", ","), ("|", ".")]),
)
def test_numbers_survive_any_way_of_writing_them(tmp_path_factory, rows, written):
    separator, decimal = written
    frame = pd.DataFrame(rows, columns=["a", "b"]).assign(y=np.arange(len(rows)) % 2)
    path = tmp_path_factory.mktemp("some") / "t.csv"
    frame.to_csv(path, sep=separator, decimal=decimal, index=False)
    data = load(path)
    np.testing.assert_array_equal(data.X, rows)


def test_marks_of_utf_16_are_no_text_in_utf_8(tmp_path):
    (tmp_path / "t.csv").write_bytes(codecs.BOM_UTF16_LE + text().encode("utf-16-le"))
    check(load(tmp_path / "t.csv", target="kind"))


WIDE_TABLES = {
    "numbers": "a,b,y\n1,2.5,0\n-1e3,nan,1\n",
    "classes and identifiers": 'a,id,kind\n1,"x,1",ham\n2,"x2",spam\n3,x3,ham\n',
    "truth": "a,b,y\n1,True,0\n2,False,1\n3,True,1\n",
    "a missing cell": "a,b,y\n1,2,0\n,4,1\n",
    "text further down": "a,b,y\n1,2,0\nred,4,1\n",
    "short rows": "a,b,y\n1,2\n3,4,1\n",
    "short rows further down": "a,b,y\n1,2,0\n3,4\n",
    "no rows": "a,b,y\n",
    "blank lines": "\na,b,y\n\n1,2,0\n\n3,4,1\n",
    "marks of other programs": "\ufeffa,b,y\r\n1,2,0\r\n3,4,1\r\n",
    "tabs in a comma file": "a,b,y\n1,\t2,0\n3,4,1\n",
}


@pytest.mark.parametrize("name", WIDE_TABLES)
def test_a_wide_table_is_read_as_any_other(tmp_path, monkeypatch, name):
    path = tmp_path / "t.csv"
    path.write_bytes(WIDE_TABLES[name].encode())
    expected = separated.read_separated(path, Reading())
    monkeypatch.setattr(separated, "_WIDE", 2)
    read = separated.read_separated(path, Reading())
    # numbers that are whole may be held as floats
    pd.testing.assert_frame_equal(read, expected, check_dtype=False)


def test_decimal_commas_are_recognised_after_a_header_of_any_length(tmp_path):
    first, second = 40_000 * "a", 40_000 * "b"
    (tmp_path / "t.csv").write_text(text(";", ",").replace("a;b;", f"{first};{second};"))
    data = load(tmp_path / "t.csv", "kind")
    assert data.feature_names == (first, second)
    np.testing.assert_array_equal(data.X, X)


def test_a_wide_table_is_not_taken_apart_by_column(tmp_path, monkeypatch):
    names = [f"x{j}" for j in range(30_000)]
    rows = [",".join(str(i + j % 7) for j in range(30_000)) for i in range(4)]
    lines = [f"{row},{'ab'[i % 2]}" for i, row in enumerate(rows)]
    (tmp_path / "t.csv").write_text("\n".join([",".join(names) + ",kind", *lines]))
    whole = pd.read_csv

    def read_csv(*words, usecols, **more):
        assert usecols == [30_000]
        return whole(*words, usecols=usecols, **more)

    monkeypatch.setattr(pd, "read_csv", read_csv)
    data = load(tmp_path / "t.csv", "kind")
    assert data.X.shape == (4, 30_000)
    np.testing.assert_array_equal(data.X[3, :8], [3, 4, 5, 6, 7, 8, 9, 3])
    assert data.class_names == ("a", "b")


def test_the_widest_tables_must_be_numbers(tmp_path, monkeypatch):
    (tmp_path / "t.csv").write_text("a,b,y\n1,2,0\n3,,1\n")
    monkeypatch.setattr(separated, "_WIDE", 2)
    monkeypatch.setattr(separated, "_TOO_WIDE", 2)
    with pytest.raises(InputError, match=r"t\.csv has 3 columns, and so wide a table .*column 2"):
        load(tmp_path / "t.csv")


@pytest.mark.parametrize("width", [2, separated._WIDE + 1])
def test_a_line_break_in_a_name_costs_no_sample(tmp_path, width):
    frame = pd.DataFrame(np.arange(4.0 * width).reshape(4, width)).add_prefix("g")
    frame = frame.rename(columns={"g0": "two\nlines"}).assign(kind=list("abab"))
    frame.to_csv(tmp_path / "t.csv", index=False)
    data = load(tmp_path / "t.csv", "kind")
    np.testing.assert_array_equal(data.X, frame.drop(columns="kind"))
