"""I-RELIEF: RELIEF with soft neighbours in the weighted space, as a fixed point."""

from convexfs.methods.base.formulation import Formulation, Method

_FORMULATIONS = (
    Formulation("irelief",
        "max w'nu   s.t. norm2(w) <= 1, w >= 0, one step of a fixed point in nu(w)",
        "Sun, Iterative RELIEF for Feature Weighting (2007)", symbol="w",
        cones=frozenset({"LP", "SOC"}), same_as="relief"),
)  # fmt: skip

METHOD = Method(
    name="irelief", home=__name__, cited="Sun 2007", estimators={"irelief": "estimator:IRelief"},
    formulations=_FORMULATIONS, takes_missing=("irelief",),
)  # fmt: skip
