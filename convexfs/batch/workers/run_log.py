"""One log file for a run: what this process and every worker have to say, in order of arrival.

The records travel by multiprocessing-logging: its handler sends them from whichever
process they arise in, and a thread of this process writes the file. Its own queue is
not safe here. All writers of a ``multiprocessing.Queue`` share a lock, and a worker
killed while it holds the lock silences the others for good; each writer also keeps a
buffer, which is lost with it. So the handler is given another queue, a pair of datagram
sockets: the kernel takes a record whole or not at all, no lock is shared and nothing is
kept back, and once a worker has logged a record it may die.

A worker that was not forked is sent the socket, and writes to it by the standard library's
``QueueHandler``. Windows has no such sockets: there workers write to a plain queue, and one
killed in mid-sentence may silence the others, whose results are not affected.
"""

import io
import logging
import os
import pickle
import queue
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from functools import partial
from logging.handlers import QueueHandler, QueueListener
from pathlib import Path
from typing import Any

from multiprocessing_logging import MultiProcessingHandler

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
    with ExitStack() as ends:
        handler, setup = (_sockets if SOCKETS else _queue)(file, level, ends)
        _attach(handler, level, ends)
        logging.captureWarnings(True)
        ends.callback(logging.captureWarnings, False)
        yield setup


def _sockets(
    file: logging.Handler, level: int, ends: ExitStack
) -> tuple[logging.Handler, Callable[[], None] | None]:
    handler = _RunHandler(file)
    ends.callback(handler.close)
    return handler, None if pool.FORKS else partial(_send_to, handler.queue, level)


def _queue(
    file: logging.Handler, level: int, ends: ExitStack
) -> tuple[logging.Handler, Callable[[], None]]:
    records: Any = pool.CONTEXT.Queue()
    listener = QueueListener(records, file)
    listener.start()
    ends.callback(file.close)
    ends.callback(listener.stop)
    return _Sender(records), partial(_send_to, records, level)


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

    def emit(self, record: logging.LogRecord) -> None:
        # The thread that reads the queue also calls this.
        with self.lock or nullcontext():
            super().emit(record)

    def close(self) -> None:
        with suppress(OSError):
            super().close()


class _RunHandler(MultiProcessingHandler):
    """Handler that sends workers' records to the main process by datagrams, and writes there."""

    def __init__(self, file: logging.Handler):
        self._datagrams, self._owner = _Datagrams(), os.getpid()
        super().__init__("run-log", sub_handler=file)

    @property
    def queue(self) -> "_Datagrams":
        return self._datagrams

    @queue.setter
    def queue(self, stock: object) -> None:
        """Ignore the queue that the base class creates."""

    def _format_record(self, record: logging.LogRecord) -> logging.LogRecord:
        return _plain(record)

    def _send(self, s: logging.LogRecord) -> None:
        # The process that owns the file writes directly, without the queue.
        if os.getpid() == self._owner:
            self.sub_handler.emit(s)
        else:
            self._datagrams.put_nowait(s)


class _Sender(QueueHandler):
    """Queue handler that puts records as plain text, so that they can be pickled."""

    def prepare(self, record: logging.LogRecord) -> logging.LogRecord:
        return _plain(record)


class _Datagrams:
    """Queue of log records over a socket pair, with the methods that the handler uses."""

    def __init__(self):
        self._inlet, self._outlet = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._inlet.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, DATAGRAM_BYTES)

    def put_nowait(self, record: logging.LogRecord) -> None:
        self._inlet.send(pickle.dumps(record))

    def get(self, timeout: float) -> logging.LogRecord:
        self._outlet.settimeout(timeout)
        try:
            return pickle.loads(self._outlet.recv(DATAGRAM_BYTES))
        except TimeoutError:
            raise queue.Empty from None

    def qsize(self) -> int:
        """Return 1 if a record waits, else 0."""
        self._outlet.settimeout(0)
        try:
            return len(self._outlet.recv(1, socket.MSG_PEEK))
        except BlockingIOError:
            return 0

    def empty(self) -> bool:
        """Return whether no record waits; multiprocessing-logging before 0.4 asks this way."""
        return self.qsize() == 0

    def close(self) -> None:
        self._inlet.close()
        self._outlet.close()

    def join_thread(self) -> None:
        """Do nothing: a record is sent when ``put_nowait`` returns."""
