"""Open and lock one SQLite file, and turn its errors into one-line messages.

SQLite's write-ahead log (WAL) keeps its index in memory that processes share through a mapped
file. Network file systems do not share such maps between hosts, and some refuse them, or locks.
So the file system of the folder is probed first.
"""

import mmap
import os
import shutil
import socket
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from convexfs.errors import RunError

#: Types of local file systems. Other types count as shared between hosts; an unknown one does not.
_LOCAL = frozenset(
    ["ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "bcachefs", "jfs", "reiserfs", "tmpfs",
     "ramfs", "overlay", "aufs", "vfat", "exfat", "ntfs3", "apfs", "squashfs"]
)  # fmt: skip
_MOUNTS = Path("/proc/self/mountinfo")


@dataclass(frozen=True)
class FileSystem:
    """What a folder's file system supports: memory maps, locks, and whether hosts share it.

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
        """Return whether SQLite's WAL mode works on this file system."""
        return self.maps and self.locks and not self.shared

    def __str__(self) -> str:
        lacking = ["shared by hosts"] * self.shared
        lacking += ["no shared memory maps"] * (not self.maps) + ["no locks"] * (not self.locks)
        return f"{self.kind or 'an unknown file system'} ({', '.join(lacking) or 'local'})"


def probe(folder: Path) -> FileSystem:
    """Return a folder's FileSystem, tested for maps and locks with a temporary file."""
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
    except ImportError:  # fcntl does not exist on Windows, where SQLite uses other locks.
        return
    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _can(attempt: Callable[[], Any]) -> bool:
    try:
        attempt()
    except OSError:
        return False
    return True


def file_system_kind(folder: Path, mounts: Path = _MOUNTS) -> str:
    """Return the type of a folder's file system; "" if the system does not report it."""
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


#: Suffixes of the files that SQLite creates beside a database.
SQLITE_ENDS = ("-journal", "-wal", "-shm")
#: Limit on attempts to copy a database while another process changes it; the last copy is used.
_COPIES = 40
MOVE = "move it away, or solve into another folder"
AGAIN = "what was recorded before is safe, and the same command goes on from there"
#: Error messages by SQLite's primary result code, with what to do.
TROUBLE = {
    sqlite3.SQLITE_FULL: f"the disk is full; make room: {AGAIN}",
    sqlite3.SQLITE_IOERR: f"the disk failed; check it: {AGAIN}",
    sqlite3.SQLITE_BUSY: f"another program keeps it locked; close that: {AGAIN}",
    sqlite3.SQLITE_CORRUPT: f"is damaged; {MOVE}",
    sqlite3.SQLITE_NOTADB: f"is damaged or no database; {MOVE}",
    sqlite3.SQLITE_CANTOPEN: f"cannot be opened; {MOVE}",
    sqlite3.SQLITE_READONLY: f"cannot be written; {MOVE}",
}


def connect(
    path: Path, mode: str, patience: float = 30.0, locks: bool = True
) -> sqlite3.Connection:
    """Connect to a file in SQLite mode ro, rw or rwc; if not `locks`, without file locks."""
    with explain_errors(path):
        uri = f"{path.absolute().as_uri()}?mode={mode}{'' if locks else '&vfs=unix-none'}"
        return sqlite3.connect(uri, uri=True, isolation_level=None, timeout=patience)


def in_wal(path: Path) -> bool:
    """Return whether a file's header says WAL mode."""
    try:
        with path.open("rb") as file:
            return file.read(20)[18:] == b"\2\2"
    except OSError:
        return False


def readable(path: Path, resources: ExitStack) -> tuple[Path, str]:
    """Return path and mode to read a database; a temporary copy if SQLite cannot read it there.

    Without locks, or in WAL mode without shared memory maps, SQLite cannot read the file where
    it is.
    """
    try:
        system = probe(path.parent)
    except OSError:  # The folder is read-only, so nobody writes the file either.
        return path, "ro"
    if system.locks and (system.maps or not in_wal(path)):
        return path, "ro"
    folder = Path(resources.enter_context(tempfile.TemporaryDirectory(prefix="convexfs-read-")))
    for _ in range(_COPIES):
        before = [identity_and_age(own) for own in _parts(path)]
        for own in _parts(path):
            (folder / own.name).unlink(missing_ok=True)
            with suppress(FileNotFoundError):
                shutil.copy(own, folder / own.name)
        if before == [identity_and_age(own) for own in _parts(path)]:
            break
        time.sleep(0.05)
    return folder / path.name, "rw"


def _parts(path: Path) -> list[Path]:
    """Return the paths of a database and of its possible journal and WAL files."""
    return [path.with_name(f"{path.name}{end}") for end in ("", "-journal", "-wal")]


def identity_and_age(path: Path) -> tuple[int, ...] | None:
    """Return (device, inode, mtime, size) of a file; None if there is none."""
    try:
        file = path.stat()
    except OSError:
        return None
    return file.st_dev, file.st_ino, file.st_mtime_ns, file.st_size


def identity(path: Path) -> tuple[int, ...] | None:
    """Return the file's identity (device and inode), or None if there is no file."""
    found = identity_and_age(path)
    return None if found is None else found[:2]


@contextmanager
def explain_errors(path: Path) -> Iterator[None]:
    """Turn SQLite errors in the block that stem from disk or file into RunError with advice."""
    try:
        yield
    except (sqlite3.Error, UnicodeDecodeError) as error:
        trouble = TROUBLE.get(getattr(error, "sqlite_errorcode", 0) & 0xFF)
        if isinstance(error, UnicodeDecodeError) or "decode to UTF-8" in str(error):
            trouble = TROUBLE[sqlite3.SQLITE_CORRUPT]
        if trouble is None:
            raise
        raise RunError(f"{path}: {trouble} ({error})") from error


def lock(path: Path, resources: ExitStack) -> None:
    """Hold the run's lock until `resources` close; raise RunError naming its holder if taken.

    The lock is an open write transaction on a little database: it ends with this process
    however that ends, forked workers do not inherit it, and others can read meanwhile
    who holds it.
    """
    database = resources.enter_context(closing(connect(path, "rwc", patience=0.5)))
    try:
        database.execute("BEGIN IMMEDIATE")
        database.execute(
            "CREATE TABLE IF NOT EXISTS holder (id INTEGER PRIMARY KEY, pid, host, since)"
        )
        me = (os.getpid(), socket.gethostname(), f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S}")
        database.execute("INSERT OR REPLACE INTO holder VALUES (1, ?, ?, ?)", me)
        database.execute("COMMIT")
        database.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_ERROR:
            raise RunError(f"{path}: is no lock of convexfs ({error}); {MOVE}") from error
        if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
            raise
        raise RunError(
            f"{path.parent}: {_holder(database)}; wait for it, stop it, or choose another --out"
        ) from error


def _holder(database: sqlite3.Connection) -> str:
    """Return a sentence that names the process holding the lock, if it is known."""
    try:
        found = database.execute("SELECT pid, host, since FROM holder").fetchone()
    except sqlite3.OperationalError:
        found = None
    if found is None:
        return "another process has just started here"
    pid, host, since = found
    return f"process {pid} on {host} has been running here since {since} UTC"
