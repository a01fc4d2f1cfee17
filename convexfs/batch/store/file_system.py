"""What the file system of a run's folder can do: shared memory maps, locks, one host or several.

SQLite's write-ahead log (WAL) keeps its index in memory that processes share through a mapped
file. Network file systems do not share such maps between hosts, and some refuse them, or locks.
"""

import mmap
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

#: File systems of one host. All others are taken for ones that several hosts may write to.
_LOCAL = frozenset(
    ["ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "bcachefs", "jfs", "reiserfs", "tmpfs",
     "ramfs", "overlay", "aufs", "vfat", "exfat", "ntfs3", "apfs", "squashfs"]
)  # fmt: skip
_MOUNTS = Path("/proc/self/mountinfo")


@dataclass(frozen=True)
class FileSystem:
    """What can be relied upon in a folder.

    Attributes
    ----------
    kind : str
        Its name, such as ext4 or nfs4; empty if it is not known.
    shared : bool
        Whether several hosts may have it.
    maps, locks : bool
        Whether files can be mapped into shared memory, and locked.
    """

    kind: str
    shared: bool
    maps: bool
    locks: bool

    @property
    def write_ahead(self) -> bool:
        """Whether SQLite's WAL mode works there."""
        return self.maps and self.locks and not self.shared

    def __str__(self) -> str:
        lacking = ["shared by hosts"] * self.shared
        lacking += ["no shared memory maps"] * (not self.maps) + ["no locks"] * (not self.locks)
        return f"{self.kind or 'an unknown file system'} ({', '.join(lacking) or 'local'})"


def probe(folder: Path) -> FileSystem:
    """Try what the file system of a folder can do, with a small file that is removed again."""
    kind = file_system_kind(folder)
    with tempfile.TemporaryFile(dir=folder, prefix=".probe-") as file:
        file.write(bytes(mmap.PAGESIZE))
        file.flush()
        return FileSystem(
            kind=kind,
            shared=bool(kind) and kind not in _LOCAL,
            maps=_can(lambda: mmap.mmap(file.fileno(), mmap.PAGESIZE).close()),
            locks=_can(lambda: _lock(file)),
        )


def _lock(file: IO[bytes]) -> None:
    try:
        import fcntl
    except ImportError:  # not on Windows, where SQLite has other locks
        return
    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _can(attempt: Callable[[], Any]) -> bool:
    try:
        attempt()
    except OSError:
        return False
    return True


def file_system_kind(folder: Path, mounts: Path = _MOUNTS) -> str:
    """Return the name of a folder's file system; empty if the system does not report it."""
    try:
        lines = mounts.read_text(errors="surrogateescape").splitlines()
    except OSError:
        return ""
    place, best, kind = os.path.realpath(folder), "", ""
    for line in lines:
        mounted, _, rest = line.partition(" - ")
        fields = mounted.split()
        point = fields[4].encode().decode("unicode_escape") if len(fields) > 4 else ""
        inside = place == point or place.startswith(point.rstrip("/") + "/")
        if point and inside and len(point) >= len(best):
            best, kind = point, rest.split(" ")[0]
    return kind
