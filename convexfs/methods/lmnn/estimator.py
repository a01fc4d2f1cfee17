"""LMNN as a scikit-learn transformer."""

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from convexfs.estimators.projection import Projection
from convexfs.methods.base.formulation import Step, learned, parameters
from convexfs.methods.lmnn.fit import Settings, lmnn, slacks

#: Eigenvalues of a metric up to this fraction of the largest are solver errors and left out.
_NEGLIGIBLE = 1e-5


@parameters
class LMNN(Settings, Projection):
    r"""Learn a metric by large margin nearest neighbours.

    .. math::
        \min_{M \succeq 0} \sum_{i,j} d_M(x_i, x_j)
        + c \sum_{i,j,p} [1 + d_M(x_i, x_j) - d_M(x_i, x_p)]_+

    over samples, their nearest hits j and all samples p of other classes
    (Weinberger and Saul 2009). Samples are projected on the eigenvectors of M,
    each scaled by the root of its eigenvalue. The problem is solved over the nearest
    impostors; impostors that violate the margin are added until none is left. It is
    practical up to about 20 features, or 20 samples if there are fewer.

    Parameters
    ----------
    c : float, default=1
        Penalty of impostors: samples of other classes inside the margin.
    n_neighbors : int, default=3
        Nearest hits of each sample that are to stay near it (its targets).
    n_components : int, optional
        Number of components; by default all with a positive eigenvalue.
    solver, solver_tol, solver_options, time_limit, formulation
    n_jobs, random_state, verbose
        As for every estimator: :class:`convexfs.estimators.method_estimator.MethodEstimator`.

    Attributes
    ----------
    metric_ : array (n_features, n_features)
        M, positive semidefinite.
    components_, eigenvalues_ : arrays
        Eigenvectors of M, each scaled by the root of its eigenvalue, and the eigenvalues.
    triplets_ : int array (n_triplets, 3)
        Sample, target and impostor of each triplet in the last problem solved.
    rounds_ : tuple of int
        Number of triplets in each problem solved.
    certificate_ : Certificate
        Of the problem over all triplets.

    Examples
    --------
    >>> import convexfs
    >>> data = convexfs.load("iris").scaled()
    >>> model = convexfs.LMNN(n_components=2).fit(data.X, data.y)
    >>> model.transform(data.X).shape, model.certificate_.ok
    ((150, 2), True)
    """

    _method: ClassVar = staticmethod(lmnn)

    metric_: np.ndarray = learned()
    rounds_: tuple[int, ...] = learned()
    triplets_: np.ndarray = learned()
    eigenvalues_: np.ndarray = learned()

    def _step_options(self, codes: np.ndarray) -> dict[str, Any]:
        return {"triplets": getattr(self, "triplets_", None)}

    def _step(self, X: Any, codes: np.ndarray) -> Step:
        step = super()._step(X, codes)
        if not step.primal or self.formulation is not None:
            return step
        return replace(step, primal={"M": self.metric_, "xi": slacks(step.values, self.metric_)})

    def _remember(self, X: np.ndarray, codes: np.ndarray) -> None:
        eigenvalues, vectors = np.linalg.eigh(self.metric_)
        used = np.flatnonzero(eigenvalues > _NEGLIGIBLE * eigenvalues[-1])[::-1]
        used = used[: self.n_components]
        self.eigenvalues_ = eigenvalues[used]
        self.components_ = (vectors[:, used] * np.sqrt(eigenvalues[used])).T
