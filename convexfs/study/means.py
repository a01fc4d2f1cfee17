"""Means of seconds and ratios over problems, with intervals over problems.

The shifted geometric mean of seconds t with shift s,

    exp(mean log(t + s)) - s,

is not ruled by the longest problem, nor by the shortest, whose times are noise. The shift is
the same for all studies unless another is asked for; ratios without a shift stand beside.

Repeats of a problem are averaged first. The interval is Student's at CONFIDENCE over the
problems: how far the mean would move with other problems of the same kind. Leads are paired by
problem. Fewer than FEWEST problems give no interval.
"""

import numpy as np
from scipy.stats import t as student

from convexfs.errors import check_number
from convexfs.study.outcome_rules import ANSWERED, Frame

#: Seconds added before the logarithm, unless another shift is asked for.
USUAL_SHIFT = 1e-3
#: Times below are those of a clock too coarse for them.
TICK = 1e-7
CONFIDENCE = 0.99
#: Of fewer problems an interval says nothing.
FEWEST = 5


def chosen_shift(shift: float | None) -> float:
    """Return the shift that is asked for, or else the usual one."""
    if shift is None:
        return USUAL_SHIFT
    check_number("shift, in seconds,", shift, 0)
    return float(shift)


def logs(own: Frame, shift: float, column: str = "charged_seconds") -> Frame:
    """Return logarithms of shifted seconds of one solver, instances by repeats."""
    shifted = np.log((own[column] + shift).clip(lower=TICK))
    return shifted.groupby([own["instance"], own["repeat"]]).mean().unstack()


def mean_and_error(values: Frame) -> tuple[float, float]:
    """Return the mean over instances and the half width of its interval, NaN of too few."""
    own = values.mean(axis=1).dropna()
    if len(own) < FEWEST:
        return own.mean(), np.nan
    width = student.ppf((1 + CONFIDENCE) / 2, len(own) - 1)
    return own.mean(), width * own.std(ddof=1) / np.sqrt(len(own))


def interval(values: Frame) -> tuple[float, float, float]:
    """Return low end, mean and high end over instances."""
    mean, half = mean_and_error(values)
    return mean - half, mean, mean + half


def seconds(own: Frame, shift: float) -> dict[str, float]:
    """Return the mean of the seconds charged to one solver, with its interval.

    The interval is taken of the logarithm of the mean itself, so that it never reaches 0.
    """
    mean, half = mean_and_error(logs(own, shift))
    middle = float(np.exp(mean) - shift)
    factor = np.exp(half * np.exp(mean) / max(middle, TICK))
    return {"seconds": middle, "seconds_low": middle / factor, "seconds_high": middle * factor}


def times_best(own: Frame, shift: float) -> float:
    """Return how many times as long as ``best``, a column, one solver takes in the mean."""
    return float(np.exp(interval(logs(own, shift) - logs(own, shift, "best"))[1]))


def with_best(outcomes: Frame) -> Frame:
    """Add ``best``, the least seconds of an answer to the same problem; NaN if there is none."""
    problem = [outcomes[name] for name in ("settings", "instance", "repeat")]
    answered = outcomes["charged_seconds"].where(outcomes["outcome"].isin(ANSWERED))
    return outcomes.assign(best=answered.groupby(problem).transform("min"))
