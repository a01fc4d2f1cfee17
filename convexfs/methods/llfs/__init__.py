"""LLFS: select a feature subset for each sample's neighbourhood, and classify by voting."""

from functools import partial

from convexfs.methods.base.formulation import Formulation, Method

_PAPER = "Armanfard, Reilly & Komeili, Logistic Localized Modeling (2017)"

#: Fields that all formulations share: variable f; a feature with f above 1/2 is selected.
_row = partial(Formulation, symbol="f", cones=frozenset({"LP"}), selected_above=0.5)

_FORMULATIONS = (
    _row("llfs-compactness",
         "min U1(f)   s.t. U2(f) >= eps, 0 <= f <= 1, 1 <= 1'f <= alpha   (local)",
         f"{_PAPER}, eq. 7"),
    _row("llfs-separation", "max U2(f)   s.t. 0 <= f <= 1, 1 <= 1'f <= alpha", f"{_PAPER}, eq. 6"),
    _row("llfs-linear", "min c1'f   s.t. c2'f >= beta max c2'f, 0 <= f <= 1, 1 <= 1'f <= alpha",
         f"{_PAPER}, eq. 4", chosen_by="form"),
    _row("lfs", "min a'f   s.t. b'f >= beta max b'f, 0 <= f <= 1, 1 <= 1'f <= alpha",
         "Armanfard, Reilly & Komeili, Local Feature Selection (2016)", chosen_by="form"),
    _row("llfs-bisection", "max U2(f)   s.t. tangent of U1 <= t, 0 <= f <= 1, 1 <= 1'f <= alpha",
         f"{_PAPER}, eq. 7", chosen_by="form"),
    _row("llfs-ratio", "min c1'f - t U2(f)   s.t. U2(f) >= eps, 0 <= f <= 1, 1 <= 1'f <= alpha",
         f"{_PAPER}, after eq. 7", chosen_by="form"),
    _row("llfs-exact", "min U1(f)   s.t. U2(f) >= eps, f binary, 1 <= 1'f <= alpha",
         f"{_PAPER}, eq. 2", integer=True, chosen_by="form"),
)  # fmt: skip

METHOD = Method(
    name="llfs", home=__name__, cited="Armanfard, Reilly and Komeili 2018",
    estimators={"llfs": "estimator:LLFS"}, formulations=_FORMULATIONS, shows_progress=True,
    parts=("points", "point"),
)  # fmt: skip
