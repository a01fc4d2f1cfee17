"""What tests of studies share."""

import time

import pytest

from convexfs.batch.store import Store
from tests.study.stored import TASK


@pytest.fixture
def folder(tmp_path):
    """A function that records tasks, each with the residuals of its steps, and judges them."""

    def folder(*told):
        with Store(tmp_path / "run") as store:
            for number, (changes, *steps) in enumerate(told):
                answers = [{"step": i} | step for i, step in enumerate(steps)]
                store.record(TASK | {"key": f"k{number}"} | changes, [], answers)
                time.sleep(0.002)  # the end of a task is kept to the millisecond
        return tmp_path / "run"

    return folder


@pytest.fixture
def file(tmp_path):
    """A function that writes a problem file and returns where."""

    def file(text, name="own.py"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return file
