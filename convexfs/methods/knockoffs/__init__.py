"""Model-X knockoffs: the vector s that decorrelates each feature from its copy."""

from functools import partial

from convexfs.methods.base.formulation import Formulation, Method

_SDP = "Candes, Fan, Janson & Lv, Panning for Gold: Model-X Knockoffs (2018)"
_MRC = "Spector & Janson, Powerful Knockoffs via Minimizing Reconstructability (2022)"

_row = partial(Formulation, symbol="s")
_FORMULATIONS = (
    _row("knockoffs-me", "max sum_j log(s_j) + log det(2 Sigma - diag(s))",
         f"{_MRC}: maximum entropy", cones=frozenset({"LP", "SDP", "EXP"})),
    _row("knockoffs-mvr", "min sum_j 1/s_j + tr(inv(2 Sigma - diag(s)))",
         f"{_MRC}: minimum variance-based reconstructability",
         cones=frozenset({"LP", "SDP", "SOC"}), chosen_by="s"),
    _row("knockoffs-sdp", "max 1's   s.t. 0 <= s <= 1, 2 Sigma - diag(s) psd", f"{_SDP}, Sec. 3.4",
         cones=frozenset({"LP", "SDP"}), chosen_by="s"),
    _row("knockoffs-equi", "max 1's   s.t. s_1 = ... = s_J, 0 <= s <= 1, 2 Sigma - diag(s) psd",
         f"{_SDP}, Sec. 3.4: equi-correlated", cones=frozenset({"LP", "SDP"}), chosen_by="s"),
)  # fmt: skip

METHOD = Method(name="knockoffs", home=__name__, formulations=_FORMULATIONS)
