"""``convexfs compare`` from the command line."""

import io
import math
import os
import re
import shutil
from contextlib import redirect_stdout

import pandas as pd
import pytest
from rich.console import Console

from convexfs.cli import main
from convexfs.cli.compare import _accuracies, _environments, _own_options
from convexfs.cli.compare_outputs import table_of
from convexfs.study.columns import CLAIMANTS, LEADERS
from convexfs.study.outcomes import outcomes
from convexfs.study.summary import RESIDUALS, claimants, leaders, summary

FILE = 'METHOD = "relief"\nDATA = ["iris"]\nGRID = {"n_neighbors": [1, 5]}\n'


@pytest.fixture
def compare(tmp_path, capsys):
    """Run ``convexfs compare`` on a small file; return code, output and errors."""
    (tmp_path / "small.py").write_text(FILE)

    def compare(*words, file="small.py"):
        line = ["compare", str(tmp_path / file), "--out", str(tmp_path / "run"), *words]
        try:
            code = main(line)
        except SystemExit as left:
            code = left.code
        told = capsys.readouterr()
        return code, told.out, told.err

    return compare


SMALL = ("--solvers", "native,SCS,HIGHS", "--tol", "1e-6", "--repeats", "2", "--no-default")


@pytest.fixture(scope="module")
def solved(tmp_path_factory):
    """The folder of a file that was compared as SMALL says."""
    folder = tmp_path_factory.mktemp("solved")
    (folder / "small.py").write_text(FILE)
    line = ["compare", str(folder / "small.py"), "--out", str(folder / "run"), *SMALL]
    with redirect_stdout(io.StringIO()):
        assert main(line) == 0
    return folder


@pytest.fixture
def small(solved, tmp_path):
    """The folder of `compare`, where SMALL is done."""
    return shutil.copytree(solved / "run", tmp_path / "run")


def test_tables_then_where_the_results_are(compare, small, tmp_path):
    code, out, _ = compare(*SMALL, "--verbose")
    assert code == 0
    assert "Verdict" in out
    row = summary(outcomes(tmp_path / "run")).set_index("solver").loc["native"]
    line = next(line for line in out.splitlines() if "│ native " in line)
    assert f"{row['seconds']:.3g}" in line
    assert "100.0%" in line
    leader = leaders(outcomes(tmp_path / "run")).iloc[0]
    assert re.search(rf"1e-06 +│ SOCP +│ all +│ 2 +│ {leader['fastest']}", out)
    assert "results.sqlite" in out
    assert f"convexfs report {tmp_path / 'run'}" in out


def test_the_export_is_the_table_of_outcomes(small, tmp_path):
    assert main(["export", str(tmp_path / "run"), "--to", str(tmp_path / "x.parquet")]) == 0
    read, told = pd.read_parquet(tmp_path / "x.parquet"), outcomes(tmp_path / "run")
    pd.testing.assert_frame_equal(read, told, check_dtype=False)
    assert set(read["outcome"]) == {"solved", "skipped"}


def test_the_same_line_again_has_nothing_to_do(compare, small, tmp_path):
    first = outcomes(tmp_path / "run")
    code, _, _ = compare(*SMALL)
    assert code == 0
    pd.testing.assert_frame_equal(first, outcomes(tmp_path / "run"))


def test_wrong_claims_are_named_and_are_no_reason_to_fail(compare, small, monkeypatch):
    monkeypatch.setattr("convexfs.study.outcome_rules.SLACK", 1e-9)
    code, out, _ = compare(*SMALL)
    assert code == 0
    assert out.startswith("12 tasks: ")
    assert "Wrong claims are of SCS." in out
    code, out, _ = compare(*SMALL, "--verbose")
    assert re.search(r"SCS +│ 1e-06 +│ optimal +│ 2 .*small iris n_neighbors=1", out)


def test_wrong_claims_of_a_solver_are_one_row_with_the_largest_numbers():
    row = {"solver": "A", "settings": "1e-06", "status": "optimal", "instance": "p"}
    sizes = [*RESIDUALS, "objective_error"]
    small, large = (row | dict.fromkeys(sizes, size) for size in (1e-3, 2e-3))
    denial = row | {"status": "infeasible"} | dict.fromkeys(sizes, math.inf)
    printed = io.StringIO()
    console = Console(file=printed, width=200)
    claims = pd.DataFrame([small, denial, large | {"instance": "q"}])
    console.print(table_of("Wrong claims", claimants(claims), CLAIMANTS))
    cells = [
        [cell.strip() for cell in line.split("│")[1:-1]]
        for line in printed.getvalue().splitlines()
        if "│ A" in line
    ]
    assert cells == [
        ["A", "1e-06", "infeasible", "1", "-", "-", "-", "p"],
        ["A", "1e-06", "optimal", "2", "2e-03", "2e-03", "2e-03", "p"],
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--solvers", "CLARABLE"], "unknown solver 'CLARABLE': did you mean CLARABEL?"),
        (["--tol", "fine"], "--tol takes numbers such as 1e-6,1e-8, not 'fine'"),
        (["--tol", "7"], "tol must be a number"),
        (["--repeats", "0"], "repeats must be an integer"),
        (["--jobs", str(1 + (os.cpu_count() or 1))], "jobs must be an integer"),
        (["--time-limit", "-3"], "time_limit"),
        (["--repeats", "many"], "invalid int value"),
        (["--set", "SCS.eps"], "--set takes SOLVER.OPTION=VALUE,VALUE, not 'SCS.eps'"),
        (["--set", "netlb"], "no public set is named 'netlb': did you mean netlib?"),
        (["--set", "netlib"], "give the folder that holds the public sets by --instances"),
        (["--solvers", "SCS", "--set", "OSQP.rho=1"], "options are given to OSQP, which is none"),
        (["--tolerances", "loose"], "tolerances are translated or raw, not ['loose']"),
        (["--shift", "-1", *SMALL], "shift, in seconds, must be a number"),
        (["--env", "old"], "--env takes NAME=PYTHON, such as old=venv/bin/python, not 'old'"),
        (["--env", "old=nowhere/python"], "nowhere/python is no Python interpreter"),
        (["--env", "direct=python"], "an environment needs a name of letters and digits"),
    ],
)
def test_bad_lines_get_one_line_and_exit_code_2(compare, words, message):
    code, out, err = compare(*words)
    assert (code, out) == (2, "")
    assert message in err.strip()
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["SCS.acceleration_lookback=0,10"],
         {"SCS": [{"acceleration_lookback": 0}, {"acceleration_lookback": 10}]}),
        (["osqp.rho=0.1", "OSQP.polishing=true,false"],
         {"OSQP": [{"rho": 0.1, "polishing": True}, {"rho": 0.1, "polishing": False}]}),
        (["SCIP.scip_params.limits/gap=0.1"], {"SCIP": [{"scip_params": {"limits/gap": 0.1}}]}),
        (["HIGHS.solver=ipm"], {"HIGHS": [{"solver": "ipm"}]}),
    ],
)  # fmt: skip
def test_options_of_solvers_are_read_in_every_combination(words, expected):
    assert _own_options(words) == expected


def test_a_ladder_goes_from_coarse_to_fine():
    assert _accuracies("ladder") == [10.0**-power for power in range(2, 11)]


def test_ways_of_asking_stand_side_by_side(compare, tmp_path):
    words = ["--solvers", "native,SCS", "--tol", "1e-6", "--no-default", "--repeats", "1"]
    more = ["--tolerances", "translated,raw", "--set", "SCS.max_iters=500,900", "--warm"]
    code, out, _ = compare(*words, *more, "--shift", "0.5", "--verbose")
    assert code == 0
    assert "Verdict; means are shifted by 0.5 s" in out
    assert re.search(
        r"1e-06 raw +│ SCS max_iters=500 +│ [\d.]+ +│ eps_abs=1e-06 eps_rel=1e-06", out
    )
    assert re.search(r"1e-06 +│ SCS max_iters=900 +│ [\d.]+ +│ eps_abs=1e-07 eps_rel=1e-07", out)
    assert "Time to a verified accuracy" in out
    frame = outcomes(tmp_path / "run")
    assert set(frame["settings"]) == {"1e-06", "1e-06 raw", "1e-06 warm", "1e-06 raw warm"}
    assert set(frame["solver"]) == {"native", "SCS max_iters=500", "SCS max_iters=900"}


def test_a_busy_machine_is_told(compare, small, monkeypatch):
    monkeypatch.setattr("convexfs.study.outcomes.UNDISTURBED", 1e9)
    monkeypatch.setattr("convexfs.study.outcomes.MOMENT", -1e9)
    _, out, _ = compare(*SMALL)
    assert "The machine was busy: 12 of 12 tasks" in out


def test_one_screen_of_80_columns_with_the_verdict_first(compare, tmp_path):
    words = ["--solvers", "CLARABEL,SCS,ECOS,HIGHS", "--repeats", "1", "--direct"]
    code, out, _ = compare(*words)
    lines = out.replace(str(tmp_path), "").splitlines()
    assert code == 0
    assert re.match(r"\d+ tasks: \d+ solved", lines[0])
    assert max(map(len, lines)) <= 80
    assert len(lines) <= 24
    rows = [line.split() for line in lines if re.match(" (CLARABEL|SCS|ECOS)", line)]
    assert sorted(row[0] for row in rows) == sorted(["CLARABEL", "SCS", "ECOS"] * 2)
    assert sum(row[1] == "direct" for row in rows) == 3
    found = summary(outcomes(tmp_path / "run")).set_index(["settings", "solver"])
    row = found.to_dict("index")["1e-08", "SCS"]
    assert [str(row["tried"]), str(row["solved"])] == next(
        own[1:3] for own in rows if own[0] == "SCS" and own[1] != "direct"
    )


def test_environments_are_given_by_name_and_interpreter():
    assert _environments(["old=/a/b=c/python", "new=python"]) == {
        "old": "/a/b=c/python",
        "new": "python",
    }
    assert _environments(None) == {}


def test_nothing_to_compare_on_is_told(capsys):
    assert main(["compare"]) == 2
    assert (
        "give problem files to compare on, --set NAME, or an archive by --from"
        in capsys.readouterr().err
    )


def test_a_missing_file_is_named(compare):
    code, _, err = compare(file="smal.py")
    assert code == 2
    assert "there is no problem file" in err


def test_ctrl_c_is_130_and_says_how_to_go_on(compare, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("convexfs.study.compare.compare_files", interrupted)
    code, _, err = compare(*SMALL)
    assert code == 130
    assert "To resume" in err


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="needs two cores")
def test_more_jobs_are_allowed_with_a_word_of_caution(compare, tmp_path):
    code, _, err = compare(*SMALL, "--jobs", "2")
    assert code == 0
    assert "disturb each other" in err
    assert "failed" not in set(outcomes(tmp_path / "run")["outcome"])


def test_a_class_with_one_solver_left_has_no_second():
    kept = {"settings": "1e-06", "scope": "all", "instances": 1, "seconds": 0.1, "error": 1e-9}
    row = {"fastest": "A", "most_accurate": "A", "lead": float("nan"), "clear": False} | kept
    row |= dict.fromkeys(("lead_low", "lead_high", "lead_unshifted"), float("nan"))
    told = pd.DataFrame(
        [row | {"problem_class": "LP", "second": "B"}, row | {"problem_class": "SDP"}]
    )
    shown = Console(file=io.StringIO(), width=160, record=True)
    shown.print(table_of("Leaders", told, LEADERS))
    assert re.search(r"SDP .* A +│ 0.1 +│ - ", shown.export_text())


def test_solvers_that_take_no_problem_are_named(run, tmp_path):
    file = tmp_path / "norm.py"
    file.write_text(
        "import cvxpy as cp\n\n\ndef problem():\n    x = cp.Variable(2, name='x')\n"
        "    return cp.Problem(cp.Minimize(cp.norm(x)), [x >= 1])\n"
    )
    words = ["--solvers", "CLARABEL,HIGHS", "--tol", "1e-6", "--no-default", "--repeats", "1"]
    _, out, _ = run("compare", str(file), *words, "--out", str(tmp_path / "run"))
    assert "Not tried: HIGHS (HIGHS cannot take SOC in this problem (SOC))." in out


def test_a_problem_that_cannot_be_built_is_named_and_a_reason_to_fail(run, tmp_path):
    file = tmp_path / "sizes.py"
    file.write_text(
        "import cvxpy as cp\n\nGRID = {'n': [2, 3]}\n\n\ndef problem(n):\n"
        "    x = cp.Variable(n, name='x')\n    assert n < 3, 'too large'\n"
        "    return cp.Problem(cp.Minimize(cp.sum_squares(x - 1)))\n"
    )
    words = ["--solvers", "CLARABEL,SCS", "--tol", "1e-6", "--no-default", "--repeats", "1"]
    code, out, _ = run("compare", str(file), *words, "--out", str(tmp_path / "run"))
    assert code == 1
    flat = " ".join(out.split())
    assert "4 tasks: 2 solved, 2 failed. Failed with every solver: sizes n=3 (InputError: " in flat
    assert "too large" in flat
