"""Simba: the margin ascended by steps, one sample after the other; not a convex problem."""

from convexfs.methods.base.formulation import Method

METHOD = Method(
    name="simba",
    home=__name__,
    cited="Gilad-Bachrach, Navot and Tishby 2004",
    estimators={"simba": "estimator:Simba"},
)
