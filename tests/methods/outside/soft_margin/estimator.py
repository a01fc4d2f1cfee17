"""The scikit-learn estimator."""

from typing import ClassVar

from convexfs.plugin import WeightSelector, parameters
from soft_margin.fit import Settings, soft_margin


@parameters
class SoftMargin(Settings, WeightSelector):
    """Weight features by the logistic loss of nearest-neighbour margins."""

    _method: ClassVar = staticmethod(soft_margin)
