"""What tests of studies share."""

import time

import pytest

from convexfs.batch.run import solve_files
from convexfs.batch.store.store import Store
from convexfs.study.page import gather
from tests.report.pages import HOSTILE, PLAIN
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


@pytest.fixture(scope="session")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    (folder / "plain.py").write_text(PLAIN)
    (folder / "<i>hostile.py").write_text(HOSTILE)
    solve_files([folder / "plain.py", folder / "<i>hostile.py"], folder / "out")
    return folder / "out"


@pytest.fixture(scope="session")
def report(run):
    return gather(run)


@pytest.fixture(scope="session")
def page(report):
    return report.html
