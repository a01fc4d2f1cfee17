"""The short part of the page: one size for all, and pairs of one family, on common draws."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import mean, median
from typing import Any

from peers.contenders import CONTENDERS, OWN
from peers.rows import Rows, by_cell, common_draws, table
from peers.worlds import FIXED_FEATURES, FIXED_SAMPLES, SIGNALS

#: Draws of each signal that a contender must have answered to be compared at the fixed size.
LEAST_DRAWS = 3
#: Differences from which another is named as better: factor, share found, error.
FASTER, MORE_FOUND, FEWER_ERRORS = 1.5, 0.02, 0.01


def in_short(rows: Rows) -> str:
    """Return that part of the page, from the rows of all draws."""
    return "\n".join(part for part in (_glance(rows), _families(rows)) if part)


def _glance(rows: Rows) -> str:
    """Return found shares and time at the fixed size, over draws that all contenders answered.

    A contender that answered fewer than `LEAST_DRAWS` draws of some signal is named instead.
    """
    fixed = {"n": str(FIXED_SAMPLES), "p": str(FIXED_FEATURES)}
    here = [row for row in rows if all(str(row[at]) == size for at, size in fixed.items())]
    counts = Counter((row["contender"], row["signal"]) for row in here if row["seconds"])
    tried = {row["contender"] for row in here}
    names = [
        name for name in tried if min(counts[name, signal] for signal in SIGNALS) >= LEAST_DRAWS
    ]
    means = common_draws(here, names)
    cells = {signal: _cell(means, signal) for signal in SIGNALS}
    lines = []
    for name in CONTENDERS:
        own = [cells[signal].get(name) for signal in SIGNALS]
        measured = [row for row in own if row and row["seconds"]]
        if measured:
            shares = [f"{float(row['found']):.0%}" if row and row["found"] else "" for row in own]
            seconds = mean(float(row["seconds"]) for row in measured)
            lines.append([_marked(name), *shares, f"{seconds:.2g} s"])
    if not lines:
        return ""
    draws = "; ".join(
        f"{signal}: n = {row['draw']}"
        for signal, cell in cells.items()
        for row in [*cell.values()][:1]
    )
    text = (
        f"Planted features found at {FIXED_SAMPLES} samples x {FIXED_FEATURES} features, and "
        "processor seconds: means over the draws that all of these contenders answered in time "
        f"({draws}). Ours in bold."
    )
    others = [name for name in CONTENDERS if name in tried and name not in names]
    if others:
        text += f" Over the time limit in too many draws to be compared: {', '.join(others)}."
    return f"\n## In short\n\n{text}\n\n{table(['contender', *SIGNALS, 'time'], lines)}\n"


def _cell(rows: Rows, signal: str) -> dict[str, dict[str, Any]]:
    return by_cell(rows).get(f"{signal} {FIXED_SAMPLES} x {FIXED_FEATURES}", {})


def _marked(name: str) -> str:
    return f"**{name}**" if CONTENDERS[name].environment == OWN else name


@dataclass(frozen=True)
class Pair:
    """One of ours and another of its family, over the draws that both answered."""

    own: str
    peer: str
    draws: int
    ratio: float
    found: tuple[float, float] | None
    errors: tuple[float, float] | None


def pairs(rows: Rows) -> list[Pair]:
    """Return all pairs of one family that have common draws."""
    made = [
        _pair(rows, own, peer)
        for own, who in CONTENDERS.items()
        for peer, other in CONTENDERS.items()
        if who.environment == OWN and other.environment != OWN and who.family == other.family
    ]
    return [pair for pair in made if pair is not None]


def losses_first(rows: Rows) -> str:
    """Return a list of those who are faster, find more or err less than ours, by how much."""
    lines = []
    for own in dict.fromkeys(pair.own for pair in pairs(rows)):
        here = [pair for pair in pairs(rows) if pair.own == own]
        said = [
            f"{pair.peer} is {1 / pair.ratio:.2g} times as fast"
            for pair in here
            if pair.ratio * FASTER < 1
        ]
        said += [
            f"{pair.peer} finds {pair.found[1]:.0%} of the planted features, ours "
            f"{pair.found[0]:.0%}"
            for pair in here
            if pair.found and pair.found[1] - pair.found[0] > MORE_FOUND
        ]
        said += [
            f"{pair.peer} errs in {pair.errors[1]:.1%} of held-out samples, ours in "
            f"{pair.errors[0]:.1%}"
            for pair in here
            if pair.errors and pair.errors[0] - pair.errors[1] > FEWER_ERRORS
        ]
        if said:
            lines.append(f"- **{own}**: {'; '.join(said)}.")
    return "\n".join(lines) or "- in no pair of one family, beyond the thresholds below."


def _families(rows: Rows) -> str:
    lines = [
        [pair.own, pair.peer, str(pair.draws),
         f"{pair.ratio:.0f}" if pair.ratio >= 10 else f"{pair.ratio:.2g}",
         _both(pair.found), _both(pair.errors)]
        for pair in pairs(rows)
    ]  # fmt: skip
    if not lines:
        return ""
    text = (
        "Pairs of one family, over the n draws of signals and sizes (and real sets) that both "
        "answered: the median over cells of the other's time divided by ours (above 1 we are "
        "faster), the mean share found, and the mean nested error of 5-NN on real data."
    )
    head = ["ours", "other", "n", "its time over ours", "found: ours, its", "error: ours, its"]
    return f"{text}\n\n{table(head, lines)}\n"


def _pair(rows: Rows, own: str, peer: str) -> Pair | None:
    cells = by_cell(common_draws(rows, (own, peer))).values()
    both = [(cell[own], cell[peer]) for cell in cells]
    if not both:
        return None
    ratio = median(float(b["seconds"]) / max(float(a["seconds"]), 1e-4) for a, b in both)
    draws = sum(1 if a["set"] else int(a["draw"]) for a, _ in both)
    return Pair(own, peer, draws, ratio, _means(both, "found"), _means(both, "5-NN"))


def _means(both: Iterable[tuple[dict, dict]], what: str) -> tuple[float, float] | None:
    known = [(float(a[what]), float(b[what])) for a, b in both if a[what] and b[what]]
    if not known:
        return None
    return mean(ours for ours, _ in known), mean(its for _, its in known)


def _both(shares: tuple[float, float] | None) -> str:
    return "" if shares is None else ", ".join(f"{share:.0%}" for share in shares)
