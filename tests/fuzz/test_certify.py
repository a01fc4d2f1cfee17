"""The attack on certify: its truths are true, and it catches every kind of false verdict."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import convexfs
from tests.fuzz import certificates, known_curved, known_flat, known_other
from tests.fuzz.attack import Failure, generator
from tests.fuzz.certificates import FAMILIES
from tests.fuzz.known import OPTIMAL


@pytest.mark.parametrize("family", FAMILIES)
def test_the_optimal_point_of_a_random_problem_is_exact(family):
    for number in range(20):
        known = FAMILIES[family](generator(1, family, number))
        problem = stated(known)
        claim = convexfs.Solution(OPTIMAL, "CLARABEL", primal=known.point)
        assert known.status != OPTIMAL or certificates._is_right(known, problem, claim)
        value: Any = problem.objective.value if known.status == OPTIMAL else known.optimum
        assert value == pytest.approx(known.optimum, rel=1e-15, abs=1e-15 * known.size, nan_ok=True)


#: Families whose optimum no solver finds reliably: far away, or without a dual optimum.
HARD = {
    "LP far column", "LP huge bound", "LP almost unbounded", "LP infeasible", "SDP duality gap",
    "weakly infeasible", "MILP tampered integers",
}  # fmt: skip


@pytest.mark.parametrize("family", [name for name in FAMILIES if name not in HARD])
def test_a_solver_finds_the_known_optimum(family, monkeypatch):
    for module in (known_flat, known_curved, known_other):
        monkeypatch.setattr(module, "power", lambda rng, *limits: 1.0)
    for number in range(3):
        known = FAMILIES[family](generator(2, family, number))
        for solver in [s for s in ("CLARABEL", "SCIP") if s in known.solvers][:1]:
            solution = convexfs.solve(stated(known), solver=solver, tol=1e-8)
            assert solution.status == known.status
            expected = pytest.approx(known.optimum, abs=1e-4 * known.size)
            assert known.status != OPTIMAL or solution.objective == expected


def stated(known):
    names: dict[str, Any] = {"np": np, "cp": cp}
    exec(known.program, names)
    return names["problem"]


def claim_about(family, kind, point=None):
    known = FAMILIES[family](generator(1, family, 0))
    return certificates.Case(family, known, kind, "CLARABEL", point or known.point)


@pytest.mark.parametrize(
    ("ok", "kind", "word"),
    [
        (True, "wrong point", "wrong proven"),
        (True, "says infeasible", "wrong proven"),
        (True, "objective off", "wrong proven"),
        (False, "optimal point", "right refuted"),
        (None, "optimal point", None),
        (None, "wrong point", None),
        (True, "optimal point", None),
    ],
)
def test_false_verdicts_are_caught(monkeypatch, ok, kind, word):
    monkeypatch.setattr(convexfs, "certify", lambda *_, **__: SimpleNamespace(ok=ok))
    case = claim_about("LP tiny right-hand side", kind)
    case = replace(case, point=case.known.wrong[0]) if kind == "wrong point" else case
    verdict = certificates.judge(case)
    failures = (Failure(word, f"LP tiny right-hand side: {kind}"),) if word else ()
    assert verdict.failures == failures
    assert verdict.tally["all flat", "cases"] == 1
    assert verdict.tally["all flat", verdict.outcome] == 1


def test_problems_without_a_strictly_feasible_point_have_their_own_rows(monkeypatch):
    monkeypatch.setattr(convexfs, "certify", lambda *_, **__: SimpleNamespace(ok=None))
    tally = certificates.judge(claim_about("SDP duality gap", "optimal point")).tally
    assert {row for row, _ in tally} == {
        "SDP duality gap, not strict", "all not strictly feasible",
    }  # fmt: skip


@pytest.mark.parametrize("kind", ["wrong point", "by a solver", "says infeasible"])
def test_the_reproducer_of_a_claim_certifies_it(kind, capsys):
    case = claim_about("LP tiny right-hand side", kind)
    point = {"wrong point": case.known.wrong[0]}.get(kind)
    program = certificates.reproducer(replace(case, point=point))["case.py"]
    exec(compile(program, "case.py", "exec"), {})
    verdict = "proven" if kind == "by a solver" else "refuted"
    assert verdict in capsys.readouterr().out
