"""Arrays and texts as a store holds them."""

import io
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np

from convexfs.data.readers.memory_limit import read_limit
from convexfs.errors import ConvexfsError, RunError


def pack(arrays: Mapping[str, Any]) -> bytes:
    """Turn named arrays into a compressed blob; equal arrays give equal bytes.

    It is a ``.npz`` file with its members in the order of their names and no times.
    """
    blob = io.BytesIO()
    with zipfile.ZipFile(blob, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(arrays):
            with archive.open(f"{storable(name)}.npy", "w") as member:
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
