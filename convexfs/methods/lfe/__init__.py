"""LFE: local feature extraction, RELIEF with a full matrix."""

from functools import partial

from convexfs.methods.base.formulation import Formulation, Method

_row = partial(Formulation, symbol="W", cones=frozenset({"LP", "SOC", "SDP"}))
_FORMULATIONS = (
    _row(
        name="lfe",
        equation="max tr(W Sigma)   s.t. normF(W) <= 1, W psd",
        reference="Sun & Wu, Feature Extraction through Local Learning (2009), eq. 8",
    ),
    _row(
        name="lfe-trace",
        equation="max tr(W Sigma) - lam tr(W)   s.t. normF(W) <= 1, W psd",
        reference="convex extension of Sun & Wu (2009), eq. 8: fewer components",
        chosen_by="form",
    ),
    _row(
        name="lfe-row-sparse",
        equation="max tr(W Sigma) - lam sum_i norm2(W_i)   s.t. normF(W) <= 1, W psd",
        reference="convex extension of Sun & Wu (2009), eq. 8: fewer features",
        chosen_by="form",
    ),
)

METHOD = Method(
    name="lfe",
    home=__name__,
    cited="Sun and Wu 2009",
    estimators={"lfe": "estimator:LFE"},
    formulations=_FORMULATIONS,
    component_number=("eigenvalues_", "eigenvalue of Sigma"),
)
