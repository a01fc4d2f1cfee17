"""What the READMEs show is what happens."""

import importlib
import re
import subprocess
import sys
from pathlib import Path

from convexfs.batch.problem_file import load_problem_file
from convexfs.solving.backends import BACKENDS

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def test_the_program_prints_its_output(tmp_path):
    program, output = re.search(r"```python\n(.*?)```\n\n```text\n(.*?)```", README, re.S).groups()  # type: ignore[union-attr]
    assert program.count("\n") <= 16
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    # Residuals differ in the last digits from one machine to the next.
    rounded = [re.sub(r"\(\de-\d+\)", "(...)", text) for text in (ran.stdout, output)]
    assert rounded[0] == rounded[1]


def test_the_solver_table_has_the_right_licences_and_cones():
    for name in ("CLARABEL", "ECOS", "SCS"):
        row = BACKENDS[name]
        line = next(line for line in README.splitlines() if line.startswith(f"| {name} |"))
        assert row.licence in line
        assert set(line.split("|")[2].split()) == set(row.cones)


def test_every_command_in_the_readme_exists():
    shown = set(re.findall(r"^convexfs (\w+)", README, re.M))
    helped = subprocess.run(
        [sys.executable, "-m", "convexfs", "--help"], capture_output=True, text=True, check=True
    ).stdout
    assert shown == {"list", "select", "show", "solvers", "solve", "export", "report", "compare"}
    for command in shown:
        assert f"    {command} " in helped


def test_the_problem_file_in_the_guide_is_the_one_that_is_shipped(tmp_path):
    guide = (ROOT / "problems" / "README.md").read_text()
    text = re.search(r"```python\n(.*?)```", guide, re.S).group(1)  # type: ignore[union-attr]
    (tmp_path / "copy.py").write_text(text)
    copy = load_problem_file(tmp_path / "copy.py")
    shipped = load_problem_file(ROOT / "problems" / "relief_capped.py")
    assert (copy.equation, copy.data, copy.grid, copy.solvers) == (
        shipped.equation,
        shipped.data,
        shipped.grid,
        shipped.solvers,
    )


def test_modules_in_the_readme_have_the_functions_named_with_them():
    named = re.findall(r"`(convexfs\.[\w.]+)` \(((?:`\w+`(?:, )?)+)\)", README)
    assert len(named) >= 5
    for module, functions in named:
        loaded = importlib.import_module(module)
        assert all(callable(getattr(loaded, name)) for name in re.findall(r"\w+", functions))
