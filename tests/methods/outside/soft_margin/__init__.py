"""Soft margin: weights under which nearest misses are farther than nearest hits, in all samples.

The smallest method in its own package, and the example of CONTRIBUTING.
"""

from convexfs.plugin import Formulation, Method

METHOD = Method(
    name="soft-margin",
    home=__name__,
    estimators={"soft-margin": "estimator:SoftMargin"},
    formulations=(
        Formulation(
            name="soft-margin",
            equation="min sum_n log(1 + exp(-w'z_n)) + lam norm2(w)^2   s.t. w >= 0",
            reference="after neighbourhood components analysis, with nearest neighbours held fixed",
            symbol="w",
            cones=frozenset({"LP", "QP", "EXP"}),
        ),
    ),
)
