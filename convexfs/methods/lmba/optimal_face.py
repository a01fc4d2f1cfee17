r"""The weights and hinges of Lmba's linear program that are exactly 0 at the optimum.

Close to the optimum it is clear which they are. The nearest point where they are 0, and the
nearest shares whose slope is level along the other weights, are two small least-squares problems.
If value and bound agree there, both are optimal.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lstsq

from convexfs.methods.lmba.program import Program

#: With more hinges at 0 than this many per weight between its bounds, none is sought.
_MOST_PER_WEIGHT = 10


@dataclass(frozen=True)
class Face:
    """The weights between their bounds (``free``), the hinges at 0, and a point and shares nearby.

    ``u`` has all other weights at their bounds, ``share`` has 0 or 1 for all other hinges.
    ``trust`` is the change of each share up to which it stays between 0 and 1.
    """

    u: np.ndarray
    free: np.ndarray
    hinges: np.ndarray
    share: np.ndarray
    trust: np.ndarray

    @property
    def is_small(self) -> bool:
        """Return whether its equations are few enough to be solved."""
        return 0 < len(self.hinges) <= _MOST_PER_WEIGHT * np.count_nonzero(self.free)


def nearest_point(program: Program, face: Face) -> np.ndarray:
    """Return the weights of the face nearest to its point, relative to their size."""
    if not face.is_small:
        return face.u
    sizes = face.u[face.free]
    rows = _changes(program, face) * sizes
    missing = -program.hinges(face.u)[face.hinges]
    if program.total is not None:
        # In units of its rows, the sum is another equation.
        scale = np.abs(rows).max(initial=0.0) / sizes.max()
        rows = np.vstack([rows, scale * sizes])
        missing = np.append(missing, scale * (program.total - face.u.sum()))
    u = face.u.copy()
    u[face.free] += sizes * _least_squares(rows, missing)
    return u


def nearest_shares(program: Program, face: Face) -> np.ndarray:
    """Return the nearest shares whose slope is level along all weights between their bounds."""
    if not face.is_small:
        return face.share
    v = (program.linear + program.share_sums(face.share))[face.free]
    columns = program.c * _changes(program, face).T * face.trust
    if program.total is not None:
        # The level itself is unknown too.
        v = v - v.mean()
        columns = columns - columns.mean(axis=0)
    share = face.share.copy()
    share[face.hinges] += face.trust * _least_squares(columns, -v)
    return np.clip(share, 0.0, 1.0)


def _changes(program: Program, face: Face) -> np.ndarray:
    """Return the row r of every hinge at 0, over the weights between their bounds."""
    X, t = program.X[:, face.free], program.triplets
    i, j, p = (each[face.hinges] for each in (t.sample, t.target, t.impostor))
    return (X[i] - X[j]) ** 2 - (X[i] - X[p]) ** 2


def _least_squares(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the shortest of the solutions that come closest."""
    solution, *_ = lstsq(A, b, cond=1e-13, lapack_driver="gelsy", check_finite=False)  # type: ignore
    return np.asarray(solution)
