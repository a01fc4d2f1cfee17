"""What the READMEs show is what happens."""

import re
import subprocess
import sys
from pathlib import Path

import convexfs
from convexfs.batch.problem_files.load import load_problem_file
from convexfs.cli import COMMANDS
from tests.typed import known

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def test_it_is_soon_read():
    assert len(README.split()) <= 600


def test_the_program_prints_its_output(tmp_path):
    found = known(re.search(r"```python\n(.*?)```\n\n```text\n(.*?)```", README, re.S))
    program, output = found.groups()
    assert program.count("\n") <= 16
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    # Residuals differ in the last digits from one machine to the next.
    rounded = [re.sub(r"\(\de-\d+\)", "(...)", text) for text in (ran.stdout, output)]
    assert rounded[0] == rounded[1]


def test_the_commands_in_the_readme_exist():
    shown = re.findall(r"^convexfs (\w+)", README, re.M)
    assert len(shown) == 5
    assert set(shown) <= COMMANDS.keys()


def test_the_scripts_of_the_set_up_are_there():
    shown = re.findall(r"(?:bash|python) (scripts/\w+\.\w+)", README)
    assert shown[:2] == ["scripts/quickstart.sh", "scripts/test.sh"]
    assert all((ROOT / name).is_file() for name in shown)


def test_links_and_pictures_lead_somewhere():
    links = re.findall(r"\]\(([^)]*)\)", README)
    assert len(links) >= 9
    assert all((ROOT / link).is_file() for link in links)


def test_the_table_of_methods_names_estimators():
    table = README.partition("## Methods")[2].partition("\n## ")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    named = re.findall(r"`(\w+)`", "".join(rows))
    assert len(named) >= 12
    assert all(hasattr(getattr(convexfs, name), "fit") for name in named)


def test_the_problem_file_in_the_guide_is_the_one_that_is_shipped(tmp_path):
    guide = (ROOT / "problems" / "README.md").read_text()
    (tmp_path / "copy.py").write_text(
        known(re.search(r"```python\n(.*?)```", guide, re.S)).group(1)
    )
    copy = load_problem_file(tmp_path / "copy.py")
    shipped = load_problem_file(ROOT / "problems" / "relief_capped.py")
    assert (copy.equation, copy.data, copy.grid, copy.solvers) == (
        shipped.equation,
        shipped.data,
        shipped.grid,
        shipped.solvers,
    )
