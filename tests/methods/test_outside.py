"""A method of another package: installed, it is known everywhere without an edit here."""

import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent / "outside" / "soft_margin"
METADATA = {
    "METADATA": "Metadata-Version: 2.1\nName: soft-margin\nVersion: 1.0\n",
    "WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    "entry_points.txt": "[convexfs.methods]\nsoft-margin = soft_margin\n",
    "RECORD": "",
}
PROBLEM = '''"""Soft margin without dominant features: w <= cap."""
import cvxpy as cp
METHOD = "soft-margin"
DATA = ["iris"]
GRID = {"lam": [1.0], "cap": [0.5]}
SOLVERS = ["CLARABEL", "SCS"]
def build(Z, lam, cap):
    w = cp.Variable(Z.shape[1], name="w")
    loss = cp.sum(cp.logistic(-Z @ w)) + lam * cp.sum_squares(w)
    return cp.Problem(cp.Minimize(loss), [w >= 0, w <= cap])
'''


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """The variables of a scratch environment in which pip has installed the package."""
    folder = tmp_path_factory.mktemp("outside")
    wheel = folder / "soft_margin-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for file in PACKAGE.glob("*.py"):
            archive.write(file, f"soft_margin/{file.name}")
        for name, text in METADATA.items():
            archive.writestr(f"soft_margin-1.0.dist-info/{name}", text)
    installed = folder / "installed"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]
    subprocess.run([*pip, "--target", str(installed), str(wheel)], check=True)
    path = os.pathsep.join([str(installed), os.environ.get("PYTHONPATH", "")])
    return os.environ | {"PYTHONPATH": path}


@pytest.fixture
def run(environment, tmp_path):
    def command(*arguments):
        return subprocess.run(
            [sys.executable, *arguments],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    return command


#: Commands one after the other, then the estimator and the formulation.
PROGRAM = """
import sys
import convexfs
from convexfs.cli import main

for line in sys.argv[1:]:
    assert main(line.split()) == 0
    print("end of a command")
data = convexfs.load("iris").scaled()
model = convexfs.SoftMargin(lam=2.0).fit(data.X, data.y)
row = convexfs.FORMULATIONS["soft-margin"]
values, hyper = row.numbers(data.X, data.y, lam=2.0)
problem = row.build(**values, **hyper)
solution = convexfs.solve(problem)
print(model.certificate_.ok, convexfs.certify(problem, solution).ok)
"""


def test_the_command_and_python_know_select_by_and_certify_it(run):
    lines = "list", "show soft-margin", "select iris --method soft-margin --top 2 --json"
    listed, shown, selected, ok = run("-c", PROGRAM, *lines).split("end of a command\n")
    assert "soft-margin" in listed
    assert "log" in shown
    chosen = json.loads(selected)
    assert chosen["certificate"]["ok"] is True
    assert "petal" in max(chosen["weights"], key=chosen["weights"].get)
    assert ok.split() == ["True", "True"]


@pytest.mark.slow
def test_a_problem_file_changes_it_and_solvers_are_compared_on_it(run, tmp_path):
    (tmp_path / "capped.py").write_text(PROBLEM)
    lines = (
        "solve capped.py --out solved",
        "compare capped.py --solvers CLARABEL,SCS --out study --repeats 1",
    )
    solved, compared, _ = run("-c", PROGRAM, *lines).split("end of a command\n")
    assert re.search(r"tasks +│ 2 ", solved)
    assert re.search(r"solved +│ 2 ", solved)
    assert "CLARABEL" in compared
    assert "SCS" in compared
