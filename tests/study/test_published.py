"""What is published of public instances, beside what was found."""

import pytest

from convexfs.study.outcomes import outcomes
from convexfs.study.public_sets import SETS
from convexfs.study.published import _published, beside_published, contradicts, published
from tests.study.stored import PROVEN

OWN = {"formulation": "own", "method": "own", "needs": "LP", "sense": "min", "data": "own data"}


@pytest.mark.parametrize(
    ("of", "problem", "known"),
    [
        ("netlib", "afiro", "-4.6475314286E+02"),
        ("netlib", "vtp.base", "1.2983146246E+05"),
        ("maros-meszaros", "CVXQP1_S", "1.1590718e+04"),
        ("netlib-infeasible", "woodinfe", "infeasible"),
        ("netlib-infeasible", "greenbea", "-7.2555248130E+07"),
        ("sdplib", "infd1", "unbounded"),
        ("cblib-exp", "beck752", None),
    ],
)
def test_known_values(of, problem, known):
    assert published(of, problem) == known


def test_the_table_is_of_public_sets_and_has_numbers_or_statuses():
    for (of, _), optimum in _published().items():
        assert of in SETS
        assert optimum in ("infeasible", "unbounded") or float(optimum) == float(optimum)


def test_solved_tasks_are_compared_within_both_accuracies(folder):
    at = OWN | {"problem": "afiro", "problem_file": "/x/netlib/afiro.mps.gz"}
    run = folder(
        (at | {"objective": -464.75314, "solver": "A"}, PROVEN),
        (at | {"objective": -464.70, "solver": "B", "repeat": 1}, PROVEN),
        (at | {"objective": -464.70, "solver": "C", "tol": 1e-3, "repeat": 2}, PROVEN),
        (OWN | {"problem": "mine", "problem_file": "/x/mine.mps", "objective": 3.0}, PROVEN),
    )
    frame = outcomes(run)
    assert frame.set_index("key")["set"].to_dict()["k0"] == "netlib"
    assert set(frame.loc[contradicts(frame), "solver"]) == {"B"}
    (row,) = beside_published(frame).to_dict("records")
    assert (row["solved"], row["contradicting"], row["solvers"]) == (3, 1, "B")
    assert row["published"] == "-4.6475314286E+02"


def test_a_proven_optimum_of_an_infeasible_file_contradicts(folder):
    at = OWN | {"problem": "itest2", "problem_file": "/x/netlib_infeasible/itest2.mps.gz"}
    run = folder(
        (at, PROVEN), (at | {"status": "infeasible", "objective": None, "repeat": 1}, PROVEN)
    )
    assert contradicts(outcomes(run)).tolist() == [True, False]


def test_results_with_published_words_alone_are_compared(folder):
    run = folder(({"problem": "bgdbg1", "status": "infeasible", "objective": None}, PROVEN))
    frame = outcomes(run).assign(published="infeasible", outcome="solved")
    frame["published"] = frame["published"].astype("string")
    assert contradicts(frame).tolist() == [False]
    assert contradicts(frame.assign(status="optimal")).tolist() == [True]
