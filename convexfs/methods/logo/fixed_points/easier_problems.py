r"""Approach a fixed point of Logo along problems that are easier than the one to be solved.

Far from fixed points the search wanders among many places before it falls into one. With a large
penalty there are few features and hardly any wandering, and the fixed point is a good start for a
penalty half as large. Nearer neighbours on the way (half of sigma) lead to lower objectives: in ten
data sets of 400 samples with 500 features to 83.8 on average instead of 85.8. A detour from a fixed
point by nearer neighbours led to a better one in 3 of 20 such data sets, for a tenth more time.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from convexfs.methods.base.fixed_point import History
from convexfs.methods.logo.fixed_points.complementarity import State, newton_fixed_point
from convexfs.methods.logo.margins import Locality
from convexfs.methods.logo.newton import Objective, Penalised, minimise

#: Newton steps that are tried first, and the residual above which they have led nowhere.
_TRIED, _FAR = 3, 5.0
#: Sigma on the way, as a fraction of the given one.
_NEARER = 0.5
#: Sigma of a detour from a fixed point, as a fraction of the given one.
_DETOUR = 0.7
#: Residual at which a problem on the way counts as solved, and most Newton steps for it.
_SETTLED, _MOST_STEPS = 0.1, 15


def approach(
    locality: Locality,
    objective: Objective,
    columns: Any,
    w: np.ndarray,
    history: History,
    max_iter: int,
) -> np.ndarray:
    """Return weights from which Newton's method is likely to find a fixed point.

    These are near w, unless Newton's method makes little progress there.
    """
    last = len(history.rows) + max_iter

    def search(near: Locality, easier: Objective, start: np.ndarray, most: int) -> np.ndarray:
        most = min(most, last - len(history.rows))
        return newton_fixed_point(near, easier, columns, start, history, most, _SETTLED)

    w = search(locality, objective, w, _TRIED)
    tried = State(locality, objective, columns, w)
    # A budget bounds the weights, so that its problems are not that hard.
    if not (isinstance(objective, Penalised) and tried.usable and tried.residual > _FAR):
        return w
    near = replace(locality, sigma=_NEARER * locality.sigma)
    nowhere = np.zeros((len(near.codes), len(near.codes)), near.dtype)
    Z = near.margins(columns, near.signed_at(nowhere))
    path = list(_falling_penalties(objective, Z))
    w = minimise(Z, path[0]).w
    for easier in path:
        w = search(near, easier, w, _MOST_STEPS)
    return w


def improve(
    locality: Locality,
    objective: Objective,
    columns: Any,
    w: np.ndarray,
    history: History,
    max_iter: int,
) -> np.ndarray:
    """Return the fixed point that a detour from w by nearer neighbours finds, if it is better."""
    last = len(history.rows) + max_iter
    near = replace(locality, sigma=_DETOUR * locality.sigma)
    most = min(2 * _MOST_STEPS, max_iter)
    away = newton_fixed_point(near, objective, columns, w, history, most, _SETTLED)
    left = last - len(history.rows)
    back = newton_fixed_point(locality, objective, columns, away, history, left)
    here, there = (State(locality, objective, columns, each) for each in (w, back))
    better = there.usable and there.residual <= _SETTLED and there.value < here.value
    return back if better else w


def _falling_penalties(objective: Penalised, Z: np.ndarray) -> Iterator[Penalised]:
    """Yield problems of penalties from half of the highest score at w = 0 to the given one."""
    half = 0.5 if objective.counts is None else 0.5 * objective.counts
    highest = float(np.max((half * Z.T).sum(axis=1), initial=0.0))
    ratio = max(highest / objective.lam, 1.0)
    number = max(int(np.ceil(np.log2(ratio))), 1)
    for passed in range(1, number + 1):
        yield replace(objective, lam=highest / ratio ** (passed / number))
