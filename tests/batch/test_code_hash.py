"""Any edit of code that computes or verifies results changes the hash; wording does not."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import convexfs
from convexfs.batch.code_hash import code_sha256, files_that_count, statement_hashes

PACKAGE = Path(convexfs.__file__).parent
FILES = sorted(str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*.py"))
COUNT = {str(path.relative_to(PACKAGE)) for path in files_that_count(PACKAGE)}
EDITED = [
    ("records.py", "x = 1\n", True),
    ("certification/certify.py", "x = 1\n", True),
    ("methods/logo/newton.py", "x = 1\n", True),
    ("solving/solve.py", "# a comment\n", False),
    ("solving/solve.py", "import os\n", False),
    ("cli/solve.py", "x = 1\n", False),
    ("study/columns.py", "x = 1\n", False),
    ("report/pictures.py", "x = 1\n", False),
]
SOLVED = """
from convexfs.batch.problem_files.load import load_problem_file
from convexfs.batch.tasks import do, expand
import sys

for task in expand([load_problem_file(sys.argv[1])]):
    assert do(task).row["ok"], do(task).row
print(*(getattr(module, "__file__", None) for module in list(sys.modules.values())), sep="\\n")
"""


@pytest.fixture
def copy(tmp_path, monkeypatch):
    """The edited files in a package of their own, and an empty cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for name, _, _ in EDITED:
        (tmp_path / "package" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(PACKAGE / name, tmp_path / "package" / name)
    return tmp_path / "package"


def hash_of(package):
    code_sha256.cache_clear()
    return code_sha256(package)


@pytest.mark.parametrize(("name", "added", "counts"), EDITED)
def test_added_statements_count_where_results_are_made(copy, name, added, counts):
    before, text = hash_of(copy), (copy / name).read_text()
    (copy / name).write_text(text + added)
    assert (hash_of(copy) != before) == counts
    (copy / name).write_text(text)
    assert hash_of(copy) == before


@pytest.mark.parametrize(
    ("other", "same"),
    [
        ('def f(x):\n    """Other words."""\n    if x < 0:\n        raise E("text")\n', True),
        ("import os\n\ndef f(x):\n    if x < 0:\n        raise E(f'{x} is bad')\n", True),
        ("def f(x):\n    if x <= 0:\n        raise E('text')\n", False),
        ("def f(x):\n    if x < 0:\n        raise F('text')\n", False),
        ("def f(x):\n    if x < 0:\n        raise E('text')\n    return 'text'\n", False),
    ],
)
def test_wording_does_not_count_and_code_does(other, same):
    own = 'def f(x):\n    """Words."""\n    if x < 0:\n        raise E("some text")  # why\n'
    assert (list(statement_hashes(other)) == list(statement_hashes(own))) == same


def test_a_moved_file_is_the_same_code(copy):
    before = hash_of(copy)
    (copy / "newest").mkdir()
    moved = copy / "newest" / "other_name.py"
    (copy / "records.py").rename(moved)
    assert hash_of(copy) == before


@pytest.mark.parametrize("text", ["", "{", "[]", '{"a": 1}', '{"a": [1, 2, 3]}'])
def test_a_damaged_cache_is_computed_again(copy, text, tmp_path):
    before = hash_of(copy)
    (tmp_path / "convexfs" / "code_hashes.json").write_text(text)
    assert hash_of(copy) == before


@pytest.mark.slow(cases=1)
@pytest.mark.parametrize("fit", [False, True])
def test_what_is_left_out_has_no_part_in_a_result(tmp_path, fit):
    file = tmp_path / "plain.py"
    solvers = "SOLVERS = ['native', 'CLARABEL']"
    file.write_text(f"METHOD = 'relief'\nDATA = ['iris']\n{solvers}\nFIT = {fit}\n")
    ran = subprocess.run(
        [sys.executable, "-c", SOLVED, str(file)], capture_output=True, text=True, check=True
    )
    loaded = {Path(line) for line in ran.stdout.splitlines() if line.startswith(str(PACKAGE))}
    own = {str(path.relative_to(PACKAGE)) for path in loaded} - {"former_names.py"}
    assert {"records.py", "batch/tasks.py", "certification/certify.py"} <= own
    assert own <= COUNT


def test_what_only_shows_results_does_not_count():
    shows = {"cli/terminal.py", "cli/solve.py", "study/columns.py", "inspection/__init__.py"}
    assert shows <= set(FILES) - COUNT
