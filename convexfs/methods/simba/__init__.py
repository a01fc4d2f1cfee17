"""Simba: maximise the margin by stochastic ascent; not a convex problem."""

from convexfs.methods.base.formulation import Method

METHOD = Method(
    name="simba", home=__name__, cited="Gilad-Bachrach, Navot and Tishby 2004",
    estimators={"simba": "estimator:Simba"},
)  # fmt: skip
