"""The mathematics: every method's convex problem, by name.

:data:`FORMULATIONS` is the whole list. Its functions are given as dotted names
and imported when first used, so that a native fit never loads cvxpy.
"""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from convexfs.errors import InputError, did_you_mean


@dataclass(frozen=True)
class Formulation:
    """A named convex problem and the functions that belong to it.

    Attributes
    ----------
    name, equation, reference : str
        Its name, the problem in one line, and where it is printed.
    symbol : str
        Name of the variable that holds the feature weights.
    cones, integer : frozenset of str, bool
        What the problem asks of a solver, so that an unsuitable one is refused
        before any work.
    build : callable
        ``build(**values, **hyper) -> cvxpy.Problem``.
    native : callable or None
        Same arguments, returns a Solution without cvxpy.
    method : callable
        The algorithm whose step this problem is.
    numbers : callable
        The method's numeric half, ``numbers(X, codes, **hyper) -> values, hyper``:
        what ``build`` takes, computed from samples.
    violation, gap : callable
        ``f(values, hyper, primal) -> float``: how far a point is from feasible,
        and its distance to a dual bound, both in numpy from the formula alone.
    """

    name: str
    equation: str
    reference: str
    symbol: str
    cones: frozenset[str]
    build_at: str
    method_at: str
    numbers_at: str
    native_at: str = ""
    violation_at: str = ""
    gap_at: str = ""
    integer: bool = False

    @property
    def build(self) -> Callable[..., Any]:
        return _resolve(self.build_at)

    @property
    def method(self) -> Callable[..., Any]:
        return _resolve(self.method_at)

    @property
    def numbers(self) -> Callable[..., tuple[dict[str, Any], dict[str, Any]]]:
        return _resolve(self.numbers_at)

    @property
    def native(self) -> Callable[..., Any] | None:
        return _resolve(self.native_at) if self.native_at else None

    @property
    def violation(self) -> Callable[..., float]:
        return _resolve(self.violation_at)

    @property
    def gap(self) -> Callable[..., float]:
        return _resolve(self.gap_at)


def _resolve(dotted: str) -> Callable[..., Any]:
    module, _, name = dotted.partition(":")
    return getattr(importlib.import_module(module), name)


FORMULATIONS: dict[str, Formulation] = {
    "relief": Formulation(
        name="relief",
        equation="max w'z - lam 1'w   s.t. norm2(w) <= 1, w >= 0",
        reference="Sun & Wu, Feature Extraction through Local Learning (2009), eq. 3-7",
        symbol="w",
        cones=frozenset({"LP", "SOC"}),
        build_at="convexfs.methods.relief.problem:relief",
        method_at="convexfs.methods.relief.fit:relief",
        numbers_at="convexfs.methods.relief.fit:relief_problem",
        native_at="convexfs.methods.relief.native:relief",
        violation_at="convexfs.methods.relief.native:violation",
        gap_at="convexfs.methods.relief.native:gap",
    ),
    "logo-penalised": Formulation(
        name="logo-penalised",
        equation="min sum_n log(1 + exp(-w'z_n)) + lam 1'w   s.t. w >= 0",
        reference="Sun, Todorovic & Goodison, Local-Learning-Based Feature Selection (2010), eq. 7",
        symbol="w",
        cones=frozenset({"LP", "EXP"}),
        build_at="convexfs.methods.logo.problem:logo_penalised",
        method_at="convexfs.methods.logo.fit:logo",
        numbers_at="convexfs.methods.logo.fit:logo_penalised_problem",
        native_at="convexfs.methods.logo.native:logo_penalised",
        violation_at="convexfs.methods.logo.native:penalised_violation",
        gap_at="convexfs.methods.logo.native:penalised_gap",
    ),
    "logo-constrained": Formulation(
        name="logo-constrained",
        equation="min sum_n log(1 + exp(-w'z_n))   s.t. 1'w <= beta, w >= 0",
        reference="Sun, Todorovic & Goodison, Local-Learning-Based Feature Selection (2010), eq. 8",
        symbol="w",
        cones=frozenset({"LP", "EXP"}),
        build_at="convexfs.methods.logo.problem:logo_constrained",
        method_at="convexfs.methods.logo.fit:logo",
        numbers_at="convexfs.methods.logo.fit:logo_constrained_problem",
        native_at="convexfs.methods.logo.native:logo_constrained",
        violation_at="convexfs.methods.logo.native:constrained_violation",
        gap_at="convexfs.methods.logo.native:constrained_gap",
    ),
    "irelief": Formulation(
        name="irelief",
        equation="max w'nu   s.t. norm2(w) <= 1, w >= 0, one step of a fixed point in nu(w)",
        reference="Sun, Iterative RELIEF for Feature Weighting (2007)",
        symbol="w",
        cones=frozenset({"LP", "SOC"}),
        build_at="convexfs.methods.relief.problem:relief",
        method_at="convexfs.methods.irelief.fit:irelief",
        numbers_at="convexfs.methods.irelief.fit:irelief_problem",
        native_at="convexfs.methods.relief.native:relief",
        violation_at="convexfs.methods.relief.native:violation",
        gap_at="convexfs.methods.relief.native:gap",
    ),
    "lfe": Formulation(
        name="lfe",
        equation="max tr(W Sigma)   s.t. normF(W) <= 1, W psd",
        reference="Sun & Wu, Feature Extraction through Local Learning (2009), eq. 8",
        symbol="W",
        cones=frozenset({"LP", "SOC", "SDP"}),
        build_at="convexfs.methods.lfe.problem:lfe",
        method_at="convexfs.methods.lfe.fit:lfe",
        numbers_at="convexfs.methods.lfe.fit:lfe_problem",
        native_at="convexfs.methods.lfe.native:lfe",
        violation_at="convexfs.methods.lfe.native:violation",
        gap_at="convexfs.methods.lfe.native:gap",
    ),
    "lfe-trace": Formulation(
        name="lfe-trace",
        equation="max tr(W Sigma) - lam tr(W)   s.t. normF(W) <= 1, W psd",
        reference="convex extension of Sun & Wu (2009), eq. 8: fewer components",
        symbol="W",
        cones=frozenset({"LP", "SOC", "SDP"}),
        build_at="convexfs.methods.lfe.problem:lfe_trace",
        method_at="convexfs.methods.lfe.fit:lfe",
        numbers_at="convexfs.methods.lfe.fit:lfe_priced_problem",
        native_at="convexfs.methods.lfe.native:lfe_trace",
        violation_at="convexfs.methods.lfe.native:violation",
        gap_at="convexfs.methods.lfe.native:gap",
    ),
    "lfe-row-sparse": Formulation(
        name="lfe-row-sparse",
        equation="max tr(W Sigma) - lam sum_i norm2(W_i)   s.t. normF(W) <= 1, W psd",
        reference="convex extension of Sun & Wu (2009), eq. 8: fewer features",
        symbol="W",
        cones=frozenset({"LP", "SOC", "SDP"}),
        build_at="convexfs.methods.lfe.problem:lfe_row_sparse",
        method_at="convexfs.methods.lfe.fit:lfe",
        numbers_at="convexfs.methods.lfe.fit:lfe_priced_problem",
    ),
    "llfs-compactness": Formulation(
        name="llfs-compactness",
        equation="min U1(f)   s.t. U2(f) >= eps, 0 <= f <= 1, 1 <= 1'f <= alpha   (local)",
        reference="Armanfard, Reilly & Komeili, Logistic Localized Modeling (2017), eq. 7",
        symbol="f",
        cones=frozenset({"LP"}),
        build_at="convexfs.methods.llfs.problem:llfs_compactness",
        method_at="convexfs.methods.llfs.fit:llfs",
        numbers_at="convexfs.methods.llfs.numbers:compactness_problem",
        native_at="convexfs.methods.llfs.native:llfs_compactness",
        violation_at="convexfs.methods.llfs.native:violation",
        gap_at="convexfs.methods.llfs.native:compactness_gap",
    ),
    "llfs-separation": Formulation(
        name="llfs-separation",
        equation="max U2(f)   s.t. 0 <= f <= 1, 1 <= 1'f <= alpha",
        reference="Armanfard, Reilly & Komeili, Logistic Localized Modeling (2017), eq. 6",
        symbol="f",
        cones=frozenset({"LP"}),
        build_at="convexfs.methods.llfs.problem:llfs_separation",
        method_at="convexfs.methods.llfs.fit:llfs",
        numbers_at="convexfs.methods.llfs.numbers:separation_problem",
        native_at="convexfs.methods.llfs.native:llfs_separation",
        violation_at="convexfs.methods.llfs.native:violation",
        gap_at="convexfs.methods.llfs.native:separation_gap",
    ),
    "llfs-linear": Formulation(
        name="llfs-linear",
        equation="min c1'f   s.t. c2'f >= beta max c2'f, 0 <= f <= 1, 1 <= 1'f <= alpha",
        reference="Armanfard, Reilly & Komeili, Logistic Localized Modeling (2017), eq. 4",
        symbol="f",
        cones=frozenset({"LP"}),
        build_at="convexfs.methods.llfs.problem:llfs_linear",
        method_at="convexfs.methods.llfs.fit:llfs",
        numbers_at="convexfs.methods.llfs.numbers:linear_problem",
        native_at="convexfs.methods.llfs.native:llfs_linear",
        violation_at="convexfs.methods.llfs.native:violation",
        gap_at="convexfs.methods.llfs.native:linear_gap",
    ),
    "llfs-bisection": Formulation(
        name="llfs-bisection",
        equation="max U2(f)   s.t. tangent of U1 <= t, 0 <= f <= 1, 1 <= 1'f <= alpha",
        reference="Armanfard, Reilly & Komeili, Logistic Localized Modeling (2017), eq. 7",
        symbol="f",
        cones=frozenset({"LP"}),
        build_at="convexfs.methods.llfs.problem:llfs_bisection",
        method_at="convexfs.methods.llfs.fit:llfs",
        numbers_at="convexfs.methods.llfs.numbers:bisection_problem",
    ),
    "llfs-ratio": Formulation(
        name="llfs-ratio",
        equation="min c1'f - t U2(f)   s.t. U2(f) >= eps, 0 <= f <= 1, 1 <= 1'f <= alpha",
        reference="Armanfard, Reilly & Komeili, Logistic Localized Modeling (2017), after eq. 7",
        symbol="f",
        cones=frozenset({"LP"}),
        build_at="convexfs.methods.llfs.problem:llfs_ratio",
        method_at="convexfs.methods.llfs.fit:llfs",
        numbers_at="convexfs.methods.llfs.numbers:ratio_problem",
    ),
    "llfs-exact": Formulation(
        name="llfs-exact",
        equation="min U1(f)   s.t. U2(f) >= eps, f binary, 1 <= 1'f <= alpha",
        reference="Armanfard, Reilly & Komeili, Logistic Localized Modeling (2017), eq. 2",
        symbol="f",
        cones=frozenset({"LP"}),
        build_at="convexfs.methods.llfs.problem:llfs_exact",
        method_at="convexfs.methods.llfs.fit:llfs",
        numbers_at="convexfs.methods.llfs.numbers:exact_problem",
        integer=True,
    ),
    "lmba": Formulation(
        name="lmba",
        equation="min sum d_u(i,j) + c sum [theta_i + d_u(i,j) - d_u(i,p)]+   s.t. 0 <= u <= 1",
        reference="Lmba, loss-margin based feature selection (Pattern Recognition 2009), eq. 3-4",
        symbol="u",
        cones=frozenset({"LP"}),
        build_at="convexfs.methods.lmba.problem:lmba",
        method_at="convexfs.methods.lmba.fit:lmba",
        numbers_at="convexfs.methods.lmba.fit:lmba_problem",
        native_at="convexfs.methods.lmba.native:lmba",
        violation_at="convexfs.methods.lmba.native:box_violation",
        gap_at="convexfs.methods.lmba.native:box_gap",
    ),
    "lmba-simplex": Formulation(
        name="lmba-simplex",
        equation="min sum d_u(i,j) + c sum [theta_i + d_u(i,j) - d_u(i,p)]+   s.t. u >= 0, 1'u = n",
        reference="Lmba, loss-margin based feature selection (Pattern Recognition 2009), "
        "eq. 3-4 with weights of a given sum",
        symbol="u",
        cones=frozenset({"LP"}),
        build_at="convexfs.methods.lmba.problem:lmba_simplex",
        method_at="convexfs.methods.lmba.fit:lmba",
        numbers_at="convexfs.methods.lmba.fit:lmba_problem",
        native_at="convexfs.methods.lmba.native:lmba_simplex",
        violation_at="convexfs.methods.lmba.native:simplex_violation",
        gap_at="convexfs.methods.lmba.native:simplex_gap",
    ),
    "lmnn": Formulation(
        name="lmnn",
        equation="min sum d_M(i,j) + c sum xi   s.t. d_M(i,p) - d_M(i,j) >= 1 - xi, xi >= 0, M psd",
        reference="Weinberger & Saul, Distance Metric Learning for Large Margin Nearest "
        "Neighbor Classification (2009), Sec. 3.2",
        symbol="M",
        cones=frozenset({"LP", "SDP"}),
        build_at="convexfs.methods.lmnn.problem:lmnn",
        method_at="convexfs.methods.lmnn.fit:lmnn",
        numbers_at="convexfs.methods.lmnn.fit:lmnn_problem",
    ),
    "mmc": Formulation(
        name="mmc",
        equation="max tr(W (Sb - Sw))   s.t. 0 <= W <= I (psd), tr(W) = q",
        reference="Li, Jiang & Zhang, Efficient and Robust Feature Extraction by Maximum Margin "
        "Criterion (2006)",
        symbol="W",
        cones=frozenset({"LP", "SDP"}),
        build_at="convexfs.methods.mmc.problem:mmc",
        method_at="convexfs.methods.mmc.fit:mmc",
        numbers_at="convexfs.methods.mmc.fit:mmc_problem",
        native_at="convexfs.methods.mmc.native:mmc",
        violation_at="convexfs.methods.mmc.native:violation",
        gap_at="convexfs.methods.mmc.native:gap",
    ),
}


def formulation(name: str) -> Formulation:
    """Look a formulation up, with the nearest name if there is none."""
    if name not in FORMULATIONS:
        raise InputError(f"unknown formulation {name!r}: {did_you_mean(name, FORMULATIONS)}")
    return FORMULATIONS[name]
