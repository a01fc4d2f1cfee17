"""The command, called in this process."""

from contextlib import redirect_stderr, redirect_stdout
from io import StringIO

import pytest

from convexfs.cli import main


@pytest.fixture(scope="session", autouse=True)
def compiled():
    """Kernels compiled before any test looks at what a command prints: compiling is announced."""
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        for words in (["iris"], ["iris", "--set", "n_neighbors=10"], ["iris", "--top", "2"]):
            assert main(["select", *words]) == 0


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
