"""Columns from anywhere: what is read, how much at a time, and what is refused."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from convexfs.data import out_of_core
from convexfs.data.column_ranges import check_columns
from convexfs.data.out_of_core import SlicedColumns, column_source, parts
from convexfs.errors import InputError
from tests.data.columns import Slices, two_classes
from tests.data.kinds import package_of_tables


def values_of(source):
    """All that the blocks of a source hold, side by side."""
    return np.hstack(source.gather(lambda block: np.hstack([*parts(block.open(), 100)])))


@pytest.mark.parametrize("chunk", [None, 7, 1000, 9999])
def test_blocks_are_the_matrix(chunk):
    X, _ = two_classes()
    source = column_source(Slices(X, chunk))
    assert source is not None
    assert (source.shape, source.dtype, len(source)) == (X.shape, X.dtype, len(X))
    np.testing.assert_array_equal(values_of(source), X)
    total = source.reduce(lambda block: sum(part.sum(dtype=float) for part in block.parts(50)))
    assert total == pytest.approx(X.sum(dtype=float))
    np.testing.assert_allclose(source.spreads(), np.ptp(X, axis=0))


def test_no_more_is_read_at_a_time_than_was_said(monkeypatch):
    X, _ = two_classes()
    for columns_wanted, chunk, most in ((300, None, 256), (30, None, 128), (300, 1000, 1024)):
        monkeypatch.setattr(out_of_core, "PIECE_BYTES", 40 * 4 * columns_wanted)
        slices = Slices(X, chunk)
        values_of(column_source(slices))
        assert slices.most == 40 * most


@pytest.mark.parametrize("origin", [0, 5, 128, 1000])
def test_however_a_matrix_is_cut_its_parts_begin_alike(origin):
    """At multiples of 128 of all columns, so that sums are rounded alike."""
    X, _ = two_classes()
    window = out_of_core.Window(X, 0, 2500, 512, 40, origin)
    widths = [part.shape[1] for part in window.parts(256)]
    starts = origin + np.concatenate([[0], np.cumsum(widths)])
    assert starts[-1] == origin + 2500
    assert not (starts[1:-1] % 128).any()
    np.testing.assert_array_equal(np.hstack([*window.parts(256)]), X)


@pytest.mark.parametrize("chunk", [None, 100])
def test_columns_are_taken_in_the_order_asked_for(chunk):
    X, _ = two_classes()
    slices = Slices(X, chunk)
    source = SlicedColumns(slices)
    index = np.array([2400, 3, 150, 151, 3, 199])
    np.testing.assert_array_equal(source.take(index), X[:, index])
    np.testing.assert_array_equal(source[:, index], X[:, index])
    assert source.take(np.empty(0, int)).shape == (40, 0)


def test_what_a_file_keeps_together_is_read_once():
    X, _ = two_classes()
    slices = Slices(X, chunk=100)
    source = SlicedColumns(slices)
    slices.asked.clear()
    source.take(np.array([150, 101, 199, 2400]))
    assert slices.asked == [(101, 200), (2400, 2401)]


def test_an_h5_file(tmp_path):
    h5py = package_of_tables("h5py")
    X, _ = two_classes()
    with h5py.File(tmp_path / "x.h5", "w") as file:
        for chunks in (None, (40, 300), (7, 11)):
            held = file.create_dataset(f"x{chunks}", data=X, chunks=chunks)
            source = column_source(held)
            assert source is not None
            np.testing.assert_array_equal(values_of(source), X)
            np.testing.assert_array_equal(source.take(np.array([9, 2])), X[:, [9, 2]])


def test_genotypes_of_bed_reader(tmp_path):
    bed_reader = package_of_tables("bed_reader")
    values = np.random.default_rng(0).integers(0, 3, (12, 50)).astype(np.int8)
    bed_reader.to_bed(tmp_path / "x.bed", values)
    with bed_reader.open_bed(tmp_path / "x.bed") as file:
        source = column_source(file)
        assert source is not None
        assert source.dtype == np.int8
        np.testing.assert_array_equal(values_of(source), values)
        assert not check_columns(source, "Input X").any()
    values[4, 7] = -127
    bed_reader.to_bed(tmp_path / "x.bed", values)
    with bed_reader.open_bed(tmp_path / "x.bed") as file:
        source = column_source(file)
        assert source is not None
        with pytest.raises(InputError, match=r"missing genotype .* at data row 5, column 8"):
            check_columns(source, "Input X")


def test_sparse_slices_are_filled_in():
    filled = np.random.default_rng(0).random((20, 1500))
    X = sp.csc_array(np.where(filled < 0.1, filled, 0.0))

    class Backed:
        shape = X.shape

        def __getitem__(self, key):
            return X[key]

    np.testing.assert_array_equal(values_of(column_source(Backed())), X.toarray())


@pytest.mark.parametrize(
    "table",
    [
        np.zeros((3, 3)), [[1, 2], [3, 4]], pd.DataFrame({"a": [1]}), sp.csr_array((3, 3)),
        "text", None, Slices(np.zeros((0, 3))), np.zeros(3),
    ],
)  # fmt: skip
def test_ordinary_tables_are_left_to_others(table):
    assert column_source(table) is None


def test_a_matrix_that_does_not_give_what_it_says():
    class Short:
        shape = (5, 100)

        def __getitem__(self, key):
            return np.zeros((4, 3))

    with pytest.raises(InputError, match=r"of a Short has shape \(4, 3\), not \(5, 1\)"):
        column_source(Short())
    with pytest.raises(InputError, match="not of numbers"):
        column_source(Slices(np.full((3, 3), "a")))
    with pytest.raises(InputError, match="all samples are read, not some"):
        SlicedColumns(np.zeros((3, 3)))[slice(0, 2), np.arange(2)]


@pytest.mark.parametrize(("bad", "word"), [(np.nan, "NaN"), (np.inf, "inf"), (-np.inf, "inf")])
def test_the_cell_that_is_no_number_is_named(bad, word):
    X, _ = two_classes()
    X[7, 2000] = X[9, 2010] = bad
    words = rf"{word}.* at data row 8, column 2001 \(2 such columns"
    with pytest.raises(InputError, match=words):
        check_columns(SlicedColumns(Slices(X)), "Input X")


def test_minus_nine_among_genotypes_is_missing_and_among_numbers_is_not():
    X = np.random.default_rng(0).integers(0, 3, (10, 30)).astype(np.int8)
    X[3, 4] = -9
    with pytest.raises(InputError, match=r"-9, a missing genotype .* at data row 4, column 5"):
        check_columns(SlicedColumns(Slices(X)), "Input X")
    X[:, 4] *= 5
    X[0, 4] = 5
    assert check_columns(SlicedColumns(Slices(X)), "Input X").shape == (30,)


def test_constant_columns_are_found_and_huge_numbers_refused():
    X, _ = two_classes(dtype=np.float64)
    X[:, 1700] = 4
    assert np.flatnonzero(check_columns(SlicedColumns(Slices(X)), "X")).tolist() == [1700]
    X[0, 3] = 1e80
    with pytest.raises(InputError, match="rescale the features"):
        check_columns(SlicedColumns(Slices(X)), "X")
