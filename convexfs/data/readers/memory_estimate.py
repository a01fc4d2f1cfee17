"""Estimate the memory that a data file takes once it is read, and open compressed files.

The formats that pack say in their headers what they hold; text is counted as it comes out
of its file, and only until it is too much.
"""

import gzip
import zipfile
import zlib
from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np

from convexfs.data.readers.memory_limit import ReadLimit
from convexfs.errors import InputError

#: Measured peak bytes of reading a table: per cell, per column and per byte of text.
_CELL, _COLUMN, _TEXT = 32, 1000, 2
_NUMBER = 8
_BLOCK = 2**22
_MAT_HEADER = 128
_MAT_COMPRESSED = 15
_ORDERS: dict[bytes, Literal["little", "big"]] = {b"IM": "little", b"MI": "big"}
_GZIP, _ZSTANDARD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
#: Largest zstandard window in bytes that is accepted; that of `zstd --ultra -22`.
_WINDOW = 2**27


def open_decompressed(path: Path) -> Any:
    """Open a file for reading bytes; gzip and zstandard, by first bytes, are decompressed."""
    with path.open("rb") as file:
        magic = file.read(4)
    if magic.startswith(_GZIP):
        return gzip.open(path)
    if magic == _ZSTANDARD:
        try:
            import zstandard
        except ImportError:
            raise InputError(
                f"{path.name} is packed by zstandard: pip install zstandard, or unpack it"
            ) from None
        unpacker = zstandard.ZstdDecompressor(max_window_size=_WINDOW)
        return unpacker.stream_reader(path.open("rb"), closefd=True, read_across_frames=True)
    return path.open("rb")


def check_separated(path: Path, limit: ReadLimit, separator: bytes) -> None:
    """Raise if csv or tsv exceeds the memory limit: rows times header names, even in short rows."""
    size = rows = 0
    columns, in_header = 1, True
    for block in _unpacked(path):
        size += len(block)
        rows += max(_count(block, b"\n"), _count(block, b"\r"))
        if in_header:
            header = block.lstrip(b"\r\n") if columns == 1 else block
            line = header.splitlines()[0] if header else b""
            columns += line.count(separator)
            in_header = len(line) == len(header)
        needed = _TEXT * size + _CELL * (rows + 1) * columns + _COLUMN * columns
        limit.check(needed, f"{path.name}, of {columns} columns and over {rows} rows,")


def check_npz(path: Path, limit: ReadLimit, held: BinaryIO | None = None) -> None:
    """Raise if an npz (path, or open file `held`) exceeds the memory limit, by array headers."""
    needed = 0
    with zipfile.ZipFile(held or path) as archive:
        for member in archive.infolist():
            with archive.open(member) as file:
                needed += _npy_bytes(file) if member.filename.endswith(".npy") else member.file_size
            limit.check(needed, path.name)


def check_mat(path: Path, limit: ReadLimit) -> None:
    """Raise if a mat file, decompressed, exceeds the memory limit; shapes are checked later."""
    for unpacked in _mat_bytes(path):
        limit.check(unpacked, path.name)


def check_parquet(path: Path, limit: ReadLimit) -> None:
    """Raise if a parquet file exceeds the memory limit, by rows and columns in its metadata."""
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        known = file.metadata
        groups = (known.row_group(i) for i in range(known.num_row_groups))
        packed = sum(max(group.total_byte_size, 0) for group in groups)
        cells = known.num_rows * known.num_columns
        limit.check(2 * _NUMBER * cells + _COLUMN * known.num_columns + packed, path.name)


def check_workbook(path: Path, limit: ReadLimit) -> None:
    """Raise if an xlsx file exceeds the memory limit, by the size of its decompressed parts."""
    with zipfile.ZipFile(path) as archive:
        unpacked = sum(member.file_size for member in archive.infolist())
    limit.check(_TEXT * unpacked, path.name)


def check_hdf5(path: Path, limit: ReadLimit) -> None:
    """Raise if an h5ad file exceeds the memory limit, by the declared shapes of its arrays."""
    import h5py

    needed = 0

    def count(_: str, item: Any) -> None:
        nonlocal needed
        if isinstance(item, h5py.Dataset):
            needed += prod(item.shape) * max(item.dtype.itemsize, _NUMBER)

    with h5py.File(path) as file:
        file.visititems(count)
    limit.check(needed, path.name)


def check_written(path: Path, limit: ReadLimit, mark: bytes, cell: int = _CELL) -> None:
    """Raise if a text file exceeds the memory limit: a cell per `mark` and line, and its text."""
    size = cells = 0
    for block in _unpacked(path):
        size += len(block)
        cells += _count(block, mark) + _count(block, b"\n")
        limit.check(_TEXT * size + cell * cells, path.name)


def _unpacked(path: Path) -> Iterator[bytes]:
    with open_decompressed(path) as file:
        while block := file.read(_BLOCK):
            yield block


def _count(block: bytes, mark: bytes) -> int:
    """Return how often one byte occurs; numpy counts a few times as fast as bytes.count."""
    if mark not in block:
        return 0
    return int(np.count_nonzero(np.frombuffer(block, np.uint8) == ord(mark)))


def _npy_bytes(file: Any) -> int:
    """Read a .npy header; return the array's bytes after conversion to numbers of 8 bytes."""
    npy = np.lib.format
    is_first = npy.read_magic(file) == (1, 0)
    read = npy.read_array_header_1_0 if is_first else npy.read_array_header_2_0
    shape, _, dtype = read(file)
    return prod(shape) * (max(dtype.itemsize, _NUMBER) if dtype.kind in "biuf" else dtype.itemsize)


def _mat_bytes(path: Path) -> Iterator[int]:
    """Yield the running total of decompressed bytes of a version 5 .mat file."""
    unpacked = 0
    with path.open("rb") as file:
        order = _ORDERS.get(file.read(_MAT_HEADER)[-2:])
        while order is not None and len(tag := file.read(8)) == 8:
            kind, size = (int.from_bytes(tag[i : i + 4], order) for i in (0, 4))
            if kind != _MAT_COMPRESSED:
                unpacked += size
                file.seek(size, 1)
                continue
            for part in _inflated(file, size):
                unpacked += part
                yield unpacked
    yield unpacked


def _inflated(file: BinaryIO, size: int) -> Iterator[int]:
    """Yield the lengths of decompressed blocks of `size` compressed bytes."""
    inflate = zlib.decompressobj()
    while size > 0 and (packed := file.read(min(size, _BLOCK))):
        size -= len(packed)
        while packed and not inflate.eof:
            yield len(inflate.decompress(packed, _BLOCK))
            packed = inflate.unconsumed_tail
