"""Small files that unpack to a gigabyte; each is made once."""

import functools
import gzip
import io
import zipfile
from collections.abc import Callable

import numpy as np
import pyarrow as pa
from pyarrow import parquet

#: What the files unpack to, at the least.
BYTES = 2**30
BLOCK = 2**24


def _packed(content: bytes) -> bytes:
    return gzip.compress(content, mtime=0)


@functools.cache
def many_rows() -> bytes:
    rows = b"1,a\n2,b\n" * (BLOCK // 8)
    return _packed(b"f0,y\n") + _packed(rows) * (BYTES // BLOCK)


@functools.cache
def one_long_line() -> bytes:
    return _packed(b"f0,y\n") + _packed(b"0" * BLOCK) * (BYTES // BLOCK)


@functools.cache
def zeros() -> bytes:
    """An archive whose X is all zeros, written block by block."""
    content, header = io.BytesIO(), io.BytesIO()
    form = {"descr": "<f8", "fortran_order": False, "shape": (BYTES // 32, 4)}
    np.lib.format.write_array_header_1_0(header, form)
    labels = io.BytesIO()
    np.save(labels, np.arange(8) % 2)
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr(zipfile.ZipInfo("y.npy"), labels.getvalue())
        inside = zipfile.ZipInfo("X.npy")
        inside.compress_type = zipfile.ZIP_DEFLATED
        with archive.open(inside, "w", force_zip64=True) as member:
            member.write(header.getvalue())
            for _ in range(BYTES // BLOCK):
                member.write(bytes(BLOCK))
    return content.getvalue()


@functools.cache
def row_groups() -> bytes:
    """A parquet file of one value, which its encoding counts instead of repeating."""
    content = io.BytesIO()
    group = pa.table({"f0": pa.array(np.zeros(2**20)), "y": pa.array(["a"] * 2**20)})
    with parquet.ParquetWriter(content, group.schema, compression="gzip") as writer:
        for _ in range(BYTES // 2**23):
            writer.write_table(group)
    return content.getvalue()


def far_column() -> bytes:
    return b"0 1:1\n1 99999999:1\n" * 6


BOMBS: dict[str, Callable[[], bytes]] = {
    "rows.csv.gz": many_rows,
    "line.csv.gz": one_long_line,
    "line.tsv.gz": one_long_line,
    "zeros.npz": zeros,
    "groups.parquet": row_groups,
    "far.libsvm": far_column,
}
