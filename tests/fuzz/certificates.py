"""Right and wrong claims about problems whose optimum is known, put to ``certify``.

A claim is a point or a status. Points are optimal, wrong by construction, moved from the
optimum, or a solver's; a solver's multipliers may be damaged on the way. Every claim is right,
wrong or neither by the exact knowledge of :mod:`known`, whoever made it. A wrong claim that is
proven and a right one that is refuted are failures; undecided ones are counted by class.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import cvxpy as cp
import numpy as np
from scipy.sparse import issparse

import convexfs
from convexfs.errors import ConvexfsError

from . import known_curved, known_flat, known_other
from .arrays import quiet
from .attack import Attack, Failure, Verdict, cause_of, pick
from .known import INFEASIBLE, OPTIMAL, UNBOUNDED, Known, text

FAMILIES: dict[str, Callable[[np.random.Generator], Known]] = {
    "LP": known_flat.linear,
    "LP far column": known_flat.far_column,
    "LP huge bound": known_flat.huge_bound,
    "LP tiny right-hand side": known_flat.tiny_right_hand_side,
    "LP offset variable": known_flat.offset_variable,
    "LP almost unbounded": known_flat.almost_unbounded,
    "LP products in atoms": known_flat.products,
    "LP infeasible": known_flat.contradictory,
    "LP unbounded": known_flat.endless,
    "QP": known_flat.quadratic,
    "QP not semidefinite": known_flat.not_semidefinite,
    "SOCP": known_curved.second_order,
    "EXP": known_curved.exponential,
    "EXP constraint": known_curved.exponential_constraint,
    "EXP cone": known_curved.exponential_cone,
    "POW": known_curved.power_cone,
    "SDP": known_curved.semidefinite,
    "SDP unsymmetric": known_curved.unsymmetric,
    "SDP duality gap": known_curved.duality_gap,
    "weakly infeasible": known_curved.weakly_infeasible,
    "cone infeasible": known_curved.infeasible,
    "cone unbounded": known_curved.unbounded,
    "MILP knapsack": known_other.knapsack,
    "MILP mixed": known_other.mixed,
    "MILP big M": known_other.big_m,
    "MILP tampered integers": known_other.tampered_integers,
    "MIQP": known_other.integer_quadratic,
    "DGP": known_other.geometric,
    "DQCP ratio": known_other.fractional,
    "DQCP stairs": known_other.stairs,
}
#: How often a claim of each kind is drawn, where the problem has it.
KINDS = {
    "optimal point": 4, "wrong point": 5, "moved point": 4, "nearly optimal": 2, "by a solver": 6,
    "noisy multipliers": 2, "objective off": 1, "says infeasible": 1, "says unbounded": 1,
}  # fmt: skip
BY_SOLVER = ("by a solver", "noisy multipliers")
#: Relative errors up to which a claim is right, and from which its objective or rows are wrong.
RIGHT, WRONG_OBJECTIVE, WRONG_ROWS = 1e-6, 1e-4, 1e-3
#: The tolerance of certificates and that of solvers.
TOLERANCE, SOLVER_TOLERANCE = 1e-5, 1e-8
#: The columns of the table, in this order.
COLUMNS = (
    "cases", "wrong proven", "right refuted", "right undecided", "wrong undecided",
    "right proven", "wrong refuted",
)  # fmt: skip
WORDS = {True: "proven", False: "refuted", None: "undecided"}


@dataclass(frozen=True)
class Case:
    """A problem, the kind of claim about it, and the solver or the numbers of the claim."""

    family: str
    known: Known
    kind: str
    solver: str = ""
    point: Mapping[str, Any] | None = None
    noise: float = 0.0


def make(rng: np.random.Generator) -> Case:
    family = pick(rng, FAMILIES)
    known = FAMILIES[family](rng)
    installed = [name for name in known.solvers if name in cp.installed_solvers()]
    kinds = [kind for kind, share in KINDS.items() for _ in range(share) if _offers(known, kind)]
    kind = pick(rng, [kind for kind in kinds if installed or kind not in BY_SOLVER])
    solver = pick(rng, installed) if installed else ""
    point, noise = None, 10.0 ** rng.uniform(-12, 0)
    if kind == "wrong point":
        point = pick(rng, known.wrong)
    elif kind in ("optimal point", "objective off"):
        point = known.point
    elif kind == "moved point":
        share = pick(rng, (1e-3, 1e-2, 0.1)) * pick(rng, (-1.0, 1.0))
        point = _moved(rng, known, share)
    elif kind == "nearly optimal":
        point = _moved(rng, known, float(rng.choice([-1.0, 1.0])) * 2.0**-30)
    return Case(family, known, kind, solver, point, noise)


def _offers(known: Known, kind: str) -> bool:
    if kind == "wrong point":
        return bool(known.wrong)
    if kind in ("moved point", "nearly optimal") and not known.movable:
        return False
    return known.status == OPTIMAL or kind in ("by a solver", "says infeasible", "says unbounded")


def _moved(rng: np.random.Generator, known: Known, share: float) -> dict[str, np.ndarray]:
    """Move one number of the optimal point, or all, by a share of its size."""
    point = {name: np.array(value, dtype=float) for name, value in known.point.items()}
    if rng.random() < 0.3:
        return {name: (1.0 + share) * value for name, value in point.items()}
    name = pick(rng, point)
    size = max(float(np.abs(point[name]).max()), known.unit)
    at = tuple(int(rng.integers(length)) for length in point[name].shape)
    point[name][at] += share * size
    if point[name].ndim == 2:
        point[name][at[::-1]] = point[name][at]
    return point


def judge(case: Case) -> Verdict:
    """Certify the claim, and compare the verdict with what is known."""
    names: dict[str, Any] = {"np": np, "cp": cp}
    exec(case.known.program, names)
    problem = names["problem"]
    with quiet():
        claim = _claim(case, problem)
        if claim is None:
            return Verdict("the solver claims nothing")
        right = _is_right(case.known, problem, claim)
        try:
            certificate = certify(problem, claim)
        except ConvexfsError:
            return Verdict("certify refused in words")
        except Exception as error:
            return Verdict("crash", (Failure("crash", f"{case.family}: {cause_of(error)}"),))
    return _counted(case, right, certificate.ok)


def certify(problem: cp.Problem, claim: Any) -> Any:
    """Put a claim to ``certify``: points without a solver's record as bare points."""
    if claim.cone is None and claim.objective is None and claim.primal:
        return convexfs.certify(problem, tol=TOLERANCE, primal=claim.primal)
    return convexfs.certify(problem, claim, TOLERANCE)


def _claim(case: Case, problem: cp.Problem) -> Any:
    """Return the claim as a Solution, or None if the solver makes none."""
    if case.kind in ("says infeasible", "says unbounded"):
        return convexfs.Solution(case.kind.removeprefix("says "), "CLARABEL")
    if case.kind not in BY_SOLVER:
        point = {name: np.asarray(value, dtype=float) for name, value in (case.point or {}).items()}
        off = case.known.optimum + 0.01 * max(case.known.size, abs(case.known.optimum))
        reported = off if case.kind == "objective off" else None
        return convexfs.Solution(OPTIMAL, "CLARABEL", primal=point, objective=reported)
    solution = convexfs.solve(problem, case.solver, SOLVER_TOLERANCE)
    if solution.status.removesuffix("_inaccurate") not in (OPTIMAL, INFEASIBLE, UNBOUNDED):
        return None
    if (
        case.kind == "noisy multipliers"
        and solution.cone is not None
        and solution.cone.y is not None
    ):
        y = np.asarray(solution.cone.y)
        waves = 1.0 + case.noise * np.cos(1.0 + np.arange(y.size))
        solution = replace(solution, cone=replace(solution.cone, y=y * waves))
    return solution


def _is_right(known: Known, problem: cp.Problem, claim: Any) -> bool | None:
    """Return whether a claim is right; None if it is neither right nor clearly wrong."""
    status = claim.status.removesuffix("_inaccurate")
    if known.status != OPTIMAL or status != OPTIMAL:
        return status == known.status
    if any(_same(claim.primal, wrong) for wrong in known.wrong):
        return False
    for variable in problem.variables():
        variable.save_value(np.asarray(claim.primal[variable.name()], dtype=float))
    value: Any = problem.objective.value
    values = [value] if claim.objective is None else [value, claim.objective]
    off = max(abs(float(each) - known.optimum) for each in values)
    rows, largest = _violations(problem, known.unit)
    if off <= RIGHT * known.size and rows <= RIGHT:
        return True
    # Terms that cancel at the claimed point, however large, are its accuracy.
    size = max(known.size, float(np.max(_terms(problem.objective.expr))))
    return False if off > WRONG_OBJECTIVE * size or largest > WRONG_ROWS else None


def _same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return all(np.array_equal(np.asarray(one[name]), np.asarray(other[name])) for name in other)


def _violations(problem: cp.Problem, unit: float) -> tuple[float, float]:
    """Return the worst violation in terms of its own row, and in terms of its largest row."""
    by_row, by_largest = [0.0], [0.0]
    for rule in problem.constraints:
        sides = [_terms(side) for side in rule.args]
        # Integers are rounded before anything else is verified: their unit is 1.
        integral = all(_is_integral(variable) for variable in rule.variables())
        least = max(unit, 1.0) if integral else unit
        largest = max(least, *(float(side.max(initial=0.0)) for side in sides))
        beyond = _beyond(rule)
        rowwise = len(sides) == 2 and beyond.shape == np.broadcast(*sides).shape
        own = np.maximum(sides[0] + sides[1], least) if rowwise else largest
        by_row.append(float(np.max(beyond / own)))
        by_largest.append(float(np.max(beyond)) / largest)
    for variable in problem.variables():
        off = float(np.max(np.abs(variable.value - variable.project(variable.value))))
        by_row.append(off if _is_integral(variable) else off / unit)
        by_largest.append(by_row[-1])
    return float(np.max(by_row)), float(np.max(by_largest))


def _is_integral(variable: cp.Variable) -> bool:
    return bool(variable.attributes["boolean"] or variable.attributes["integer"])


def _terms(side: cp.Expression) -> np.ndarray:
    """Return the sum of the sizes of an expression's terms; those of curved ones are unknown."""
    value = np.asarray(side.value, dtype=float)
    if not side.is_affine():
        return np.abs(value)
    constant, sizes = value.ravel(order="F"), np.zeros(value.size)
    for variable, gradient in side.grad.items():
        point = np.ravel(variable.value, order="F")
        slope = gradient.toarray() if issparse(gradient) else np.atleast_2d(gradient)
        constant = constant - slope.T @ point
        sizes = sizes + np.abs(slope).T @ np.abs(point)
    return (np.abs(constant) + sizes).reshape(value.shape, order="F")


def _beyond(rule: Any) -> np.ndarray:
    """Return by how much a constraint is violated; cvxpy asks a solver about curved cones."""
    if isinstance(rule, cp.ExpCone):
        x, y, z = (float(side.value) for side in rule.args)
        return np.array(max(-y, (y * np.exp(x / y) if y > 0 else max(x, 0.0)) - z, 0.0))
    if isinstance(rule, cp.PowCone3D):
        x, y, z = (float(side.value) for side in rule.args)
        alpha = float(np.squeeze(np.asarray(rule.alpha.value)))
        most = max(x, 0.0) ** alpha * max(y, 0.0) ** (1 - alpha)
        return np.array(max(-x, -y, abs(z) - most, 0.0))
    return np.asarray(rule.violation())


def _counted(case: Case, right: bool | None, ok: bool | None) -> Verdict:
    if right is None:
        return Verdict(f"neither right nor wrong, {WORDS[ok]}")
    word = f"{'right' if right else 'wrong'} {WORDS[ok]}"
    strict = case.known.strict
    group = f"all {case.known.group}" if strict else "all not strictly feasible"
    rows = (case.family if strict else f"{case.family}, not strict", group)
    tally = Counter({(row, column): 1 for row in rows for column in ("cases", word)})
    failures = ()
    if word in ("wrong proven", "right refuted"):
        failures = (Failure(word, f"{case.family}: {case.kind}"),)
    return Verdict(word, failures, tally)


def reproducer(case: Case) -> dict[str, bytes]:
    """Return a program that states the problem, makes the claim and certifies it."""
    known = case.known
    point = ", ".join(f"{name!r}: {text(value)}" for name, value in (case.point or {}).items())
    truth = known.optimum if known.status == OPTIMAL else known.status
    if case.kind in BY_SOLVER:
        claim = f"convexfs.solve(problem, {case.solver!r}, {SOLVER_TOLERANCE!r})"
        damage = f"# {case.kind}: multipliers times 1 + {case.noise!r} cos(1 + row)\n"
    elif case.point is None:
        claim, damage = f"convexfs.Solution({case.kind.removeprefix('says ')!r}, 'CLARABEL')", ""
    else:
        claim, damage = f"convexfs.Solution('optimal', 'CLARABEL', primal={{{point}}})", ""
    lines = (
        "import cvxpy as cp\nimport numpy as np\n\nimport convexfs\n\n"
        f"{known.program}\n# {case.family}, {case.kind}; the truth: {truth!r}\n{damage}"
        f"claim = {claim}\n"
        + (
            f"certificate = convexfs.certify(problem, tol={TOLERANCE!r}, primal=claim.primal)\n"
            if case.point is not None and case.kind != "objective off"
            else f"certificate = convexfs.certify(problem, claim, {TOLERANCE!r})\n"
        )
        + "print('claimed', claim.status, claim.objective)\n"
        f"print('truth  ', {truth!r})\nprint(certificate)\nprint(certificate.explained())\n"
    )
    return {"case.py": lines.encode()}


ATTACK = Attack(make, judge, reproducer, share=10, columns=COLUMNS)
