"""Fit LLFS: every representative point selects its own features, one task per point."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from convexfs.data.column_ranges import constant_columns, varying_columns
from convexfs.errors import ConvexfsError, InputError, check_choice, warn
from convexfs.methods.base.change import called, is_change
from convexfs.methods.base.formulation import DEFAULT_SOLVING, Solving, taken_by
from convexfs.methods.llfs.backend.path import FAILED, TIMEOUT
from convexfs.methods.llfs.backend.subproblems import check_constraints
from convexfs.methods.llfs.hyperspheres import sphere_and_score
from convexfs.methods.llfs.lfs import weighted
from convexfs.methods.llfs.numbers import checked_max_features, lfs_values, local_values
from convexfs.methods.llfs.relaxation import UNCONVERGED, PointSets, backend_name, candidates
from convexfs.methods.llfs.settings import (
    FORMER_FORM,
    FORMS,
    LFS,
    PointSettings,
    Settings,
    beta_values,
)
from convexfs.methods.llfs.utility import utility
from convexfs.records import INACCURATE, NATIVE, OPTIMAL, Certificate, Solution

#: A score that is higher by less than this counts as equal: the lowest beta wins.
SCORE_TIE = 1e-12
#: Text of what a certificate of the linear forms covers.
PROVEN = "the linear program of every point and beta, by its dual bound; not its rounding"


@dataclass(frozen=True)
class PointResult:
    """The selection of one representative point.

    ``features`` are columns of the data; ``table`` has one row per beta, see
    :data:`convexfs.methods.llfs.relaxation.STATUS_ROW`.
    """

    point: int
    features: np.ndarray
    radius: float
    beta: float
    score: float
    table: np.ndarray
    seconds: float


@dataclass(frozen=True)
class LlfsResult:
    """The selections of all points in order, and a summary as every method has.

    ``considered`` are the features there was a choice among, as positions; ``work`` is what
    was asked of every point in the last pass. The certificate has no gap, but for linear
    programs: it shows feasible and stationary points, which is *local*.
    """

    points: list[PointResult]
    support: np.ndarray
    considered: np.ndarray
    solution: Solution
    certificate: Certificate
    work: "PointWork"

    @property
    def weights(self) -> np.ndarray:
        """Return the share of points that select each feature."""
        return self.support.mean(axis=0)


def llfs(
    X: np.ndarray,
    codes: np.ndarray,
    settings: Settings | None = None,
    solving: Solving = DEFAULT_SOLVING,
    *,
    feasible: Callable[..., Any] | None = None,
    seed: Any = 0,
    map: Callable[..., Any] = map,
) -> LlfsResult:
    r"""Compute the localized feature selection (Armanfard, Reilly & Komeili 2017, Algorithm 1).

    For every sample: :math:`\epsilon_{max} = \max U_2` (6); for every beta a local optimum
    of :math:`\min U_1,\ U_2 \ge \beta\epsilon_{max}` (7), rounded to a set of features;
    the hypersphere of each set; and the set whose sphere tells the classes best apart.

    Constant features, which keep every sample near to its class, are left out; changed
    constraints or steps get all, but a constant feature is not in what a point chose. Of
    copies of a feature any may be chosen. Samples equally far from a point are in its
    sphere or out of it together; a sphere that can grow to none is the point itself, of
    radius half the distance to the nearest sample.

    Parameters
    ----------
    X : array (N, M)
    codes : int array (N,)
    settings : Settings
        ``max_features`` is the paper's alpha, by default the square root of the number of
        features that vary, rounded up, and never more than vary; ``betas`` are values in
        [0, 1], or how many evenly spaced ones. For ``rounding``, ``n_roundings`` and ``swap``
        see :mod:`convexfs.methods.llfs.rounding`, for ``sigma_init``
        :func:`convexfs.methods.llfs.utility.steepness`.
    solving : Solving
        ``build`` is a changed step of (7). After ``time_limit`` seconds a point begins no more
        programs of a backend; betas without an answer by then are dropped.
    feasible : callable, optional
        ``feasible(f, max_features)``: other constraints, for every stage.
    seed : int or tuple of int
        For random roundings; each point and beta has its own draws.
    map : callable
        Applied over the points, which do not depend on each other.
    """
    work = last_pass(point_work(X, codes, settings or Settings(), solving, feasible, seed), map)
    points, support = _all_points(work, map)
    support[:, constant_columns(X)] = False
    return summarise(points, support, work)


def last_pass(work: "PointWork", map: Callable[..., Any] = map) -> "PointWork":
    """Return the work of LFS's last pass after running the earlier ones; other forms have one.

    The points of a pass weigh by what all chose in the one before. The first passes of a fit
    are a fit of fewer passes, and are kept as such.
    """
    asked, supports = work.settings, None
    for number in range(1, asked.passes):
        before = replace(work, settings=replace(asked, n_passes=number), supports=supports)
        supports = _all_points(before, map)[1][:, work.columns]
    return replace(work, supports=supports)


def _all_points(
    work: "PointWork", map: Callable[..., Any]
) -> tuple[list["PointResult"], np.ndarray]:
    """Return the results of all points in order, and a mask of the features that each selects."""
    points = sorted(map(work, range(len(work.X))), key=lambda result: result.point)
    support = np.zeros((len(work.X), work.n_features), dtype=bool)
    for row, point in enumerate(points):
        support[row, point.features] = True
    return points, support


@dataclass(frozen=True, eq=False)
class PointWork:
    """The work on all points of a fit; calling it with an index solves that point.

    ``X`` has those columns of the data that there is a choice among, and ``supports`` those
    of them that each point chose in an earlier pass, if there was one.
    """

    X: np.ndarray
    codes: np.ndarray
    settings: PointSettings
    columns: np.ndarray
    n_features: int
    supports: np.ndarray | None = None

    def __call__(self, point: int) -> PointResult:
        return self.solve(point)[0]

    def solve(self, point: int) -> tuple[PointResult, PointSets]:
        """Return a point's selection, and its candidate sets."""
        answer, chosen_from = solve_point(point, self)
        return replace(answer, features=self.columns[answer.features]), chosen_from

    def values(self, point: int) -> dict[str, Any]:
        """Return the data of a point's problem."""
        asked = self.settings
        if asked.form == LFS:
            return weighted(self.localities(point))
        return local_values(self.X, self.codes, point, asked.max_features, asked.sigma_init)

    def localities(self, point: int) -> dict[str, Any]:
        """Return LFS's squared differences and weights of a point."""
        return lfs_values(self.X, self.codes, point, self.supports, self.settings.width)

    def spread(self, values: np.ndarray) -> np.ndarray:
        """Expand values of the used columns to all columns, with zeros elsewhere."""
        whole = np.zeros(self.n_features, dtype=values.dtype)
        whole[self.columns] = values
        return whole


def point_work(
    X: np.ndarray,
    codes: np.ndarray,
    settings: Settings,
    solving: Solving = DEFAULT_SOLVING,
    feasible: Callable[..., Any] | None = None,
    seed: Any = 0,
) -> PointWork:
    """Return the work of :func:`llfs` on all points; the arguments are the same."""
    if is_change(solving.build):
        solving, feasible = _parts_of_change(settings, solving, X.shape[1])
    # A changed problem may refer to features by position.
    changed = solving.build is not None or feasible is not None
    columns = np.arange(X.shape[1]) if changed else varying_columns(X)
    check_choice("form", settings.form, (*FORMS, FORMER_FORM))
    chosen = taken_by(Settings, settings) | {
        "max_features": checked_max_features(settings.max_features, X.shape[1], len(columns)),
        "betas": beta_values(settings.betas, from_zero=settings.form != LFS),
    }
    asked = PointSettings(**chosen, solving=solving, feasible=feasible, seed=seed)
    if feasible is not None:
        # Check here, once: an error would be the same at every point.
        check_constraints(feasible, X.shape[1], asked.max_features)
    varying = np.ascontiguousarray(X[:, columns], dtype=np.float64)
    codes = np.ascontiguousarray(codes, dtype=np.int64)
    return PointWork(varying, codes, asked, columns, X.shape[1])


def _parts_of_change(
    settings: Settings, solving: Solving, n_features: int
) -> tuple[Solving, Callable[..., Any] | None]:
    """Return `solving`, without `build` if only constraints change, and their function or None.

    A change that asks for the numbers of a point changes the step alone.
    """
    from convexfs.methods.llfs.problem import change_constraints, changes_step

    alpha = checked_max_features(settings.max_features, n_features, n_features)
    change = solving.build
    try:
        other = changes_step(change, n_features, alpha)
    except TypeError:
        return solving, None
    if not other:
        solving = replace(solving, build=None)
    elif settings.form != "compactness":
        raise InputError(
            f"{called(change)} changes more than constraints, and form={settings.form!r} takes "
            "other constraints only: use form='compactness'"
        )
    return solving, change_constraints(change)


def solve_point(point: int, work: PointWork) -> tuple[PointResult, PointSets]:
    """Select features, radius and beta of one point; return these and the candidate sets."""
    start = time.perf_counter()
    X, codes, settings = work.X, work.codes, work.settings
    if settings.form == FORMER_FORM:
        raise InputError(f"form={FORMER_FORM!r} was removed: use form='bisection'")
    values = work.values(point)
    try:
        sets = candidates(values, settings, point)
    except InputError as error:
        if not settings.changed:
            raise
        raise type(error)(f"sample {point + 1}: {error}") from error
    same = codes == codes[point]
    normalised = settings.impurity == "normalised"
    spheres: dict[bytes, tuple[float, float]] = {}

    def sphere(mask: np.ndarray | None) -> tuple[float, float]:
        if mask is None:
            return 0.0, -np.inf
        key = mask.tobytes()
        if key not in spheres:
            features = np.flatnonzero(mask)
            spheres[key] = sphere_and_score(X, same, point, features, settings.gamma, normalised)
        return spheres[key]

    scores = [sphere(mask)[1] for mask in sets.masks]
    sets.table["score"] = scores
    best = _best(scores)
    mask = sets.masks[best]
    if mask is None:
        mask = _lone_feature(values, settings, point)
    radius, score = sphere(mask)
    result = PointResult(
        point, np.flatnonzero(mask), radius, float(sets.table["beta"][best]), score,
        sets.table, time.perf_counter() - start,
    )  # fmt: skip
    return result, sets


def _best(scores: Sequence[float]) -> int:
    """Return the index of the highest score; ties go to the lowest beta."""
    best = 0
    for b in range(1, len(scores)):
        if scores[b] > scores[best] + SCORE_TIE:
            best = b
    return best


def _lone_feature(values: Mapping[str, Any], settings: PointSettings, point: int) -> np.ndarray:
    """Return a mask of the allowed feature of least U1, for a point without a rounding."""
    u1 = utility(values["a_same"], values["s"], values["lam"]).mean(axis=0)
    if settings.allows is not None:
        u1[~settings.allows(np.eye(len(u1), dtype=bool))] = np.inf
    best = int(np.argmin(u1))
    if np.isinf(u1[best]):
        raise ConvexfsError(
            f"sample {point + 1}: at no beta could f be rounded to a set that keeps the changed "
            "constraints; give more betas, rounding='random', or form='exact'"
        )
    return np.arange(len(u1)) == best


def summarise(points: list[PointResult], support: np.ndarray, work: PointWork) -> LlfsResult:
    """Return the result of all points; warn if pairs of sample and beta have no solution."""
    settings = work.settings
    tables = np.array([result.table for result in points])
    seconds = sum(result.seconds for result in points)
    solution, certificate = verdict(tables, support.mean(axis=0), settings, seconds)
    if not settings.native:
        solution = replace(solution, solver=backend_name(work.values(0), settings))
    if solution.failure:
        warn(
            f"{solution.failure}: {settings.solving.solver} gave no point; give more time, or "
            "name another solver"
        )
    return LlfsResult(points, support, work.columns, solution, certificate, work)


def verdict(
    tables: np.ndarray, f: np.ndarray, settings: PointSettings, seconds: float
) -> tuple[Solution, Certificate]:
    """Return one solution, with primal `f`, and one certificate for all rows of `tables`."""
    unsolved = np.isin(tables["status"], (FAILED, TIMEOUT))
    converged = not (unsolved | (tables["status"] == UNCONVERGED)).any()
    # A beta without a set has infinity, which is not a result; NaN would look like one.
    answered = ~(np.isinf(tables["u2"]) | unsolved)
    short = np.where(
        answered, (tables["level"] - tables["u2"]) / np.maximum(tables["level"], 1e-9), 0
    )
    solution = Solution(
        OPTIMAL if converged else INACCURATE,
        NATIVE if settings.native else settings.solving.solver, primal={"f": f},
        objective=float(tables["u1"][answered].mean()) if answered.any() else None,
        solve_seconds=seconds, failure=_unsolved(tables["status"]),
        iterations=None if settings.native else int(tables["programs"].sum()),
    )  # fmt: skip
    left = float(np.where(unsolved, 0.0, tables["residual"]).max())
    certificate = Certificate.of(
        solution,
        primal_residual=float(np.maximum(short.max(), 0.0)),
        dual_residual=left,
        # For a linear program first-order conditions suffice, if its constraints are known.
        gap=left if settings.linear and not settings.changed else None,
        tol=1e-6,
        basis=PROVEN if settings.linear else "local: feasible and stationary, every point and beta",
    )
    return solution, certificate


def _unsolved(statuses: np.ndarray) -> str:
    """Describe how many pairs of sample and beta have no solution; "" if all have."""
    counts = {why: int((statuses == why).sum()) for why in (FAILED, TIMEOUT)}
    if not sum(counts.values()):
        return ""
    reasons = ", ".join(f"{count} {why}" for why, count in counts.items() if count)
    text = f"{sum(counts.values())} of {statuses.size} pairs of sample and beta are dropped"
    return f"{text} ({reasons})"


def warn_contradictions(X: np.ndarray, codes: np.ndarray) -> None:
    """Warn about equal samples of different classes."""
    first: dict[bytes, int] = {}
    # Adding 0 turns a negative zero into zero.
    seen = [(first.setdefault((row + 0.0).tobytes(), j), j) for j, row in enumerate(X)]
    pairs = [(i, j) for i, j in seen if codes[i] != codes[j]]
    if pairs:
        more = f" (and {len(pairs) - 1} more such pairs)" if len(pairs) > 1 else ""
        i, j = pairs[0]
        warn(
            f"data rows {i + 1} and {j + 1} are equal but of different classes{more}: no sphere "
            "holds one without the other, so its radius may be 0; relabel them or leave them out"
        )
