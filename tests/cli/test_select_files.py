"""From a file as a lab has it to a ranking, by one line each."""

import json
import zipfile

import numpy as np
import pandas as pd
import pytest

from convexfs.cli import main
from tests.data.kinds import package_of_tables, skip_without_packages
from tests.data.readers.test_anndata_plink import h5ad, open_h5

N = 40
KINDS = np.array(["case", "control"])[np.arange(N) % 2]


def lab():
    """Samples of four genes, the first of which tells the classes apart."""
    X = np.random.default_rng(0).standard_normal((N, 4)).round(3)
    X[:, 0] += 4 * (np.arange(N) % 2)
    frame = pd.DataFrame(X, columns=["tells", "g1", "g2", "g3"])
    frame.insert(0, "patient", [f"p{i}" for i in range(N)])
    return frame.assign(status=KINDS)


def write_turned(path):
    lab().set_index("patient").T.rename_axis("gene").to_csv(path, sep="\t")


def write_apart(path):
    lab().drop(columns="status").set_index("patient").T.rename_axis("gene").to_csv(path)
    lab()[["patient", "status"]].to_excel(path.parent / "labels.xlsx", index=False)


def write_holes(path):
    frame = lab()
    frame.loc[3, "g1"] = np.nan
    frame.to_csv(path, index=False)


def write_words(path):
    frame = lab().assign(site=["north", "south", None] * (N // 3) + ["north"] * (N % 3))
    frame.to_csv(path, index=False)


def write_genotypes(path):
    X = np.random.default_rng(1).integers(0, 3, (N, 3)).astype(float)
    X[:, 0] = 2.0 * (np.arange(N) % 2)
    names = {"iid": [f"p{i}" for i in range(N)], "sid": ["tells", "rs2", "rs3"]}
    package_of_tables("bed_reader").to_bed(
        path, X, {**names, "pheno": [str(1 + i % 2) for i in range(N)]}
    )


LINES = {
    "european csv": (
        "t.csv", lambda path: lab().to_csv(path, sep=";", decimal=",", index=False),
        ["--target", "status"], "separated by semicolons",
    ),
    "packed": ("t.csv.gz", lambda path: lab().to_csv(path, index=False), ["--target", "status"],
               "'patient' has a different value"),
    "holes": ("t.csv", write_holes, ["--target", "status", "--impute", "knn"], "taken as the id"),
    "holes as they are": ("t.csv", write_holes, ["--target", "status", "--missing", "class"],
                          "taken as the id"),
    "text categories": ("t.csv", write_words, ["--target", "status"],
                        "column 'site' holds text, 2 values: taken as a category"),
    "numbers as categories": ("t.csv", write_words, ["--target", "status", "--categorical", "g1"],
                              "taken as a category"),
    "workbook": ("t.xlsx", lambda path: lab().to_excel(path, index=False),
                 ["--target", "status", "--id", "patient"], ""),
    "samples in columns": ("t.tsv", write_turned, ["--target", "status", "--transpose"], ""),
    "labels apart": ("t.csv", write_apart, ["--transpose", "--labels", "labels.xlsx"], ""),
    "genotypes": ("t.bed", write_genotypes, ["--scale", "none"], ""),
}  # fmt: skip


@pytest.mark.parametrize("name", LINES)
def test_one_line_from_file_to_ranking(capsys, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    file, write, words, said = LINES[name]
    for used in (file, *words):
        skip_without_packages(used)
    write(tmp_path / file)
    assert main(["select", file, *words, "--top", "1", "--json"]) == 0
    out, err = capsys.readouterr()
    record = json.loads(out)
    assert record["selected"] == ["tells"]
    assert "patient" not in record["weights"]
    assert said in err


@pytest.mark.parametrize("suffix", [".csv", ".xlsx", ".parquet"])
def test_what_is_written_keeps_the_ids(capsys, tmp_path, suffix):
    skip_without_packages(out := tmp_path / f"few{suffix}")
    lab().to_csv(tmp_path / "t.csv", index=False)
    assert main(["select", str(tmp_path / "t.csv"), "--target", "status", "--top", "1",
                 "--out", str(out)]) == 0  # fmt: skip
    capsys.readouterr()
    readers = {".csv": pd.read_csv, ".parquet": pd.read_parquet}
    read = readers.get(suffix, lambda path: pd.read_excel(path, engine="calamine"))(out)
    assert list(read.columns) == ["patient", "tells", "status"]
    assert read["patient"].tolist() == [f"p{i}" for i in range(N)]


def test_weights_go_back_into_annotated_data(capsys, tmp_path):
    source, out = h5ad(tmp_path / "d.h5ad"), tmp_path / "weighted.h5ad"
    words = ["select", str(source), "--target", "obs:cell_type", "--top", "1", "--json"]
    assert main([*words, "--out", str(out)]) == 0
    record = json.loads(capsys.readouterr().out)
    with open_h5(out) as file:
        weights, chosen = (file[f"var/convexfs_{name}"][()] for name in ("weight", "selected"))
    assert dict(zip(["g1", "g2", "g3"], weights.tolist(), strict=True)) == record["weights"]
    assert chosen.sum() == 1
    assert main(["select", "iris", "--out", str(out)]) == 2
    assert "no known format" in capsys.readouterr().err


def zeros(n, j):
    return pd.DataFrame(np.zeros((n, j)), columns=[f"g{i}" for i in range(j)]).assign(status="a")


def write_swollen_workbook(path):
    """One whose sheet has more rows than it was saved with."""
    zeros(1, 50).to_excel(path.with_name("small.xlsx"), index=False)
    row = b"<row>" + b"<c><v>1</v></c>" * 50 + b"</row>"
    with (
        zipfile.ZipFile(path.with_name("small.xlsx")) as small,
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as large,
    ):
        for name in small.namelist():
            held = small.read(name).replace(b"</sheetData>", 2000 * row + b"</sheetData>")
            large.writestr(name, held)


def write_hollow_annotated_data(path):
    """A matrix of which nothing is stored but its size."""
    with open_h5(h5ad(path, "array"), "a") as file:
        del file["X"]
        file.create_dataset("X", (4, 10**8), "f4", chunks=(4, 10**6), compression="gzip")


BOMBS = {
    "t.csv.gz": lambda path: zeros(2000, 100).to_csv(path, index=False),
    "t.csv.zst": lambda path: zeros(2000, 100).to_csv(path, index=False, compression="zstd"),
    "t.parquet": lambda path: zeros(2000, 100).to_parquet(path),
    "t.xlsx": write_swollen_workbook,
    "t.h5ad": write_hollow_annotated_data,
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_stopped_at_the_limit(capsys, tmp_path, monkeypatch, name):
    """By a small file of much inside: one line, before it is all unpacked."""
    skip_without_packages(name)
    monkeypatch.chdir(tmp_path)
    BOMBS[name](tmp_path / name)
    assert (tmp_path / name).stat().st_size < 200_000
    assert main(["select", name, "--target", "status", "--read-limit", "500kB"]) == 2
    err = capsys.readouterr().err.splitlines()
    assert len(err) == 1
    assert name in err[0]
    assert "more than the 500 kB that reading may take" in err[0]


def test_what_is_wrong_is_one_line(capsys, tmp_path):
    lab().to_csv(tmp_path / "t.csv", index=False)
    for words, message in (
        (["--target", "status", "--id", "patiens"], "no column 'patiens'; did you mean patient?"),
        (["--labels", "nowhere.csv"], "there is no file nowhere.csv"),
        (["--target", "status", "--groups", "ward"], "no column 'ward'"),
        (["--target", "status", "--sep", ";;"], "one character"),
    ):
        assert main(["select", str(tmp_path / "t.csv"), *words]) == 2
        err = capsys.readouterr().err.splitlines()
        assert len(err) == 1
        assert message in err[0]
