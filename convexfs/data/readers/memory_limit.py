"""Limit the memory that reading may take, before any of it is taken.

A small file can hold a huge table: compressed zeros, short rows under a long header, one
entry in column a billion. So memory is estimated from headers and counts,
and refused if that is more than a limit.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from convexfs.errors import InputError, check_number

_SIZE = re.compile(r"\s*(\d+\.?\d*|\.\d+)\s*(?:([KMGT])(I?))?B?\s*", re.IGNORECASE)
#: Files in which Linux reports the memory limit of a container (cgroup).
_CONTAINER_LIMITS = [
    Path("/sys/fs/cgroup", name) for name in ("memory.max", "memory/memory.limit_in_bytes")
]
_UNKNOWN_MEMORY = 8 * 10**9


@dataclass(frozen=True)
class ReadLimit:
    """The bytes of memory that reading may take, and where this limit comes from."""

    bytes: float
    origin: str

    def check(self, needed: float, what: str, cure: str = "keep fewer rows or columns") -> None:
        """Raise InputError if `what` needs more than the allowed bytes; `cure` is the advice."""
        if needed > self.bytes:
            raise InputError(
                f"{what} would need {size_text(needed)} of memory, more than the "
                f"{size_text(self.bytes)} that reading may take ({self.origin}); {cure}, or allow "
                "more by --read-limit (from Python read_limit=)"
            )


#: Stack of limits set by :func:`default_limit`; None means half of the memory.
_DEFAULT: list[str | float | None] = [None]


@contextmanager
def default_limit(asked: str | float | None) -> Iterator[None]:
    """Set the memory limit that read_limit returns by default in this block."""
    read_limit(asked)
    _DEFAULT.append(asked)
    try:
        yield
    finally:
        _DEFAULT.pop()


def read_limit(asked: str | float | None = None) -> ReadLimit:
    """Return the limit asked for, in bytes or as "4GB"; else :func:`default_limit`'s.

    If that is not set either, it is half of the memory.
    """
    asked = _DEFAULT[-1] if asked is None else asked
    if asked is None:
        return ReadLimit(machine_memory() / 2, "half of this machine's memory")
    if not isinstance(asked, str):
        check_number("read_limit", asked, 1)
        return ReadLimit(asked, "the limit asked for")
    return ReadLimit(parse_size(asked, "a read limit"), "the limit asked for")


def parse_size(text: str, name: str) -> int:
    """Return the bytes of a size such as 500MB, 2GB or 1.5GiB; an error calls it `name`.

    >>> parse_size("1.5 KiB", "a read limit")
    1536
    """
    size = _SIZE.fullmatch(text)
    number = 0.0
    if size is not None:
        power = " KMGT".index((size[2] or " ").upper())
        number = float(size[1]) * (1024 if size[3] else 1000) ** power
    if not 1 <= number < 2**63:
        raise InputError(f"{name} is a size such as 4GB or 500MB, not {text!r}")
    return int(number)


def machine_memory() -> int:
    """Return the bytes of memory, or of a smaller container limit; 8 GB if unknown."""
    try:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # sysconf does not exist on Windows.
        return _UNKNOWN_MEMORY
    for file in _CONTAINER_LIMITS:
        try:
            memory = min(memory, int(file.read_text()))
        except (OSError, ValueError):  # The kernel has another version, or the limit is "max".
            continue
    return memory


def size_text(count: float) -> str:
    """Format a number of bytes with its unit.

    >>> size_text(3.21e10)
    '32.1 GB'
    """
    count = min(count, 1e18)  # Integers may be too large for a float.
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return "over 1000 TB"
