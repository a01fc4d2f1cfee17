"""Logo: local-learning feature selection as a fixed point of convex problems."""

from functools import partial

from convexfs.methods.base.formulation import Formulation, Method

_PAPER = "Sun, Todorovic & Goodison, Local-Learning-Based Feature Selection (2010)"

_row = partial(Formulation, symbol="w", cones=frozenset({"LP", "EXP"}))
_FORMULATIONS = (
    _row("logo-penalised", "min sum_n log(1 + exp(-w'z_n)) + lam 1'w   s.t. w >= 0",
         f"{_PAPER}, eq. 7"),
    _row("logo-constrained", "min sum_n log(1 + exp(-w'z_n))   s.t. 1'w <= beta, w >= 0",
         f"{_PAPER}, eq. 8", chosen_by="beta"),
)  # fmt: skip

METHOD = Method(
    name="logo", home=__name__, cited="Sun, Todorovic and Goodison 2010",
    estimators={"logo": "estimator:Logo", "logo-cv": "estimator_cv:LogoCV"},
    formulations=_FORMULATIONS, takes_missing=("logo",),
)  # fmt: skip
