"""Progress lines on stderr for estimators with verbose=True."""

import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

log = logging.getLogger(__name__)

#: Least seconds between lines on stderr, so that fast loops do not flood the terminal.
_PAUSE = 0.5


def narrator(title: str, verbose: float) -> Callable[[str], None] | None:
    """Return a function that logs each line, and prints one per 0.5 s; None if not verbose.

    Every line is logged (level INFO); stderr gets the first one and then at most two a
    second.
    """
    if not verbose > 0:
        return None
    shown = -_PAUSE

    def tell(line: str) -> None:
        nonlocal shown
        log.info("%s: %s", title, line)
        if time.monotonic() - shown >= _PAUSE:
            shown = time.monotonic()
            sys.stderr.write(f"{title}: {line}\n")

    return tell


def joined(*tellers: Callable[[str], None] | None) -> Callable[[str], None] | None:
    """Combine functions that take a line into one that calls all but None; None if all are None."""
    known = [tell for tell in tellers if tell is not None]

    def tell_all(line: str) -> None:
        for tell in known:
            tell(line)

    return tell_all if known else None


@contextmanager
def heard(logger: str, tell: Callable[[str], None] | None) -> Iterator[None]:
    """Pass INFO records of `logger` inside the block to `tell`, for solvers that only log."""
    if tell is None:
        yield
        return
    source, handler = logging.getLogger(logger), logging.Handler(logging.INFO)
    handler.emit = lambda record: tell(record.getMessage())
    level = source.level
    source.addHandler(handler)
    source.setLevel(min(level or logging.INFO, logging.INFO))
    try:
        yield
    finally:
        source.setLevel(level)
        source.removeHandler(handler)
