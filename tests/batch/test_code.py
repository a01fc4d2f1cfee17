"""Any edit of what makes or judges a result changes the hash, and nothing else does."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import convexfs
from convexfs.batch.code import code_sha256, files_that_count

PACKAGE = Path(convexfs.__file__).parent
FILES = sorted(str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*.py"))
COUNT = {str(path.relative_to(PACKAGE)) for path in files_that_count(PACKAGE)}
SOLVED = """
from convexfs.batch.problem_file import load_problem_file
from convexfs.batch.tasks import do, expand
import sys

for task in expand([load_problem_file(sys.argv[1])]):
    assert do(task).row["ok"], do(task).row
print(*(getattr(module, "__file__", None) for module in list(sys.modules.values())), sep="\\n")
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    copied = tmp_path_factory.mktemp("code") / "convexfs"
    shutil.copytree(PACKAGE, copied, ignore=shutil.ignore_patterns("__pycache__"))
    return copied


def hash_of(package):
    code_sha256.cache_clear()
    return code_sha256(package)


@pytest.mark.parametrize("name", FILES)
def test_touching_a_file(copy, name):
    before, text = hash_of(copy), (copy / name).read_text()
    (copy / name).write_text(text + "# edited\n")
    assert (hash_of(copy) != before) == (name in COUNT)
    (copy / name).write_text(text)
    assert hash_of(copy) == before


def test_a_new_file_and_a_moved_one_count(copy):
    before = hash_of(copy)
    (copy / "methods" / "newest").mkdir()
    moved = copy / "methods" / "newest" / "records.py"
    (copy / "records.py").rename(moved)
    assert hash_of(copy) != before
    moved.rename(copy / "records.py")
    assert hash_of(copy) == before


@pytest.mark.parametrize("fit", [False, True])
def test_what_is_left_out_has_no_part_in_a_result(tmp_path, fit):
    file = tmp_path / "plain.py"
    solvers = "SOLVERS = ['native', 'CLARABEL']"
    file.write_text(f"METHOD = 'relief'\nDATA = ['iris']\n{solvers}\nFIT = {fit}\n")
    ran = subprocess.run(
        [sys.executable, "-c", SOLVED, str(file)], capture_output=True, text=True, check=True
    )
    loaded = {Path(line) for line in ran.stdout.splitlines() if line.startswith(str(PACKAGE))}
    own = {str(path.relative_to(PACKAGE)) for path in loaded}
    assert {"records.py", "batch/tasks.py", "certification/certify.py"} <= own
    assert own <= COUNT


def test_what_only_shows_results_does_not_count():
    shows = {"cli/console.py", "cli/batch.py", "study/columns.py", "inspection/__init__.py"}
    assert shows <= set(FILES) - COUNT
