"""Stability selection: bound how often a feature is selected by chance."""

from convexfs.methods.base.formulation import Formulation, Method

_FORMULATIONS = (
    Formulation("stability-unimodal",
        "max tail'p   s.t. 1'p = 1, share'p <= eta, 0 <= p_0 <= ... <= p_mode >= ... >= 0",
        "Shah & Samworth, Variable Selection with Error Control: Another Look at "
        "Stability Selection (2013), Theorem 2",
        symbol="p", cones=frozenset({"LP"})),
)  # fmt: skip

METHOD = Method(name="stability", home=__name__, formulations=_FORMULATIONS)
