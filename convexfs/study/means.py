"""Means of seconds and ratios over problems, with intervals over repeats.

The shifted geometric mean of seconds t with shift s,

    exp(mean log(t + s)) - s,

is not ruled by the longest problem, nor by the shortest, whose times are noise. A shift far
above the times that are compared hides their ratios, one far below lets the noise of the
shortest rule: :func:`time_shift` takes it from the data. Ratios without a shift stand beside.

One mean is taken per repeat, and the interval over repeats is Student's at CONFIDENCE: what
slowed the machine during one repeat counts once, not once for every problem. Leads are
paired by repeat for the same reason. Fewer than three repeats give no interval.
"""

import numpy as np
from scipy.stats import t as student

from convexfs.errors import check_number
from convexfs.study.outcome_rules import ANSWERED, Frame

#: Seconds added before the logarithm where nothing was solved that could tell.
USUAL_SHIFT = 0.01
#: The shift is at most what this share of the solved tasks took less than.
SHORTEST = 0.25
#: Times below are those of a clock too coarse for them.
TICK = 1e-7
CONFIDENCE = 0.99
#: Of two repeats an interval is so wide that it says nothing.
FEWEST_REPEATS = 3


def time_shift(outcomes: Frame) -> float:
    """Return the power of ten of seconds that a quarter of the solved tasks are below, at most."""
    solved = outcomes.loc[outcomes["outcome"].isin(ANSWERED), "charged_seconds"].dropna()
    if solved.empty:
        return USUAL_SHIFT
    quarter = max(float(solved.quantile(SHORTEST)), TICK)
    return float(f"1e{int(np.floor(np.log10(quarter)))}")


def chosen_shift(outcomes: Frame, shift: float | None) -> float:
    """Return the shift that is asked for, or else that of the data."""
    if shift is None:
        return time_shift(outcomes)
    check_number("shift, in seconds,", shift, 0)
    return float(shift)


def logs(own: Frame, shift: float, column: str = "charged_seconds") -> Frame:
    """Return logarithms of shifted seconds of one solver, instances by repeats."""
    shifted = np.log((own[column] + shift).clip(lower=TICK))
    return shifted.groupby([own["instance"], own["repeat"]]).mean().unstack()


def interval(values: Frame) -> tuple[float, float, float]:
    """Return low end, mean and high end over repeats; an incomplete repeat has no say."""
    mean, repeats = values.mean(axis=1).mean(), values.dropna(axis=1).mean()
    if len(repeats) < FEWEST_REPEATS:
        return np.nan, mean, np.nan
    width = student.ppf((1 + CONFIDENCE) / 2, len(repeats) - 1)
    half = width * repeats.std(ddof=1) / np.sqrt(len(repeats))
    return mean - half, mean, mean + half


def seconds(own: Frame, shift: float) -> dict[str, float]:
    """Return the mean of the seconds charged to one solver, with its interval."""
    low, middle, high = (np.exp(end) - shift for end in interval(logs(own, shift)))
    return {"seconds": middle, "seconds_low": np.maximum(low, 0.0), "seconds_high": high}


def times_best(own: Frame, shift: float) -> float:
    """Return how many times as long as ``best``, a column, one solver takes in the mean."""
    return float(np.exp(interval(logs(own, shift) - logs(own, shift, "best"))[1]))


def with_best(outcomes: Frame) -> Frame:
    """Add ``best``, the least seconds of an answer to the same problem; NaN if there is none."""
    problem = [outcomes[name] for name in ("settings", "instance", "repeat")]
    answered = outcomes["charged_seconds"].where(outcomes["outcome"].isin(ANSWERED))
    return outcomes.assign(best=answered.groupby(problem).transform("min"))
