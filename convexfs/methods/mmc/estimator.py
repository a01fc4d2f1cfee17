"""MMC as a scikit-learn transformer."""

from typing import ClassVar

import numpy as np

from convexfs.estimators.projection import Projection
from convexfs.methods.base.formulation import learned, parameters
from convexfs.methods.mmc.fit import Settings, mmc


@parameters
class MMC(Settings, Projection):
    r"""Project samples by the maximum margin criterion.

    .. math:: \max_W \mathrm{tr}(W (S_b - S_w)),\quad 0 \preceq W \preceq I,\; \mathrm{tr}(W) = q,

    the scatter between classes minus that within (Li, Jiang and Zhang 2006). There are q
    orthonormal directions, by default those with a positive eigenvalue, at most K - 1 and
    at least one.

    Parameters
    ----------
    n_components : int, optional
        q; by default the number of positive eigenvalues, and at least one.
    solver, solver_tol, solver_options, time_limit, formulation
    n_jobs, random_state, verbose
        As for every estimator: :class:`convexfs.estimators.method_estimator.MethodEstimator`.

    Attributes
    ----------
    components_, eigenvalues_ : arrays
        The q directions, and the value of the criterion along each.
    certificate_ : Certificate

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
