"""The page holds the numbers of the run, all of them, and nothing that runs by itself."""

import json
import math
import re
from base64 import b64decode
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import convexfs
from convexfs.batch.run import solve_files
from convexfs.batch.store import Store
from convexfs.errors import InputError
from convexfs.study import figures
from convexfs.study.figures_png import write_figures
from convexfs.study.outcomes import outcomes, selected
from convexfs.study.page.columns import encoded
from convexfs.study.profiles import leaders, performance_profile, summary
from convexfs.study.report import gather, write_report

PLAIN = """'''RELIEF as printed: <b>max</b> w'z.'''
METHOD = "relief"
DATA = ["iris", "wine"]
GRID = {"n_neighbors": [1, 2, 3, 4]}
SOLVERS = ["native", "CLARABEL", "SCS", "HIGHS"]
"""
HOSTILE = """
import cvxpy as cp
METHOD = "relief"
DATA = ["iris"]
GRID = {"word": ["</script><script>alert(1)</script>"]}
SOLVERS = ["CLARABEL"]
def build(z, word):
    raise ArithmeticError(f"<img src=x onerror=alert(2)> {word}")
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    (folder / "plain.py").write_text(PLAIN)
    (folder / "<i>hostile.py").write_text(HOSTILE)
    solve_files([folder / "plain.py", folder / "<i>hostile.py"], folder / "out")
    return folder / "out"


@pytest.fixture(scope="module")
def report(run):
    return gather(run)


@pytest.fixture(scope="module")
def page(report):
    return report.html


def decoded(column):
    """What the page makes of an encoded column, None for what is missing."""
    if "doubles" in column:
        doubles = np.frombuffer(b64decode(column["doubles"]), dtype="<f8").tolist()
        return [None if math.isnan(value) else value for value in doubles]
    if "codes" in column:
        return [None if code < 0 else column["levels"][code] for code in column["codes"]]
    return column["values"]


def numbers_in(page):
    (text,) = re.findall(r'<script type="application/json" id="numbers">(.*?)</script>', page, re.S)
    return json.loads(text)


def frame_of(table):
    return pd.DataFrame({column["name"]: decoded(column) for column in table["columns"]})


def assert_same(table, frame):
    shown = frame_of(table)
    assert set(shown) == set(frame)
    for name in frame:
        expected = frame[name].astype(object).where(frame[name].notna(), None).tolist()
        assert shown[name].astype(object).where(shown[name].notna(), None).tolist() == expected


@pytest.mark.parametrize(
    ("name", "compute"), [("rows", lambda f: f), ("summary", summary), ("leaders", leaders)]
)
def test_tables_hold_every_digit_of_the_study(run, page, name, compute):
    assert_same(numbers_in(page)["tables"][name], compute(outcomes(run)))


def test_the_profile_is_that_of_the_study(run, page):
    drawn = frame_of(numbers_in(page)["figures"]["performance-profile"]["table"])
    full = performance_profile(outcomes(run))
    ours = set(map(tuple, drawn[["solver", "ratio", "share"]].to_numpy()))
    assert ours == set(map(tuple, full[["solver", "ratio", "share"]].to_numpy()))


class Elements(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


def test_what_a_run_says_cannot_run(page):
    parsed = Elements()
    parsed.feed(page)
    scripts = [attributes for tag, attributes in parsed.found if tag == "script"]
    assert [attributes.get("id") for attributes in scripts] == ["numbers", "plotly", None]
    assert not [tag for tag, _ in parsed.found if tag in ("img", "i", "iframe", "object")]
    assert not [name for _, attributes in parsed.found for name in attributes if name[:2] == "on"]
    messages = frame_of(numbers_in(page)["tables"]["failures"])["message"]
    assert messages.str.contains("<img src=x onerror=alert(2)>", regex=False).any()


def test_nothing_is_fetched(page):
    parsed = Elements()
    parsed.feed(page)
    for _, attributes in parsed.found:
        assert "src" not in attributes
        assert attributes.get("href", "#")[:1] == "#" or attributes["href"] == "data:,"
    assert "default-src 'none'" in page


def test_problems_are_written_out(page):
    assert page.count("<math ") == 1  # the other file cannot be built
    assert "&lt;b&gt;max&lt;/b&gt; w&#x27;z" in page
    assert re.search(r"Cannot be stated now: [^<]*ArithmeticError: &lt;img", page)


def test_a_file_that_has_changed_or_gone_is_told(tmp_path):
    for name, grid in (("changed", "[1]"), ("gone", "[2]")):
        (tmp_path / f"{name}.py").write_text(PLAIN.replace("[1, 2, 3, 4]", grid))
    solve_files([tmp_path / "changed.py", tmp_path / "gone.py"], tmp_path / "out")
    (tmp_path / "changed.py").write_text(PLAIN + "# more\n")
    (tmp_path / "gone.py").unlink()
    html = gather(tmp_path / "out").html
    assert "has changed since the run" in html
    assert "Cannot be stated: there is no problem file" in html


def sections_of(report):
    return [part.section.name for part in report.parts]


def test_parts_without_data_are_left_out(tmp_path):
    (tmp_path / "one.py").write_text(
        PLAIN.replace('["native", "CLARABEL", "SCS", "HIGHS"]', '["native"]')
    )
    solve_files([tmp_path / "one.py"], tmp_path / "out")
    found = sections_of(gather(tmp_path / "out"))
    assert found == ["overview", "verdict", "accuracy-time", "time-split", "problems", "rows",
                     "environment", "downloads"]  # fmt: skip


def test_a_full_run_has_its_parts(report):
    found = sections_of(report)
    for name in (
        "leaders",
        "performance-profile",
        "feature-agreement",
        "selected-features",
        "failures",
    ):
        assert name in found
    assert "convergence" not in found


def test_a_run_that_is_going_on_can_be_reported(run):
    with Store(run):
        assert gather(run).parts


def test_folders_without_results_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"holds no results\.sqlite"):
        write_report(tmp_path)
    Store(tmp_path / "empty").close()
    with pytest.raises(InputError, match="has no finished task yet"):
        write_report(tmp_path / "empty")


def test_a_page_that_cannot_be_written_is_told(run, tmp_path):
    with pytest.raises(InputError, match="cannot be written"):
        write_report(run, tmp_path / "missing" / "page.html")


def test_selected_features_are_the_shares_of_answers(run):
    chosen = selected(run)
    figure = figures.selected_features(chosen)
    assert figure is not None
    instance = figure.panels[0]
    own = chosen[(chosen["instance"] == instance) & (chosen["solver"] == "native")]
    shown = figure.frame[
        (figure.frame["instance"] == instance) & (figure.frame["solver"] == "native")
    ]
    selected_by_all = {str(feature + 1) for feature in own["features"].iloc[0]}
    assert set(shown.loc[shown["share"] == 1, "feature"]) == selected_by_all


def test_time_split_adds_up_to_the_wall_time(run):
    frame = outcomes(run)
    figure = figures.time_split(frame)
    assert figure is not None
    drawn = figure.frame[figure.frame["problem"] == "plain"].groupby("solver")["seconds"].sum()
    solved = frame[frame["outcome"] == "solved"]
    assert np.allclose(drawn, solved.groupby("solver")["wall_seconds"].mean()[drawn.index])


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
    heat, pareto = report.figures[:2]
    table = heat.frame.pivot(index="sample", columns="feature", values="chosen")
    table.index, table.columns = table.index.astype(int), table.columns.astype(int) - 1
    shown = np.zeros(model.local_support_.shape, dtype=bool)
    for feature in table.columns:
        shown[table.index, feature] = table[feature] == 1
    assert (shown == model.local_support_).all()
    first = pareto.frame[pareto.frame["sample"] == "sample 0"]
    relaxed = first[first["what"] == "relaxed"]
    assert np.allclose(relaxed["u1"], model.points_[0]["u1"], equal_nan=True)
    assert len(first) - len(relaxed) == np.isfinite(model.points_[0]["rounded_u1"]).sum()
    assert "samples of an LLFS fit" in report.html


def test_every_panel_becomes_a_picture(report, tmp_path):
    files = write_figures(report.figures, report.solvers, tmp_path / "png")
    assert len(files) == len(set(files)) == sum(len(f.panels) for f in report.figures)
    assert all(file.read_bytes()[:4] == b"\x89PNG" for file in files)
    with pytest.raises(InputError, match="cannot be made"):
        write_figures(report.figures, report.solvers, files[0])


@given(st.lists(st.none() | st.floats(allow_nan=False)), st.sampled_from(["number", "seconds"]))
def test_numbers_survive_the_page(values, kind):
    column = {"kind": kind, **encoded(pd.Series(values, dtype="float64"), kind)}
    assert decoded(json.loads(json.dumps(column))) == values


@given(st.lists(st.none() | st.text(max_size=3)))
def test_words_survive_the_page(values):
    column = {"kind": "text", **encoded(pd.Series(values, dtype="string"), "text")}
    assert decoded(json.loads(json.dumps(column))) == values


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
    if count <= figures.MOST_POINTS:
        assert len(kept) == count
