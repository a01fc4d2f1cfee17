"""Geometric means of seconds and ratios over problems, with confidence intervals.

The shifted geometric mean of seconds t with shift s, ``exp(mean log(t + s)) - s``, is dominated
neither by the longest problem nor by the shortest, whose times are noise. The shift is the same for
all studies unless you pass another. Ratios are also given without a shift.

Repeats of a problem are averaged first. The interval is Student's at CONFIDENCE over the problems:
how far the mean would move with other problems of the same kind. Leads are paired by problem. Fewer
than FEWEST problems give no interval.
"""

import numpy as np
import pandas as pd
from scipy.stats import t as student

from convexfs.errors import check_number
from convexfs.study.outcome_rules import ANSWERED

#: Default shift: seconds added to each time before the logarithm.
USUAL_SHIFT = 1e-3
#: Seconds are raised to at least this, the resolution of the clock.
TICK = 1e-7
CONFIDENCE = 0.99
#: With fewer problems, a mean gets no confidence interval.
FEWEST = 5


def chosen_shift(shift: float | None) -> float:
    """Return the given shift in seconds, or the default if None."""
    if shift is None:
        return USUAL_SHIFT
    check_number("shift, in seconds,", shift, 0)
    return float(shift)


def logs(own: pd.DataFrame, shift: float, column: str = "charged_seconds") -> pd.DataFrame:
    """Return log(seconds + shift) of one solver, one row per instance, one column per repeat."""
    shifted = np.log((own[column] + shift).clip(lower=TICK))
    return shifted.groupby([own["instance"], own["repeat"]]).mean().unstack()


def mean_and_error(values: pd.DataFrame) -> tuple[float, float]:
    """Return the mean over instances and the half-width of its 99 % interval; NaN if too few."""
    own = values.mean(axis=1).dropna()
    if len(own) < FEWEST:
        return own.mean(), np.nan
    width = student.ppf((1 + CONFIDENCE) / 2, len(own) - 1)
    return own.mean(), width * own.std(ddof=1) / np.sqrt(len(own))


def interval(values: pd.DataFrame) -> tuple[float, float, float]:
    """Return lower end, mean and upper end of the 99 % interval over instances."""
    mean, half = mean_and_error(values)
    return mean - half, mean, mean + half


def seconds(own: pd.DataFrame, shift: float) -> dict[str, float]:
    """Return one solver's shifted geometric mean of charged seconds, and its 99 % interval.

    The interval is taken of the logarithm of the mean itself, so that it never reaches 0.
    """
    mean, half = mean_and_error(logs(own, shift))
    middle = float(np.exp(mean) - shift)
    factor = np.exp(half * np.exp(mean) / max(middle, TICK))
    return {"seconds": middle, "seconds_low": middle / factor, "seconds_high": middle * factor}


def times_best(own: pd.DataFrame, shift: float) -> float:
    """Return the geometric mean of the ratio of one solver's seconds to ``best``, both shifted."""
    return float(np.exp(interval(logs(own, shift) - logs(own, shift, "best"))[1]))


def with_best(outcomes: pd.DataFrame) -> pd.DataFrame:
    """Add ``best``: the least seconds of a solver that solved it or is undecided; NaN if none."""
    problem = [outcomes[name] for name in ("settings", "instance", "repeat")]
    answered = outcomes["charged_seconds"].where(outcomes["outcome"].isin(ANSWERED))
    return outcomes.assign(best=answered.groupby(problem).transform("min"))
