"""The site: its examples run and draw, its parts are gathered, and a bad link is noticed."""

import inspect
import re
import runpy
import sys
import warnings
from pathlib import Path

import matplotlib as mpl
import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

import convexfs
from convexfs.cli.guide import pages
from convexfs.errors import ConvexfsWarning

SCRIPTS = Path(__file__).parents[1] / "scripts"
sys.path.insert(0, str(SCRIPTS))

import build_site  # noqa: E402
import run_guide  # noqa: E402

EXAMPLES = sorted((build_site.SOURCE / "examples").glob("plot_*.py"))


def test_there_are_enough_examples():
    assert len(EXAMPLES) >= 12


@pytest.mark.slow(cases=3)
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_and_draws(path, capsys):
    mpl.use("Agg")
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvexfsWarning)
        figure = runpy.run_path(str(path))["figure"]
    assert isinstance(figure, Figure)
    assert all(axes.has_data() for axes in figure.axes)
    plt.close("all")


def test_examples_begin_with_a_title_and_a_paragraph():
    for path in EXAMPLES:
        title, underline, empty, sentence = path.read_text().split("\n")[1:5]
        assert len(title) == len(underline) > 10
        assert (empty, sentence[0].isupper()) == ("", True)


@pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")
def test_the_report_on_cvxpy_prints_what_it_shows(tmp_path):
    ran = run_guide.run(pages(build_site.SOURCE)["cvxpy-bounds"], tmp_path)
    assert len(ran) == 3
    assert [each.printed for each in ran if not each.as_shown] == []


def test_all_pages_and_names_are_gathered(tmp_path):
    build_site.gather(tmp_path)
    index = (tmp_path / "index.md").read_text()
    documents = re.findall(r"^[\w/-]+$", index, re.M)
    assert {f"guide/{topic}" for topic in pages()} <= set(documents)
    assert all((tmp_path / f"guide/{topic}.md").is_file() for topic in pages())
    reference = (tmp_path / "reference.md").read_text()
    listed = {
        name.rpartition(".")[2] for name in re.findall(r"^   (convexfs[\w.]+)$", reference, re.M)
    }
    assert set(convexfs.__all__) - {"FORMULATIONS"} <= listed
    assert all(f"| `{name}` |" in reference for name in convexfs.FORMULATIONS)


@pytest.mark.parametrize("name", [n for n in convexfs.__all__ if callable(getattr(convexfs, n))])
def test_every_public_parameter_is_explained(name):
    """A docstring lists each parameter, perhaps as "a, b, c" with a link to their explanation."""
    public = getattr(convexfs, name)
    sources = [
        public,
        *(each for each in getattr(public, "__mro__", ()) if "convexfs" in str(each)),
    ]
    text = "\n".join(inspect.getdoc(source) or "" for source in sources)
    lists = re.findall(r"^((?:\*{0,2}\w+, )*\*{0,2}\w+)(?: :.*)?$", text, re.M)
    explained = {each.strip(" *") for names in lists for each in names.split(",")}
    assert set(inspect.signature(public).parameters) <= explained


def test_what_is_gathered_again_keeps_its_date(tmp_path):
    build_site.gather(tmp_path)
    before = (tmp_path / "reference.md").stat().st_mtime_ns
    build_site.gather(tmp_path)
    assert (tmp_path / "reference.md").stat().st_mtime_ns == before


def test_the_checker_finds_what_leads_nowhere(tmp_path):
    (tmp_path / "other.html").write_text('<h1 id="top">Other</h1>')
    (tmp_path / "index.html").write_text(
        '<a href="other.html#top">good</a> <a href="https://example.org">away</a>'
        '<a href="other.html#bottom">place</a> <a href="gone.html">page</a>'
        '<img src="gone.png"> <script src="https://example.org/x.js"></script>'
    )
    assert list(build_site.check(tmp_path)) == [
        "index.html: other.html#bottom names a place that is not there",
        "index.html: gone.html is not there",
        "index.html: gone.png is not there",
        "index.html: https://example.org/x.js is loaded from the network",
    ]
