"""LMNN: a metric under which target neighbours are nearer than impostors."""

from convexfs.methods.base.formulation import Formulation, Method

_FORMULATIONS = (
    Formulation("lmnn",
        "min sum d_M(i,j) + c sum xi   s.t. d_M(i,p) - d_M(i,j) >= 1 - xi, xi >= 0, M psd",
        "Weinberger & Saul, Distance Metric Learning for Large Margin Nearest "
        "Neighbor Classification (2009), Sec. 3.2",
        symbol="M", cones=frozenset({"LP", "SDP"})),
)  # fmt: skip

METHOD = Method(
    name="lmnn", home=__name__, estimators={"lmnn": "estimator:LMNN"}, formulations=_FORMULATIONS,
    component_number=("eigenvalues_", "eigenvalue of M"),
)  # fmt: skip
