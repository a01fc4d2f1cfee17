import cvxpy as cp
import pytest
from cvxpy.reductions.solvers.defines import SOLVER_MAP_CONIC, SOLVER_MAP_QP

from convexfs.errors import InputError, SolverUnavailable, SolverUnsuitable
from convexfs.records import OWN, RAW
from convexfs.solving import backends
from convexfs.solving.backend import tolerance_mode
from convexfs.solving.backends import BACKENDS, backend, choose, needs_of, suitable
from tests.solvers import needs, packages
from tests.solving import problems


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (problems.linear, "LP"),
        (problems.quadratic, "QP"),
        (problems.second_order, "SOC"),
        (problems.logistic, "EXP"),
        (problems.semidefinite, "SDP"),
        (problems.quadratic_in_a_ball, "QP + SOC"),
        (problems.integer, "integer + LP"),
    ],
)
def test_needs_are_read_off_the_expression_tree(build, expected):
    assert str(needs_of(build())) == expected


TAKEN = [
    pytest.param(name, build, id=f"{name}-{build.__name__}")
    for build in [*problems.CONVEX.values(), problems.integer]
    for name in suitable(needs_of(build()))
]


@pytest.mark.parametrize(("name", "build"), TAKEN)
def test_what_the_table_lets_through_cvxpy_compiles_for_that_solver(name, build):
    data, _, _ = build().get_problem_data(name)
    assert data


def test_every_installed_solver_takes_some_problem():
    installed = {name for name, row in BACKENDS.items() if row.installed}
    assert {taken.values[0] for taken in TAKEN} == installed


@pytest.mark.parametrize(
    ("build", "limit", "expected"),
    [
        (problems.linear, None, "HIGHS"),
        (problems.integer, None, "HIGHS"),
        (problems.second_order, None, "CLARABEL"),
        (problems.logistic, None, "CLARABEL"),
        (problems.logistic, 5.0, "CLARABEL"),
        (problems.semidefinite, None, "SCS"),
        (problems.quadratic, None, "CLARABEL"),
    ],
)
def test_automatic_choice_follows_the_preference_table(build, limit, expected):
    assert choose(build(), "auto", limit).name == expected


def test_scs_is_asked_for_at_most_1e_7_by_default():
    assert BACKENDS["SCS"].options(1e-6)["eps_abs"] <= 1e-7


def test_one_tolerance_and_one_limit_translate_for_every_solver():
    for row in BACKENDS.values():
        options = row.options(1e-6, time_limit=7.0)
        limit = row.limit(7.0) if row.limit is not None else {}
        assert options == row.options(1e-6) | limit
        assert ("7" in str(limit)) == (row.limit is not None)


@pytest.mark.parametrize(("name", "option"), [("HIGHS", "mip_rel_gap"), ("ECOS_BB", "mi_rel_eps")])
def test_an_accuracy_is_also_the_gap_of_integer_problems(name, option):
    assert BACKENDS[name].options(1e-6)[option] <= 1e-6


def test_every_open_solver_of_the_extra_is_tested():
    for row in BACKENDS.values():
        assert row.tested == (row.extra is not None), row.name


@pytest.mark.parametrize("extra", ["", pytest.param("solvers", marks=needs("PIQP"))])
def test_every_solver_that_was_asked_for_is_there(extra):
    asked = [row for row in BACKENDS.values() if row.package in packages(extra)]
    assert {row.extra for row in asked} == {"", extra}
    assert [row.name for row in asked if not row.installed] == []


def test_every_solver_that_cvxpy_calls_has_a_row():
    known = {*SOLVER_MAP_CONIC, *SOLVER_MAP_QP}
    assert known <= set(BACKENDS)


def test_an_accuracy_is_put_to_solvers_in_three_ways():
    for row in BACKENDS.values():
        with tolerance_mode(RAW):
            raw = row.options(1e-5)
        with tolerance_mode(OWN):
            own = row.options(1e-5)
        given = raw.get(row.inside, {}) if row.inside else raw
        assert [given[name] for name in row.tolerances] == [1e-5] * len(row.tolerances)
        assert own == row.always
        assert row.options(1e-5).keys() == raw.keys()


def test_an_unknown_solver_gets_the_nearest_name():
    with pytest.raises(SolverUnavailable, match="unknown solver 'OSPQ': did you mean OSQP"):
        backend("OSPQ")


def test_a_missing_solver_says_how_to_install_it():
    with pytest.raises(SolverUnavailable, match="MOSEK is not installed: pip install mosek"):
        backend("MOSEK")


def test_native_is_not_for_any_problem():
    with pytest.raises(InputError, match="native solves convexfs's own formulations"):
        backend("native")


def test_an_unsuitable_solver_names_the_missing_cone_and_those_that_do():
    with pytest.raises(SolverUnsuitable, match=r"HIGHS cannot take SOC .*use CLARABEL, "):
        choose(problems.second_order(), "HIGHS")
    words = r"CLARABEL cannot take integer variables in this problem .*use HIGHS"
    with pytest.raises(SolverUnsuitable, match=words):
        choose(problems.integer(), "CLARABEL")


def test_when_nothing_is_installed_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr(backends.cp, "installed_solvers", list)
    with pytest.raises(SolverUnavailable, match=r"pip install clarabel"):
        choose(problems.second_order())


def test_solver_names_may_be_lower_case():
    assert choose(problems.linear(), "highs").name == "HIGHS"


def test_suitable_lists_installed_solvers_only_unless_asked():
    needs = needs_of(problems.second_order())
    assert set(suitable(needs)) < set(suitable(needs, installed=False))
    assert "MOSEK" in suitable(needs, installed=False)
    assert "MOSEK" not in suitable(needs)


def test_constant_objective_needs_only_lp():
    x = cp.Variable()
    assert str(needs_of(cp.Problem(cp.Minimize(0), [x >= 1]))) == "LP"


def test_paced_solvers_are_asked_for_no_more_than_they_reach():
    paced = {name: row.pace for name, row in BACKENDS.items() if row.pace is not None}
    assert set(paced) == {"SCS", "OSQP"}
    for pace in paced.values():
        asked = [pace(gain)["eps_abs"] for gain in (1.0, 1e-3, 1e-6, 0.0)]
        assert asked == sorted(asked, reverse=True)
        assert asked[0] == 1e-4
        assert asked[1] == pytest.approx(1e-5)
        assert asked[-1] >= 1e-7
