"""Solvers of other Python environments as one more factor of a comparison."""

import subprocess
import sys
from typing import Any

import pytest

from convexfs.errors import InputError
from convexfs.study.compare import compare_files
from convexfs.study.outcomes import outcomes
from convexfs.study.plan import DIRECT, Plan
from convexfs.study.rerun import repeat

OWN = (
    "import cvxpy as cp\n\n"
    "def problem():\n"
    '    x = cp.Variable(3, name="x")\n'
    "    return cp.Problem(cp.Minimize(cp.sum_squares(x - 1)), [cp.sum(x) <= 2])\n"
)
QUICK = {"tols": [1e-6], "default": False, "repeats": 1, "time_limit": 20.0}


@pytest.fixture
def own(tmp_path):
    (tmp_path / "own.py").write_text(OWN)
    return tmp_path / "own.py"


def test_each_interface_is_one_to_compare_with_its_own_version(own, tmp_path):
    compare_files(
        [own], tmp_path / "run", solvers=["CLARABEL", "SCS", "SCIP"], interfaces=["", DIRECT],
        environments={"here": sys.executable}, **QUICK,
    )  # fmt: skip
    frame: Any = outcomes(tmp_path / "run").set_index("solver")
    twice = [f"{name}{how}" for name in ("CLARABEL", "SCS") for how in ("", " direct", " here")]
    assert sorted(frame.index) == sorted([*twice, "SCIP"])
    assert set(frame["outcome"]) == {"solved"}
    assert frame.loc["SCS here", "solver_version"] == frame.loc["SCS", "solver_version"]
    assert frame["peak_bytes"].isna().sum() == 2


def test_an_archive_names_environments_but_never_chooses_the_interpreter(own, tmp_path):
    from convexfs.study.archive import unpack_archive, write_archive

    compare_files(
        [own], tmp_path / "run", solvers=["SCS"], environments={"old": sys.executable}, **QUICK
    )
    archive = write_archive(tmp_path / "run", tmp_path / "study.zip")
    contents = unpack_archive(archive or tmp_path / "study.zip", tmp_path / "again")
    plan = contents.studies[0]["plan"]
    assert plan["interfaces"] == ["", "old"]
    assert sys.executable not in str(plan)
    with pytest.raises(InputError, match="the environment old is not given: add --env old=PYTHON"):
        repeat(contents, tmp_path / "again")


def test_a_plan_needs_a_way_to_call_solvers():
    with pytest.raises(InputError, match="no way to call solvers"):
        Plan(interfaces=())


@pytest.mark.slow
def test_two_versions_of_a_solver_are_compared(own, tmp_path):
    """Another SCS in an environment of its own, where pip can install it."""
    python = tmp_path / "old" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "old"], check=True)
    install = [python, "-m", "pip", "install", "-q", "scs==3.2.7", "numpy", "scipy"]
    if subprocess.run(install, capture_output=True).returncode:
        pytest.skip("pip cannot install another version of SCS here")
    compare_files([own], tmp_path / "run", solvers=["SCS"], environments={"old": python}, **QUICK)
    frame: Any = outcomes(tmp_path / "run").set_index("solver")
    assert frame.loc["SCS old", "solver_version"] == "3.2.7"
    assert frame.loc["SCS", "solver_version"] != "3.2.7"
    assert set(frame["outcome"]) == {"solved"}
