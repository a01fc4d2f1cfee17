import cvxpy as cp
import numpy as np
import pytest

from convexfs import LLFS, certify, load, show, solve
from convexfs.errors import InputError
from convexfs.methods.llfs.numbers import local_values
from convexfs.methods.llfs.stage_problems import STAGES
from convexfs.methods.llfs.utility import mean_utility

CONVEX = [stage for stage in STAGES if stage != "exact"]


@pytest.fixture(scope="module")
def toy():
    data = load("subclasses:noise=4,n=6").scaled()
    return data.X, data.y


@pytest.fixture(scope="module")
def model(toy):
    return LLFS(max_features=2, betas=6).fit(*toy)


@pytest.mark.parametrize("stage", CONVEX)
def test_every_stage_is_a_problem_that_is_solved_and_certified(model, stage):
    problem = model.problem(3, beta=0.6, stage=stage)
    solution = solve(problem, "CLARABEL", 1e-9)
    assert certify(problem, solution).ok
    f = solution.primal["f"]
    assert f.shape == (6,)
    assert 1 - 1e-6 <= f.sum() <= 2 + 1e-6


def test_steps_at_the_local_optimum_gain_nothing(model, toy):
    row = model.points_[3][3]
    X, y = toy
    values = local_values(X, y, 3, 2)
    last = solve(model.problem(3, beta=0.6), "CLARABEL", 1e-9)
    assert last.objective == pytest.approx(row["u1"], rel=1e-6)
    curved = solve(model.problem(3, beta=0.6, stage="curved"), "CLARABEL", 1e-9)
    reached = mean_utility(values["a_same"], curved.primal["f"], values["s"], values["lam"])
    assert reached == pytest.approx(row["u1"], rel=1e-5)
    # Below the iterate's U1 no point reaches the level; there U2 is as large as it gets.
    asked = solve(model.problem(3, beta=0.6, stage="bisection"), "CLARABEL", 1e-9)
    assert asked.objective == pytest.approx(row["level"], rel=1e-5)
    most = solve(model.problem(3, stage="separation"), "HIGHS")
    assert most.objective >= model.points_[3][-1]["u2"] * (1 - 1e-9)


def test_a_stage_can_be_stated_at_any_iterate(model, toy):
    iterate = np.full(6, 1 / 3)
    problem = model.problem(3, beta=0.6, iterate=iterate)
    problem.var_dict["f"].value = iterate
    X, y = toy
    values = local_values(X, y, 3, 2)
    u1 = mean_utility(values["a_same"], iterate, values["s"], values["lam"])
    assert problem.objective.value == pytest.approx(u1)
    with pytest.raises(InputError, match="one entry for each of the 6 features"):
        model.problem(3, iterate=[1.0])
    with pytest.raises(InputError, match="did you mean separation"):
        model.problem(3, stage="seperation")


@pytest.mark.parametrize(
    "given", [{}, {"solver": "HIGHS"}, {"solver": "CLARABEL", "form": "ratio"}]
)
def test_a_trace_is_the_sequence_of_problems_that_led_there(toy, given):
    model = LLFS(max_features=2, betas=6, **given).fit(*toy)
    # Some points need no program at some betas.
    i, trace = max(((i, model.trace(i, 0.8)) for i in range(4)), key=lambda pair: len(pair[1]))
    assert len(trace) >= 1
    level = model.points_[i][4]["level"]
    for step in trace:
        assert step.level == pytest.approx(level, rel=1e-7)
        # The problem is the one that was solved: its value is that of the answer.
        value = solve(step.problem, "CLARABEL", 1e-9).objective
        assert step.objective == pytest.approx(value, rel=1e-5, abs=1e-6)
    assert "subject to" in str(show(trace[0].problem))
    table = str(trace).splitlines()
    assert len(table) == len(trace) + 1
    assert trace[0].name in table[1]
    reached = [step.u1 for step in trace if step.u2 >= step.level * (1 - 1e-9)]
    # The least ratio is not the least U1.
    assert model.form == "ratio" or min(reached) >= model.points_[i][4]["u1"] * (1 - 1e-6)


def test_stages_and_traces_keep_changed_constraints(toy):
    def without_first(f, max_features):
        return [f >= 0, f <= 1, cp.sum(f) >= 1, cp.sum(f) <= max_features, f[0] == 0]

    model = LLFS(max_features=2, betas=[0.3, 0.6], formulation=without_first).fit(*toy)
    for stage in CONVEX:
        assert solve(model.problem(0, 0.3, stage), "CLARABEL").primal["f"][0] <= 1e-6
    for step in model.trace(0, 0.6):
        assert solve(step.problem, "CLARABEL").primal["f"][0] <= 1e-6
