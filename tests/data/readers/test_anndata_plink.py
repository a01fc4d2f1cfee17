from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from convexfs.data import load
from convexfs.data.readers.anndata_plink import write_h5ad
from convexfs.errors import InputError
from tests.data.kinds import package_of_tables

X = np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 3.0], [4.0, 0.0, 5.0]])
KINDS = np.array(["t", "b", "t", "b"])


def text(group, name, values):
    text_type = package_of_tables("h5py").string_dtype()
    array = group.create_dataset(name, data=np.array(values, dtype=object), dtype=text_type)
    array.attrs["encoding-type"] = "string-array"


def frame(file, name, index, columns):
    group = file.create_group(name)
    group.attrs["encoding-type"], group.attrs["_index"] = "dataframe", "_index"
    text_type = package_of_tables("h5py").string_dtype()
    group.attrs["column-order"] = np.array(columns, dtype=text_type)
    text(group, "_index", index)
    return group


def matrix(file, name, values, kind):
    if kind == "array":
        file.create_dataset(name, data=values)
        return
    stored = sparse.csr_matrix(values) if kind == "csr_matrix" else sparse.csc_matrix(values)
    group = file.create_group(name)
    group.attrs["encoding-type"], group.attrs["shape"] = kind, values.shape
    for part in ("data", "indices", "indptr"):
        group.create_dataset(part, data=getattr(stored, part))


def open_h5(path, mode="r") -> Any:
    return package_of_tables("h5py").File(path, mode)


def h5ad(path, kind="csr_matrix"):
    """A file as AnnData writes it: categories as codes, texts as texts."""
    with open_h5(path, "w") as file:
        matrix(file, "X", X, kind)
        matrix(file.create_group("layers"), "raw", 2 * X, kind)
        obs = frame(file, "obs", ["c1", "c2", "c3", "c4"], ["cell_type", "batch"])
        cell_type = obs.create_group("cell_type")
        cell_type.create_dataset("codes", data=np.array([1, 0, 1, 0], dtype=np.int8))
        text(cell_type, "categories", ["b", "t"])
        obs.create_dataset("batch", data=[0, 0, 1, 1])
        frame(file, "var", ["g1", "g2", "g3"], [])
    return path


@pytest.mark.parametrize("kind", ["array", "csr_matrix", "csc_matrix"])
@pytest.mark.parametrize("target", ["cell_type", "obs:cell_type"])
def test_annotated_data(tmp_path, kind, target):
    path = h5ad(tmp_path / "d.h5ad", kind)
    data = load(path, target=target)
    np.testing.assert_array_equal(data.X, X)
    assert data.labels.tolist() == KINDS.tolist()
    assert data.feature_names == ("g1", "g2", "g3")
    assert data.ids == ("c1", "c2", "c3", "c4")
    np.testing.assert_array_equal(load(path, target=target, layer="raw").X, 2 * X)


def test_annotated_data_that_cannot_be_used(tmp_path):
    path = h5ad(tmp_path / "d.h5ad")
    with pytest.raises(InputError, match="no label array 'cell'; did you mean cell_type"):
        load(path, target="obs:cell")
    with pytest.raises(InputError, match="no layer 'row'; did you mean raw"):
        load(path, target="cell_type", layer="row")
    with pytest.raises(InputError, match="leave --id and --transpose out"):
        load(path, target="cell_type", transpose=True)


def test_few_numbers_of_a_huge_sparse_matrix_are_stopped_at_the_limit(tmp_path):
    with open_h5(h5ad(tmp_path / "d.h5ad"), "r+") as file:
        file["X"].attrs["shape"] = (10**6, 10**6)
    with pytest.raises(InputError, match="dense matrix of 1000000 x 1000000, would need 8 TB"):
        load(tmp_path / "d.h5ad", target="cell_type")


def test_a_huge_array_is_stopped_before_it_is_read(tmp_path):
    with open_h5(h5ad(tmp_path / "d.h5ad"), "r+") as file:
        file["layers"].create_dataset("huge", shape=(10**6, 10**6), dtype="f4", chunks=(10, 10))
    assert (tmp_path / "d.h5ad").stat().st_size < 10**6
    with pytest.raises(InputError, match="would need 8 TB"):
        load(tmp_path / "d.h5ad", target="cell_type")


def test_columns_go_back_into_annotated_data(tmp_path):
    source = h5ad(tmp_path / "d.h5ad")
    for path in (tmp_path / "new.h5ad", source):
        write_h5ad(source, path, {"weight": np.array([0.5, 0.0, 1.0])})
        write_h5ad(path, path, {"weight": np.array([1.0, 0.0, 1.0]), "chosen": X[0] > 1})
        with open_h5(path) as file:
            assert list(file["var"].attrs["column-order"]) == ["weight", "chosen"]
            assert file["var"]["weight"][()].tolist() == [1, 0, 1]
        np.testing.assert_array_equal(load(path, target="cell_type").X, X)


class Annotated:
    """What AnnData objects have."""

    obs = pd.DataFrame({"cell_type": KINDS}, index=["c1", "c2", "c3", "c4"])
    obs_names, var_names = obs.index, pd.Index(["g1", "g2", "g3"])
    var = pd.DataFrame({"gene_symbols": ["A", "B", "g3"]}, index=var_names)

    def __init__(self, X, layers=()):
        self.X, self.layers = X, dict(layers)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
def test_annotated_data_in_memory(make):
    data = load(Annotated(make(X), {"raw": make(2 * X)}), target="obs:cell_type")
    np.testing.assert_array_equal(data.X, X)
    assert data.full_names == ("g1 (A)", "g2 (B)", "g3")
    assert data.ids == ("c1", "c2", "c3", "c4")


GENOTYPES = np.array([[0.0, 2.0, np.nan], [1.0, 1.0, 0.0], [2.0, 0.0, 1.0], [2.0, 2.0, 1.0]])


def bed(path, phenotype):
    names = ["s1", "s2", "s3", "s4"]
    known = {"iid": names, "sid": ["rs1", "rs2", "rs3"], "pheno": phenotype}
    package_of_tables("bed_reader").to_bed(path, GENOTYPES, known)
    return path


def test_genotypes_with_the_phenotype_beside_them(tmp_path):
    data = load(bed(tmp_path / "d.bed", ["1", "2", "-9", "2"]), impute="median")
    assert data.ids == ("s1", "s2", "s4")
    assert data.class_names == ("1", "2")
    assert data.feature_names == ("rs1", "rs2", "rs3")
    assert data.X.tolist() == [[0, 2, 0.5], [1, 1, 0], [2, 2, 1]]
    assert data.told == (
        "1 samples without a phenotype are left out",
        "1 of 9 values are missing, and filled by the median of their feature",
    )


def test_genotypes_with_a_file_of_phenotypes(tmp_path):
    path = bed(tmp_path / "d.bed", ["-9"] * 4)
    (tmp_path / "pheno.txt").write_text("FID IID case\nf s4 yes\nf s1 no\nf s2 no\n")
    data = load(path, labels=f"{tmp_path / 'pheno.txt'}:case", impute="median")
    assert dict(zip(data.ids or (), data.labels.tolist(), strict=True)) == {
        "s1": "no", "s2": "no", "s4": "yes",
    }  # fmt: skip
    with pytest.raises(
        InputError, match=r"d\.fam has no phenotype of any sample; .* --labels FILE"
    ):
        load(path)


def test_genotypes_need_their_other_files(tmp_path):
    path = bed(tmp_path / "d.bed", ["1", "2", "1", "2"])
    path.with_suffix(".fam").unlink()
    with pytest.raises(InputError, match=r"d\.bed needs d\.fam beside it"):
        load(path)
