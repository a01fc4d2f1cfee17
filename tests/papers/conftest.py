import pytest
from papers import EXPERIMENTS

from tests.papers import tiny


@pytest.fixture
def tiny_experiment(monkeypatch):
    monkeypatch.setitem(EXPERIMENTS, tiny.NAME, tiny.HOME)
    monkeypatch.delenv("CONVEXFS_DATA", raising=False)
    tiny.DONE.clear()
    return tiny
