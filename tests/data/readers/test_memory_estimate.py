"""Small files that hold huge tables: refused before they are unpacked."""

import gzip
import io
import zipfile
import zlib

import numpy as np
import pandas as pd
import pytest
from scipy.io import savemat

from convexfs.data import load
from convexfs.data.readers import files
from convexfs.errors import InputError

LIMIT = 10_000_000


@pytest.fixture
def refused(monkeypatch, tmp_path):
    """Check that a file is refused for its size, and that its reader is never called."""

    def refused(name, written=None, message="would need"):
        path = tmp_path / name
        if written is not None:
            path.write_bytes(written)
        suffix = files.file_suffix(path)
        assert suffix is not None
        check = files._READERS[suffix][0]
        monkeypatch.setitem(files._READERS, suffix, (check, lambda *_: pytest.fail("was read")))
        with pytest.raises(InputError, match=f"{name}.*{message}.*that reading may take"):
            load(path, read_limit=LIMIT)

    return refused


def npy(shape, kind="<f8"):
    """Only the header of such an array."""
    file = io.BytesIO()
    header = {"descr": kind, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)
    return file.getvalue()


@pytest.mark.parametrize(
    ("shape", "kind"),
    [((2000, 1000), "<f8"), ((2000, 1000), "|u1"), ((10**9, 10**9), "<f4"), ((1,), "<U4000000")],
)
def test_an_npz_of_headers(refused, tmp_path, shape, kind):
    with zipfile.ZipFile(tmp_path / "d.npz", "w") as archive:
        archive.writestr("X.npy", npy(shape, kind))
        archive.writestr("y.npy", npy((2000,)))
    refused("d.npz")


def test_an_npz_of_zeros(refused, tmp_path):
    np.savez_compressed(tmp_path / "d.npz", X=np.zeros((2000, 1000)), y=np.arange(2000) % 2)
    assert (tmp_path / "d.npz").stat().st_size < 100_000
    refused("d.npz", message="16 MB of memory, more than the 10 MB")


def test_an_npz_with_something_else_inside(refused, tmp_path):
    with zipfile.ZipFile(tmp_path / "d.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("notes.txt", bytes(2 * LIMIT))
    refused("d.npz")


HEADER = b"a,b,y\n"


@pytest.mark.parametrize(
    "text",
    [
        HEADER + b"0,0,1\n" * 200_000,  # cells take more than their text
        b",".join(b"x%d" % j for j in range(2000)) + b",y\n" + b"1\n" * 2000,  # short rows
        b"x" * LIMIT,  # a line without end
        b"," * 100_000,  # columns without rows
        b"a,b,y\r" + b"0,0,1\r" * 200_000,
    ],
    ids=["rows", "short rows", "header", "columns", "old line ends"],
)
@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".tsv", ".tsv.gz"])
def test_text(refused, text, suffix):
    if ".tsv" in suffix:
        text = text.replace(b",", b"\t")
    refused("t" + suffix, gzip.compress(text) if suffix.endswith("gz") else text)


def test_a_bomb_is_not_unpacked_to_its_end(refused, monkeypatch):
    packed = gzip.compress(HEADER + b"0,0,1\n" * (2 * LIMIT))
    seen = []
    monkeypatch.setattr(files.memory_estimate, "_BLOCK", 2**16)
    whole = gzip.GzipFile.read

    def counted(self, size=-1):
        seen.append(size)
        return whole(self, size)

    monkeypatch.setattr(gzip.GzipFile, "read", counted)
    refused("t.csv.gz", packed)
    assert sum(seen) <= LIMIT


def test_libsvm(refused):
    refused("d.svm", b"0 1:1 2:1 3:1\n" * 200_000)


@pytest.mark.parametrize("row", [b"0,0,1\n", b"0\n"])
def test_arff(refused, row):
    refused("d.arff", b"@relation r\n@data\n" + row * 200_000)


def test_parquet(refused, tmp_path):
    pd.DataFrame({"a": np.zeros(10**6), "y": np.zeros(10**6)}).to_parquet(tmp_path / "d.parquet")
    assert (tmp_path / "d.parquet").stat().st_size < 100_000
    refused("d.parquet")


@pytest.mark.parametrize("compressed", [True, False])
def test_mat(tmp_path, compressed):
    savemat(tmp_path / "d.mat", {"X": np.zeros((1000, 1300), "u1")}, do_compression=compressed)
    with pytest.raises(InputError, match=r"d\.mat would need 10\.4 MB.*that reading may take"):
        load(tmp_path / "d.mat", read_limit=LIMIT)


def test_a_mat_file_with_much_inside_a_cell(refused, tmp_path):
    cell = np.empty(1, dtype=object)
    cell[0] = np.zeros(2 * LIMIT, "u1")
    savemat(tmp_path / "d.mat", {"X": cell}, do_compression=True)
    assert (tmp_path / "d.mat").stat().st_size < LIMIT / 100
    refused("d.mat")


def test_a_mat_file_cut_short(tmp_path):
    savemat(tmp_path / "d.mat", {"X": np.eye(50)}, do_compression=True)
    whole = (tmp_path / "d.mat").read_bytes()
    (tmp_path / "d.mat").write_bytes(whole[:-20])
    with pytest.raises(InputError, match=r"cannot be read as \.mat"):
        load(tmp_path / "d.mat")
    (tmp_path / "d.mat").write_bytes(whole[:136] + zlib.compress(b"no matrix"))
    with pytest.raises(InputError, match=r"cannot be read as \.mat"):
        load(tmp_path / "d.mat")
