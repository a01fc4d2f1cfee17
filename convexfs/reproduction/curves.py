"""What a paper reads off the mean curves of its runs."""

from collections.abc import Iterable

from convexfs.study.outcome_rules import Frame


def least_of_means(runs: Frame, measures: Iterable[str]) -> Frame:
    """Return, of each curve, the numbers of all runs at the place of its least mean over runs.

    So the papers choose, by test errors. The measure is called ``least`` and the curve's name;
    what is no curve has nothing to choose and is left out.
    """
    curves = runs[runs["measure"].isin(list(measures))]
    means = curves.groupby(["data", "method", "measure", "position"], sort=False)["value"].mean()
    best = means.reset_index().sort_values("value", kind="stable")
    several = best.duplicated(["data", "method", "measure"], keep=False)
    best = best[several].drop_duplicates(["data", "method", "measure"]).drop(columns="value")
    chosen = curves.merge(best, on=["data", "method", "measure", "position"])
    return chosen.assign(measure="least " + chosen["measure"], position=0)
