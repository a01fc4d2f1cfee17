"""Results in AnnData, in memory and in files."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import convexfs
from convexfs.errors import InputError
from convexfs.selection.annotation import write_annotated
from tests.data.readers.test_anndata_plink import frame, matrix, open_h5, text
from tests.selection.tables import genes

CLASSES = ("B", "T/NK", "mono")


@pytest.fixture(scope="module")
def table():
    return genes(60, 25, classes=CLASSES, told=6, shift=3.0).drop(columns="patient")


@pytest.fixture(scope="module")
def markers(table):
    return convexfs.select(table, target="status", per_class=True)


def annotated(names) -> Any:
    """An object with the parts of AnnData that results are written into."""
    return SimpleNamespace(var_names=names, var=pd.DataFrame(index=names), uns={})


def test_markers_have_the_structure_of_scanpy(markers):
    adata = annotated(["other", *markers.data.feature_names[::-1]])
    markers.annotate(adata)
    found = adata.uns["rank_genes_groups"]
    params = {"groupby": "status", "reference": "rest", "use_raw": False}
    assert params.items() <= found["params"].items()
    for key in ("names", "scores", "pvals", "pvals_adj", "logfoldchanges"):
        assert found[key].dtype.names == CLASSES
        assert len(found[key]) == 25
    ranking = markers.ranking()
    for name in CLASSES:
        assert (np.diff(found["scores"][name]) <= 0).all()
        own = ranking[ranking["class"] == name].set_index("name").loc[list(found["names"][name])]
        np.testing.assert_array_equal(found["pvals"][name], own["p"])
        np.testing.assert_array_equal(found["pvals_adj"][name], own["q"])
        # Positive scores are of features that are higher in the class.
        signed = found["scores"][name] != 0
        assert (np.sign(found["scores"][name]) == np.sign(own["difference"]))[signed].all()
        assert np.isnan(found["logfoldchanges"][name]).all()
    assert "B" in adata.var["convexfs_marker_of"]["GENE1"].split(", ")
    assert adata.var["convexfs_marker_of"]["other"] == ""
    assert adata.var["convexfs_selected"].sum() == markers.support.sum()


def test_fold_changes_are_those_of_scanpy_where_data_are_logarithms(markers):
    adata = annotated(list(markers.data.feature_names))
    adata.uns["log1p"] = {}
    markers.annotate(adata, key="convexfs_groups")
    found, data = adata.uns["convexfs_groups"], markers.data
    inside = data.labels == "mono"
    means = [data.X[rows].mean(axis=0) for rows in (inside, ~inside)]
    assert (np.min(means, axis=0) <= 0).any()  # of which the logarithm is of next to nothing
    own, rest = np.expm1(np.maximum(means, 0.0)) + 1e-9
    expected = pd.Series(np.log2(own / rest), data.feature_names)[found["names"]["mono"]]
    np.testing.assert_allclose(found["logfoldchanges"]["mono"], expected, rtol=1e-5)


def test_a_selection_goes_into_var(table):
    found = convexfs.select(table, target="status")
    adata = annotated(list(found.data.feature_names))
    found.annotate(adata)
    ranking = found.ranking().set_index("name").loc[adata.var_names]
    for name in ("weight", "selected", "p", "q", "difference"):
        np.testing.assert_array_equal(adata.var[f"convexfs_{name}"], ranking[name])
    assert adata.uns["convexfs"]["method"] == "relief"
    assert "rank_genes_groups" not in adata.uns


def test_another_object_is_refused(markers):
    with pytest.raises(InputError, match=r"no feature 'GENE3' \(23 missing in all\)"):
        markers.annotate(annotated(["GENE1", "GENE2"]))


def test_a_file_gets_the_same(markers, tmp_path):
    names = list(markers.data.feature_names)
    with open_h5(tmp_path / "d.h5ad", "w") as file:
        matrix(file, "X", markers.data.X, "array")
        text(frame(file, "obs", [f"c{i}" for i in range(60)], ["status"]), "status",
             markers.data.labels)  # fmt: skip
        text(frame(file, "var", names, ["symbol"]), "symbol", [f"S-{name}" for name in names])
    write_annotated(markers, tmp_path / "d.h5ad", tmp_path / "out.h5ad")
    adata = annotated(names)
    markers.annotate(adata)
    with open_h5(tmp_path / "out.h5ad") as file:
        stored, expected = file["uns/rank_genes_groups"], adata.uns["rank_genes_groups"]
        assert stored["names"].attrs["encoding-type"] == "rec-array"
        assert stored["params/groupby"].asstr()[()] == "status"
        for name in CLASSES:
            assert [own.decode() for own in stored["names"][name]] == list(expected["names"][name])
            np.testing.assert_array_equal(stored["pvals_adj"][name], expected["pvals_adj"][name])
        marked = file["var/convexfs_marker_of"].asstr()[()]
        assert marked.tolist() == adata.var["convexfs_marker_of"].tolist()
        assert list(file["var"].attrs["column-order"]) == ["symbol", *adata.var]
    again = convexfs.load(tmp_path / "out.h5ad", target="status")
    assert again.full_names[0] == "GENE1 (S-GENE1)"
