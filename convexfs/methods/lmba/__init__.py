"""Lmba: feature weights that minimise a nearest-neighbour loss."""

from functools import partial

from convexfs.methods.base.formulation import Formulation, Method

_PAPER = "Lmba, loss-margin based feature selection (Pattern Recognition 2009)"

_row = partial(Formulation, symbol="u", cones=frozenset({"LP"}))
_FORMULATIONS = (
    _row("lmba-simplex",
         "min sum d_u(i,j) + c sum [theta_i + d_u(i,j) - d_u(i,p)]+   s.t. u >= 0, 1'u = n",
         f"{_PAPER}, eq. 3-4 with weights of a given sum"),
    _row("lmba-box",
         "min sum d_u(i,j) + c sum [theta_i + d_u(i,j) - d_u(i,p)]+   s.t. 0 <= u <= 1",
         f"{_PAPER}, eq. 3-4", chosen_by="form", formerly="lmba"),
)  # fmt: skip

METHOD = Method(
    name="lmba", home=__name__, cited="Li and Lu 2009", estimators={"lmba": "estimator:Lmba"},
    formulations=_FORMULATIONS,
)  # fmt: skip
