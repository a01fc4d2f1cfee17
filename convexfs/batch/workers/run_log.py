"""One log file for a run: what this process and every worker have to say, in order of arrival.

Every process puts its records into one queue by the standard library's ``QueueHandler``, and a
thread of this process writes the file. A ``multiprocessing.Queue`` is not safe here. All its
writers share a lock, and a worker killed while it holds the lock silences the others for good; each
writer also keeps a buffer, which is lost with it. So the queue is a pair of datagram sockets: the
kernel takes a record whole or not at all, no lock is shared and nothing is kept back, and once a
worker has logged a record it may die.

Windows has no such sockets: there records go to a plain queue, and a worker killed in mid-sentence
may silence the others, whose results are not affected.
"""

import io
import logging
import pickle
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from logging.handlers import QueueHandler, QueueListener
from pathlib import Path
from typing import Any

from convexfs.batch.workers import pool
from convexfs.errors import RunError

log = logging.getLogger(__name__)

FORMAT = "%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s"
#: Longer texts of log records are cut to this many characters, to fit into one datagram.
LONGEST = 40_000
DATAGRAM_BYTES = 5 * LONGEST
#: Whether this system has Unix sockets, which need no address.
SOCKETS = hasattr(socket, "AF_UNIX")


@contextmanager
def run_log(path: str | Path, level: int = logging.INFO) -> Iterator[Callable[[], None] | None]:
    """Append log records and warnings of this process and its workers to a file in this block.

    All of it is in the file when the context ends, and the loggers are as they were.

    Parameters
    ----------
    path : path
        The log; its folder must exist.
    level : int
        Least severity written.

    Yields
    ------
    callable or None
        The ``setup`` to give to :func:`convexfs.batch.workers.pool.run`.
    """
    try:
        file = _LogFile(path, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise RunError(f"{path}: the log cannot be written ({error.strerror})") from error
    file.setFormatter(logging.Formatter(FORMAT))
    records: Any = _Datagrams() if SOCKETS else pool.CONTEXT.Queue()
    listener = QueueListener(records, file)
    with ExitStack() as ends:
        ends.callback(file.close)
        ends.callback(records.close)
        listener.start()
        ends.callback(listener.stop)
        _attach(_Sender(records), level, ends)
        logging.captureWarnings(True)
        ends.callback(logging.captureWarnings, False)
        # Forked workers inherit the handler.
        yield None if pool.FORKS else partial(_send_to, records, level)


def _send_to(records: Any, level: int) -> None:
    """Send this worker's log records to the queue `records` from now on."""
    _attach(_Sender(records), level, ExitStack())
    logging.captureWarnings(True)


def _plain(record: logging.LogRecord) -> logging.LogRecord:
    """Return a copy of a record that can be pickled: the fields the file shows, text cut."""
    fields = ("name", "levelno", "levelname", "process", "created", "msecs")
    plain = not (record.exc_info or record.exc_text or record.stack_info)
    text = record.getMessage() if plain else logging.Formatter().format(record)
    if len(text) > LONGEST:
        text = f"{text[:LONGEST]} [cut]"
    return logging.makeLogRecord({name: vars(record)[name] for name in fields} | {"msg": text})


def _attach(handler: logging.Handler, level: int, ends: ExitStack) -> None:
    """Add the handler to the root logger and, replacing others, to cvxpy's, until `ends` closes."""
    root, cvxpy = logging.getLogger(), logging.getLogger("__cvxpy__")
    for console in tuple(cvxpy.handlers):
        cvxpy.removeHandler(console)
        ends.callback(cvxpy.addHandler, console)
    # cvxpy's logger does not propagate to the root, so it needs the handler too.
    for target in (root, cvxpy):
        ends.callback(target.setLevel, target.level)
        ends.callback(target.removeHandler, handler)
        target.setLevel(level)
        target.addHandler(handler)


class LogLines(io.TextIOBase):
    """A text stream that logs every line written; close() does nothing."""

    encoding = "utf-8"

    def __init__(self):
        self._begun = ""
        self.buffer = _LogBytes(self)

    def write(self, text: str) -> int:
        *lines, self._begun = (self._begun + text).split("\n")
        for line in lines:
            log.info("printed: %s", line)
        return len(text)

    def finish(self) -> None:
        """Log text that was printed without a final newline."""
        if self._begun:
            self.write("\n")

    def fileno(self) -> int:
        return 1

    def close(self) -> None:
        """Stay open: later output belongs to the log too."""


class _LogBytes(io.RawIOBase):
    """Byte stream ``buffer`` of LogLines, which logs all bytes written to it as text."""

    def __init__(self, lines: LogLines):
        self._lines = lines

    def write(self, data: Any) -> int:
        text = bytes(data)
        self._lines.write(text.decode("utf-8", "backslashreplace"))
        return len(text)

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return 1

    def close(self) -> None:
        """Stay open, like the text stream."""


class _LogFile(logging.FileHandler):
    """Log file that ignores write errors: the store reports a full disk."""

    def handleError(self, record: logging.LogRecord) -> None:
        """Print nothing: the screen belongs to the progress of the run."""

    def close(self) -> None:
        with suppress(OSError):
            super().close()


class _Sender(QueueHandler):
    """Queue handler that puts records as plain text, so that they can be pickled."""

    def prepare(self, record: logging.LogRecord) -> logging.LogRecord:
        return _plain(record)


class _Datagrams:
    """Queue of log records over a socket pair, with the methods that the handlers use."""

    def __init__(self):
        self._inlet, self._outlet = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._inlet.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, DATAGRAM_BYTES)

    def put_nowait(self, record: logging.LogRecord | None) -> None:
        self._inlet.send(pickle.dumps(record))

    def get(self, block: bool = True) -> logging.LogRecord | None:
        return pickle.loads(self._outlet.recv(DATAGRAM_BYTES))

    def close(self) -> None:
        self._inlet.close()
        self._outlet.close()
