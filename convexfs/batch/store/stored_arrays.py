"""Arrays and texts as a store holds them."""

import io
import struct
import zipfile
import zlib
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from convexfs.data.readers.memory_limit import read_limit
from convexfs.errors import ConvexfsError, RunError

#: Sizes and places from here on need zip64; so do more members than 65,535.
_LARGEST, _MOST_MEMBERS = 2**31, 2**16 - 1
#: Shorter members are stored as they are: compressing them costs more than it saves.
_COMPRESSED_BYTES = 512
_STORED, _DEFLATED, _VERSION, _UTF_8 = 0, 8, 20, 0x800
#: The first moment that a zip archive can name, 1980-01-01 00:00.
_TIME, _DATE = 0, 0x21
#: Headers of a zip archive (APPNOTE.TXT): of a member, of its entry at the end, and of the end.
_MEMBER, _ENTRY = struct.Struct("<4s5H3L2H"), struct.Struct("<4s6H3L5H2L")
_END = struct.Struct("<4s4H2LH")


def pack(arrays: Mapping[str, Any]) -> bytes:
    """Turn named arrays into a compressed blob; equal arrays give equal bytes.

    It is a ``.npz`` file with its members in the order of their names and no times. It is
    written here because `zipfile` takes ten times as long for the small arrays of a task.
    """
    if len(arrays) >= _MOST_MEMBERS:
        return _pack_large(arrays)
    parts, entries, place = [], [], 0
    for name in sorted(arrays):
        member, content = f"{storable(name)}.npy".encode(), _npy(np.asarray(arrays[name]))
        how, held = _STORED, content
        if len(content) >= _COMPRESSED_BYTES:
            how, held = _DEFLATED, zlib.compress(content, wbits=-zlib.MAX_WBITS)
        if len(content) >= _LARGEST or place + len(held) >= _LARGEST:
            return _pack_large(arrays)
        told = (_VERSION, _UTF_8, how, _TIME, _DATE, zlib.crc32(content), len(held), len(content))
        parts += [_MEMBER.pack(b"PK\x03\x04", *told, len(member), 0), member, held]
        last = (len(member), 0, 0, 0, 0, 0, place)
        entries += [_ENTRY.pack(b"PK\x01\x02", _VERSION, *told, *last), member]
        place += _MEMBER.size + len(member) + len(held)
    index = b"".join(entries)
    count = len(arrays)
    end = _END.pack(b"PK\x05\x06", 0, 0, count, count, len(index), place, 0)
    return b"".join([*parts, index, end])


def _npy(array: np.ndarray) -> bytes:
    """Return an array as a ``.npy`` file; raise ValueError if it holds objects."""
    if array.dtype.hasobject:
        raise ValueError("an array of objects cannot be stored")
    by_columns = array.flags.f_contiguous and not array.flags.c_contiguous
    return _npy_header(array.dtype, array.shape, by_columns) + array.tobytes("A")


@lru_cache(maxsize=256)
def _npy_header(dtype: np.dtype, shape: tuple[int, ...], by_columns: bool) -> bytes:
    descr = np.lib.format.dtype_to_descr(dtype)
    header = io.BytesIO()
    told = {"descr": descr, "fortran_order": by_columns, "shape": shape}
    np.lib.format.write_array_header_1_0(header, told)
    return header.getvalue()


def _pack_large(arrays: Mapping[str, Any]) -> bytes:
    """Do the same with arrays that need the longer numbers of zip64."""
    blob = io.BytesIO()
    with zipfile.ZipFile(blob, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(arrays):
            with archive.open(f"{storable(name)}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asarray(arrays[name]), allow_pickle=False)
    return blob.getvalue()


def unpack(blob: bytes) -> dict[str, np.ndarray]:
    """Return the arrays that :func:`pack` was given."""
    try:
        with np.load(io.BytesIO(blob), allow_pickle=False) as archive:
            # A blob of somebody else's folder may unpack to more than there is memory.
            unpacked = sum(member.file_size for member in archive.zip.infolist())
            read_limit().check(unpacked, "the arrays of a result")
            return dict(archive)
    except ConvexfsError:
        raise
    # What numpy, zipfile and zlib raise about bytes that are none of theirs.
    except Exception as error:
        raise RunError(f"the arrays of a result are damaged ({error}); solve it again") from error


def storable(text: str) -> str:
    """Return text that UTF-8 can hold, with escapes in place of lone surrogates."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()
