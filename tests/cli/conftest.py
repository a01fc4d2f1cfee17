"""The command, called in this process."""

import pytest

from convexfs.cli import main


@pytest.fixture
def run(capsys):
    def run(*words):
        try:
            code = main([str(word) for word in words])
        except SystemExit as stop:
            code = stop.code
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run
