"""Simba as a scikit-learn selector."""

from typing import ClassVar

import numpy as np

from convexfs.estimators.margin_test import MarginTested
from convexfs.methods.base.formulation import learned, parameters
from convexfs.methods.simba.fit import Settings, simba


@parameters
class Simba(Settings, MarginTested):
    r"""Maximise the nearest-neighbour margin by ascent.

    Maximises :math:`\sum_n u(\theta_n)` with
    :math:`\theta_n = \frac12 (\|x_n - NM\|_w - \|x_n - NH\|_w)` and
    :math:`\|z\|_w^2 = \sum_i w_i^2 z_i^2`, neighbours taken in the weighted
    space. Not a convex problem: the best of several starts is returned without
    proof. The data are not scaled, and here their scale is that of the step: put
    them on one scale first.

    Parameters
    ----------
    n_starts : int, default=5
        Random orders of the samples tried.
    n_epochs : int, default=1
        Visits to every sample a start.
    utility : {"linear", "sigmoid"}, default="linear"
    solver, solver_tol, solver_options, time_limit
    n_features_to_select, n_jobs, random_state, verbose
        As for every selector: :class:`convexfs.estimators.selector.WeightSelector`.

    Attributes
    ----------
    weights_ : array (n_features,)
        :math:`w^2 / \max w^2`; also ``feature_importances_``.
    evaluations_ : array (n_starts,)
        Objective that each start reached.
    certificate_ : Certificate
        Says that nothing is certified.
    classes_, n_features_in_, feature_names_in_
        As usual.

    Notes
    -----
    A constant column weighs 0 and is never selected; copies of a column weigh the same.
    Of equally near samples the first row is the neighbour; at a copy of a sample, where
    the margin has no gradient, no step is made. A start may lose all weight; if every one
    does, all weights are 0, with a warning.

    The heaviest feature weighs 1, whatever the labels: weights are no evidence. By default the
    test uses the margin of each feature: how much farther the nearest quarter of the other
    classes is than that of the own class, in squares.

    References
    ----------
    Gilad-Bachrach, Navot and Tishby, "Margin Based Feature Selection", ICML 2004.

    Examples
    --------
    >>> import convexfs
    >>> data = convexfs.load("sign_bits:seed=1").scaled()
    >>> model = convexfs.Simba(n_features_to_select=2, random_state=0).fit(data.X, data.y)
    >>> model.get_support(indices=True)
    array([0, 1])
    """

    _method: ClassVar = staticmethod(simba)

    evaluations_: np.ndarray = learned()
