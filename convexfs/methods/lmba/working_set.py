"""Solve Lmba's linear program on wide data by a working set of features.

Most weights are 0. Newton's method solves the program of a working set. The last small program then
evaluates all features (:mod:`convexfs.methods.lmba.active_hinges`), and proves a bound for all of
them. Features that would lower the loss enter, until value and bound agree.
"""

import numpy as np

from convexfs.methods.lmba.active_hinges import polish
from convexfs.methods.lmba.newton import Answer, Program, minimise
from convexfs.neighbors.triplets import pair_distances

#: Number of features of the first working set; programs with at most as many need none.
FEW = 150
_MOST_ROUNDS = 100


def minimise_wide(program: Program, tol: float, max_steps: int) -> Answer:
    """Minimise F as :func:`minimise` does, on wide data by a growing working set of features."""
    n_features = program.X.shape[1]
    if n_features <= FEW:
        return minimise(program, tol, max_steps)
    features = _first(program)
    best = Answer(np.zeros(n_features), np.inf, -np.inf, 0)
    for _ in range(_MOST_ROUNDS):
        answer = minimise(program.on(features), tol, max_steps - best.steps)
        u = np.zeros(n_features)
        u[features] = answer.u
        # The bound so far holds for the working set only; this one holds for all features.
        bound = program.bound(u, 0.0)
        best = best.with_point(u, answer.value, bound, best.steps + answer.steps)
        polished = polish(program, u)
        if polished is None:
            return best
        value = program.value(polished.u)[0]
        best = best.with_point(polished.u, value, polished.bound, best.steps)
        wider = np.union1d(features, polished.features)
        if best.gap <= tol or best.steps >= max_steps or len(wider) == len(features):
            return best
        features = wider
    return best


def _first(program: Program) -> np.ndarray:
    """Return indices of the 150 features along which the loss falls most at equal weights."""
    n_features = program.X.shape[1]
    equal = np.full(n_features, 0.5 if program.total is None else program.total / n_features)
    _, v, _, _ = program.proof(pair_distances(program.X, equal), program.typical_hinge())
    return np.sort(np.argsort(v, kind="stable")[:FEW])
