"""The guide: the blocks of its pages print what they show, and its links lead somewhere."""

import importlib
import re
import sys
from pathlib import Path

import pytest

from convexfs.cli import COMMANDS
from convexfs.cli.guide import FOLDER, pages
from convexfs.solving.backends import BACKENDS

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "scripts"))

import run_guide  # noqa: E402

PAGES = pages()
#: The four tasks, the data and the methods; others may be added.
EXPECTED = {
    "table", "data", "methods", "change", "certificates", "solvers", "batches",
    "relief", "logo", "lfe", "lmba", "llfs", "knockoffs",
}  # fmt: skip
TEXT = "\n".join(page.text for page in PAGES.values())


def test_the_guide_has_a_page_for_every_task_and_method():
    assert set(PAGES) >= EXPECTED
    assert list(PAGES)[:2] == ["table", "data"]


@pytest.mark.parametrize("topic", PAGES)
def test_a_page_begins_with_a_title_and_a_sentence(topic):
    page = PAGES[topic]
    assert page.text.startswith(f"# {page.title}\n\n")
    assert 10 < len(page.summary) < 200
    assert page.summary.endswith(".")


@pytest.mark.slow
@pytest.mark.parametrize("topic", PAGES)
def test_the_blocks_of_a_page_print_what_it_shows(topic, tmp_path):
    ran = run_guide.run(PAGES[topic], tmp_path)
    differ = [f"{each.block.code}\n-> {each.printed}" for each in ran if not each.as_shown]
    assert not differ, "\n".join(differ)
    # A page that runs code draws the pictures it shows; they lie where it looks for them.
    for name in run_guide.pictures(PAGES[topic]) if ran else ():
        assert (tmp_path / name).stat().st_size > 1000
    for name in run_guide.pictures(PAGES[topic]):
        assert (FOLDER / "pictures" / name).stat().st_size > 1000


def test_every_picture_is_shown_by_a_page():
    shown = {name for page in PAGES.values() for name in run_guide.pictures(page)}
    assert {path.name for path in (FOLDER / "pictures").iterdir()} == shown


@pytest.mark.parametrize("topic", PAGES)
def test_links_lead_to_pages(topic):
    links = re.findall(r"(?<!!)\[[^\]]*\]\(([^)]*)\)", PAGES[topic].text)
    local = [link for link in links if "://" not in link]
    assert all((FOLDER / link.partition("#")[0]).is_file() for link in local), local


def test_every_command_is_shown_in_the_guide():
    assert len(COMMANDS) >= 12
    shown = {name for name in COMMANDS if f"convexfs {name}" in TEXT}
    assert shown == COMMANDS.keys() - {"guide"}


def test_modules_in_the_guide_have_the_functions_named_with_them():
    named = re.findall(r"`(convexfs\.[\w.]+)` \(((?:`\w+`(?:, )?)+)\)", TEXT)
    assert len(named) >= 6
    for module, functions in named:
        loaded = importlib.import_module(module)
        assert all(callable(getattr(loaded, name)) for name in re.findall(r"\w+", functions))


def test_the_solver_table_has_the_right_licences_and_cones():
    for name in ("CLARABEL", "ECOS", "SCS"):
        row = BACKENDS[name]
        lines = PAGES["solvers"].text.splitlines()
        line = next(line for line in lines if line.startswith(f"| {name} |"))
        assert row.licence in line
        assert set(line.split("|")[2].split()) == set(row.cones)


# ---- the runner itself --------------------------------------------------------------------------


def page_of(folder, text):
    (folder / "own.md").write_text(text)
    return pages(folder)["own"]


def test_a_wrong_output_is_noticed(tmp_path):
    text = "# Own\n\nA page.\n\n```python\nprint(6 * 7)\n```\n\n```text\n{}\n```\n"
    verdicts = [
        run_guide.run(page_of(tmp_path, text.format(shown)), tmp_path)[0].as_shown
        for shown in ("42", "43")
    ]
    assert verdicts == [True, False]


def test_output_that_is_not_shown_is_noticed(tmp_path):
    page = page_of(tmp_path, "# Own\n\nA page.\n\n```python\nprint(1)\n```\n")
    assert [ran.as_shown for ran in run_guide.run(page, tmp_path)] == [False]


def test_dots_stand_for_lines_and_seconds_do_not_matter(tmp_path):
    shown = "1\n...\n5 in 0.3 s, ok (2e-16)\n"
    code = "print(*range(1, 5), sep='\\n'); print('5 in 9.81 s, ok (7e-12)')"
    page = page_of(tmp_path, f"# Own\n\nA.\n\n```python\n{code}\n```\n\n```text\n{shown}```\n")
    assert [ran.as_shown for ran in run_guide.run(page, tmp_path)] == [True]


def test_commands_share_the_folder_and_end_with_their_exit_codes(tmp_path):
    text = """# Own

A page.

```python
# file note.txt
hello
```

```console
$ cat note.txt | tr h j
jello
$ convexfs guide nowhere
...
(exit code 2)
```
"""
    ran = run_guide.run(page_of(tmp_path, text), tmp_path)
    assert [each.as_shown for each in ran] == [True, True, True]


def test_what_was_printed_is_written_into_the_page(tmp_path):
    text = (
        "# Own\n\nA page.\n\n```python\nprint(6 * 7)\n```\n\n```console\n$ echo a | cat\nb\n```\n"
    )
    page = page_of(tmp_path, text)
    run_guide.written(page, run_guide.run(page, tmp_path), tmp_path)
    again = pages(tmp_path)["own"]
    assert all(ran.as_shown for ran in run_guide.run(again, tmp_path))
    assert "```text\n42\n```" in again.text
    assert "$ echo a | cat\na\n```" in again.text
