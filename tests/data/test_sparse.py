import gzip
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.io import mmwrite
from sklearn.datasets import dump_svmlight_file

from convexfs.data import load, make_dataset
from convexfs.data.column_ranges import check_range, constant_columns
from convexfs.data.sparse import column_ends, sparse_method_names
from convexfs.data.validation import as_matrix
from convexfs.data.writers import write_file
from convexfs.errors import InputError
from tests.data.readers.test_anndata_plink import KINDS, h5ad
from tests.data.readers.test_anndata_plink import X as ANNOTATED

RNG = np.random.default_rng(0)
DENSE = np.where(RNG.random((12, 30)) < 0.2, RNG.poisson(3.0, (12, 30)) - 1.0, 0.0)
DENSE[:, 4], DENSE[:, 5] = 0.0, 0.1
Y = np.arange(12) % 2
NAMES = [f"g{j}" for j in range(30)]


def dense_of(data) -> np.ndarray:
    assert data.is_sparse
    return data.X.toarray()


@pytest.fixture
def data():
    return make_dataset(sparse.coo_matrix(DENSE), Y, NAMES, ids=[f"c{i}" for i in range(12)])


def test_a_sparse_matrix_stays_sparse(data):
    assert data.is_sparse
    np.testing.assert_array_equal(data.dense().X, DENSE)
    assert data.dense().X.flags.c_contiguous
    assert data.n_features == 30
    part = data.subset([3, 1]).select([2, 0])
    np.testing.assert_array_equal(dense_of(part), DENSE[[3, 1]][:, [2, 0]])
    dropped = make_dataset(data.X, Y, NAMES, drop=["g0"])
    np.testing.assert_array_equal(dense_of(dropped), DENSE[:, 1:])


def test_the_digest_is_of_what_is_stored(data):
    again = make_dataset(sparse.csc_array(DENSE), Y)
    assert again.digest == data.digest
    assert make_dataset(sparse.csc_array(2 * DENSE), Y).digest != data.digest


@pytest.mark.parametrize("how", ["zscore", "minmax"])
def test_scaling_divides_and_leaves_differences_as_dense_scaling_does(data, how):
    expected = make_dataset(DENSE, Y).scaled(how, fit_rows=range(8)).X
    scaled = data.scaled(how, fit_rows=range(8))
    found = dense_of(scaled)
    np.testing.assert_allclose(found - found[0], expected - expected[0], atol=1e-14)
    assert ((found == 0) == (DENSE == 0)).all()
    what = "standard deviation" if how == "zscore" else "largest minus their least value"
    assert scaled.told == (
        f"sparse features are divided by their {what} and not shifted: differences between "
        "samples are the same",
    )
    assert not data.scaled("none").told


def test_ends_of_columns_count_zeros():
    X: Any = sparse.csr_array(DENSE)
    np.testing.assert_array_equal(column_ends(X), (DENSE.min(axis=0), DENSE.max(axis=0)))
    np.testing.assert_array_equal(constant_columns(X), constant_columns(DENSE))
    np.testing.assert_array_equal(check_range(X), constant_columns(DENSE))


def test_what_cannot_be_used_is_named():
    bad = DENSE.copy()
    bad[3, 2] = np.nan
    with pytest.raises(InputError, match="NaN at data row 4, column 'g2'; drop such cells first"):
        make_dataset(sparse.csr_array(bad), Y, NAMES)
    with pytest.raises(InputError, match="no real numbers in its sparse matrix"):
        make_dataset(sparse.csr_array(DENSE + 1j), Y)
    with pytest.raises(InputError, match="has 30 feature columns but 2 feature names"):
        make_dataset(sparse.csr_array(DENSE), Y, ["a", "b"])
    with pytest.raises(InputError, match=r"is a sparse matrix.*X\.toarray\(\)"):
        as_matrix(sparse.csr_array(DENSE), "X")


def test_what_is_written_is_dense(data, tmp_path):
    write_file(data, tmp_path / "d.csv")
    np.testing.assert_array_equal(load(tmp_path / "d.csv", "y").X, DENSE)


def test_libsvm_may_stay_sparse(tmp_path):
    dump_svmlight_file(sparse.csr_matrix(DENSE), Y, str(tmp_path / "d.svm"), zero_based=False)
    thin = load(tmp_path / "d.svm", sparse=True)
    assert thin.is_sparse
    np.testing.assert_array_equal(dense_of(thin), load(tmp_path / "d.svm").X)


def test_a_wide_libsvm_file_need_not_be_dense(tmp_path):
    (tmp_path / "d.svm").write_text("0 1:1 900000:1\n1 2:1\n0 3:1\n1 900000:2\n" * 5)
    with pytest.raises(
        InputError, match="or use relief, irelief, logo, rrelief, rlogo, which take"
    ):
        load(tmp_path / "d.svm", read_limit="140MB")
    assert load(tmp_path / "d.svm", sparse=True, read_limit="140MB").n_features == 900000
    (tmp_path / "e.svm").write_text("0 1:1 900000000:1\n1 2:1\n")
    with pytest.raises(InputError, match=r"e\.svm, of 900000000 features, would need 135 GB"):
        load(tmp_path / "e.svm", sparse=True, read_limit="4GB")


@pytest.mark.parametrize("kind", ["csr_matrix", "csc_matrix"])
def test_annotated_data_may_stay_sparse(tmp_path, kind):
    data = load(h5ad(tmp_path / "d.h5ad", kind), "cell_type", sparse=True)
    assert data.is_sparse
    np.testing.assert_array_equal(dense_of(data), ANNOTATED)
    assert data.labels.tolist() == KINDS.tolist()


def labels_file(path, ids=None):
    frame = pd.DataFrame({"kind": np.where(Y, "t", "b")})
    if ids is not None:
        frame.insert(0, "cell", ids)
        frame = frame.sample(frac=1, random_state=0)
    frame.to_csv(path, index=False)
    return path


def test_a_matrix_market_file_with_labels_in_order(tmp_path):
    mmwrite(tmp_path / "d.mtx", sparse.coo_array(DENSE))
    labels = labels_file(tmp_path / "labels.csv")
    data = load(tmp_path / "d.mtx", labels=labels, sparse=True)
    np.testing.assert_array_equal(dense_of(data), DENSE)
    np.testing.assert_array_equal(load(tmp_path / "d.mtx", labels=labels).X, DENSE)
    assert data.labels.tolist() == list("bt" * 6)
    assert data.target == "kind"
    assert "taken in the order of the samples" in data.told[0]
    mmwrite(tmp_path / "t.mtx", sparse.coo_array(DENSE.T))
    turned = load(tmp_path / "t.mtx", labels=labels, transpose=True, sparse=True)
    assert turned.digest == data.digest
    with pytest.raises(InputError, match=r"12 labels for the 30 samples of .*t\.mtx"):
        load(tmp_path / "t.mtx", labels=labels)
    with pytest.raises(InputError, match="holds a matrix alone; give the classes of its rows"):
        load(tmp_path / "d.mtx")


@pytest.mark.parametrize("packed", [False, True])
def test_names_beside_a_matrix_say_which_way_it_lies(tmp_path, packed):
    ids = [f"AAC{i}" for i in range(12)]
    mmwrite(tmp_path / "matrix.mtx", sparse.coo_array(DENSE.T))
    (tmp_path / "barcodes.tsv").write_text("\n".join(ids) + "\n")
    genes = "\n".join(f"ENS{j}\tG{j}\tGene Expression" for j in range(30))
    (tmp_path / "features.tsv").write_text(genes + "\n")
    path = tmp_path / "matrix.mtx"
    if packed:
        for each in ("matrix.mtx", "barcodes.tsv", "features.tsv"):
            (tmp_path / f"{each}.gz").write_bytes(gzip.compress((tmp_path / each).read_bytes()))
            (tmp_path / each).unlink()
        path = tmp_path / "matrix.mtx.gz"
    data = load(path, labels=labels_file(tmp_path / "cells.csv", ids), sparse=True)
    np.testing.assert_array_equal(dense_of(data), DENSE)
    assert data.feature_names[:2] == ("G0", "G1")
    assert data.ids == tuple(ids)
    assert data.labels.tolist() == list("bt" * 6)
    assert data.told[0].startswith("samples are columns, as the names beside the matrix have it")


def test_a_matrix_market_file_that_cannot_be_read(tmp_path):
    path = tmp_path / "d.mtx"
    path.write_text("1,2,3\n")
    with pytest.raises(InputError, match="does not begin as a Matrix Market file does"):
        load(path)
    path.write_text("%%MatrixMarket matrix coordinate real general\n% nothing\n")
    with pytest.raises(InputError, match="it does not say the sizes of its matrix"):
        load(path)
    path.write_text("%%MatrixMarket matrix coordinate real general\n9 9 99999999999\n1 1 1\n")
    with pytest.raises(InputError, match=r"would need 4\.8 TB of memory"):
        load(path, read_limit="1GB")
    path.write_text("%%MatrixMarket matrix coordinate real general\n999999 999999 1\n1 1 1\n")
    with pytest.raises(InputError, match="as a dense matrix of 999999 x 999999"):
        load(path, labels=labels_file(tmp_path / "l.csv"), read_limit="1GB")


def test_names_beside_a_matrix_are_read_to_the_limit(tmp_path):
    mmwrite(tmp_path / "d.mtx", sparse.coo_array(DENSE))
    (tmp_path / "barcodes.tsv.gz").write_bytes(gzip.compress(b"c\n" * 10**6))
    with pytest.raises(InputError, match=r"barcodes\.tsv\.gz would need 1 MB"):
        load(tmp_path / "d.mtx", labels=labels_file(tmp_path / "l.csv"), read_limit="1MB")


def test_takers_are_named():
    assert sparse_method_names() == "relief, irelief, logo, rrelief, rlogo"
