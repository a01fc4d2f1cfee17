"""MMC as a scikit-learn transformer."""

from typing import ClassVar

import numpy as np

from convexfs.estimators.projection import Projection
from convexfs.methods.base.parameters import learned, parameters
from convexfs.methods.mmc.fit import Settings, mmc


@parameters
class MMC(Settings, Projection):
    r"""Project samples by the maximum margin criterion.

    .. math:: \max_W \mathrm{tr}(W (S_b - S_w)),\quad 0 \preceq W \preceq I,\; \mathrm{tr}(W) = q,

    the scatter between classes minus that within (Li, Jiang and Zhang 2006). There are q
    orthonormal directions, by default those with a positive eigenvalue, at most K - 1 and
    at least one.

    Examples
    --------
    >>> import convexfs
    >>> data = convexfs.load("wine").scaled()
    >>> model = convexfs.MMC(n_components=2).fit(data.X, data.y)
    >>> model.transform(data.X).shape, model.certificate_.ok
    ((178, 2), True)
    """

    _method: ClassVar = staticmethod(mmc)

    eigenvalues_: np.ndarray = learned()
