"""``convexfs solve`` as a user meets it: progress without a terminal, and its last words."""

import re
from pathlib import Path

import pytest
from cvxpy.reductions.solvers.conic_solvers.scs_conif import SCS

from convexfs.batch import tasks
from convexfs.batch.run import Progress, solve_files
from convexfs.cli import main
from convexfs.cli.console import Console
from convexfs.cli.solve import SECONDS_BETWEEN_LINES, progress_shown
from convexfs.study.outcomes import counts, outcomes
from convexfs.study.page import gather


def test_without_a_terminal_a_line_now_and_then(capsys):
    progress = Progress(Path("runs"), frozenset(str(key) for key in range(1000)))
    with progress_shown(Console()) as watch:
        for done in range(301):
            progress.done, progress.wall_seconds = done, SECONDS_BETWEEN_LINES * done / 100
            watch(progress)
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(" ")[0] for line in lines] == ["100", "200", "300"]
    assert lines[1] == "200 of 1000 tasks, 0 failed, 1.7/s, about 8 min left"


def test_a_short_run_says_nothing(capsys):
    with progress_shown(Console()) as watch:
        watch(Progress(Path("runs"), frozenset("abc"), done=3, wall_seconds=1.0))
    assert capsys.readouterr().out == ""


#: Solvers that are unsure, lie, or are right that there is no answer.
UNSURE = """
import cvxpy as cp
METHOD = "relief"
DATA = ["iris"]
GRID = {"floor": [0.0, 2.0]}
SOLVERS = ["SCS", "CLARABEL", "HIGHS"]

def build(z, floor):
    w = cp.Variable(len(z), name="w")
    return cp.Problem(cp.Maximize(w @ z), [cp.norm(w) <= 1, w >= floor])
"""


def test_solve_and_report_count_alike(tmp_path, capsys, monkeypatch):
    def inaccurate(self, *arguments, **options):
        answer = invert(self, *arguments, **options)
        answer.status = "optimal_inaccurate" if answer.status == "optimal" else answer.status
        return answer

    invert = SCS.invert
    monkeypatch.setattr(SCS, "invert", inaccurate)
    file, out = tmp_path / "unsure.py", tmp_path / "out"
    file.write_text(UNSURE)
    code = main(["solve", str(file), "--jobs", "1", "--out", str(out)])
    shown = dict(re.findall(r"│ +([a-z_: ]+?) +│ +(\d+) +│", capsys.readouterr().out))
    counted = counts(outcomes(out))
    assert code == 1
    assert counted == {
        "solved": 3, "undecided": 0, "wrong claim": 0, "failed": 1, "timeout": 0, "skipped": 2
    }  # fmt: skip
    assert (shown["solved"], shown["skipped"]) == ("3", "2")
    assert shown["failed: optimal_inaccurate"] == "1"
    page = gather(out).html
    tiles = re.findall(r'<div class="tile[^"]*"><b>(\d+)</b><span>([a-z ]+)</span>', page)
    words = ["tasks", "solved", "undecided", "wrong claims", "failed", "timeouts", "skipped"]
    assert tiles == list(zip("6300102", words, strict=True))


def test_tasks_done_before_the_code_changed_count_again_when_it_is_put_back(tmp_path, monkeypatch):
    file, out = tmp_path / "plain.py", tmp_path / "out"
    file.write_text('METHOD = "relief"\nDATA = ["iris"]\nSOLVERS = ["native"]\n')
    first = solve_files([file], out).keys
    with monkeypatch.context() as edited:
        edited.setattr(tasks, "code_sha256", lambda package: "edited")
        second = solve_files([file], out).keys
    assert set(outcomes(out)["key"]) == second
    assert set(outcomes(out, first)["key"]) == first


@pytest.mark.parametrize("limit", ["2XB", "0", "-1GB"])
def test_a_memory_limit_that_is_none_is_one_line(tmp_path, limit, capsys):
    for name in ("solve", "compare"):
        words = [name, str(tmp_path / "x.py"), f"--memory-limit={limit}"]
        assert main(words) == 2
        error = capsys.readouterr().err
        assert "a memory limit is a size such as 4GB or 500MB, not" in error
        assert error.count("\n") == 1


WITHOUT_OPTIMUM = """
import cvxpy as cp

def low():
    x = cp.Variable(name="x")
    return cp.Problem(cp.Minimize(x), [x >= 1])

def none():
    x = cp.Variable(name="x")
    return cp.Problem(cp.Minimize(x), [x >= 1, x <= 0])

def free():
    x = cp.Variable(name="x")
    return cp.Problem(cp.Minimize(x))

PROBLEMS = {"low": low, "none": none, "free": free}
SOLVERS = ["CLARABEL"]
"""


def test_problems_without_an_optimum_are_named(tmp_path, capsys):
    file = tmp_path / "three.py"
    file.write_text(WITHOUT_OPTIMUM)
    assert main(["solve", str(file), "--jobs", "1", "--out", str(tmp_path / "run")]) == 0
    printed = capsys.readouterr().out
    for words in (r"solved\W+3", r"of these proven infeasible\W+1", r"proven unbounded\W+1"):
        assert re.search(words, printed), printed


def test_a_shard_says_that_it_compares_within_itself_only(tmp_path, capsys):
    file = tmp_path / "three.py"
    file.write_text(WITHOUT_OPTIMUM)
    for command in (["solve", "--jobs", "1"], ["compare", "--solvers", "CLARABEL,SCS"]):
        for number in (1, 2):  # one of them may be empty
            out = str(tmp_path / f"{command[0]}-{number}")
            line = [command[0], str(file), *command[1:], "--shard", f"{number}/2", "--out", out]
            assert main(line) in (0, 1)
        assert "solutions were compared within this shard only" in capsys.readouterr().out


def test_progress_counts_refuted_tasks(tmp_path):
    progress = Progress(tmp_path, frozenset("abcdef"), done=4, wall_seconds=2.0)
    for status, ok in (
        ("optimal", False),
        ("optimal", None),
        ("error", None),
        ("infeasible", True),
    ):
        progress.count("a task", status, ok, "")
    assert progress.line() == "4 of 6 tasks, 1 failed, 1 refuted, 2.0/s, about 1 s left"
    progress.done = 6
    assert progress.line() == "6 of 6 tasks, 1 failed, 1 refuted"
