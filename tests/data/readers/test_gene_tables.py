"""Gene tables with rows of genes, as featureCounts, GEO and cBioPortal write them."""

import json

import numpy as np
import pandas as pd
import pytest

from convexfs.cli import main
from convexfs.data.specs import load

GENES, SAMPLES = 30, 24


def _values():
    rng = np.random.default_rng(3)
    values = rng.poisson(50, (GENES, SAMPLES))
    values[4, ::2] += 60
    return pd.DataFrame(values, columns=[f"S{i:02d}" for i in range(SAMPLES)])


def _write(path, kind):
    table, ids = _values(), [f"ENSG{i:05d}" for i in range(GENES)]
    symbols, first = [f"SYM{i}" for i in range(GENES)], ""
    columns = {"gene_id": ids, "symbol": symbols}
    if kind == "featureCounts":
        first = '# Program:featureCounts v2.0.3; Command:"featureCounts" "-a"\n'
        places = [f"chr{i % 5};chr{i % 5}" for i in range(GENES)]
        columns = {"Geneid": ids, "Chr": places, "Start": range(GENES), "End": range(GENES)}
        columns |= {"Strand": "+", "Length": range(100, 100 + GENES), "gene_name": symbols}
    if kind == "GEO":
        columns = {"ID_REF": ids, "IDENTIFIER": symbols}
    if kind == "cBioPortal":
        columns = {"Hugo_Symbol": symbols, "Entrez_Gene_Id": range(7, 7 + GENES)}
    for at, (name, values) in enumerate(columns.items()):
        table.insert(at, name, values)
    path.write_text(first + table.to_csv(sep="\t", index=False))
    status = pd.DataFrame({"sample": [f"S{i:02d}" for i in range(SAMPLES)]})
    status["status"] = np.where(np.arange(SAMPLES) % 2, "well", "ill")
    status.to_csv(path.with_name("labels.csv"), index=False)
    return path


@pytest.mark.parametrize(
    ("kind", "feature", "metadata"),
    [
        ("symbols", "ENSG00004 (SYM4)", ["symbol"]),
        ("featureCounts", "ENSG00004 (SYM4)",
         ["Chr", "Start", "End", "Strand", "Length", "gene_name"]),
        ("GEO", "ENSG00004 (SYM4)", ["IDENTIFIER"]),
        ("cBioPortal", "SYM4", ["Entrez_Gene_Id"]),
    ],
)  # fmt: skip
def test_columns_about_genes_are_kept_beside_their_names(tmp_path, kind, feature, metadata):
    path = _write(tmp_path / "t.tsv", kind)
    data = load(path, transpose=True, labels=tmp_path / "labels.csv")
    assert np.array_equal(data.X, _values().to_numpy().T)
    assert data.full_names[4] == feature
    assert list(data.feature_metadata) == metadata
    assert any("beside the names" in sentence for sentence in data.told)
    part = data.select([4, 2])
    assert all(
        part.feature_metadata[name][0] == data.feature_metadata[name][4] for name in metadata
    )


def test_columns_about_genes_can_be_left_out(tmp_path):
    path = _write(tmp_path / "t.tsv", "featureCounts")
    labels = tmp_path / "labels.csv"
    data = load(path, transpose=True, labels=labels, drop=["Chr", "Length", "ENSG00000"])
    assert list(data.feature_metadata) == ["Start", "End", "Strand", "gene_name"]
    assert (data.n_samples, data.n_features) == (SAMPLES, GENES - 1)
    assert data.full_names[3] == "ENSG00004 (SYM4)"


def test_classes_in_a_row_have_no_metadata(tmp_path):
    path = _write(tmp_path / "t.tsv", "symbols")
    table = pd.read_csv(path, sep="\t", dtype=str)
    table.loc[GENES] = ["status", None, *(["ill", "well"] * (SAMPLES // 2))]
    table.to_csv(path, sep="\t", index=False)
    data = load(path, transpose=True, target="status")
    assert np.array_equal(data.X, _values().to_numpy().T)
    assert data.symbols == tuple(f"SYM{i}" for i in range(GENES))


def test_symbols_are_in_all_outputs(tmp_path, capsys):
    words = ["select", str(_write(tmp_path / "t.tsv", "symbols")), "--transpose", "--top", "1"]
    words += ["--labels", str(tmp_path / "labels.csv")]
    files = ["--report", str(tmp_path / "p.html"), "--ranking", str(tmp_path / "r.csv")]
    assert main([*words, *files]) == 0
    assert "ENSG00004 (SYM4)" in capsys.readouterr().out
    assert "ENSG00004 (SYM4)" in (tmp_path / "p.html").read_text()
    assert (tmp_path / "r.csv").read_text().splitlines()[1].startswith("ENSG00004,SYM4,")
    assert main([*words, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["feature_metadata"]["symbol"]["ENSG00004"] == "SYM4"
    assert record["selected"] == ["ENSG00004"]
