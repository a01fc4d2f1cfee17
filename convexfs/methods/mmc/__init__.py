"""MMC: directions that separate classes and keep each class compact."""

from convexfs.methods.base.formulation import Formulation, Method

_FORMULATIONS = (
    Formulation("mmc", "max tr(W (Sb - Sw))   s.t. 0 <= W <= I (psd), tr(W) = q",
        "Li, Jiang & Zhang, Efficient and Robust Feature Extraction by Maximum Margin "
        "Criterion (2006)",
        symbol="W", cones=frozenset({"LP", "SDP"})),
)  # fmt: skip

METHOD = Method(
    name="mmc", home=__name__, estimators={"mmc": "estimator:MMC"}, formulations=_FORMULATIONS,
    component_number=("eigenvalues_", "eigenvalue of Sb - Sw"),
)  # fmt: skip
