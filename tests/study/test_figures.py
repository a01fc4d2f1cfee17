"""Figures show what was computed, on the page and as files."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import convexfs
from convexfs.batch.run import solve_files
from convexfs.batch.store.store import Store
from convexfs.errors import InputError
from convexfs.report.export import write_figures
from convexfs.study import figures
from convexfs.study.outcomes import outcomes, selected
from convexfs.study.page import gather


def test_selected_features_are_the_shares_of_answers(run):
    with Store.read(run) as store:
        chosen = selected(outcomes(run), store.answers())
    figure = figures.selected_features(chosen)
    assert figure is not None
    instance = figure.panels[0]
    own = chosen[(chosen["instance"] == instance) & (chosen["solver"] == "native")]
    shown = figure.frame[
        (figure.frame["instance"] == instance) & (figure.frame["solver"] == "native")
    ]
    selected_by_all = {str(feature + 1) for feature in own["features"].tolist()[0]}
    assert set(shown.loc[shown["share"] == 1, "feature"]) == selected_by_all


def test_time_split_adds_up_to_the_wall_time(run):
    frame = outcomes(run)
    figure = figures.time_split(frame)
    assert figure is not None
    parts: Any = figure.frame
    drawn = parts[parts["problem"] == "plain"].groupby("solver")["seconds"].sum()
    solved = frame[frame["outcome"] == "solved"]
    expected: Any = solved.groupby("solver")["wall_seconds"].mean()
    assert np.allclose(drawn, expected[drawn.index])


def test_iterations_become_a_convergence_plot(tmp_path):
    (tmp_path / "fit.py").write_text(
        """METHOD = "logo"
DATA = ["iris"]
GRID = {"lam": [1.0], "sigma": [2.0]}
SOLVERS = ["native"]
FIT = True
"""
    )
    solve_files([tmp_path / "fit.py"], tmp_path / "out")
    figure = next(f for f in gather(tmp_path / "out").figures if f.name == "convergence")
    iris = convexfs.load("iris").scaled()
    fitted = convexfs.Logo(sigma=2.0, lam=1.0).fit(iris.X, iris.y)
    assert len(fitted.history_) > 1
    assert np.allclose(figure.frame["change"], [row["residual"] for row in fitted.history_])
    assert figure.frame["step"].tolist() == list(range(len(fitted.history_)))
    assert outcomes(tmp_path / "out")["outcome"].tolist() == ["solved"]


def test_points_of_llfs_show_their_features(tmp_path):
    data = convexfs.load("subclasses:noise=4").scaled()
    model = convexfs.LLFS(run_dir=tmp_path, max_features=2, betas=5).fit(data.X, data.y)
    report = gather(tmp_path)
    figures = {figure.name: figure for figure in report.figures}
    heat, pareto = figures["local-features"], figures["pareto"]
    table = heat.frame.pivot(index="sample", columns="feature", values="chosen")
    table.index, table.columns = table.index.astype(int), table.columns.astype(int) - 1
    shown = np.zeros(model.local_support_.shape, dtype=bool)
    shown[np.ix_(table.index.to_numpy(), table.columns.to_numpy())] = table == 1
    assert (shown == model.local_support_).all()
    first = pareto.frame[pareto.frame["sample"] == "sample 0"]
    relaxed = first[first["what"] == "relaxed"]
    assert np.allclose(relaxed["u1"], model.points_[0]["u1"], equal_nan=True)
    assert len(first) - len(relaxed) == np.isfinite(model.points_[0]["rounded_u1"]).sum()
    assert "whole points, local optima" in report.html


@pytest.mark.slow
def test_every_panel_becomes_a_picture(report, tmp_path):
    files = write_figures(report.figures, report.solvers, tmp_path / "png")
    assert len(files) == len(set(files)) == sum(len(f.panels) for f in report.figures)
    assert all(file.read_bytes()[:4] == b"\x89PNG" for file in files)
    with pytest.raises(InputError, match="cannot be written"):
        write_figures(report.figures, report.solvers, files[0])


@given(st.integers(1, 4000), st.integers(0, 9))
def test_thinned_points_are_few_and_from_everywhere(count, seed):
    random = np.random.default_rng(seed)
    points = pd.DataFrame(
        10 ** random.normal(-4, 1, (count, 2)), columns=["solve_seconds", "error"]
    )
    points = points.assign(settings="1e-06", solver="SCS", wrong=random.random(count) < 0.1)
    kept = figures._uncovered(points)
    assert len(kept) <= figures.MOST_POINTS
    assert kept["wrong"].any() == points["wrong"].any()
    assert count > figures.MOST_POINTS or len(kept) == count
