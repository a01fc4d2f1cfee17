"""Logo for regression: every sample is partly a hit and partly a miss."""

from functools import partial

from convexfs.data.targets import NUMBERS
from convexfs.methods.base.formulation import Formulation, Method

_PAPER = "Sun, Todorovic & Goodison (2010)"
_SOFT = "with delta_ni in [0, 1] for y_n != y_i"

_row = partial(Formulation, symbol="w", cones=frozenset({"LP", "EXP"}))
_FORMULATIONS = (
    _row("rlogo", "min sum_n log(1 + exp(-w'z_n)) + lam 1'w   s.t. w >= 0, z_n from soft misses",
         f"{_PAPER}, eq. 7, {_SOFT}", same_as="logo-penalised"),
    _row("rlogo-constrained",
         "min sum_n log(1 + exp(-w'z_n))   s.t. 1'w <= beta, w >= 0, z_n from soft misses",
         f"{_PAPER}, eq. 8, {_SOFT}", chosen_by="beta", same_as="logo-constrained"),
)  # fmt: skip

METHOD = Method(
    name="rlogo", home=__name__, cited="Sun, Todorovic and Goodison 2010",
    estimators={"rlogo": "estimator:LogoRegressor"}, formulations=_FORMULATIONS, target=NUMBERS,
    takes_missing=("rlogo",),
)  # fmt: skip
