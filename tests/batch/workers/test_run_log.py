"""One log file, from all processes, whatever happens to them."""

import logging
import os
import random
import re
import signal
import threading
import time
import warnings

import pytest

from convexfs.batch.workers import pool
from convexfs.batch.workers import run_log as logs
from convexfs.batch.workers.attempts import start_context
from convexfs.batch.workers.pool import FATAL_KILLS, run
from convexfs.batch.workers.run_log import LONGEST, run_log
from convexfs.errors import RunError

LINE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} (\d+) ([A-Z]+) ([\w.]+): (.*)")
logger = logging.getLogger("tests.batch")


def lines(path):
    """The parsed records of a log; fails on a line that is none."""
    parsed = [LINE.fullmatch(line) for line in path.read_text().splitlines()]
    assert all(parsed)
    return [match.groups() for match in parsed if match]


def say(number):
    logger.info("task %d begins", number)
    logger.info("task %d ends", number)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "log.txt"


def test_no_record_is_lost(path):
    with run_log(path) as setup:
        logger.info("hello")
        pids = {o.attempts[0].pid for o in run(range(200), say, jobs=2, setup=setup)}
    records = lines(path)
    assert len(records) == 401
    expected = {f"task {n} {what}" for n in range(200) for what in ("begins", "ends")} | {"hello"}
    assert {text for *_, text in records} == expected
    assert {int(pid) for pid, *_ in records} == pids | {os.getpid()}


def test_each_process_is_in_order(path):
    with run_log(path) as setup:
        list(run(range(100), say, jobs=2, setup=setup))
    told = [text for *_, text in lines(path)]
    assert all(told.index(f"task {n} begins") < told.index(f"task {n} ends") for n in range(100))


@pytest.mark.slow
def test_killed_workers_do_not_silence_the_others(path):
    def chatter(number):
        if random.random() < 0.3:
            threading.Timer(0.01, os.kill, (os.getpid(), signal.SIGKILL)).start()
        end = time.monotonic() + 0.02
        while time.monotonic() < end:
            logger.info("noise")
        logger.info("task %d ends", number)

    with run_log(path) as setup:
        outcomes = list(run(range(100), chatter, jobs=2, setup=setup))
    told = {text for *_, text in lines(path)}
    assert len(outcomes) == 100
    assert any("died" in attempt.ended for o in outcomes for attempt in o.attempts)
    assert all(f"task {o.task} ends" in told for o in outcomes if o.status == "done")


def test_a_record_outlives_its_worker(path):
    def last_words(_):
        logger.info("farewell")
        os.kill(os.getpid(), signal.SIGKILL)

    with run_log(path) as setup:
        (outcome,) = run([0], last_words, jobs=2, setup=setup)
    farewells = sum(text == "farewell" for *_, text in lines(path))
    assert farewells == len(outcome.attempts) == FATAL_KILLS


def test_cvxpy_warnings_and_tracebacks_are_in_it(path, capfd):
    own = logging.getLogger("__cvxpy__")
    console = logging.StreamHandler()
    own.addHandler(console)
    try:
        with run_log(path):
            own.info("compiling")
            warnings.warn("inaccurate", UserWarning, stacklevel=1)
            next(run([0], lambda n: 1 // n))
        text = path.read_text()
        assert console in own.handlers
    finally:
        own.removeHandler(console)
    assert "__cvxpy__: compiling" in text
    assert "UserWarning: inaccurate" in text
    assert "ZeroDivisionError" in text
    assert "Traceback (most recent call last)" in text
    assert capfd.readouterr().err == ""


def test_everything_is_as_before(path):
    root, own = logging.getLogger(), logging.getLogger("__cvxpy__")

    # pytest adds its own handlers, in an order that is not ours to keep.
    def now():
        handlers = set(root.handlers), set(own.handlers)
        return root.level, own.level, handlers, warnings.showwarning

    state = now()
    threads = threading.active_count()
    with pytest.raises(KeyError), run_log(path, logging.DEBUG):
        raise KeyError
    assert now() == state
    assert threading.active_count() == threads


def test_a_resumed_run_appends(path):
    for word in ("one", "two"):
        with run_log(path):
            logger.info(word)
    assert [text for *_, text in lines(path)] == ["one", "two"]


def test_the_level_holds(path):
    with run_log(path, logging.WARNING):
        logger.info("small talk")
        logger.warning("news")
    assert [(level, text) for _, level, _, text in lines(path)] == [("WARNING", "news")]


def test_a_very_long_record_is_cut(path):
    with run_log(path):
        logger.info(chr(0x10000) * 2 * LONGEST)
        logger.info("short")
    first, second = lines(path)
    assert first[-1].endswith(" [cut]")
    assert second[-1] == "short"


def test_any_text_and_any_object_can_be_logged(path, monkeypatch):
    # Out of sight of pytest's own handlers, whose report could not carry this.
    with monkeypatch.context() as alone:
        alone.setattr(logging.getLogger(), "handlers", [])
        with run_log(path):
            logger.info("\udc80", extra={"odd": lambda: 0})
            logger.info(ValueError("bare"))
    assert [text for *_, text in lines(path)] == ["\\udc80", "bare"]


def test_a_full_disk_silences_the_log_only(capfd):
    with run_log("/dev/full"):
        logger.info("nobody hears this")
    assert capfd.readouterr().err == ""


def test_a_log_that_cannot_be_opened(tmp_path):
    with (
        pytest.raises(RunError, match="the log cannot be written"),
        run_log(tmp_path / "missing" / "log.txt"),
    ):
        pass


@pytest.mark.parametrize("sockets", [True, False])
def test_where_there_is_no_fork(path, monkeypatch, sockets):
    monkeypatch.setattr(pool, "FORKS", False)
    monkeypatch.setattr(pool, "CONTEXT", start_context("spawn"))
    monkeypatch.setattr(logs, "SOCKETS", sockets)
    with run_log(path) as setup:
        logger.info(chr(0x10000) * 2 * LONGEST)
        logger.info(ValueError("bare"))
        list(run(["word"] * 20, logging.warning, jobs=2, setup=setup))
    records = lines(path)
    assert [text[-6:] for *_, text in records] == [" [cut]", "bare"] + ["word"] * 20
    assert len({pid for pid, *_ in records}) > 1
