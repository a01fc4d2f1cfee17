"""A lock on a run's folder that also works between the hosts of a cluster.

The lock is a file that one process creates, which is atomic on network file systems too, and that
the holder touches regularly. The lock ends in one of three ways: the holder removes it, the holder
has died on this host, or the file has not been touched for a while. Clocks of different hosts are
never compared: a waiting process only checks whether the file changes.
"""

import json
import os
import socket
import threading
import time
import uuid
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from convexfs.errors import RunError, warn

#: Seconds between two touches of the file, and seconds without one after which a holder counts as
#: dead. Hosts of a network file system may see a change only after a minute.
BEAT, DEAD = 10.0, 150.0
_TICK = 0.25


class RunLock:
    """Lock file of a run's folder, taken by :meth:`take` and released when an ExitStack ends."""

    def __init__(self, path: Path, beat: float = BEAT, dead: float = DEAD):
        self.path, self._beat, self._dead = path, beat, dead
        self._me = {
            "token": uuid.uuid4().hex,
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "boot": _boot(),
            "start": _start(os.getpid()),
            "since": f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S}",
        }

    def take(self, resources: ExitStack) -> None:
        """Take the lock and touch it regularly; wait if the holder may be dead, raise if alive."""
        while not self._created():
            holder, signs = self._seen()
            if holder is not None and self._is_dead(holder, signs):
                self._take_from(holder)
        ended = threading.Event()
        threading.Thread(target=self._live, args=(ended,), daemon=True).start()
        resources.callback(self._release, ended)

    def check(self) -> None:
        """Raise RunError if the lock is no longer this process's, which counted as dead."""
        holder, _ = self._seen()
        if holder is None or holder.get("token") != self._me["token"]:
            raise RunError(
                f"{self.path.parent}: another process has taken this folder over, because this one "
                "was not seen for a while; what was recorded is safe"
            )

    def _created(self) -> bool:
        try:
            file = os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
        except FileExistsError:
            return False
        with os.fdopen(file, "w") as lock:
            json.dump(self._me, lock)
        return True

    def _seen(self) -> tuple[dict[str, Any] | None, int]:
        """Return the holder's record and the lock's mtime; (None, 0) if the lock is free."""
        try:
            touched, text = self.path.stat().st_mtime_ns, self.path.read_text()
        except FileNotFoundError:
            return None, 0
        try:
            holder = json.loads(text)
        except ValueError:  # The file is being written, or its writer has died.
            return {}, touched
        return (holder if isinstance(holder, dict) else {}), touched

    def _is_dead(self, holder: dict[str, Any], touched: int) -> bool:
        """Return True if the holder is dead, False if another took over; raise if it is alive."""
        here = all(holder.get(name) == self._me[name] for name in ("host", "boot"))
        if here and isinstance(holder.get("pid"), int):
            if _start(holder["pid"]) != holder.get("start"):
                return True
            self._refuse(holder)
        warn(
            f"{self.path.parent}: process {holder.get('pid')} on {holder.get('host')} holds it; "
            f"waiting up to {self._dead:g} s for a sign of life"
        )
        end = time.monotonic() + self._dead
        while time.monotonic() < end:
            time.sleep(min(_TICK, self._beat))
            now, later = self._seen()
            if now is None or now.get("token") != holder.get("token"):
                return False
            if later != touched:
                self._refuse(holder)
        return True

    def _refuse(self, holder: dict[str, Any]) -> None:
        raise RunError(
            f"{self.path.parent}: process {holder.get('pid')} on {holder.get('host')} has been "
            f"running here since {holder.get('since')} UTC; wait for it, stop it, or choose "
            "another --out"
        )

    def _take_from(self, holder: dict[str, Any]) -> None:
        """Remove the lock file of a dead holder; of several processes only one does it."""
        claim = self.path.with_name(f"{self.path.name}-{holder.get('token', 'unreadable')}")
        try:
            os.close(os.open(claim, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644))
        except FileExistsError:
            time.sleep(_TICK)
            return
        try:
            now, _ = self._seen()
            if now is not None and now.get("token") == holder.get("token"):
                self.path.unlink(missing_ok=True)
        finally:
            claim.unlink(missing_ok=True)

    def _live(self, ended: threading.Event) -> None:
        while not ended.wait(self._beat):
            with suppress(OSError):
                os.utime(self.path)

    def _release(self, ended: threading.Event) -> None:
        ended.set()
        # A forked worker has a copy of this object but does not hold the lock.
        if os.getpid() == self._me["pid"]:
            holder, _ = self._seen()
            if holder is not None and holder.get("token") == self._me["token"]:
                self.path.unlink(missing_ok=True)


def _boot() -> str:
    """Return the boot id of the machine; "" if the system has none."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _start(pid: int) -> str:
    """Return the start time of a process in clock ticks; "" if dead, "running" if unknown."""
    try:
        os.kill(pid, 0)
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except ProcessLookupError:
        return ""
    except OSError:  # The process belongs to another user, or the system has no /proc.
        return "running"
    return "" if fields[0] in ("Z", "X") else fields[19]
