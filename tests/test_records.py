import numpy as np
import pytest

from convexfs.records import Certificate, Solution


def certificate(*residuals, tol=1e-5):
    return Certificate(*residuals, tol=tol, basis="formula")


@pytest.mark.parametrize(
    ("residuals", "ok", "words"),
    [
        ((0.0, 1e-9, 1e-8, 1e-7), True, "proven (1e-07)"),
        ((1e-9, None, None, 1e-12), True, "proven (1e-09)"),
        ((0.0, 1e-3, 0.0, 0.0), None, "undecided: 1.0e-03 > 1e-05"),
        ((1e-3, None, None, 0.0), False, "refuted: 1.0e-03 > 1e-05"),
        ((np.nan, 0.0, 0.0, 0.0), False, "refuted: nan > 1e-05"),
        ((0.0, np.nan, 0.0, 0.0), False, "refuted: nan > 1e-05"),
        ((0.0, None, np.nan, 0.0), False, "refuted: nan > 1e-05"),
        ((0.0, None, None, np.nan), False, "refuted: nan > 1e-05"),
        ((None, 0.0, 0.0, 0.0), False, "refuted: nan > 1e-05"),
        ((np.inf, None, None, None), False, "refuted: inf > 1e-05"),
        (
            (1e-9, None, None, None),
            None,
            "undecided: feasible, but no bound on the optimum is known",
        ),
    ],
)
def test_the_verdict_follows_the_worst_residual(residuals, ok, words):
    judged = certificate(*residuals)
    assert judged.ok is ok
    assert str(judged) == words
    assert judged.as_dict()["ok"] is ok


def test_a_certificate_as_a_dict_has_every_number():
    assert certificate(1e-9, 2e-9, 3e-9, 4e-9).as_dict() == {
        "primal_residual": 1e-9,
        "dual_residual": 2e-9,
        "complementarity": 3e-9,
        "gap": 4e-9,
        "tol": 1e-5,
        "ok": True,
        "basis": "formula",
    }


def test_only_a_claimed_optimum_counts_as_solved():
    assert Solution(status="optimal", solver="SCS").solved
    assert not Solution(status="optimal_inaccurate", solver="SCS").solved


@pytest.mark.parametrize(
    ("primal", "objective"),
    [
        ({"w": np.array([0.0, np.nan])}, 1.0),
        ({"w": np.ones(2), "t": np.array(np.inf)}, 1.0),
        ({"w": np.ones(2)}, np.nan),
        ({"w": np.ones(2)}, None),
    ],
)
def test_an_answer_that_is_not_finite_is_never_ok(primal, objective):
    solution = Solution("optimal", "native", primal=primal, objective=objective)
    assert not solution.finite
    assert Certificate.of(solution, gap=0.0, tol=1.0, basis="formula").ok is False
    assert Certificate.of(solution, tol=1.0, basis="local search").ok is False


def test_a_finite_answer_is_judged_by_its_residuals():
    solution = Solution("optimal", "native", primal={"w": np.ones(2)}, objective=0.0)
    assert solution.finite
    assert Certificate.of(solution, gap=0.0, tol=0.0, basis="formula").ok


def test_a_certificate_says_what_it_does_not_cover():
    kept = Certificate(1e-12, None, None, 1e-12, 1e-9, "formula")
    refuted = Certificate(1e-3, None, None, 1e-12, 1e-9, "formula")
    assert kept.covers == (
        "proven (1e-12): the problem is solved; this proves nothing about the features"
    )
    assert "the problem is not shown to be solved; this proves nothing" in refuted.covers
