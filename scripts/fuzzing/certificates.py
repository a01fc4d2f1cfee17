"""Right, wrong and tampered answers into ``certify``, counted by family and by scale.

The problems are those of :mod:`known_problems`, whose optimum is known; so it is known of every
answer whether it is right, whatever solver or tampering it came from. An answer comes to the
judge as a record, as what ``problem.solve`` left behind, or as a bare point.
"""

import inspect
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import cvxpy as cp
import numpy as np

import convexfs
from convexfs.errors import ConvexfsError

from .arrays import quiet
from .attack import Attack, Failure, Verdict, cause_of, pick
from .known_basics import INFEASIBLE, OPTIMAL, UNBOUNDED, Known
from .known_problems import FAMILIES

EITHER = "infeasible_or_unbounded"
#: Powers of ten of right-hand sides and costs.
SCALES = range(-8, 9, 2)
#: An answer is right up to the first and wrong from the second on, both relative to its scale.
RIGHT, WRONG = 1e-5, 1e-3
SOLVE_SECONDS = 5.0
#: Largest residual that certificates are asked to accept.
TOLERANCE = 1e-5
#: How an answer comes to the judge, as expressions of `problem` and `answer`.
WAYS = {
    "record": "convexfs.certify(problem, answer, TOLERANCE)",
    "left by solve": "convexfs.certify(problem, tol=TOLERANCE)",
    "bare point": "convexfs.certify(problem, tol=TOLERANCE, primal=answer.primal)",
}
#: Tamperings that a bare point can show, for it has neither status nor objective.
OF_POINTS = ("as solved", "one number", "all numbers", "point NaN")
#: Right answers with these are refused: a record that contradicts itself is nobody's answer.
BROKEN = ("multipliers NaN", "a multiplier short", "a multiplier more")
#: Changes of an answer, as expressions of `solution`, with `moved`, `truth` and `replace`.
TAMPERINGS = {
    "as solved": "solution",
    "one number": "replace(solution, primal=moved(solution, 0.01))",
    "all numbers": "replace(solution, primal={k: 1.01 * v for k, v in solution.primal.items()})",
    "objective + 1 %": "replace(solution, objective=solution.objective + 0.01 * abs(truth))",
    "objective NaN": "replace(solution, objective=float('nan'))",
    "objective None": "replace(solution, objective=None)",
    "objective infinite": "replace(solution, objective=float('inf'))",
    "says infeasible": "replace(solution, status='infeasible')",
    "says unbounded": "replace(solution, status='unbounded')",
    "says optimal": "replace(solution, status='optimal')",
    "point NaN": "replace(solution, primal={k: v * np.nan for k, v in solution.primal.items()})",
    "no multipliers": "with_multipliers(solution, lambda y: None)",
    "multipliers of 0": "with_multipliers(solution, lambda y: 0 * y)",
    "multipliers NaN": "with_multipliers(solution, lambda y: y * np.nan)",
    "a multiplier short": "with_multipliers(solution, lambda y: y[:-1])",
    "a multiplier more": "with_multipliers(solution, lambda y: np.append(y, 1.0))",
    "another solver's name": "replace(solution, solver='nosuch')",
    "a solver that cannot": "replace(solution, solver='DAQP')",
}


@dataclass(frozen=True)
class Case:
    """A problem at a scale, a solver, and what is done to its answer."""

    family: str
    known: Known
    rhs: int
    cost: int
    solver: str
    tampering: str
    way: str = "record"


def make(rng: np.random.Generator) -> Case:
    family = pick(rng, FAMILIES)
    known = FAMILIES[family](rng)
    while known.status == OPTIMAL and not known.unit and abs(known.optimum) < 0.1:
        known = FAMILIES[family](rng)
    solver = pick(rng, [name for name in known.solvers if name in cp.installed_solvers()])
    plain = rng.random() < 0.3
    rhs, cost = (0, 0) if plain else (int(pick(rng, SCALES)), int(pick(rng, SCALES)))
    tampering = "as solved" if rng.random() < 0.4 else pick(rng, TAMPERINGS)
    way = pick(rng, WAYS)
    if way == "left by solve" and tampering != "as solved":
        way = "record"
    if way == "bare point" and (known.status != OPTIMAL or tampering not in OF_POINTS):
        way = "record"
    return Case(family, known, rhs, cost, solver, tampering, way)


def judge(case: Case) -> Verdict:
    """Solve, tamper, certify; hold the certificate's word against what is known."""
    with quiet():
        problem, truth = _stated(case)
        solution = _solved(problem, case)
        try:
            answer = tampered(case.tampering, solution, truth)
        except (TypeError, ValueError, AttributeError):  # there was no number to change
            return Verdict("nothing to tamper with")
        if case.way == "bare point" and not answer.primal:
            return Verdict("no point to judge")
        try:
            names = {"convexfs": convexfs, "problem": problem, "answer": answer}
            certificate = eval(WAYS[case.way], names | {"TOLERANCE": TOLERANCE})
        except ConvexfsError:
            return Verdict("certify refused in words")
        except Exception as error:
            return Verdict("crash", (Failure("crash", f"{case.tampering}: {cause_of(error)}"),))
        right = _is_right(case, problem, answer, truth)
    return _counted(case, answer.status, right, certificate.ok)


def _solved(problem: cp.Problem, case: Case) -> Any:
    """The answer of convexfs.solve or, if nobody else may touch it, of problem.solve."""
    if case.way != "left by solve":
        return convexfs.solve(problem, solver=case.solver, time_limit=_limit(case.solver))
    try:
        problem.solve(solver=case.solver)
    except cp.SolverError:
        return convexfs.Solution("error", case.solver)
    point: dict[str, Any] = {each.name(): each.value for each in problem.variables()}
    value: Any = problem.value
    present = all(value is not None for value in point.values())
    return convexfs.Solution(
        str(problem.status), case.solver, primal=point if present else {}, objective=value
    )


def _limit(solver: str) -> float | None:
    # The others have no limit of their own, and are quick.
    return SOLVE_SECONDS if solver in ("SCS", "CLARABEL", "OSQP", "HIGHS") else None


def _stated(case: Case) -> tuple[cp.Problem, float]:
    """The problem and its optimum at the case's scale."""
    s, c = 10.0**case.rhs, 10.0**case.cost
    names: dict[str, Any] = {"np": np, "cp": cp, "s": s, "c": c}
    exec(case.known.program, names)
    return names["problem"], s * c * case.known.optimum


def tampered(tampering: str, solution: Any, truth: float) -> Any:
    """The answer after a tampering of :data:`TAMPERINGS`."""
    names = {"replace": replace, "moved": moved, "with_multipliers": with_multipliers, "np": np}
    return eval(TAMPERINGS[tampering], names, {"solution": solution, "truth": truth})


def moved(solution: Any, share: float) -> dict[str, np.ndarray]:
    """The point with its largest number off by a share of it."""
    primal = {name: np.array(value, dtype=float) for name, value in solution.primal.items()}
    name, value = max(primal.items(), key=lambda item: np.abs(item[1]).max())
    largest = np.unravel_index(np.abs(value).argmax(), value.shape)
    primal[name][largest] *= 1.0 + share
    return primal


def with_multipliers(solution: Any, change: Any) -> Any:
    """The answer with its cone program's multipliers changed."""
    return replace(solution, cone=replace(solution.cone, y=change(solution.cone.y)))


def _is_right(case: Case, problem: cp.Problem, answer: Any, truth: float) -> bool | None:
    """Whether an answer is right, by its numbers alone; None in between."""
    said = answer.status.removesuffix("_inaccurate")
    if case.known.status != OPTIMAL or said in (INFEASIBLE, UNBOUNDED, EITHER):
        return said == case.known.status or (said == EITHER and case.known.status != OPTIMAL)
    if not answer.primal or not all(np.isfinite(value).all() for value in answer.primal.values()):
        return False
    for variable in problem.variables():
        variable.save_value(answer.primal[variable.name()])
    s, c = 10.0**case.rhs, 10.0**case.cost
    size = max(abs(truth), s * c * case.known.unit)
    objective: Any = problem.objective.value
    reported = objective if case.way == "bare point" else answer.objective
    off = [
        np.inf if value is None else abs(float(value) - truth) / size
        for value in (objective, reported)
    ]
    rows, largest = _violations(problem, s)
    right = np.max([*off, rows]) <= RIGHT
    wrong = not np.max([*off, largest]) < WRONG
    return True if right else False if wrong else None


def _violations(problem: cp.Problem, s: float) -> tuple[float, float]:
    """The worst violation in terms of its own row, and in terms of its largest row."""
    by_row, by_largest = [0.0], [0.0]
    for rule in problem.constraints:
        sides = [np.abs(np.asarray(side.value, dtype=float)) for side in rule.args]
        largest = max(s, *(float(side.max(initial=0.0)) for side in sides))
        beyond = np.asarray(rule.violation())
        rowwise = len(sides) == 2 and beyond.shape == np.broadcast(*sides).shape
        own = np.maximum(sides[0] + sides[1], s) if rowwise else largest
        by_row.append(float(np.max(beyond / own)))
        by_largest.append(float(np.max(beyond)) / largest)
    for variable in problem.variables():
        off = float(np.max(np.abs(variable.value - variable.project(variable.value))))
        whole = variable.attributes["boolean"] or variable.attributes["integer"]
        by_row.append(off if whole else off / s)
        by_largest.append(by_row[-1])
    return float(np.max(by_row)), float(np.max(by_largest))


def _counted(case: Case, status: str, right: bool | None, ok: bool | None) -> Verdict:
    said = {True: "accepted", False: "refused", None: "unproven"}[ok]
    if right is None:
        return Verdict(f"neither right nor wrong, {said}")
    truth = "right" if right else "wrong"
    if right and case.tampering in BROKEN:
        return Verdict(f"{truth} but broken, {said}")
    if status == "error" or (status == "user_limit" and not right):
        return Verdict(f"nothing claimed, {said}")
    kind = f"{truth} {said}"
    tally = Counter({(row, kind): 1 for row in _rows(case)})
    failures = ()
    if not right and ok:
        failures = (Failure("wrong answer accepted", f"{case.family}: {case.tampering}"),)
    return Verdict(kind, failures, tally)


def _rows(case: Case) -> Iterator[str]:
    yield f"{case.family}"
    yield f"all, {case.way}"
    yield f"all, right-hand side 1e{case.rhs:+d}"
    yield f"all, cost 1e{case.cost:+d}"


def reproducer(case: Case) -> dict[str, bytes]:
    """A program that states, solves, tampers and certifies."""
    known = case.known
    truth = f"s * c * {known.optimum!r}" if known.status == OPTIMAL else repr(known.status)
    text = (
        "from dataclasses import replace\nfrom typing import Any\n\n"
        "import cvxpy as cp\nimport numpy as np\n\nimport convexfs\n\n\n"
        f"{inspect.getsource(moved)}\n\n{inspect.getsource(with_multipliers)}\n\n"
        f"s, c = 1e{case.rhs}, 1e{case.cost}\n{known.program}truth = {truth}\n"
        f"solution = convexfs.solve(problem, solver={case.solver!r}, "
        f"time_limit={_limit(case.solver)})\n"
        "print('truth ', truth)\nprint('solved', solution.status, solution.objective)\n"
        f"answer = {TAMPERINGS[case.tampering]}\nTOLERANCE = {TOLERANCE}\n"
        f"certificate = {WAYS[case.way]}\nprint(certificate.explained())\n"
        "print('judged', answer.status, answer.objective, certificate)\n"
    )
    return {"case.py": text.encode()}


ATTACK = Attack(make, judge, reproducer, share=10)
