"""``convexfs guide`` as a reader meets it."""

import subprocess
import sys

import pytest

from convexfs.cli.guide import _plain, pages


def test_without_a_topic_every_page_is_listed_on_one_screen(run):
    code, out, err = run("guide")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert [line.split(maxsplit=1) for line in lines[:-2]] == [
        [topic, page.title] for topic, page in pages().items()
    ]
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("topic", pages())
def test_a_page_is_shown_as_text(run, topic):
    code, out, err = run("guide", topic)
    assert (code, err) == (0, "")
    assert pages()[topic].title in out
    assert "```" not in out
    assert "$$" not in out
    assert "\x1b" not in out
    assert max(map(len, out.splitlines())) <= 96


def test_an_unknown_topic_names_the_nearest_and_all(run):
    code, out, err = run("guide", "solver")
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert "did you mean solvers?" in err
    assert "table, data, selection, methods" in err
    code, _, err = run("guide", "zzz")
    assert code == 2
    assert "choose from batches" in err


def test_a_reader_that_goes_away_is_no_trouble():
    # Two lines, since an older rich puts a title into a box.
    line = f"set -o pipefail; {sys.executable} -m convexfs guide table | head -2"
    ran = subprocess.run(["bash", "-c", line], capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "Your table to a gene list" in ran.stdout


def test_formulas_are_text_and_pictures_are_files(run):
    out = " ".join(run("guide", "relief")[1].split())
    assert "max_w wᵀ z - λ 1ᵀ w subject to ‖w‖_2 ≤ 1, w ≥ 0" in out
    assert "pictures/relief.png" in out
    assert not any("\\" in _plain(tex) for page in pages().values() for tex in formulas(page.text))


def formulas(text):
    return text.split("$$")[1::2]
