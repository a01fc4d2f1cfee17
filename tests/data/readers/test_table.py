import sys
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from convexfs.data import load
from convexfs.errors import InputError
from tests.data.kinds import skip_without_packages

FRAME = pd.DataFrame(
    {
        "patient": ["p1", "p2", "p3", "p4"],
        "a": [1.0, 2.0, 3.5, 0.5],
        "b": [0.0, 1.0, 1.0, 5.0],
        "kind": ["ham", "spam", "spam", "ham"],
    }
)
SAID = "column 'patient' has a different value in every row: taken as the id"


def write(path, frame: Any = FRAME, **options):
    frame.to_csv(path, index=False, **options)
    return path


def workbook(path, frame: Any = FRAME):
    skip_without_packages(path)
    frame.to_excel(path, index=False)
    return path


def test_a_column_of_names_is_noticed_and_said(tmp_path):
    data = load(write(tmp_path / "t.csv"), target="kind")
    assert data.ids == ("p1", "p2", "p3", "p4")
    assert data.id_name == "patient"
    assert data.feature_names == ("a", "b")
    assert data.told == (SAID,)
    assert data.subset([2, 0]).ids == ("p3", "p1")


def test_row_numbers_are_ids_and_other_whole_numbers_are_asked_about(tmp_path):
    frame = pd.DataFrame({"n": range(10), "a": np.arange(10) / 3, "y": [0, 1] * 5})
    assert load(write(tmp_path / "t.csv", frame)).id_name == "n"
    odd = load(write(tmp_path / "t.csv", frame.assign(n=[3, 1, 4, 15, 9, 2, 6, 5, 35, 8])))
    assert odd.ids is None
    assert odd.feature_names == ("n", "a")
    assert odd.told == ("column 'n' has another integer in every row: if it is an id, say --id n",)


@pytest.mark.parametrize("spoilt", ["#DIV/0!", "<0.1"])
def test_numbers_of_which_one_is_spoilt_are_no_ids(tmp_path, spoilt):
    frame = FRAME.drop(columns="patient").assign(a=["1.5", spoilt, "3.5", "0.5"])
    path = write(tmp_path / "t.csv", frame)
    with pytest.raises(InputError, match=f"text in column 'a', such as '{spoilt}'"):
        load(path, target="kind")
    named = FRAME.drop(columns="patient").assign(barcode=["1001", "1002", "1003", "1003-b"])
    assert load(write(path, named), target="kind").id_name == "barcode"


def test_ids_may_be_named_and_must_be_unique(tmp_path):
    path = write(tmp_path / "t.csv")
    assert load(path, target="kind", id="a", drop=["patient"]).ids == ("1.0", "2.0", "3.5", "0.5")
    with pytest.raises(
        InputError, match=r"the id '1\.0' in 'b' more than once, again at data row 3"
    ):
        load(path, target="kind", id="b")
    with pytest.raises(InputError, match="no column 'patent'; did you mean patient"):
        load(path, target="kind", id="patent")


def test_labels_are_joined_by_id(tmp_path):
    path = write(tmp_path / "t.csv", FRAME.drop(columns="kind"))
    labels = FRAME[["patient", "kind"]].iloc[[3, 0, 1]]
    other = pd.concat([labels, pd.DataFrame({"patient": ["p9"], "kind": ["ham"]})])
    write(tmp_path / "labels.tsv", other, sep="\t")
    data = load(path, labels=tmp_path / "labels.tsv")
    assert data.ids == ("p1", "p2", "p4")
    assert data.labels.tolist() == ["ham", "spam", "ham"]
    assert data.target == "kind"
    assert [s.split(" of ")[0][:9] for s in data.told[1:]] == ["1 samples", "1 labels"]


def test_the_column_of_labels_may_be_named(tmp_path):
    path = write(tmp_path / "t.csv", FRAME.drop(columns="kind"))
    labels = write(tmp_path / "l.csv", FRAME.assign(stage=list("uvuv")))
    assert load(path, labels=f"{labels}:stage").class_names == ("u", "v")
    assert load(path, labels=labels, target="kind").class_names == ("ham", "spam")
    with pytest.raises(InputError, match="no column 'stag'; did you mean stage"):
        load(path, labels=f"{labels}:stag")


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ("id,kind\nq1,u\nq2,v\n", r"no id of .*t\.csv \('p1', ...\) is in .* \('q1', ...\)"),
        ("id,kind\np1,u\np1,v\n", "the id 'p1' in 'id' more than once"),
    ],
)
def test_labels_that_do_not_fit(tmp_path, labels, message):
    path = write(tmp_path / "t.csv", FRAME.drop(columns="kind"))
    (tmp_path / "l.csv").write_text(labels)
    with pytest.raises(InputError, match=message):
        load(path, labels=tmp_path / "l.csv")
    with pytest.raises(InputError, match="there is no file"):
        load(path, labels=tmp_path / "nowhere.csv")


@pytest.mark.parametrize("decimal", [".", ","])
def test_samples_in_columns_are_turned_when_asked(tmp_path, decimal):
    turned = FRAME.set_index("patient").T.rename_axis("gene")
    turned.loc[["a", "b"]] = turned.loc[["a", "b"]].map(lambda x: str(x).replace(".", decimal))
    path = tmp_path / "t.csv"
    turned.to_csv(path, sep=";")
    with pytest.raises(InputError, match=r"samples seem to be columns \(row 'kind'.*--transpose"):
        load(path)
    with pytest.raises(InputError, match=r"has no column 'kind'.*it has a row 'kind'.*--transpose"):
        load(path, target="kind")
    data = load(path, target="kind", transpose=True)
    np.testing.assert_array_equal(data.X, FRAME[["a", "b"]])
    assert data.ids == ("p1", "p2", "p3", "p4")
    assert data.feature_names == ("a", "b")


def test_genes_in_rows_with_labels_apart(tmp_path):
    turned = FRAME.drop(columns="kind").set_index("patient").T.rename_axis("gene")
    turned.to_csv(tmp_path / "t.tsv", sep="\t")
    labels = write(tmp_path / "l.csv", FRAME[["patient", "kind"]])
    with pytest.raises(InputError, match=r"no id of .*t\.tsv .* but its columns are: try --transp"):
        load(tmp_path / "t.tsv", labels=labels, id="gene")
    data = load(tmp_path / "t.tsv", labels=labels, transpose=True)
    np.testing.assert_array_equal(data.X, FRAME[["a", "b"]])


def test_rows_without_a_target_are_left_out_and_said(tmp_path):
    frame = FRAME.assign(kind=pd.Series(["ham", "spam", None, "ham"]))
    data = load(write(tmp_path / "t.csv", frame), target="kind")
    assert data.ids == ("p1", "p2", "p4")
    np.testing.assert_array_equal(data.X, FRAME.loc[[0, 1, 3], ["a", "b"]])
    assert data.told == (SAID, "1 of 4 rows have no 'kind', and are left out")


def test_places_of_errors_say_that_rows_are_left_out(tmp_path):
    kind = pd.Series(["ham", None, "spam", "ham"])
    frame = FRAME.assign(kind=kind, a=[1.0, 2.0, 3.0, np.nan])
    with pytest.raises(InputError, match=r"data row 3, column 'a'.*without the 1 left out$"):
        load(write(tmp_path / "t.csv", frame), target="kind")


def test_columns_that_may_hold_the_classes_are_named(tmp_path):
    rows = pd.DataFrame({"tissue": ["blood", "liver"] * 8, "status": ["a", "b", "b", "a"] * 4})
    rows = rows.assign(note=[f"n{i // 2}" for i in range(16)], gene=np.arange(16) / 3)
    with pytest.raises(InputError, match=r"it may be tissue or status$"):
        load(write(tmp_path / "t.csv", rows))


@pytest.mark.parametrize("make", [lambda frame: frame, pl.from_pandas], ids=["pandas", "polars"])
def test_tables_in_memory(make):
    data = load(make(FRAME), target="kind")
    np.testing.assert_array_equal(data.X, FRAME[["a", "b"]])
    assert data.ids == ("p1", "p2", "p3", "p4")


def test_what_is_no_table_is_refused():
    with pytest.raises(InputError, match=r"not ndarray; arrays go into .*make_dataset"):
        load(np.eye(3))


def test_repeated_names_are_numbered_and_said(tmp_path):
    (tmp_path / "t.csv").write_text("g,g,g#2,y\n1,2,3,0\n4,5,6,1\n")
    data = load(tmp_path / "t.csv")
    assert data.feature_names == ("g", "g#3", "g#2")
    assert data.told[0].startswith("column name 'g' repeated")


@pytest.mark.parametrize("decimal", [".", ","])
@pytest.mark.parametrize("transpose", [False, True])
def test_a_dash_among_numbers_is_a_missing_value_and_said(tmp_path, decimal, transpose):
    cells = {"a": ["1.5", "-", "3.5", "0.5"], "b": ["0.5", "1.5", "–", "-5.5"]}
    frame = FRAME.assign(**cells).map(lambda cell: cell.replace(".", decimal))
    frame = frame.set_index("patient").T.reset_index() if transpose else frame
    path = write(tmp_path / "t.csv", frame, sep=";")
    data = load(path, target="kind", transpose=transpose, mixed=True)
    np.testing.assert_array_equal(data.X, [[1.5, 0.5], [np.nan, 1.5], [3.5, np.nan], [0.5, -5.5]])
    assert "a dash is taken as a missing value in column 'a' and 1 more" in data.told


def test_a_dash_among_words_stays_a_word(tmp_path):
    signs = FRAME.assign(kind=["+", "-", "-", "+"])
    data = load(write(tmp_path / "t.csv", signs), target="kind")
    assert data.class_names == ("+", "-")
    assert data.told == (SAID,)
    mended = load(write(tmp_path / "t.csv", FRAME.assign(b="-")), target="kind", drop="b")
    assert mended.told == (SAID,)


def test_a_dash_in_a_workbook_is_a_missing_value(tmp_path):
    frame = FRAME.astype({"b": object})
    frame.loc[2, "b"] = "-"
    data = load(workbook(tmp_path / "t.xlsx", frame), target="kind", impute="median")
    np.testing.assert_array_equal(data.X[:, 1], [0, 1, 1, 5])


def test_words_for_nothing_are_missing_in_workbooks_too(tmp_path):
    frame = FRAME.astype({"b": object})
    frame.loc[2, "b"] = "."
    data = load(workbook(tmp_path / "t.xlsx", frame), target="kind", mixed=True)
    assert np.isnan(data.X).sum() == 1


def test_a_package_that_a_workbook_needs_is_named(tmp_path, monkeypatch):
    path = workbook(tmp_path / "t.xlsx")
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    with pytest.raises(InputError, match=r"t\.xlsx needs a package .* install 'python-calamine'"):
        load(path, target="kind")


def test_the_package_that_parquet_and_polars_need_is_named(tmp_path, monkeypatch):
    class Table:
        columns = ("a",)

        def to_pandas(self):
            raise ModuleNotFoundError("pa.Table requires 'pyarrow' module to be installed")

    FRAME.to_parquet(tmp_path / "t.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InputError, match=r"t\.parquet needs a package .* pip install 'pyarrow'"):
        load(tmp_path / "t.parquet", target="kind")
    with pytest.raises(InputError, match=r"need a package to be read: pip install 'pyarrow'"):
        load(Table(), target="a")


def test_what_is_no_number_is_shown_not_its_neighbours(tmp_path):
    frame = FRAME.assign(a=["1,5", "low", "3,5", "0,5"])
    with pytest.raises(InputError, match="text in column 'a', such as 'low'"):
        load(write(tmp_path / "t.csv", frame, sep=";"), target="kind")


@pytest.mark.parametrize(("how", "expected"), [("median", 2.0), ("knn", 2.0)])
def test_holes_are_filled(tmp_path, how, expected):
    frame = FRAME.assign(a=[1.0, np.nan, 3.0, 2.0])
    data = load(write(tmp_path / "t.csv", frame), target="kind", impute=how)
    assert data.X[1, 0] == expected
    assert data.told[1].startswith("1 of 8 values are missing, and filled by the me")
    with pytest.raises(InputError, match="no imputation is called 'mean'"):
        load(write(tmp_path / "t.csv", frame), target="kind", impute="mean")


def test_holes_of_categories_are_neither_filled_nor_said_to_be(tmp_path):
    frame = pd.concat([FRAME] * 3, ignore_index=True)
    frame = frame.assign(patient=np.arange(12), stage=["I", None, "II", "I"] * 3)
    path = write(tmp_path / "t.csv", frame)
    data = load(path, target="kind", mixed=True, impute="median")
    assert np.isnan(data.X).sum() == 3
    assert not any("filled" in sentence for sentence in data.told)
    frame.loc[2, "a"] = np.nan
    data = load(write(path, frame), target="kind", mixed=True, impute="median")
    assert any("1 of 36 values are missing" in sentence for sentence in data.told)


def test_an_empty_column_cannot_be_filled(tmp_path):
    path = write(tmp_path / "t.csv", FRAME.assign(b=np.nan))
    message = r"no value at all in 1 of its features, such as 'b'.*--drop b"
    with pytest.raises(InputError, match=message):
        load(path, target="kind", impute="median")


def test_columns_are_put_aside_and_stay_with_their_rows(tmp_path):
    frame = FRAME.assign(ward=["n", "s", "s", "n"], day=[1, 2, 3, 3])
    path = write(tmp_path / "t.csv", frame)
    data = load(path, target="kind", aside=["ward", "day"])
    assert data.feature_names == ("a", "b")
    assert {name: values.tolist() for name, values in data.subset([3, 1]).aside.items()} == {
        "ward": ["n", "s"], "day": ["3", "2"],
    }  # fmt: skip
    with pytest.raises(InputError, match="no column 'dya'; did you mean day"):
        load(path, target="kind", aside=["dya"])
    np.savez(tmp_path / "d.npz", X=np.eye(4), y=[0, 1, 0, 1], ward=list("nssn"))
    assert load(tmp_path / "d.npz", aside=["ward"]).aside["ward"].tolist() == list("nssn")
