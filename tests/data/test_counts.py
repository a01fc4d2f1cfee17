"""Counts of single cells: 10x folders, and log(1 + counts per million)."""

import gzip

import numpy as np
import pytest
from scipy.io import mmwrite
from scipy.sparse import csr_array, issparse

import convexfs
from convexfs.data import load, make_dataset
from convexfs.data.counts import looks_like_counts, normalize_counts
from convexfs.errors import InputError

CELLS, GENES = 60, 80


def _counts():
    rng = np.random.default_rng(1)
    counts = rng.poisson(1.0, (CELLS, GENES)) * rng.poisson(8.0, (CELLS, 1))
    counts[: CELLS // 2, :3] += 60
    return counts


def _folder(path, packed):
    """Write what Cell Ranger writes: genes are rows, names are beside the matrix."""
    path.mkdir()
    mmwrite(path / "matrix.mtx", csr_array(_counts().T))
    (path / "barcodes.tsv").write_text("".join(f"cell{i}-1\n" for i in range(CELLS)))
    genes = (f"ENSG{j:03d}\tSYM{j}\tGene Expression\n" for j in range(GENES))
    (path / "features.tsv").write_text("".join(genes))
    for file in list(path.iterdir()) if packed else ():
        (path / f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes()))
        file.unlink()
    kinds = (f"cell{i}-1,{'B' if i < CELLS // 2 else 'T'}\n" for i in range(CELLS))
    (path.parent / "kinds.csv").write_text("barcode,kind\n" + "".join(kinds))
    return path


@pytest.mark.parametrize("packed", [False, True])
def test_folders_of_cell_ranger_are_read(tmp_path, packed):
    folder = _folder(tmp_path / "filtered", packed)
    data = load(folder, labels=tmp_path / "kinds.csv", sparse=True)
    assert issparse(data.X)
    np.testing.assert_array_equal(data.dense().X, _counts())
    assert data.feature_names[:2] == ("SYM0", "SYM1")
    assert data.ids is not None
    assert data.ids[0] == "cell0-1"
    assert any("add --normalize log1p-cpm" in sentence for sentence in data.told)


def test_markers_are_selected_from_a_folder(tmp_path):
    folder = _folder(tmp_path / "filtered", packed=True)
    options = {"labels": tmp_path / "kinds.csv", "normalize": "log1p-cpm"}
    found = convexfs.select(folder, top=3, **options)
    assert set(found.ranking()["name"][:3]) == {"SYM0", "SYM1", "SYM2"}
    assert any("counts per million" in sentence for sentence in found.data.told)


def test_a_folder_without_a_matrix_is_refused(tmp_path):
    with pytest.raises(InputError, match="is a folder; name a file in it"):
        load(tmp_path)


def test_sparse_and_dense_counts_are_normalised_alike():
    counts, kinds = _counts().astype(float), np.repeat(["B", "T"], CELLS // 2)
    counts[4] = 0
    dense = normalize_counts(make_dataset(counts, kinds), "log1p-cpm")
    sparse = normalize_counts(make_dataset(csr_array(counts), kinds), "log1p-cpm")
    np.testing.assert_allclose(sparse.dense().X, dense.X)
    np.testing.assert_allclose(np.expm1(dense.X[5]).sum(), 1e6)
    assert not dense.X[4].any()
    with pytest.raises(InputError, match="negative or missing values"):
        normalize_counts(make_dataset(counts - 1, kinds), "log1p-cpm")
    with pytest.raises(InputError, match="unknown --normalize 'tpm'"):
        normalize_counts(make_dataset(counts, kinds), "tpm")


def test_what_looks_like_counts():
    counts = _counts().astype(float)
    assert looks_like_counts(counts)
    assert not looks_like_counts(counts + 0.5)
    assert not looks_like_counts(np.minimum(counts, 3))
    assert not looks_like_counts(counts[:, :10])
