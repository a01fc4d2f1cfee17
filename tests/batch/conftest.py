"""Folders and files that several tests start from."""

import pytest

from convexfs.cli import main
from tests.batch.problem_texts import PLAIN, TROUBLE
from tests.batch.processes import children


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "runs" / "first"


@pytest.fixture
def plain(tmp_path):
    path = tmp_path / "plain.py"
    path.write_text(PLAIN)
    return path


@pytest.fixture
def trouble(tmp_path):
    path = tmp_path / "trouble.py"
    path.write_text(TROUBLE)
    return path


@pytest.fixture
def slow(tmp_path):
    """400 tasks that sleep for a twentieth of a second each."""
    text = TROUBLE.replace('"well", "hang", "die", "raise", "well again"', "*range(400)")
    path = tmp_path / "slow.py"
    path.write_text(text.replace('if how == "hang":\n        time.sleep(1000)', "time.sleep(0.05)"))
    return path


@pytest.fixture
def no_process_left():
    """Hold the test to leaving no process behind."""
    yield
    assert not children(), "a worker runs on, or nobody has buried it"


@pytest.fixture
def text_of(capsys):
    """Return a function that runs a command, and returns its exit code and standard error."""

    def text_of(*words):
        code = main([str(word) for word in words])
        err = capsys.readouterr().err
        assert "Traceback" not in err
        return code, err

    return text_of
