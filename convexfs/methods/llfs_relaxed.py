"""One point of LLFS: its path along beta by any road, and the sets of features it leads to."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from convexfs.errors import InputError, check_choice, check_number
from convexfs.formulations import FORMULATIONS, Formulation
from convexfs.formulations.llfs_utility import mean_utility
from convexfs.methods.llfs_convex import ConvexRoad
from convexfs.methods.llfs_numbers import SIGMA_INITS, secant_bound
from convexfs.methods.step import check_solver, runs_natively
from convexfs.native.llfs_exact import best_subset
from convexfs.native.llfs_linear import largest_sum, priced_minimum
from convexfs.native.llfs_newton import KKT_TOL
from convexfs.native.llfs_path import LocalPath, local_path, local_point, maximiser
from convexfs.rounding import HOW, best_rounding, swap_search

FORMS = ("compactness", "linear", "bisection", "exact")
GLOBAL, LOCAL, LINEAR, EXACT, UNCONVERGED = "global", "local", "linear", "exact", "unconverged"
#: A mean of G, which is a difference of numbers near 1/2, errs by this.
UTILITY_ROUNDING = 1e-15
#: One row per point and beta. ``status`` says what is known of the relaxed f: ``global``
#: (one feature, or U1 = 0, proven), ``local`` (a KKT point of eq. 7, to ``residual``),
#: ``linear`` (the optimum of the linear form), ``exact`` (binary and searched through) or
#: ``unconverged``.
#: ``bound`` is a lower bound of U1, NaN if not asked for; ``rounded_u1`` is infinite, and
#: the beta dropped, where no rounding is feasible; ``score`` is that of its sphere.
STATUS_ROW = np.dtype(
    [
        ("beta", float), ("status", "U12"), ("u1", float), ("u2", float), ("level", float),
        ("residual", float), ("bound", float), ("rounded_u1", float), ("score", float),
    ]
)  # fmt: skip


@dataclass(frozen=True)
class RelaxedSettings:
    """How a point gets its candidate sets; see :func:`convexfs.methods.llfs.llfs`."""

    max_features: int
    betas: np.ndarray
    form: str = "compactness"
    rounding: str = "enumerate"
    n_roundings: int = 1000
    swap: bool = False
    sigma_init: str = "feasible"
    bound: bool = False
    solver: str = "auto"
    solver_tol: float = 1e-6
    solver_options: Mapping[str, Any] | None = None
    build: Callable[..., Any] | None = None
    feasible: Callable[..., Any] | None = None
    seed: Any = 0

    def __post_init__(self) -> None:
        check_choice("form", self.form, FORMS)
        check_choice("rounding", self.rounding, HOW)
        check_choice("sigma_init", self.sigma_init, SIGMA_INITS)
        check_number("n_roundings", self.n_roundings, 1, whole=True)
        if self.swap and self.feasible is not None:
            raise InputError(
                "swap=True exchanges features within the paper's constraints only: "
                "leave it out, or the changed feasible"
            )
        if not self.native:
            check_solver(self.formulation, self.solver, self.solver_tol, self.build)

    @cached_property
    def allows(self) -> Callable[[np.ndarray], np.ndarray] | None:
        """Which sets a changed `feasible` allows; None for the paper's own constraints."""
        if self.feasible is None:
            return None
        from convexfs.formulations.llfs import allowed_sets

        return partial(allowed_sets, feasible=self.feasible, max_features=self.max_features)

    def most_features(self, n_features: int) -> int:
        """Of a set: the budget, or all where a changed `feasible` has its place."""
        return self.max_features if self.feasible is None else n_features

    @property
    def formulation(self) -> Formulation:
        return FORMULATIONS[f"llfs-{self.form}"]

    @cached_property
    def native(self) -> bool:
        """Whether no cvxpy solver takes part."""
        changed = self.build or self.feasible
        if self.form == "exact" and changed is None:
            return self.solver.lower() in ("auto", "native")
        return runs_natively(self.formulation, self.solver, changed)


@dataclass(frozen=True)
class Candidates:
    """The sets of one point, one per beta (None: dropped), and what is known of them."""

    masks: list[np.ndarray | None]
    table: np.ndarray


def candidates(values: Mapping[str, Any], settings: RelaxedSettings, point: int) -> Candidates:
    """Solve all betas of one point and round them."""
    if settings.form == "exact":
        return _exact_sets(values, settings)
    path = relaxed_path(values, settings)
    table = _table(path, values, settings)
    masks, table["rounded_u1"] = _roundings(path.f, table["level"], values, settings, point)
    return Candidates(masks, table)


def relaxed_path(values: Mapping[str, Any], settings: RelaxedSettings) -> LocalPath:
    """All betas of the relaxed problem, natively or through a backend."""
    if not settings.native:
        return convex_road(values, settings).path(settings.betas, settings.form)
    if settings.form == "linear":
        return _linear_path(values, settings)
    return local_path(local_point(**values, max_features=settings.max_features), settings.betas)


def convex_road(values: Mapping[str, Any], settings: RelaxedSettings) -> ConvexRoad:
    """The cvxpy stages of a point."""
    return ConvexRoad(
        **values,
        max_features=settings.max_features,
        solver=settings.solver,
        # Errors add up over the steps.
        tol=0.01 * settings.solver_tol,
        options=settings.solver_options,
        build=settings.build,
        feasible=settings.feasible,
    )


def _linear_path(values: Mapping[str, Any], settings: RelaxedSettings) -> LocalPath:
    c1, c2 = values["a_same"].mean(axis=0), values["a_other"].mean(axis=0)
    alpha, most = settings.max_features, largest_sum(c2, settings.max_features)
    found = [priced_minimum(c1, c2, beta * most, alpha) for beta in settings.betas]
    F = np.array([priced.f for priced in found])
    mu, zeros = np.array([priced.mu for priced in found]), np.zeros(len(found))
    # The values of the linear form, not of U1 and U2: they are what it trades.
    return LocalPath(settings.betas, F, F @ c1, F @ c2, mu, zeros, zeros.astype(int), most, 0.0)


def _table(path: LocalPath, values: Mapping[str, Any], settings: RelaxedSettings) -> np.ndarray:
    table = np.zeros(len(path.betas), dtype=STATUS_ROW)
    for name in ("u1", "u2", "residual"):
        table[name] = getattr(path, name)
    table["beta"] = path.betas
    table["level"] = path.betas * path.eps_max
    table["score"] = -np.inf
    table["bound"] = np.nan
    # One feature at the least U1 of all betas is the closed form, optimal over everything.
    single = (path.f.sum(axis=1) <= 1 + 1e-12) & (path.f.max(axis=1) >= 1 - 1e-12)
    closed = settings.native & single & (path.iterations == 0)
    # No U1 is below 0; there gradients are rounding errors, and so is what they leave over.
    least = path.u1 <= UTILITY_ROUNDING
    table["residual"][least] = 0.0
    table["status"] = np.where(closed | least, GLOBAL, LOCAL)
    table["status"][table["residual"] > KKT_TOL] = UNCONVERGED
    if settings.form == "linear":
        table["status"] = LINEAR
    elif settings.bound:
        most = settings.most_features(path.f.shape[1])
        for b, row in enumerate(table):
            row["bound"] = secant_bound(
                **values, eps=row["level"], max_features=most, tangent=path.f[b]
            )
    return table


def _roundings(
    F: np.ndarray,
    levels: np.ndarray,
    values: Mapping[str, Any],
    settings: RelaxedSettings,
    point: int,
) -> tuple[list[np.ndarray | None], list[float]]:
    """The best set near each row of F, or None, and its U1."""
    linear = settings.form == "linear"
    s, lam = (0.0, 1.0) if linear else (values["s"], values["lam"])
    given = (values["a_same"], values["a_other"], s, lam)
    how = (settings.most_features(F.shape[1]), settings.rounding, settings.n_roundings)
    seed = (*np.atleast_1d(settings.seed), point)
    masks, least = [], []
    for b, (f, level) in enumerate(zip(F, levels.tolist(), strict=True)):
        mask, value = best_rounding(f, *given, level, *how, (*seed, b), settings.allows)
        if mask is not None and settings.swap:
            mask, value = swap_search(mask, *given, level, settings.max_features)
        masks.append(mask)
        least.append(value)
    return masks, least


def _exact_sets(values: Mapping[str, Any], settings: RelaxedSettings) -> Candidates:
    """The best binary set of every beta, without a relaxation."""
    a_same, a_other, s, lam = (values[name] for name in ("a_same", "a_other", "s", "lam"))
    alpha, masks = settings.max_features, []
    road = None if settings.native else convex_road(values, settings)
    if road is None:
        eps_max = maximiser(local_point(**values, max_features=alpha)).u2
    else:
        eps_max = road.u2(road.separation())
    table = np.zeros(len(settings.betas), dtype=STATUS_ROW)
    table["beta"], table["level"] = settings.betas, settings.betas * eps_max
    table["status"], table["score"], table["bound"] = EXACT, -np.inf, np.nan
    for row in table:
        if road is None:
            mask = best_subset(a_same, a_other, s, lam, row["level"], alpha)[0]
        else:
            found = road.exact(row["level"])
            mask = None if found is None or not found.any() else found > 0.5
        masks.append(mask)
        if mask is None:
            row["u1"] = row["u2"] = row["rounded_u1"] = np.inf
            continue
        row["u1"] = row["rounded_u1"] = mean_utility(a_same, mask.astype(float), s, lam)
        row["u2"] = mean_utility(a_other, mask.astype(float), s, lam)
    return Candidates(masks, table)
