"""The attacks of tests/fuzz: they catch what is broken, and a sample of them finds nothing."""

import os
import runpy
import shutil
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import convexfs
from convexfs.errors import InputError
from tests.fuzz import __main__ as fuzz
from tests.fuzz import (
    arrays,
    command_line,
    files,
    invariances,
    kills,
)
from tests.fuzz.attack import Attack, Failure, Verdict, generator
from tests.fuzz.engine import Ticket, schedule, verdicts
from tests.waiting import end_soon

TABLE = "np.array([[0.0, 1.0], [1.0, 1.0], [0.0, 1.0], [2.0, 1.0]])"


class Weigher(BaseEstimator):
    """An estimator that answers what it is told to."""

    weights, ok, converged = np.ones(2), True, True
    support = np.array([True, False])

    def fit(self, X, y):
        self.weights_ = self.weights
        self.certificate_ = SimpleNamespace(ok=self.ok)
        self.converged_ = self.converged
        return self

    def get_support(self):
        return self.support


def kinds_of_failure(monkeypatch, **told):
    monkeypatch.setattr(convexfs, "Weigher", type("Told", (Weigher,), told), raising=False)
    case = arrays.Case("Weigher", {}, TABLE, "np.array([0, 1, 0, 1])")
    return {failure.kind for failure in arrays.judge(case).failures}


def raises(error):
    def fit(self, X, y):
        raise error

    return fit


@pytest.mark.parametrize(
    ("told", "kinds"),
    [
        ({}, set()),
        ({"weights": np.array([np.nan, 1.0]), "ok": False, "converged": False}, {"NaN"}),
        ({"weights": np.array([np.inf, 1.0])}, {"NaN", "ok over NaN"}),
        ({"ok": False}, {"false convergence"}),
        ({"support": np.array([True, True])}, {"constant column selected"}),
        ({"fit": raises(ZeroDivisionError("0"))}, {"crash"}),
        ({"fit": raises(ValueError("operands"))}, {"raw error"}),
        ({"fit": raises(InputError("give another"))}, set()),
    ],
)
def test_an_estimator_that_breaks_a_promise_is_caught(monkeypatch, told, kinds):
    assert kinds_of_failure(monkeypatch, **told) == kinds


@pytest.mark.parametrize("method", arrays.WEIGHTS)
@pytest.mark.parametrize("odd", ["np.ones(3)", "np.array(['a'])", "np.array(1.0)", "pd.NA", "{}"])
def test_no_parameter_stumbles_over_what_has_no_one_truth(method, odd):
    for name in set(arrays._parameters_of(method)) - {"run_dir"}:
        settings = {**arrays.QUICK.get(method, {}), name: odd}
        table = f"np.vstack([{TABLE}] * 2)"
        verdict = arrays.judge(arrays.Case(method, settings, table, "np.arange(8) % 2"))
        assert not verdict.failures, (name, verdict)


def test_hangs_deaths_and_faults_cost_their_own_case_only(monkeypatch):
    end_soon(lambda ticket: ticket.number == 1, monkeypatch.setattr)
    monkeypatch.setattr("tests.fuzz.engine.HANG_CPU_SECONDS", 0.5)

    def judge(number):
        if number == 1:
            time.sleep(1000)
        while number == 2:
            np.ones(3).sum()
        if number == 3:
            os._exit(3)
        if number == 5:
            raise ArithmeticError("in the attack itself")
        return Verdict("well")

    def make(rng):
        return int(rng.bit_generator.seed_seq.entropy[2])

    attack = Attack(make, judge, dict, 1)
    tickets = (Ticket("odd", 1, number) for number in range(7))
    found = {ticket.number: verdict for ticket, verdict in verdicts({"odd": attack}, tickets)}
    assert {number: found[number].outcome for number in found} == {
        0: "well", 1: "hung", 2: "hung", 3: "died", 4: "well", 5: "broken", 6: "well",
    }  # fmt: skip
    assert found[1].failures == (Failure("hang", "over 120 s"),)
    assert found[2].failures == (Failure("hang", "over 0.5 s of processor time"),)
    assert found[3].failures == (Failure("crash", "WorkerDied: exit code 3"),)
    assert "in the attack itself" in found[5].failures[0].cause


def says(out="", error="", code: int | None = 2):
    def main(words):
        sys.stdout.write(out)
        sys.stderr.write(error)
        if code is None:
            raise KeyError("loose")
        return code

    return main


@pytest.mark.parametrize(
    ("main", "kinds"),
    [
        (says(error="convexfs: error: no such file\n"), set()),
        (says(error="convexfs: warning: odd\nconvexfs: error: no such file\n"), set()),
        (says(out="{}", code=0), set()),
        (says(code=None), {"traceback"}),
        (says(error="Traceback (most recent call last):\nKeyError: 1\n", code=1), {"traceback"}),
        (says(code=3), {"exit code"}),
        (says(error="convexfs: error: new\nline\n"), {"error lines"}),
        (says(error=""), {"error lines"}),
        (says(error="convexfs: error: \x1b[31m\n"), {"escape bytes"}),
        (says(out='{"red": "\x9b31m"}', code=0), {"escape bytes"}),
        (says(out='{"weight": NaN}', code=0), {"not JSON"}),
    ],
)
def test_a_command_that_ends_badly_is_caught(monkeypatch, main, kinds):
    monkeypatch.setattr("convexfs.cli.main", main)
    verdict = command_line.judge(command_line.Case(("select", "data.csv", "--json")))
    assert {failure.kind for failure in verdict.failures} == kinds


def test_code_and_memory_that_nobody_asked_for_are_caught(monkeypatch):
    def main(words):
        Path(command_line.SENTINEL).touch()
        np.ones(10**7)
        return 0

    monkeypatch.setattr("tests.fuzz.attack.MEMORY_LIMIT_MB", 40)
    monkeypatch.setattr("convexfs.cli.main", main)
    verdict = command_line.judge(command_line.Case(("report", "run")))
    assert {failure.kind for failure in verdict.failures} == {"code run", "memory"}


def test_a_law_that_does_not_hold_is_caught(monkeypatch):
    class First(Weigher):
        def fit(self, X, y):
            self.weights_ = np.abs(X[0])
            return self

    monkeypatch.setattr(convexfs, "Relief", First)
    verdict = invariances.judge(invariances.Case("Relief", {}, "row order", 3))
    assert verdict.failures == (Failure("law", "row order matters to Relief"),)
    assert not invariances.judge(invariances.Case("Relief", {}, "column order", 3)).failures


def test_rows_that_are_lost_or_changed_are_caught(tmp_path):
    file = tmp_path / "problem.py"
    file.write_bytes(kills.PROBLEM)
    kills.solve_files([file], tmp_path / "one")
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    assert kills._changed_rows(tmp_path / "one", tmp_path / "two") == []
    with kills.Store(tmp_path / "two") as store:
        store._db.execute("UPDATE tasks SET objective = 7 WHERE rowid = 3")
    assert [f.kind for f in kills._changed_rows(tmp_path / "one", tmp_path / "two")] == [
        "rows changed"
    ]
    with kills.Store(tmp_path / "two") as store:
        store._db.execute("DELETE FROM tasks WHERE rowid = 3")
    assert [f.kind for f in kills._changed_rows(tmp_path / "one", tmp_path / "two")] == [
        "rows lost"
    ]


@pytest.mark.parametrize("name", fuzz.ATTACKS)
def test_the_same_seed_makes_the_same_case(name):
    attack = fuzz.ATTACKS[name]
    for number in range(25):
        one, other = (attack.make(generator(5, name, number)) for _ in range(2))
        assert attack.reproducer(one) == attack.reproducer(other)


def ran(*words, folder):
    environment = os.environ | {"PYTHON": sys.executable}
    return subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def written(folder, content):
    for name, text in content.items():
        (folder / name).write_bytes(text)


@pytest.mark.filterwarnings("ignore:constant column")
def test_the_reproducer_of_a_fit_shows_the_same_error(tmp_path):
    case = arrays.Case("Relief", {"n_neighbors": "0"}, TABLE, "np.array([0, 1, 0, 1])")
    written(tmp_path, arrays.reproducer(case))
    with pytest.raises(InputError, match="n_neighbors must be an integer of at least 1"):
        runpy.run_path(str(tmp_path / "case.py"))


@pytest.mark.slow
def test_the_reproducer_of_a_file_shows_the_same_error(tmp_path):
    name = "two 'words'.csv"
    content = b"f0,y\n1,a\ninf,b\n"
    written(tmp_path, files.reproducer(files.Case(name, content, None, ("select", name))))
    again = ran("sh", "run.sh", folder=tmp_path)
    assert again.returncode == 2
    assert "contains infinity at data row 2" in again.stderr
    assert (tmp_path / "again" / name).read_bytes() == content
    written(tmp_path, files.reproducer(files.Case(name, content, None)))
    again = ran(sys.executable, "case.py", folder=tmp_path)
    assert "contains infinity at data row 2" in again.stderr


def test_a_run_goes_on_where_another_ended():
    chosen = {"arrays": fuzz.ATTACKS["arrays"], "certify": fuzz.ATTACKS["certify"]}
    whole = list(schedule(chosen, 1, 50))
    assert list(schedule(chosen, 1, 20)) + list(schedule(chosen, 1, 30, first=20)) == whole


@pytest.mark.slow
def test_the_reproducer_of_a_law_fits_before_and_after(tmp_path):
    case = invariances.Case("Relief", {"n_neighbors": 3}, "float32", 3)
    written(tmp_path, invariances.reproducer(case))
    first, second = ran(sys.executable, "case.py", folder=tmp_path).stdout.split("None\n")[:2]
    assert first == second


def test_attacks_take_turns_by_their_shares():
    chosen = {name: fuzz.ATTACKS[name] for name in ("arrays", "files", "commands")}
    tickets = list(schedule(chosen, 1, 170))
    assert [sum(t.attack == name for t in tickets) for name in chosen] == [100, 50, 20]
    assert len(set(tickets)) == 170


def broken_attack():
    return Attack(
        make=lambda rng: "case",
        judge=lambda case: Verdict("bad", (Failure("crash", "always"),), {("row", "column"): 1}),
        reproducer=lambda case: {"case.py": b"1 / 0\n"},
        share=1.0,
    )


def test_failures_are_counted_and_some_are_written_down(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(fuzz, "ATTACKS", {"broken": broken_attack()})
    assert fuzz.main(["--cases", "5", "--only", "broken", "--out", str(tmp_path)]) == 1
    printed = capsys.readouterr().out
    assert "broken  bad                  5" in printed
    assert "broken  crash    5      always" in printed
    homes = sorted(tmp_path.iterdir())
    assert len(homes) == 3
    assert {home.name for home in homes} < {f"broken-1-{number}-crash" for number in range(5)}
    assert (homes[0] / "case.py").read_bytes() == b"1 / 0\n"
    assert (homes[0] / "FAILED.txt").read_text() == "crash: always\n"


def test_ctrl_c_shows_what_was_counted(monkeypatch, tmp_path, capsys):
    def interrupted(attacks, tickets):
        yield next(tickets), Verdict("well")
        raise KeyboardInterrupt

    monkeypatch.setattr(fuzz, "verdicts", interrupted)
    assert fuzz.main(["--cases", "5", "--only", "arrays", "--out", str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "stopped early"


def test_no_time_makes_no_cases(tmp_path, capsys):
    assert fuzz.main(["--minutes", "0", "--only", "arrays", "--out", str(tmp_path)]) == 0
    assert "0 failures" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())


def test_an_unknown_attack_is_named(capsys):
    with pytest.raises(SystemExit):
        fuzz.main(["--only", "arrays,nosuch"])
    assert "'nosuch' is none of arrays, files" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "cases"),
    [
        ("arrays", 250),
        ("files", 130),
        ("commands", 60),
        ("invariances", 40),
        ("kills", 2),
        ("certify", 100),
    ],
)
def test_a_sample_finds_nothing(name, cases, tmp_path, capsys):
    line = ["--cases", str(cases), "--only", name, "--seed", "1", "--out", str(tmp_path / "out")]
    assert fuzz.main(line) == 0, capsys.readouterr().out
