"""The page holds the numbers of the run, all of them, and nothing that runs by itself."""

import hashlib
import re
import shutil
import sqlite3
from base64 import b64encode
from html import escape
from html.parser import HTMLParser

import numpy as np
import pytest

from convexfs.batch.run import solve_files
from convexfs.batch.store.store import RESULTS, Store
from convexfs.cli import main
from convexfs.errors import InputError
from convexfs.study.labels import without_places
from convexfs.study.outcomes import export, outcomes
from convexfs.study.page import gather
from convexfs.study.summary import leaders, performance_profile, summary
from tests.batch.older_store import make_older
from tests.report.pages import (
    HOSTILE,
    PLAIN,
    assert_same,
    frame_of,
    numbers_in,
    readable,
)
from tests.typed import known


@pytest.mark.parametrize(
    ("name", "compute"), [("rows", without_places), ("summary", summary), ("leaders", leaders)]
)
def test_tables_hold_every_digit_of_the_study(run, page, name, compute):
    assert_same(numbers_in(page)["tables"][name], compute(outcomes(run)))


def test_the_profile_is_that_of_the_study(run, page):
    drawn = frame_of(numbers_in(page)["figures"]["performance-profile"]["table"])
    full = performance_profile(outcomes(run))
    full["ratio"] = full["ratio"].map("{:.4g}".format).astype(float)  # along a logarithmic axis
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
    assert [attributes.get("id") for attributes in scripts] == ["numbers", None]
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


def test_a_page_is_small(page):
    assert len(page.encode()) < 200_000


def test_problems_are_written_out(page):
    assert page.count("<math ") == 1  # the other file cannot be built
    assert "&lt;b&gt;max&lt;/b&gt; w&#x27;z" in page
    assert re.search(r"Could not be stated: [^<]*ArithmeticError: &lt;img", page)


def changed_store(folder, *statements):
    with sqlite3.connect(folder / RESULTS) as file:
        for statement in statements:
            file.execute(*statement)
    file.close()


@pytest.fixture
def solved(tmp_path):
    """A run of one file, and that file."""
    file = tmp_path / "own" / "one.py"
    file.parent.mkdir()
    file.write_text(PLAIN.replace("[1, 2, 3, 4]", "[1]"))
    solve_files([file], tmp_path / "out")
    return tmp_path / "out", file


@pytest.mark.slow
def test_a_file_is_shown_as_it_was_solved_whatever_became_of_it(solved):
    folder, file = solved
    before = gather(folder).html
    file.write_text("raise SystemExit(3)")
    assert "RELIEF as printed" in before
    assert problems_in(gather(folder).html) == problems_in(before)
    file.unlink()
    assert problems_in(gather(folder).html) == problems_in(before)


def problems_in(page):
    return known(re.search(r'<section id="problems">.*?</section>', page, re.S))[0]


def test_nothing_that_a_folder_names_is_run(solved, tmp_path):
    folder, _ = solved
    mark, evil = tmp_path / "mark", tmp_path / "evil.txt"
    evil.write_text(f"open({str(mark)!r}, 'w')\n" + PLAIN)
    digest = hashlib.sha256(evil.read_bytes()).hexdigest()
    changed_store(
        folder,
        ("UPDATE tasks SET problem_file = ?, problem_sha256 = ?", (str(evil), digest)),
        ("DELETE FROM problems",),
    )
    export(folder, tmp_path / "table.csv")
    assert main(["report", str(folder)]) == 0
    assert not mark.exists()


def test_what_older_versions_did_not_keep_is_said(solved):
    folder, _ = solved
    make_older(folder, 2)
    assert "The statement was not kept by the version that solved it" in gather(folder).html


def test_solving_again_keeps_what_an_older_version_did_not(solved):
    folder, file = solved
    make_older(folder, 2)
    assert solve_files([file], folder).done == 0
    assert "was not kept" not in gather(folder).html
    with Store.read(folder) as store:
        (row,) = store.problems().to_dict("records")
    assert row["source"] == file.read_text()
    assert row["equation"] == "RELIEF as printed: <b>max</b> w'z."
    assert "maximise" in row["text"] or "max" in row["text"]
    assert "\\" in row["latex"]
    assert row["failure"] == ""


MATHS = '<math xmlns="http://www.w3.org/1998/Math/MathML">'


@pytest.fixture(scope="module")
def with_formula(tmp_path_factory):
    """A run of one file, whose page shows a formula."""
    folder = tmp_path_factory.mktemp("formula")
    (folder / "one.py").write_text(PLAIN.replace("[1, 2, 3, 4]", "[1]"))
    solve_files([folder / "one.py"], folder / "out")
    assert "<math " in gather(folder / "out").html
    return folder / "out"


@pytest.mark.slow(cases=1)
@pytest.mark.parametrize(
    "formula",
    [
        "<script>alert(1)</script>",
        MATHS + "<script>alert(1)</script></math>",
        MATHS + '<mi onclick="alert(1)">x</mi></math>',
        MATHS + '<mi href="x:y">x</mi></math>',
        MATHS + '<mi style="a: url(x)">x</mi></math>',
        MATHS + '<mi style="position: fixed">x</mi></math>',
        MATHS + '<mtext><img src="x"/></mtext></math>',
        '<!DOCTYPE m [<!ENTITY x "y">]>' + MATHS + "&x;</math>",
        "<math",
        "no formula at all",
    ],
)
def test_a_kept_formula_that_is_more_than_one_is_not_shown(with_formula, tmp_path, formula):
    folder = shutil.copytree(with_formula, tmp_path / "out")
    changed_store(folder, ("UPDATE problems SET mathml = ?, text = 'w is best'", (formula,)))
    html = gather(folder).html
    assert formula not in html
    assert "<math " not in html
    assert "w is best" in html


def test_scripts_and_styles_are_allowed_by_their_hash(page):
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    for rule, tag in (("script-src", "script"), ("style-src-elem", "style")):
        assert "unsafe" not in rules[rule]
        texts = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.S)
        assert len(texts) == 1
        digest = b64encode(hashlib.sha256(texts[0].encode()).digest()).decode()
        assert f"'sha256-{digest}'" in rules[rule]


def test_the_page_does_not_say_where_things_are(tmp_path):
    for name, text in (("a", PLAIN), ("b", HOSTILE)):
        (tmp_path / "my folder" / name).mkdir(parents=True)
        (tmp_path / "my folder" / name / "same.py").write_text(text)
    files = [tmp_path / "my folder" / name / "same.py" for name in "ab"]
    np.savez(tmp_path / "own.npz", X=np.random.default_rng(0).normal(size=(20, 3)), y=[0, 1] * 10)
    files[0].write_text(PLAIN.replace('"wine"', repr(str(tmp_path / "own.npz"))))
    solve_files(files, tmp_path / "out")
    html = gather(tmp_path / "out").html
    shown = (
        readable(html).replace(files[0].read_text(), "").replace(escape(files[0].read_text()), "")
    )
    assert "own.npz" in shown
    assert "same.py, line 8" in shown
    assert str(tmp_path) not in shown
    assert "my folder" not in shown
    rows = frame_of(numbers_in(html)["tables"]["rows"])
    assert set(rows["problem_file"]) == {"a/same.py", "b/same.py"}


def sections_of(report):
    return [section.name for section in report.sections]


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
        assert gather(run).sections


def test_the_database_is_opened_once(run, monkeypatch):
    opened, connect = [], sqlite3.connect
    monkeypatch.setattr(
        sqlite3, "connect", lambda name, **how: opened.append(name) or connect(name, **how)
    )
    assert gather(run).sections
    assert len([name for name in opened if RESULTS in name]) == 1


def test_folders_without_results_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"holds no results\.sqlite"):
        gather(tmp_path)
    Store(tmp_path / "empty").close()
    with pytest.raises(InputError, match="has no finished task yet"):
        gather(tmp_path / "empty")


def test_a_page_that_cannot_be_written_is_told(report, tmp_path):
    with pytest.raises(InputError, match="cannot be written"):
        report.write(tmp_path / "missing" / "page.html")
