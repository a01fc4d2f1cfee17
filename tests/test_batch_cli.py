"""Progress where there is no terminal."""

import io
from pathlib import Path

from rich.console import Console

from convexfs.batch.run import Progress
from convexfs.batch_cli import SECONDS_BETWEEN_LINES, progress_shown


def test_without_a_terminal_a_line_now_and_then():
    written = io.StringIO()
    progress = Progress(Path("runs"), frozenset(str(key) for key in range(1000)))
    with progress_shown(Console(file=written)) as watch:
        for done in range(301):
            progress.done, progress.wall_seconds = done, SECONDS_BETWEEN_LINES * done / 100
            watch(progress)
    lines = written.getvalue().splitlines()
    assert [line.partition(" ")[0] for line in lines] == ["100", "200", "300"]
    assert lines[1] == "200 of 1000 tasks, 0 failed, 1.7/s, about 8 min left"


def test_a_short_run_says_nothing():
    written = io.StringIO()
    with progress_shown(Console(file=written)) as watch:
        watch(Progress(Path("runs"), frozenset("abc"), done=3, wall_seconds=1.0))
    assert written.getvalue() == ""
