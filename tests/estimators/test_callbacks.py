"""Fits report to scikit-learn's callbacks, which change nothing."""

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import convexfs

pytest.importorskip("sklearn.callback")


class Recorder:
    """A callback that counts what it hears."""

    max_propagation_depth = None

    def __init__(self):
        self.heard = []

    def setup(self, estimator, context):
        self.heard.append("setup")

    def teardown(self, estimator, context):
        self.heard.append("teardown")

    def on_fit_task_begin(self, estimator, context, *, X=None):
        self.heard.append((f"begin {context.task_name}", X is not None))

    def on_fit_task_end(self, estimator, context):
        self.heard.append(f"end {context.task_name}")


#: Estimators and the iterations that they report; None if that depends on the data.
MODELS = [
    (convexfs.Relief(), 0),
    (convexfs.IRelief(), None),
    (convexfs.Simba(n_starts=3, random_state=0), 3),
    (convexfs.Logo(lam=1.0), None),
    (convexfs.LogoCV(sigmas=[2.0], lams=[1.0, 2.0], cv=3), 6),
    (convexfs.Lmba(), None),
    (convexfs.LLFS(betas=3), 60),
    (convexfs.LFE(), 0),
    (convexfs.LogoRegressor(lam=1.0), None),
    (convexfs.KnockoffSelector(random_state=0), 0),
    (convexfs.StabilitySelector(convexfs.Relief(), n_pairs=4, random_state=0), 8),
]


@pytest.fixture(scope="module")
def data():
    return convexfs.load("spiral:noise=6,n=30").scaled()


def weights(model):
    return model.W_ if hasattr(model, "W_") else model.ranking().sort_values("name")["weight"]


@pytest.mark.parametrize(("model", "expected"), MODELS, ids=lambda one: type(one).__name__)
@pytest.mark.filterwarnings("ignore::convexfs.errors.ConvexfsWarning")
def test_every_fit_reports_itself_and_its_iterations(model, expected, data):
    recorder = Recorder()
    quiet: Any = clone(model)
    reporting: Any = clone(model)
    reporting.set_callbacks(recorder).fit(data.X, data.y)
    begin, end = ("begin fit", True), "end fit"
    assert recorder.heard[:2] == ["setup", begin]
    assert recorder.heard[-2:] == [end, "teardown"]
    iterations = recorder.heard[2:-2]
    assert iterations[::2] == [("begin iteration", False)] * (len(iterations) // 2)
    assert iterations[1::2] == ["end iteration"] * (len(iterations) // 2)
    assert len(iterations) // 2 == expected if expected is not None else iterations
    np.testing.assert_array_equal(weights(reporting), weights(quiet.fit(data.X, data.y)))


def test_callbacks_of_a_pipeline_reach_its_selector(data):
    recorder = Recorder()
    model = make_pipeline(StandardScaler(), convexfs.Logo(lam=1.0))
    model.set_callbacks(recorder).fit(data.X, data.y)
    assert ("begin iteration", False) in recorder.heard
    assert recorder.heard[-1] == "teardown"


def test_callbacks_are_torn_down_where_a_fit_fails(data):
    recorder = Recorder()
    with pytest.raises(convexfs.errors.InputError, match="sigma"):
        convexfs.Logo(sigma=-1.0).set_callbacks(recorder).fit(data.X, data.y)
    assert recorder.heard.count("setup") == recorder.heard.count("teardown")
