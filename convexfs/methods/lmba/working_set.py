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
    u = program.equal_weights()
    hinge = program.hinges(u)
    share = (hinge > 0).astype(float)
    features = _steepest(program, share)
    near = np.argsort(np.abs(hinge), kind="stable")
    n_near = np.count_nonzero(np.abs(hinge) <= _UNDECIDED * program.typical_hinge())
    used = np.zeros(n_triplets, dtype=bool)
    used[near[: max(FEW_TRIPLETS, n_near)]] = True
    best, path = Answer(u, np.inf, -np.inf, share, 0), None
    for _ in range(_MOST_ROUNDS):
        hinges = np.flatnonzero(used)
        if path is None:
            path = InteriorPoint(program.over(hinges, share).on(features))
        rough = max(tol, _ROUGHLY * min(best.gap, 1.0))
        before = path.steps
        answer = path.run(rough, max_steps - best.steps + before)
        u = np.zeros(n_features)
        u[features] = answer.u
        share[hinges] = answer.share
        slope = program.linear + program.share_sums(share)
        best = best.with_point(u, program.value(u))
        best = best.with_shares(share.copy(), program.bound(share, slope))
        best = replace(best, steps=best.steps + path.steps - before)
        if best.gap <= tol or best.steps >= max_steps:
            return best
        hinge = program.hinges(u)
        changed = ~used & ((hinge > 0) != (share > 0.5))
        paying = _paying(program, slope, features)
        if len(paying) or changed.any():
            path = None
        elif rough == tol:
            return best
        features = np.union1d(features, paying[: len(features)])
        used |= changed
    return best


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
