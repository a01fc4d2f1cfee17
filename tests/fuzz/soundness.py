"""Bounds of damaged multipliers against known optima, and implied boxes against feasible points.

Whatever multipliers a bound is made from, it must not exceed the optimum: in rational arithmetic
for linear programs, by construction for cone problems. A feasible point must lie in the box that
the constraints imply. Every case draws new problems, so any number of them can be run.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np

import convexfs
from convexfs.certification.duals.correction_system import Goal
from convexfs.certification.duals.dual_bound import Bound, natural_multipliers
from convexfs.certification.duals.dual_correction import corrected_bound
from convexfs.certification.exact.linear_program import LinearProgram
from convexfs.certification.program.standard_form import StandardForm
from convexfs.certification.rigorous.implied_bounds import implied_box

from .arrays import quiet
from .attack import Attack, Failure, Verdict, pick

#: How often each check is drawn.
KINDS = {"linear program": 10, "cone problem": 3, "implied box": 3}
COLUMNS = ("cases", "unsound", "finite bounds")


@dataclass(frozen=True)
class Case:
    """A check, and the seed of its problem."""

    kind: str
    seed: int


def make(rng: np.random.Generator) -> Case:
    kind = pick(rng, [kind for kind, share in KINDS.items() for _ in range(share)])
    return Case(kind, int(rng.integers(2**31)))


def judge(case: Case) -> Verdict:
    with quiet():
        sound, finite = CHECKS[case.kind](case.seed)
    tally = {(case.kind, "cases"): 1, (case.kind, "finite bounds"): finite}
    if sound:
        return Verdict("sound", tally=Counter(tally))
    failure = Failure("unsound", case.kind)
    return Verdict("unsound", (failure,), Counter({**tally, (case.kind, "unsound"): 1}))


def reproducer(case: Case) -> dict[str, bytes]:
    lines = (
        f"from tests.fuzz.soundness import CHECKS\n\nprint(CHECKS[{case.kind!r}]({case.seed}))\n"
    )
    return {"case.py": lines.encode()}


def _minimum(cost: Any, *rows: Any) -> cp.Problem:
    return cp.Problem(cp.Minimize(cost), list(rows))


def linear_program(seed: int) -> tuple[np.random.Generator, cp.Problem, float]:
    """Return a small integer program with its optimum, columns in very different units."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 6))
    m = int(rng.integers(n, 2 * n + 3))
    A, point = rng.integers(-3, 4, (m, n)).astype(float), rng.integers(-3, 4, n).astype(float)
    slack = rng.integers(0, 3, m).astype(float)
    multipliers = np.where(slack == 0, rng.integers(0, 3, m), 0).astype(float)
    units = 2.0 ** rng.integers(-20, 21, n)
    x = cp.Variable(n, name="x")
    problem = _minimum((A.T @ multipliers * units) @ x, (A * units) @ x + (slack - A @ point) >= 0)
    # All numbers are integers times powers of two, so that this sum is exact.
    return rng, problem, float(A.T @ multipliers @ point)


def check_linear_bounds(seed: int) -> tuple[bool, int]:
    """Return whether no bound exceeds the exact optimum, and how many bounds are finite."""
    rng, problem, optimum = linear_program(seed)
    form = StandardForm.of(problem)
    found = LinearProgram(form).solve()
    noise = 10.0 ** rng.uniform(-16, -1)
    noisy = found.y * (1 + noise * rng.normal(size=found.y.size))
    z = found.z * (1 + noise * rng.normal(size=found.z.size))
    random = rng.uniform(0, 1, found.y.size) * rng.integers(0, 2, found.y.size)
    natural = natural_multipliers(form, z, 1.0)
    goal = Goal(form, implied_box(form), np.inf, 1e-8 * (abs(optimum) or 1.0), natural)
    return _sound([corrected_bound(goal, y, z)[0] for y in (noisy, random, found.y)], optimum)


def cone_problem(seed: int) -> tuple[cp.Problem, float, np.random.Generator]:
    """Return a problem over one kind of cone with its optimum, columns in different units."""
    rng = np.random.default_rng(seed)
    n, unit = int(rng.integers(2, 5)), 10.0 ** rng.integers(-5, 6)
    x = cp.Variable(n, name="x")
    c = rng.normal(size=n)
    kind = int(rng.integers(0, 5))
    if kind == 0:
        problem = _minimum(c @ x, cp.norm(x) <= unit)
        return problem, -unit * float(np.linalg.norm(c)), rng
    if kind == 1:
        A = rng.normal(size=(n, n))
        A = A @ A.T + np.eye(n)
        X = cp.Variable((n, n), symmetric=True, name="X")
        problem = _minimum(cp.trace(A @ X), X >> 0, cp.trace(X) == unit)
        return problem, unit * float(np.linalg.eigvalsh(A)[0]), rng
    if kind == 2:
        total = cp.Variable(name="t")
        problem = _minimum(total, cp.log_sum_exp(x + c) <= total, cp.sum(x) == 0)
        return problem, float(np.log(n) + c.mean()), rng
    if kind == 3:
        share = float(rng.uniform(0.1, 0.9))
        problem = _minimum(cp.sum(x), cp.PowCone3D(x[0], x[1], unit, share), x[2:] >= 0)
        # The least of x0 + x1 with x0^a x1^(1 - a) >= unit.
        least = unit / (share**share * (1 - share) ** (1 - share))
        return problem, least, rng
    problem = _minimum(cp.sum_squares(x - unit * c) / unit, cp.sum(x) == 0)
    return problem, unit * n * float(c.mean()) ** 2, rng


def check_cone_bounds(seed: int) -> tuple[bool, int]:
    """Return whether no bound exceeds the known optimum, and how many bounds are finite."""
    problem, optimum, rng = cone_problem(seed)
    form = StandardForm.of(problem)
    cone = convexfs.solve(problem, "CLARABEL", tol=1e-9).cone
    if cone is None or cone.y is None:
        return True, 0
    z = cone.x * (1 + 10.0 ** rng.uniform(-14, -1) * rng.normal(size=cone.x.size))
    given = next(form.multipliers(cone.y))
    given = np.where(form.equalities, -given, given)
    noisy = given * (1 + 10.0 ** rng.uniform(-14, -1) * rng.normal(size=given.size))
    natural = natural_multipliers(form, z, abs(optimum) or 1.0)
    goal = Goal(form, implied_box(form), np.inf, 1e-8 * (abs(optimum) or 1.0), natural)
    # The optimum is known to rounding errors only.
    limit = optimum - form.d + 1e-12 * max(abs(optimum), float(np.abs(form.q * z).max()))
    tried = (noisy, given, rng.normal(size=given.size))
    return _sound([corrected_bound(goal, y, z)[0] for y in tried], limit)


def _sound(bounds: list[Bound], optimum: float) -> tuple[bool, int]:
    sound = all(each.rounding > 0 or each.value <= optimum for each in bounds)
    return sound, sum(bool(np.isfinite(each.value)) for each in bounds)


def check_implied_box(seed: int) -> tuple[bool, int]:
    """Return whether a feasible point lies in the implied box, and how many bounds are finite."""
    rng = np.random.default_rng(seed)
    n, m = 4, 6
    point = rng.normal(size=n) * 10.0 ** rng.integers(-6, 7, n)
    A = rng.normal(size=(m, n)) * (rng.random((m, n)) < 0.6)
    x, t = cp.Variable(n, name="x"), cp.Variable(name="t")
    side = A @ point + rng.integers(0, 2, m)
    rows: list[Any] = [
        A @ x <= side,
        cp.norm(x[:2]) <= t,
        t <= np.linalg.norm(point[:2]) + rng.random(),
    ]
    bound = np.abs(point).max()
    rows += [x[2] <= point[2] + rng.random(), x[2:] >= -bound, cp.exp(x[3] / bound) <= t + np.e]
    form = StandardForm.of(_minimum(cp.sum(x), *rows))
    box = implied_box(form)
    columns = form.columns[x.id]
    # The right-hand sides are rounded, so that the point is feasible to last bits only.
    slack = 1e-12 * bound
    inside = np.all(box.lower[columns] <= point + slack)
    inside &= np.all(box.upper[columns] >= point - slack)
    finite = np.isfinite(np.concatenate([box.lower[columns], box.upper[columns]]))
    return bool(inside and not box.empty), int(finite.sum())


CHECKS: dict[str, Callable[[int], tuple[bool, int]]] = {
    "linear program": check_linear_bounds,
    "cone problem": check_cone_bounds,
    "implied box": check_implied_box,
}
ATTACK = Attack(make, judge, reproducer, share=10, columns=COLUMNS)
