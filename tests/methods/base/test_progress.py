import logging

import numpy as np
import pytest

from convexfs import IRelief, Lmba, Logo, LogoCV, Simba, load
from convexfs.methods.base import progress
from convexfs.methods.base.progress import narrator

QUIET = [
    Logo(),
    Logo(algorithm="paper"),
    LogoCV(sigmas=[2.0], lams=[1.0], cv=2),
    IRelief(),
    Simba(random_state=0),
    Lmba(),
]


@pytest.fixture(scope="module")
def data():
    return load("spiral:noise=6,n=20")


@pytest.mark.parametrize("model", QUIET, ids=lambda model: type(model).__name__)
@pytest.mark.filterwarnings("ignore::convexfs.errors.ConvexfsWarning")
def test_a_verbose_fit_tells_stderr_of_its_progress(model, data, capfd):
    weights = model.fit(data.X, data.y).weights_
    assert capfd.readouterr() == ("", "")
    told = model.set_params(verbose=1).fit(data.X, data.y).weights_
    captured = capfd.readouterr()
    assert captured.out == ""
    assert " of " in captured.err or "iteration 1" in captured.err or "step " in captured.err
    np.testing.assert_array_equal(told, weights)
    model.set_params(verbose=0)


def test_lines_are_logged_all_and_shown_now_and_then(capfd, caplog, monkeypatch):
    clock = iter([0.0, 0.0, 0.1, 0.6, 0.6])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    tell = narrator("logo", 1)
    assert tell is not None
    with caplog.at_level(logging.INFO, logger="convexfs"):
        for line in "abc":
            tell(line)
    assert capfd.readouterr().err == "logo: a\nlogo: c\n"
    assert [record.getMessage() for record in caplog.records] == ["logo: a", "logo: b", "logo: c"]
    assert narrator("logo", 0) is None
