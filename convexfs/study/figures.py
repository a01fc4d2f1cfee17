"""Describe the figures of a report once, for the page and for picture files."""

import numpy as np
import pandas as pd

from convexfs.report.figure import Figure, spread
from convexfs.study.outcome_rules import ANSWERED, WRONG
from convexfs.study.summary import accuracy_time, agreement, performance_profile
from convexfs.study.time_to_accuracy import CURVE, reached_within, targets_of, time_to_accuracy

#: In panels of accuracy and time with more points, those that nearly cover others are dropped.
MOST_POINTS = 1500
#: Most points of a step curve.
MOST_STEPS = 300
#: Most samples (rows) and features (columns) of a heat map.
MOST_SAMPLES, MOST_FEATURES = 400, 120
#: Most panels of the figures of selected features and of single samples.
MOST_PANELS = 40
ALL_PROBLEMS = "all problems"
PARTS = {"build_seconds": "build", "compile_seconds": "compile", "solve_seconds": "solve"}
REST = "rest"


def profile(outcomes: pd.DataFrame) -> Figure | None:
    """Return the figure of performance profiles by settings and class; None for one solver.

    None also if nothing is solved.
    """
    frame = performance_profile(outcomes)
    if frame["solver"].nunique() < 2 or not frame["share"].any():
        return None
    return Figure(
        "performance-profile", "Performance profile", "steps",
        _step_curves(frame, "settings", "problem_class"), "ratio", "share",
        "times the fastest", "share of problems solved",
        series="solver", panel="panel", log_x=True,
        note="Higher is better: of the problems a solver takes, at 1 the share it won, at the "
        "right the share it solved at all.",
    )  # fmt: skip


def accuracy(outcomes: pd.DataFrame) -> Figure | None:
    """Return the figure of error against time per instance and solver, wrong ringed; or None."""
    frame = accuracy_time(outcomes)
    # A logarithmic axis cannot show an error of 0 or a time of 0.
    frame = frame.assign(
        error=frame["error"].clip(lower=1e-17),
        solve_seconds=frame["solve_seconds"].clip(lower=1e-7),
    )
    where = ["settings", "instance", "solver"]
    wrong = outcomes.loc[outcomes["outcome"] == WRONG, where].drop_duplicates().assign(wrong=True)
    frame = frame.merge(wrong, on=where, how="left")
    frame["wrong"] = frame["wrong"].notna()
    if frame.empty:
        return None
    drawn = _uncovered(frame)
    left_out = f" {len(drawn):,} of {len(frame):,} points are drawn, the others lie under them."
    return Figure(
        "accuracy-time", "Accuracy and time", "points", drawn, "solve_seconds", "error",
        "seconds of the solve", "largest residual", series="solver",
        panel="settings", log_x=True, log_y=True, hover="instance", mark="wrong",
        mark_label="wrong claim",
        note="Lower left is better: one point for a problem and a solver, median of repeats."
        + (left_out if len(drawn) < len(frame) else ""),
    )  # fmt: skip


def time_to(outcomes: pd.DataFrame) -> Figure | None:
    """Return the figure of the share of problems at a verified accuracy within a time, or None."""
    frame = reached_within(outcomes)
    if frame["solver"].nunique() < 2:
        return None
    accuracy = frame["target"].map("{:.0e}".format)
    targets = ", ".join(f"{target:.0e}" for target in targets_of(outcomes))
    frame = frame.assign(target=accuracy, seconds=frame["seconds"].clip(lower=1e-7))
    return Figure(
        "time-to-accuracy", "Problems at a verified accuracy", "steps",
        _step_curves(frame, "target", "problem_class"), "seconds", "share",
        "seconds of the solve", "share of its problems there",
        series="solver", panel="panel", log_x=True,
        note="Higher and further left is better: the quickest run of a solver whose answer was "
        f"verified to {targets}, at any of its settings.",
    )  # fmt: skip


def cost_of_accuracy(outcomes: pd.DataFrame, shift: float | None = None) -> Figure | None:
    """Return the figure of mean seconds to each accuracy (the limit if missed), or None."""
    frame = time_to_accuracy(outcomes, shift, CURVE)
    if frame["solver"].nunique() < 2 or outcomes["settings"].nunique() < 2:
        return None
    drawn = frame[frame["reached"] > 0]
    return Figure(
        "cost-of-accuracy", "What accuracy costs", "lines", drawn.sort_values("target"),
        "target", "seconds", "verified accuracy", "seconds, shifted geometric mean",
        series="solver", panel="problem_class", log_x=True, log_y=True,
        note="Lower is better. Where some of its problems did not get there, the time limit is "
        "charged for them; a line ends where none did.",
    )  # fmt: skip


def time_split(outcomes: pd.DataFrame) -> Figure | None:
    """Return the figure of mean seconds a task: build, compile, solve, rest; or None.

    Only solved and undecided tasks count.
    """
    timed = outcomes[outcomes["outcome"].isin(ANSWERED) & outcomes["wall_seconds"].notna()]
    if timed.empty:
        return None
    parts = timed[list(PARTS)].fillna(0.0).rename(columns=PARTS)
    parts[REST] = (timed["wall_seconds"] - parts.sum(axis=1)).clip(lower=0.0)
    parts[["problem", "solver"]] = timed[["problem", "solver"]]
    if parts["problem"].nunique() > 1:
        parts = pd.concat([parts.assign(problem=ALL_PROBLEMS), parts])
    means = parts.groupby(["problem", "solver"], sort=False).mean().reset_index()
    long = means.melt(["problem", "solver"], var_name="part", value_name="seconds")
    return Figure(
        "time-split", "Where the time goes", "bars", long, "seconds", "solver",
        "mean seconds a solved task", "", series="part", panel="problem",
        note="The rest is preparing the data and verifying the solution. Solvers that took other "
        "problems are compared best within one problem.",
    )  # fmt: skip


def convergence(outcomes: pd.DataFrame, solutions: pd.DataFrame) -> Figure | None:
    """Return the figure of the weights' relative change per iteration of first repeats, or None."""
    told = outcomes.loc[outcomes["repeat"] == 0, ["key", "instance", "solver"]]
    steps = solutions[solutions["change"].notna()].merge(told, on="key")
    if steps.empty:
        return None
    return Figure(
        "convergence", "Convergence", "lines", steps, "step", "change", "iteration",
        "relative change of the weights", series="solver", panel="instance", log_y=True,
        note="One line a solver, one point an iteration of the method.",
    )  # fmt: skip


def feature_agreement(selected: pd.DataFrame) -> Figure | None:
    """Return the heat map of how much two solvers' selected features overlap, or None."""
    frame = agreement(selected)
    if frame["solver"].nunique() < 2:
        return None
    return Figure(
        "feature-agreement", "Agreement on features", "heat", frame, "other", "solver", "", "",
        panel="settings", value="jaccard", value_label="Jaccard index",
        note="Mean share of features two solvers have in common where both solved the problem; "
        "1: the same features everywhere.",
    )  # fmt: skip


def selected_features(selected: pd.DataFrame) -> Figure | None:
    """Return heat maps of features by solver, for 40 instances with most differences; or None."""
    solved = selected[selected["outcome"].isin(ANSWERED)]
    many = solved.groupby("instance")["solver"].transform("nunique") > 1
    solved = solved[many]
    if solved.empty:
        return None
    disagreed = solved.groupby("instance")["features"].nunique().sort_values(ascending=False)
    parts = [_shares(solved[solved["instance"] == name]) for name in disagreed.index[:MOST_PANELS]]
    return Figure(
        "selected-features", "Selected features", "heat", pd.concat(parts, ignore_index=True),
        "feature", "solver", "feature, from 1", "", panel="instance", value="share",
        value_label="share of answers",
        note="Features at least one solver selects; problems with the most differences first.",
    )  # fmt: skip


def _shares(solved: pd.DataFrame) -> pd.DataFrame:
    """Return each solver's fraction of solutions that select a feature, for the most selected."""
    answers = solved.groupby("solver").size()
    long = solved[["instance", "solver", "features"]].explode("features").dropna()
    counts = long.groupby(["solver", "features"]).size()
    often = counts.groupby("features").sum().nlargest(MOST_FEATURES).index
    table = counts.unstack(fill_value=0).reindex(index=answers.index, fill_value=0)
    table = table[sorted(often)].div(answers, axis=0)
    table.columns = [str(feature + 1) for feature in sorted(often)]
    long = table.rename_axis(columns="feature").stack().reset_index().rename(columns={0: "share"})
    return long.assign(instance=solved["instance"].iloc[0])


def local_features(points: pd.DataFrame) -> Figure | None:
    """Return the heat map of which sample selects which feature in an LLFS fit, or None.

    At most MOST_SAMPLES samples, evenly spaced, and the MOST_FEATURES most selected are drawn.

    `points` has ``point`` and ``features``, a tuple of positions.
    """
    if points.empty:
        return None
    long = points[["point", "features"]].explode("features").dropna()
    often = long["features"].value_counts().nlargest(MOST_FEATURES).index.sort_values()
    shown = spread(points["point"].sort_values().to_numpy(), MOST_SAMPLES)
    chosen = pd.crosstab(long["point"], long["features"]).reindex(
        index=shown, columns=often, fill_value=0
    )
    chosen.columns = [str(feature + 1) for feature in often]
    chosen = chosen.rename_axis(index="sample", columns="feature")
    frame = chosen.stack().reset_index().rename(columns={0: "chosen"})
    return Figure(
        "local-features", "Local features", "heat", frame.astype({"sample": str}),
        "feature", "sample", "feature, from 1", "sample, from 0", value="chosen",
        value_label="selected",
        note=f"{len(shown)} of {len(points)} samples, {len(often)} features selected most.",
    )  # fmt: skip


def pareto(betas: pd.DataFrame) -> Figure | None:
    """Return the figure of U1 against U2 along beta, relaxed and rounded, of 40 samples; or None.

    `betas` has the columns of LLFS's ``points_``, and ``point``.
    """
    if betas.empty:
        return None
    some = _some_samples(betas)
    rounded = some[np.isfinite(some["rounded_u1"])]
    rounded = rounded.assign(u1=rounded["rounded_u1"], u2=rounded["level"], what="rounded")
    return Figure(
        "pareto", "What separation costs", "lines",
        pd.concat([some.assign(what="relaxed"), rounded], ignore_index=True), "u2", "u1",
        "U2, separation", "U1, compactness", series="what", panel="sample",
        note="Relaxed local optima of one sample, one for each beta, and the sets they round to, "
        "each at the level of U2 it had to keep.",
    )  # fmt: skip


def along_beta(betas: pd.DataFrame) -> Figure | None:
    """Return the figure of relaxed optima's residuals against beta, of 40 samples; or None."""
    some = _some_samples(betas) if len(betas) else betas
    # A closed-form solution has residual 0, which a logarithmic axis cannot show.
    solved = some[some["residual"] > 0] if len(some) else some
    if solved.empty:
        return None
    return Figure(
        "convergence-along-beta", "Convergence", "lines", solved, "beta", "residual", "beta",
        "residual", series="status", panel="sample", log_y=True,
        note="How well the relaxed optimum of a sample was solved at each beta, by what is known "
        "of it.",
    )  # fmt: skip


def _some_samples(betas: pd.DataFrame) -> pd.DataFrame:
    kept = betas[betas["point"].isin(spread(np.unique(betas["point"]), MOST_PANELS))]
    return kept.assign(sample="sample " + kept["point"].astype(str))


def _step_curves(frame: pd.DataFrame, *panels: str) -> pd.DataFrame:
    """Return at most MOST_STEPS points of each solver's curve, with a column ``panel``.

    It is labelled by those of the columns `panels` that vary, or by the first.
    """
    varied = [name for name in panels if frame[name].nunique() > 1] or list(panels[:1])
    labelled = frame.assign(panel=frame[varied].astype(str).agg(", ".join, axis=1))
    groups = labelled.groupby(["panel", "solver"], sort=False)
    parts = [group.iloc[spread(np.arange(len(group)), MOST_STEPS)] for _, group in groups]
    return pd.concat(parts, ignore_index=True)


def _uncovered(frame: pd.DataFrame) -> pd.DataFrame:
    """Drop points near another of the same solver until each panel has at most MOST_POINTS.

    The coarsest grid has one cell per factor of ten; panels may keep more points on it.
    """
    kept, fineness = frame, 20
    while kept["settings"].value_counts().max() > MOST_POINTS and fineness:
        cells = (frame[["solve_seconds", "error"]].apply(np.log10) * fineness).round()
        cells[["settings", "solver", "wrong"]] = frame[["settings", "solver", "wrong"]]
        kept, fineness = frame[~cells.duplicated()], fineness - 1
    return kept.reset_index(drop=True)
