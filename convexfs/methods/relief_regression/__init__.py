"""RReliefF: RELIEF for regression, and its variant with soft hits and misses."""

from functools import partial

from convexfs.data.targets import NUMBERS
from convexfs.methods.base.formulation import Formulation, Method

_PROBLEM = "max w'z - lam 1'w   s.t. norm2(w) <= 1, w >= 0"

_row = partial(Formulation, symbol="w", cones=frozenset({"LP", "SOC"}), same_as="relief")
_FORMULATIONS = (
    _row("rrelief", f"{_PROBLEM}, z from the nearest samples of any target",
         "Robnik-Sikonja & Kononenko, Analysis of ReliefF and RReliefF (2003), Fig. 3"),
    _row("rrelief-soft",
         f"{_PROBLEM}, z from soft misses and hits, shares delta and 1 - delta of each",
         "Sun & Wu (2009), eq. 3-7, with delta_ni in [0, 1] for y_n != y_i", chosen_by="sigma"),
)  # fmt: skip

METHOD = Method(
    name="rrelief", home=__name__, cited="Robnik-Šikonja and Kononenko 2003",
    estimators={"rrelief": "estimator:ReliefRegressor"}, formulations=_FORMULATIONS,
    target=NUMBERS, takes_missing=("rrelief",),
)  # fmt: skip
