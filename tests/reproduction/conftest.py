import pytest

from convexfs.reproduction import EXPERIMENTS
from tests.reproduction import tiny


@pytest.fixture
def tiny_experiment(monkeypatch):
    monkeypatch.setitem(EXPERIMENTS, tiny.NAME, tiny.HOME)
    monkeypatch.delenv("CONVEXFS_DATA", raising=False)
    tiny.DONE.clear()
    return tiny
