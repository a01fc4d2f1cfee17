"""Right, wrong and tampered answers into ``certify``, counted by family and by scale.

The problems are those of :mod:`known_problems`, whose optimum is known; so it is known of every
answer whether it is right, whatever solver or tampering it came from.
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
from .known_problems import FAMILIES, INFEASIBLE, OPTIMAL, UNBOUNDED, Known

#: Powers of ten of right-hand sides and costs.
SCALES = range(-8, 9, 2)
#: An answer is right up to the first and wrong from the second on, both relative to its scale.
RIGHT, WRONG = 1e-5, 1e-3
SOLVE_SECONDS = 5.0
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


def make(rng: np.random.Generator) -> Case:
    family = pick(rng, FAMILIES)
    known = FAMILIES[family](rng)
    while known.status == OPTIMAL and abs(known.optimum) < 0.1:
        known = FAMILIES[family](rng)
    solver = pick(rng, [name for name in known.solvers if name in cp.installed_solvers()])
    plain = rng.random() < 0.3
    rhs, cost = (0, 0) if plain else (int(pick(rng, SCALES)), int(pick(rng, SCALES)))
    tampering = "as solved" if rng.random() < 0.4 else pick(rng, TAMPERINGS)
    return Case(family, known, rhs, cost, solver, tampering)


def judge(case: Case) -> Verdict:
    """Solve, tamper, certify; hold the certificate's word against what is known."""
    with quiet():
        problem, truth = _stated(case)
        solution = convexfs.solve(problem, solver=case.solver, time_limit=_limit(case.solver))
        try:
            answer = tampered(case.tampering, solution, truth)
        except (TypeError, ValueError, AttributeError):  # there was no number to change
            return Verdict("nothing to tamper with")
        try:
            certificate = convexfs.certify(problem, answer)
        except ConvexfsError:
            return Verdict("certify refused in words")
        except Exception as error:
            return Verdict("crash", (Failure("crash", f"{case.tampering}: {cause_of(error)}"),))
        right = _is_right(case, problem, answer, truth)
    return _counted(case, right, certificate.ok)


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
    if case.known.status != OPTIMAL or answer.status in (INFEASIBLE, UNBOUNDED):
        return answer.status == case.known.status
    if not answer.primal or not all(np.isfinite(value).all() for value in answer.primal.values()):
        return False
    for variable in problem.variables():
        variable.save_value(answer.primal[variable.name()])
    errors = [float(np.max(rule.violation())) / 10.0**case.rhs for rule in problem.constraints]
    objective: Any = problem.objective.value
    for value in (objective, answer.objective):
        errors.append(np.inf if value is None else abs(float(value) - truth) / abs(truth))
    worst = float(np.nan_to_num(np.max(errors), nan=np.inf))
    return True if worst <= RIGHT else False if worst >= WRONG else None


def _counted(case: Case, right: bool | None, ok: bool | None) -> Verdict:
    said = {True: "accepted", False: "refused", None: "unproven"}[ok]
    if right is None:
        return Verdict(f"neither right nor wrong, {said}")
    truth = "right" if right else "wrong"
    # A right point without its multipliers may be refused: nobody can check it.
    if right and case.tampering != "as solved":
        return Verdict(f"{truth} without proof, {said}")
    tally = Counter({(row, f"{truth} {said}"): 1 for row in _rows(case)})
    failures = ()
    if not right and ok:
        failures = (Failure("wrong answer accepted", f"{case.family}: {case.tampering}"),)
    return Verdict(f"{truth} {said}", failures, tally)


def _rows(case: Case) -> Iterator[str]:
    yield f"{case.family}"
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
        f"answer = {TAMPERINGS[case.tampering]}\n"
        "print('judged', answer.status, answer.objective, convexfs.certify(problem, answer))\n"
    )
    return {"case.py": text.encode()}


ATTACK = Attack(make, judge, reproducer, share=10)
