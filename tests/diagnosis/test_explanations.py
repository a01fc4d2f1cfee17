"""Explanations as a user reads them: sentences, numbers, pages."""

import html
import json
import re

import cvxpy as cp
import numpy as np
import pytest

import convexfs
from convexfs.certification.certify import certify
from convexfs.diagnosis.explanation import Explanation
from convexfs.diagnosis.stages import stages, stages_text
from convexfs.errors import InputError
from tests.typed import constraints, known, labelled


def diet():
    food = cp.Variable(3, name="food", nonneg=True)
    price, iron = np.array([3.0, 2, 4]), np.array([1.0, 0.5, 2])
    return cp.Problem(
        cp.Minimize(price @ food),
        [
            labelled(price @ food <= 10, "budget"),
            labelled(iron @ food >= 6, "iron"),
            labelled(cp.norm(food) <= 100, "size"),
        ],
    )


def factory():
    make = cp.Variable(3, name="make", nonneg=True)
    return cp.Problem(
        cp.Maximize(np.array([25.0, 30, 18]) @ make),
        [
            labelled(np.array([2.0, 3, 1]) @ make <= 120, "labour"),
            labelled(np.array([4.0, 2, 3]) @ make <= 160, "steel"),
            labelled(make[2] <= 40, "demand"),
            labelled(cp.sum(make) <= 1000, "storage"),
        ],
    )


def ray():
    y, z = cp.Variable(4, name="y"), cp.Variable(name="z")
    cost = y[0] - 2 * y[3] + cp.norm(y[1:3])
    return cp.Problem(cp.Minimize(cost), [y[0] - y[3] >= -5, y[1] >= 0, cp.exp(z) <= 10])


def portfolio():
    rng = np.random.default_rng(0)
    B, cents = rng.normal(size=(20, 20)), cp.Variable(20, name="cents")
    risk = cp.quad_form(cents, B @ B.T / 20, assume_PSD=True) * 1e-14
    returns = rng.uniform(0.01, 0.1, 20)
    return cp.Problem(
        cp.Minimize(risk), constraints(cp.sum(cents) == 1e9, cents >= 0, returns @ cents >= 6e7)
    )


def not_convex():
    x = cp.Variable(3, name="x")
    return cp.Problem(cp.Minimize(cp.sqrt(cp.sum_squares(x) + 1)), [cp.norm(x) >= 1])


@pytest.mark.parametrize("make", [diet, factory, ray, not_convex])
def test_every_form_of_an_explanation_can_be_used(make):
    found = convexfs.explain(make())
    assert isinstance(found, Explanation)
    assert max(map(len, found.text.splitlines())) <= 80
    assert found.text.startswith(found.headline[:40])
    assert json.loads(found.to_json())["status"] == found.status
    page = found.to_html()
    assert len(page) < 500_000
    assert not re.search(r"(src|href)=", page)
    assert html.escape(found.headline) in page
    assert found.to_latex().count(r"\begin{itemize}") == len(found.sections)


def test_the_relaxation_that_is_printed_makes_the_problem_feasible():
    found = convexfs.explain(diet())
    assert (found.status, found.proven) == ("infeasible", True)
    assert {row["name"] for row in found.data["conflict"]} == {
        "budget",
        "iron",
        "attribute of food",
    }
    assert found.data["irreducible"]
    assert found.data["irreducible_by_constraint"]
    (change,) = found.data["relaxation"]["changes"]
    words = r"lower the lower limit of iron from 6 to (\S+)"
    limit = float(known(re.fullmatch(words, change["sentence"]))[1])
    assert 4.98 <= limit <= 5
    stated = diet()
    food = stated.variables()[0]
    lowered = [*stated.constraints, np.array([1.0, 0.5, 2]) @ food >= limit]
    relaxed = cp.Problem(cp.Minimize(0), [each for each in lowered if each.label != "iron"])
    assert certify(relaxed, convexfs.solve(relaxed, "CLARABEL")).ok


def test_an_equation_is_widened_to_a_range():
    x = cp.Variable(2, name="x", nonneg=True)
    stated = [labelled(cp.sum(x) == -2, "total")]
    (change,) = convexfs.explain(cp.Problem(cp.Minimize(0), stated)).data["relaxation"]["changes"]
    assert change["sentence"] == "let total lie within -2 +- 2"


def test_prices_and_ranges_are_those_of_solving_again():
    problem = factory()
    found = convexfs.explain(problem)
    assert (found.status, found.proven) == ("optimal", True)
    rates = {row["name"]: row["per_unit"] for row in found.data["prices"]}
    assert set(rates) == {"labour", "steel"}
    make = problem.variables()[0]
    for name, coefficients, side in (("labour", [2.0, 3, 1], 120), ("steel", [4.0, 2, 3], 160)):
        moved = [each for each in problem.constraints if each.label != name]
        moved.append(np.array(coefficients) @ make <= side + 1)
        other = cp.Problem(problem.objective, moved)
        gained = convexfs.solve(other, "HIGHS").objective - found.data["objective"]
        assert rates[name] == pytest.approx(gained, rel=1e-6)
    assert found.data["ranges"]["labour"].endswith("the limit 120 is 100 to 240")
    assert found.data["redundant"] == ["storage"]
    assert found.data["degenerate"] == []


def test_signs_of_prices_of_lower_limits_and_equations():
    w = cp.Variable(2, name="w")
    stated = [labelled(cp.sum(w) == 1, "all"), labelled(w[0] >= 0.8, "least")]
    found = convexfs.explain(cp.Problem(cp.Minimize(cp.sum_squares(w)), stated))
    rates = {row["name"]: row["per_unit"] for row in found.data["prices"]}
    # w = (0.8, 0.2): the optimum a^2 + (s - a)^2 rises by 2 (s - a) with s, by 4 a - 2 s with a.
    assert rates["all"] == pytest.approx(0.4, rel=1e-4)
    assert rates["least"] == pytest.approx(1.2, rel=1e-4)
    sentence = next(row["sentence"] for row in found.data["prices"] if row["name"] == "least")
    assert sentence.startswith("lowering its lower limit 0.8 lowers the minimum by 1.2")


def test_a_ray_is_short_and_its_stops_are_proven():
    found = convexfs.explain(ray())
    assert (found.status, found.proven) == ("unbounded", True)
    assert found.data["ray"] == {"y[0]": 1.0, "y[3]": 1.0}
    assert found.data["stopped_by"] == ["an upper limit on y[0]", "an upper limit on y[3]"]


def test_a_ray_that_is_not_exact_is_not_called_proven():
    y = cp.Variable(2, name="y")
    flat = np.array([1.0, np.sqrt(2.0)]) @ y  # no double is on its null space but 0
    found = convexfs.explain(cp.Problem(cp.Minimize(cp.square(flat) + y[0])), seconds=3)
    assert found.status == "unbounded"
    assert not found.proven
    assert "not proven" in found.headline


def test_an_objective_that_grows_without_a_ray_is_undecided():
    z = cp.Variable(name="z")
    found = convexfs.explain(cp.Problem(cp.Maximize(cp.log(z)), [z >= 1]), seconds=1)
    assert (found.status, found.proven) == ("undecided", False)


def test_a_scaling_is_proposed_with_which_more_solvers_are_certified():
    found = convexfs.explain(portfolio())
    assert found.status == "badly scaled"
    assert found.data["scaling"]["sentences"] == ["measure cents in units of 1e+09"]
    rows = found.data["scaling"]["solvers"]
    before, after = ([not row[k].endswith("not certified") and row[k].endswith("certified")
                      for row in rows] for k in (1, 2))  # fmt: skip
    assert sum(after) > sum(before)
    assert all(new or not old for old, new in zip(before, after, strict=True))


def test_no_scaling_is_proposed_where_all_solvers_are_certified():
    assert "scaling" not in convexfs.explain(factory()).data


def test_big_m_and_parallel_rows_are_named():
    is_open = cp.Variable(2, boolean=True, name="open")
    ship = cp.Variable((2, 3), name="ship", nonneg=True)
    A = np.random.default_rng(1).normal(size=(3, 6))
    A[2] = 3 * A[0] + 1e-8 * A[1]
    stated = [
        labelled(cp.sum(ship, axis=0) == [5.0, 7, 8], "demand"),
        labelled(cp.sum(ship, axis=1) <= 1e6 * is_open, "only_if_open"),
        labelled(A @ cp.vec(ship, order="F") <= 1000, "rows"),
    ]
    found = convexfs.explain(cp.Problem(cp.Minimize(cp.sum(ship) + 9 * cp.sum(is_open)), stated))
    health = found.data["health"]
    assert health["big M"][0] == ("only_if_open[0]", "big M = 1e+06 on open[0]: 20 is enough")
    assert [name for name, _ in health["near-parallel rows"]] == ["rows[0]"]


def test_wide_ranges_name_constraint_and_variables():
    x = cp.Variable(2, name="x")
    wide = labelled(np.array([1e-5, 1e5]) @ x >= 1, "wide")
    found = convexfs.explain(cp.Problem(cp.Minimize(cp.sum_squares(x)), [wide]), seconds=1)
    named = dict(found.data["health"]["wide ranges"])
    assert named["wide"] == "coefficients range from 1e-05 (x[0]) to 1e+05 (x[1]): 1e+10 times"


def test_stages_lead_from_constraints_to_rows_and_back():
    problem = diet()
    found = stages(problem)
    by_name = {part.name: part for part in found.parts}
    assert by_name["size"].epigraph[-1].endswith("<= 100")
    assert "SOC" in by_name["size"].epigraph[0]
    rows = [row for part in found.parts for row, _ in part.rows]
    assert sorted(rows) == list(range(found.shape[0]))
    assert max(map(len, stages_text(problem).splitlines())) <= 80


def test_the_page_of_many_constraints_stays_small():
    x = cp.Variable(300, name="x")
    many = [cp.norm(x[k : k + 9]) <= 1 + k for k in range(280)]
    found = convexfs.explain(cp.Problem(cp.Minimize(0), [*many, x[0] >= 2]), seconds=5)
    assert found.status == "infeasible"
    assert len(found.to_html()) < 500_000


def test_geometric_problems_are_explained_in_the_words_they_are_stated_in():
    u, v = cp.Variable(pos=True, name="u"), cp.Variable(pos=True, name="v")
    found = convexfs.explain(cp.Problem(cp.Minimize(u * v), [u * v >= 2, u <= 1, v <= 1.5]))
    assert found.status == "infeasible"
    assert [row["text"] for row in found.data["conflict"]] == ["u v >= 2", "u <= 1", "v <= 1.5"]


def test_parameters_are_taken_at_their_values():
    x, limit = cp.Variable(name="x"), cp.Parameter(name="limit")
    problem = cp.Problem(cp.Minimize(x), [x >= 3, x <= limit])
    with pytest.raises(InputError, match="give parameter limit a value"):
        convexfs.explain(problem)
    limit.value = 2.0
    assert convexfs.explain(problem).status == "infeasible"
    limit.value = 4.0
    assert convexfs.explain(problem).status == "optimal"


def test_parameters_that_break_dpp_are_named():
    x, a, b = cp.Variable(name="x"), cp.Parameter(value=2.0, name="a"), cp.Parameter(value=3.0)
    found = convexfs.explain(cp.Problem(cp.Minimize(x), [a * b * x >= 1]))
    section = next(each for each in found.sections if "DPP" in each.title)
    assert "product" in section.lines[0].text


@pytest.mark.parametrize("thing", [3, "x", None])
def test_other_things_are_refused(thing):
    with pytest.raises(InputError, match=r"explain takes a cvxpy\.Problem"):
        convexfs.explain(thing)


def test_what_the_variables_hold_is_left_as_it_was_by_rewrites():
    problem = not_convex()
    problem.variables()[0].value = [1.0, 2, 3]
    convexfs.explain(problem)
    assert known(problem.variables()[0].value).tolist() == [1.0, 2, 3]
