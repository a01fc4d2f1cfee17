"""Which tasks are solved, wrong, failed or late, by the same rules for all solvers.

A solution is verified by its residuals, not by its solver's status: it is *solved* if the
solver says ``optimal``, every residual is at most ten times the accuracy asked for, and
the solver kept its time limit; or if it says ``infeasible`` or ``unbounded`` and that is
proven. With a solver's own default accuracy the bound is ``SLACK * DEFAULT_ACCURACY`` = 1e-4
for all: ten times the 1e-5 that most first-order solvers default to, and a hundredth of the
1 % of the largest weight at which features are selected.

Whole points of a local method are solved if they are verified to be feasible and stationary.

A *wrong claim* is an ``optimal`` about a point that is not feasible (primal residual beyond
the bound, and not left undecided by its certificate) or not optimal (refuted by its certificate,
or an objective farther than the bound from a proven one of the same problem), or an
``infeasible`` or ``unbounded`` about a problem that has a proven optimum, or one of the two about
a problem that is proven to be the other.
Solvers that say they are unsure (``optimal_inaccurate``, ``user_limit``) have *failed*.

A status that is neither proven nor refuted is *undecided*: nothing is known against it, so it
is counted apart and charged its own seconds. A point without a proof (its gap is
unknown) is proven by another solver's proof, if it is feasible and its objective is that of a
proven one. Where nobody has proven any, it is compared with the best of the points that are
feasible to FEASIBLE, and stays undecided unless it is worse. A claim without an objective is wrong.

Two proven objectives of one problem that are far apart cannot both be right: one certificate
was fooled. The better one is the reference, for its point is verified to be feasible; the
other is a wrong claim, and ``fooled`` marks it. A certificate measures gaps in units of the
objective's terms, which may be far larger than the objective: a proven objective that is worse
than a more accurate one by more than the bound is undecided.
"""

import numpy as np
import pandas as pd

from convexfs.methods import stored_formulation
from convexfs.records import (
    DEFAULT_ACCURACY,
    INFEASIBLE,
    OPTIMAL,
    SKIPPED,
    TIMEOUT,
    UNBOUNDED,
    UNDECIDED,
)

SOLVED, WRONG, FAILED = "solved", "wrong claim", "failed"
#: All outcomes of a task, best first.
OUTCOMES = (SOLVED, UNDECIDED, WRONG, FAILED, TIMEOUT, SKIPPED)
#: Outcomes that are charged their own seconds, because nothing is known against them.
ANSWERED = (SOLVED, UNDECIDED)
#: Residuals up to this multiple of the requested accuracy count as solved.
SLACK = 10.0
#: First word of a certificate's basis if it is of a local method.
LOCAL = "local"
#: Statuses that are false if a problem has a proven optimum.
DENIALS = (INFEASIBLE, UNBOUNDED)
RESIDUALS = ["primal_residual", "dual_residual", "complementarity", "gap"]
#: Bases of gaps that come from comparing objectives with another solver's.
BY_PROOF, BY_BEST = "objective of a proven answer", "best objective known"
#: Differences of objectives are divided by their size, but at least by this: an optimum may be 0.
SMALL_OBJECTIVE = 0.01
#: Objectives of points that violate constraints by more than this refute nothing: infeasible points
#: may be better than the optimum.
FEASIBLE = 1e-9
#: Relative rounding error by which a residual may exceed the accuracy.
ROUNDING = 1e-9
#: A proven objective that is worse than another proven one by this share of its size, or of
#: 1, is wrong. Two right solutions of one problem never differ so much.
FAR = 1e-3


def allowed(frame: pd.DataFrame) -> pd.Series:
    """Return, for each row, the largest residual at which a solution counts as solved."""
    return SLACK * (1 + ROUNDING) * frame["tol"].fillna(DEFAULT_ACCURACY)


def classify_outcomes(frame: pd.DataFrame) -> pd.DataFrame:
    """Add columns error, ok, fooled, objective_error and outcome to `frame`, and return it.

    Its columns ``undecided`` and ``refuted`` have the verdicts of the certificates.
    """
    frame["error"] = frame[RESIDUALS].max(axis=1)
    frame["ok"] = _within(frame)
    far = _far_from_better(frame)
    frame["fooled"] = (far & _proven(frame)).astype("boolean")
    reference = _references(frame[~far], frame)
    # A solution proven to 1e-4 can refute another, but cannot measure an error of 1e-5.
    sure = reference["proven"] & (reference["error"] <= allowed(frame))
    frame["objective_error"] = reference["distance"].where(sure)
    alone = frame["gap"].isna() & frame["basis"].eq("cone program").fillna(False).astype(bool)
    near = (reference["distance"] <= allowed(frame)) & (sure | ~reference["proven"])
    alone = alone & (near | reference["beyond"])
    frame.loc[alone, "gap"] = reference["distance"].fillna(np.inf)
    frame.loc[alone, "basis"] = np.where(reference["proven"], BY_PROOF, BY_BEST)[alone]
    frame["error"] = frame[RESIDUALS].max(axis=1)
    unknown = frame["gap"].isna() | (alone & ~reference["proven"])
    within = _within(frame)
    frame["ok"] = within.mask(unknown & within.fillna(False))
    refuted = (frame["gap"] > allowed(frame)) & ~sure & ~frame["undecided"]
    contested = sure & reference["beyond"] & reference["worse"]
    frame["outcome"] = _outcome(frame, reference["beyond"] | refuted, far, contested)
    return frame


def _within(frame: pd.DataFrame) -> pd.Series:
    return (frame["error"] <= allowed(frame)).astype("boolean").mask(frame["error"].isna())


def _proven(frame: pd.DataFrame) -> pd.Series:
    """Return a mask of the rows with status optimal that their certificates prove."""
    return (frame["status"] == OPTIMAL) & frame["ok"].fillna(False) & frame["gap"].notna()


def _references(candidates: pd.DataFrame, frame: pd.DataFrame) -> pd.DataFrame:
    """Return each row's distance from its problem's reference objective, and if that is proven.

    The reference is the most accurate proven one of the `candidates`, which are rows of `frame`
    without those that a proof contradicts, or, without any, the best one that is feasible to
    FEASIBLE.
    ``beyond`` is an objective farther from it than the bound and the reference's error allow,
    or none at all; ``worse`` one that is not better.
    """
    problem = ["instance", "repeat"]
    claimed = candidates[(candidates["status"] == OPTIMAL) & candidates["ok"].fillna(False)]
    claimed = claimed[claimed["gap"].notna() | (claimed["primal_residual"] <= FEASIBLE)]
    proven = claimed["gap"].notna()
    worse = claimed["objective"].where(_senses(claimed) != "max", -claimed["objective"])
    ranked = claimed.assign(proven=proven, place=claimed["error"].where(proven, worse))
    first = ranked.sort_values(["proven", "place"], ascending=[False, True])
    first = first.drop_duplicates(problem)[[*problem, "objective", "error", "proven"]]
    best = frame[problem].merge(first, on=problem, how="left").set_index(frame.index)
    best["proven"] = best["proven"].eq(True).astype(bool)
    sizes = np.maximum(frame["objective"].abs(), best["objective"].abs().clip(SMALL_OBJECTIVE))
    best["distance"] = (frame["objective"] - best["objective"]).abs() / sizes
    better = (frame["objective"] - best["objective"]) * np.where(_senses(frame) == "max", 1, -1) > 0
    far = best["distance"].fillna(np.inf) > allowed(frame) + best["error"]
    best["worse"] = ~better
    # A point that is better than an unproven reference may be the right one.
    far &= best["proven"] | best["worse"]
    best["beyond"] = far & best["objective"].notna()
    return best


def _far_from_better(frame: pd.DataFrame) -> pd.Series:
    """Return a mask of objectives that are FAR worse than a proven one of the same problem.

    A proven point may violate constraints by its accuracy, and be better than the optimum for
    it: of a proven objective, what its accuracy allows is taken off first.
    """
    least = frame["objective"].where(_senses(frame) != "max", -frame["objective"])
    size = least.abs().clip(lower=1.0)
    sure = (least + allowed(frame) * size).where(_proven(frame))
    best = sure.groupby([frame["instance"], frame["repeat"]]).transform("min")
    return (least - best) / np.maximum(size, best.abs()) > np.maximum(FAR, allowed(frame))


def _senses(frame: pd.DataFrame) -> pd.Series:
    """Return "min" or "max" of each row; where missing, that of the printed formulation."""
    untold = frame.loc[frame["sense"].isna(), "formulation"]
    printed = untold.map(lambda name: stored_formulation(str(name)).equation[:3])
    return frame["sense"].fillna(printed)


def _outcome(
    frame: pd.DataFrame, off: pd.Series, far: pd.Series, contested: pd.Series
) -> pd.Series:
    """Return the outcome of each row: solved, undecided, wrong claim, failed, timeout, skipped.

    `off` are objectives that are not optimal, `far` those that no proof can save, `contested`
    those that another proof beats by more than the accuracy asked for.
    """
    claims = frame["status"] == OPTIMAL
    infeasible = frame["status"] == INFEASIBLE
    denies = frame["status"].isin(DENIALS)
    # A local method only claims stationarity.
    stationary = frame["basis"].str.startswith(LOCAL, na=False) & frame["dual_residual"].notna()
    settled = frame["ok"].fillna(stationary)
    optimal, impossible, endless = (
        _of_anyone(frame, said & settled) for said in (claims, infeasible, denies & ~infeasible)
    )
    # A certificate leaves violations undecided in rows whose terms are all near 0.
    good = ((frame["primal_residual"] <= allowed(frame)) | frame["undecided"]) & ~off
    beyond = claims & ~frame["ok"].fillna(True)
    late = frame["solve_seconds"] > frame["time_limit"]
    chosen = [
        (frame["status"] == SKIPPED, SKIPPED),
        (claims & far | (beyond & ~good), WRONG),
        (denies & (optimal | frame["refuted"]), WRONG),
        (infeasible & endless | denies & ~infeasible & impossible, WRONG),
        ((frame["status"] == TIMEOUT) | late, TIMEOUT),
        ((claims & ~contested | denies) & settled, SOLVED),
        (claims | denies & frame["undecided"], UNDECIDED),
    ]
    cases = [np.asarray(case, dtype=bool) for case, _ in chosen]
    found = np.select(cases, [name for _, name in chosen], FAILED)
    return pd.Series(found, index=frame.index, dtype="string")


def _of_anyone(frame: pd.DataFrame, known: pd.Series) -> pd.Series:
    """Return whether the mask `known` holds for any solver of the task's problem."""
    return known.groupby([frame["instance"], frame["repeat"]]).transform("any")


def unsolved_seconds(frame: pd.DataFrame) -> pd.Series:
    """Return the seconds that each row is charged if unsolved: its limit, or the longest time."""
    return frame["time_limit"].fillna(frame[["solve_seconds", "wall_seconds"]].max(axis=None))


def charged_seconds(frame: pd.DataFrame) -> pd.Series:
    """Return each row's charged seconds: of its solve, the limit if unsolved, NaN if skipped."""
    seconds = frame["solve_seconds"].where(frame["outcome"].isin(ANSWERED), unsolved_seconds(frame))
    return seconds.mask(frame["outcome"] == SKIPPED)
