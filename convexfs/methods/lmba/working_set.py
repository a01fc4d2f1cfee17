"""Solve Lmba's linear program by a working set of features and of triplets.

Most weights are 0, and most hinges are clearly positive or negative. The program of the other ones
is solved, roughly at first. Its shares prove a bound for all features and triplets. The features
that would lower the loss enter, and the hinges that changed sign, until value and bound agree.
"""

from dataclasses import replace

import numpy as np

from convexfs.methods.lmba.interior_point import Answer, InteriorPoint, minimise
from convexfs.methods.lmba.program import Program

#: Numbers of features and of triplets of the first working set, if there are more.
FEW, FEW_TRIPLETS = 500, 20_000
#: Hinges below this fraction of a typical one may change sign: they are in the first working set.
_UNDECIDED = 0.05
_MOST_ROUNDS = 100
#: A working set is solved to this fraction of the gap over all features.
_ROUGHLY = 0.01
#: A feature whose reduced cost is smaller, relative to the largest slope, does not enter.
_PAYS = 1e-13


def minimise_by_working_sets(program: Program, tol: float, max_steps: int) -> Answer:
    """Minimise F to a relative gap `tol`, by growing working sets where the program is large."""
    n_features, n_triplets = program.X.shape[1], len(program.triplets.goal)
    corner = _best_corner(program)
    if corner is not None and corner.gap <= tol:
        return corner
    if n_features <= FEW and n_triplets <= FEW_TRIPLETS:
        return minimise(program, tol, max_steps)
    working = _WorkingSet(program)
    best = Answer(program.equal_weights(), np.inf, -np.inf, working.share, 0)
    for _ in range(_MOST_ROUNDS):
        rough = max(tol, _ROUGHLY * min(best.gap, 1.0))
        reached = working.solve(rough, max_steps - best.steps)
        steps = best.steps + reached.steps
        best = best.with_point(reached.u, reached.value)
        best = replace(best.with_shares(reached.share, reached.bound), steps=steps)
        if best.gap <= tol or steps >= max_steps:
            break
        if not working.grow(reached) and rough == tol:
            break
    return best


class _WorkingSet:
    """The features and triplets in use; other weights are 0, other shares fixed at 0 or 1."""

    def __init__(self, program: Program):
        self.program = program
        hinge = program.hinges(program.equal_weights())
        size = np.abs(hinge)
        self.share = (hinge > 0).astype(float)
        self.features = _steepest(program, self.share)
        n_near = np.count_nonzero(size <= _UNDECIDED * program.typical_hinge())
        nearest = np.argsort(size, kind="stable")[: max(FEW_TRIPLETS, n_near)]
        self.used = np.zeros(len(hinge), dtype=bool)
        self.used[nearest] = True
        self.path: InteriorPoint | None = None

    def solve(self, tol: float, max_steps: int) -> Answer:
        """Solve the program of the working set; return an answer and a bound of the whole one."""
        program, hinges = self.program, np.flatnonzero(self.used)
        if self.path is None:
            self.path = InteriorPoint(program.over(hinges, self.share).on(self.features))
        before = self.path.steps
        answer = self.path.run(tol, before + max_steps)
        u = np.zeros(program.X.shape[1])
        u[self.features] = answer.u
        self.share[hinges] = answer.share
        share, steps = self.share.copy(), self.path.steps - before
        return Answer(u, program.value(u), program.bound(share), share, steps)

    def grow(self, reached: Answer) -> bool:
        """Add features that would lower the loss and hinges of another sign; False if none."""
        program = self.program
        slope = program.linear + program.share_sums(reached.share)
        paying = _paying(program, slope, self.features)
        changed = ~self.used & ((program.hinges(reached.u) > 0) != (reached.share > 0.5))
        if not len(paying) and not changed.any():
            return False
        self.features = np.union1d(self.features, paying[: len(self.features)])
        self.used |= changed
        self.path = None
        return True


def _best_corner(program: Program) -> Answer | None:
    """Return the box's better corner of all weights 0 or all 1, which often solves it."""
    if program.total is not None:
        return None
    answers = []
    for u in (np.zeros(program.X.shape[1]), np.ones(program.X.shape[1])):
        share = (program.hinges(u) > 0).astype(float)
        answers.append(Answer(u, program.value(u), program.bound(share), share, 0))
    return min(answers, key=lambda each: each.gap)


def _paying(program: Program, slope: np.ndarray, features: np.ndarray) -> np.ndarray:
    """Return indices of features outside `features` that would lower the loss, steepest first."""
    level = 0.0 if program.total is None else slope[features].min()
    worth = slope < level - _PAYS * np.abs(slope).max(initial=0.0)
    worth[features] = False
    paying = np.flatnonzero(worth)
    return paying[np.argsort(slope[paying], kind="stable")]


def _steepest(program: Program, share: np.ndarray) -> np.ndarray:
    """Return indices of the features along which the loss falls most."""
    v = program.linear + program.share_sums(share)
    return np.sort(np.argsort(v, kind="stable")[:FEW])
