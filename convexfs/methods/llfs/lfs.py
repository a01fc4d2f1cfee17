r"""LFS: a point's squared differences from all samples, and their weights (Armanfard et al. 2016).

The linear ancestor of LLFS. Every sample is a point with its own linear program, in
which samples near to it count most. Near is measured in the features that all points chose
in the pass before, each choice in its turn, so that a fit goes over the points several times:

.. math::
    v_{kj} = e^{-(d_{kj} - \min_j d_{kj})^2 / \text{width}},\qquad
    d_{kj} = |(x_j - x_i) \circ f^{(k)}|,

the least over the samples of a class, the point left out. v is the mean over k, divided by
its sum in each class. Before the first pass nothing is chosen, and v is equal in each class.
(The authors' code then divides by the sizes of the classes once more, which changes nothing.)
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from convexfs.errors import InputError

# Parameters of G: without the sigmoid, U1 and U2 are the two means that LFS trades off.
LINEAR: dict[str, Any] = {"s": 0.0, "lam": 1.0}


def localities(
    X: np.ndarray, codes: np.ndarray, point: int, supports: np.ndarray | None, width: float
) -> dict[str, np.ndarray]:
    """Return squared differences of a point to its class and to the others, with weights.

    Parameters
    ----------
    X : array (N, M)
    codes : int array (N,)
    point : int
    supports : bool array (N, M), optional
        What every point chose in the pass before.
    width : float
        Of the weights, in squared units of X.
    """
    others = np.arange(len(X)) != point
    same = (codes == codes[point])[others]
    differences = (X[others] - X[point]) ** 2
    if not differences[~same].any():
        raise InputError(
            f"sample {point + 1} is equal, in every feature, to all samples of other classes: "
            "nothing separates it; leave out constant features and repeated samples"
        )
    weights = _weights(differences, codes[others], supports, width)
    return {
        "d_same": differences[same], "d_other": differences[~same],
        "v_same": weights[same], "v_other": weights[~same],
    }  # fmt: skip


def weighted(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a point's weighted distances in LLFS's form, with a linear G."""
    found = dict(LINEAR)
    for of in ("same", "other"):
        weights = values[f"v_{of}"]
        found[f"a_{of}"] = len(weights) * weights[:, None] * values[f"d_{of}"]
    return found


def _weights(
    differences: np.ndarray, codes: np.ndarray, supports: np.ndarray | None, width: float
) -> np.ndarray:
    if supports is None:
        return 1.0 / np.bincount(codes)[codes]
    distances = np.sqrt(differences @ supports.T.astype(float))
    weights = np.empty(len(codes))
    for code in np.unique(codes):
        members = codes == code
        beyond = distances[members] - distances[members].min(axis=0)
        mean = np.exp(-(beyond**2) / width).mean(axis=1)
        weights[members] = mean / mean.sum()
    return weights
