"""LFE: local feature extraction, RELIEF with a full matrix."""

from functools import partial

from convexfs.methods.base.formulation import Formulation, Method

_row = partial(Formulation, symbol="W", cones=frozenset({"LP", "SOC", "SDP"}))
_FORMULATIONS = (
    _row("lfe", "max tr(W Sigma)   s.t. normF(W) <= 1, W psd",
         "Sun & Wu, Feature Extraction through Local Learning (2009), eq. 8"),
    _row("lfe-trace", "max tr(W Sigma) - lam tr(W)   s.t. normF(W) <= 1, W psd",
         "convex extension of Sun & Wu (2009), eq. 8: fewer components", chosen_by="form"),
    _row("lfe-row-sparse", "max tr(W Sigma) - lam sum_i norm2(W_i)   s.t. normF(W) <= 1, W psd",
         "convex extension of Sun & Wu (2009), eq. 8: fewer features", chosen_by="form"),
)  # fmt: skip

METHOD = Method(
    name="lfe", home=__name__, cited="Sun and Wu 2009", estimators={"lfe": "estimator:LFE"},
    formulations=_FORMULATIONS, component_number=("eigenvalues_", "eigenvalue of Sigma"),
)  # fmt: skip
