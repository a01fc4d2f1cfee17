"""RELIEF and RELIEF-F: rank features by how much farther misses are than hits."""

from convexfs.methods.base.formulation import Formulation, Method

_FORMULATIONS = (
    Formulation("relief", "max w'z - lam 1'w   s.t. norm2(w) <= 1, w >= 0",
        "Sun & Wu, Feature Extraction through Local Learning (2009), eq. 3-7", symbol="w",
        cones=frozenset({"LP", "SOC"})),
)  # fmt: skip

METHOD = Method(
    name="relief", home=__name__, cited="Robnik-Šikonja and Kononenko 2003; Sun and Wu 2009",
    estimators={"relief": "estimator:Relief"}, formulations=_FORMULATIONS,
    takes_missing=("relief",),
)  # fmt: skip
