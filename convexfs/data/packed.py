"""Files that may be packed by gzip or zstandard, told by their first bytes."""

import gzip
from pathlib import Path
from typing import Any

from convexfs.errors import InputError

_GZIP, _ZSTANDARD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
#: Largest window that unpacking may hold; that of `zstd --ultra -22`.
_WINDOW = 2**27


def opened(path: Path) -> Any:
    """Open a file for reading its bytes, unpacked as they are read."""
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
