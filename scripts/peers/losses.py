"""Where others are better than convexfs, cell by cell."""

from collections import defaultdict
from typing import Any

from peers.contenders import CONTENDERS, OWN
from peers.rows import RESOLVED, Rows, by_cell, common_draws, end, mean_of_draws, table

#: A time is called longer, memory larger, a share larger, an error smaller from here on.
FASTER, LEANER, MORE_FOUND, FEWER_ERRORS = 1.5, 1.5, 0.1, 0.02
#: Shorter times than this are equal: nobody notices them.
NOTICED = 0.05
ROUNDING = 1e-9
#: What another can be better at. Cost is compared within a family of methods.
AS_GOOD, WORSE, LEAN, FOUND, ERRED, ALONE = WAYS = (
    "faster, no worse", "faster, worse", "leaner", "found more", "erred less", "answered alone",
)  # fmt: skip

#: Why, where it is known; what was tried against it is in the text.
REASONS = {
    "convexfs Relief": (
        "skrebate divides columns by their range, which favours columns with short tails, as those "
        "of the xor signal are. Given columns scaled so, ours finds what it finds: see *by range*."
    ),
    "convexfs Logo": (
        "The l1 methods fit one linear model, at a cost in proportion to samples times features. "
        "Logo looks at every pair of samples, so that its cost has the square of the samples in "
        "it; that is the cost of the xor and local signals, of which a linear model finds none "
        "or some."
    ),
    "convexfs KnockoffSelector": (
        "By default it refuses fewer than two samples a feature, where an estimated covariance was "
        "seen to mislead; here it's told to go on (`force=True`), as the others do without a word. "
        "What comes of that is counted above."
    ),
    "convexfs LLFS": (
        "It solves a problem for each sample, over all features, so that its cost has the square "
        "of the samples in it."
    ),
}


def losses(rows: Rows) -> dict[tuple[str, str], dict[str, list[str]]]:
    """For each of ours and each peer, in which cells the peer was better at what."""
    found = {}
    for own, who in CONTENDERS.items():
        for peer, other in CONTENDERS.items():
            if who.environment == OWN and other.environment != OWN:
                better = _better(_pairs(rows, own, peer), who.family == other.family)
                if better:
                    found[own, peer] = better
    return found


def _pairs(rows: Rows, own: str, peer: str) -> list[tuple[str, dict, dict]]:
    """Return both rows of every cell: means over common draws, or of all draws without any."""
    cells = by_cell(mean_of_draws(rows))
    for name, both in by_cell(common_draws(rows, (own, peer))).items():
        cells[name] = cells[name] | both
    return [(name, c[own], c[peer]) for name, c in cells.items() if own in c and peer in c]


def _better(pairs: list[tuple[str, dict, dict]], same_family: bool) -> dict[str, list[str]]:
    better: dict[str, list[str]] = defaultdict(list)
    for name, own, peer in pairs:
        if not peer["seconds"]:
            continue
        if not own["seconds"]:
            better[ALONE].append(name)
            continue
        if same_family and _slower(own, peer):
            better[WORSE if _found_more(peer, own) or _errs_less(peer, own) else AS_GOOD] += [name]
        if same_family and _larger(own, peer):
            better[LEAN].append(name)
        if _found_more(own, peer):
            better[FOUND].append(name)
        if _errs_less(own, peer):
            better[ERRED].append(name)
    return dict(better)


def _slower(own: dict[str, Any], peer: dict[str, Any]) -> bool:
    seconds = float(own["seconds"])
    return seconds > NOTICED and seconds > FASTER * float(peer["seconds"])


def _larger(own: dict[str, Any], peer: dict[str, Any]) -> bool:
    least = LEANER * max(float(peer["memory"] or 0), RESOLVED)
    return float(own["memory"] or 0) > least


def _found_more(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether the other found clearly more than the one."""
    if not other["found"]:
        return False
    return float(other["found"]) - float(one["found"]) > MORE_FOUND + ROUNDING


def _errs_less(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether the other errs clearly less than the one, with either classifier."""
    return any(
        other[model] and float(one[model]) - float(other[model]) > FEWER_ERRORS + ROUNDING
        for model in ("5-NN", "SVM")
    )


def losses_part(rows: Rows) -> str:
    """That part of the page."""
    text = (
        f"*Faster* and *leaner*: by a factor above {FASTER:g} where the time can be noticed "
        f"({NOTICED:g} s) and the memory resolved (1 MB), within a family of methods. *Found "
        f"more*: by over {MORE_FOUND:.0%} of the planted; *erred less*: by over "
        f"{FEWER_ERRORS:.0%} of the samples, with either classifier, whatever the family. *No "
        "worse*: the other neither found less nor erred more by as much. These are counted over "
        "cells that both answered; where only the other did, it *answered alone*. Who is not "
        "listed was not better in any cell that was measured."
    )
    found = losses(rows)
    names = [name for name, who in CONTENDERS.items() if who.environment == OWN]
    parts = [_of_one(rows, name, found) for name in names]
    return f"\n## Where others are better\n\n{text}\n\n" + "\n".join(part for part in parts if part)


def _of_one(rows: Rows, own: str, found: dict[tuple[str, str], dict[str, list[str]]]) -> str:
    lines = []
    for peer in CONTENDERS:
        better = found.get((own, peer))
        if better:
            pairs = _pairs(rows, own, peer)
            both = sum(bool(mine["seconds"] and theirs["seconds"]) for _, mine, theirs in pairs)
            family = CONTENDERS[own].family == CONTENDERS[peer].family
            counted = [str(len(better.get(way, ()))) for way in WAYS]
            if not family:
                counted[:3] = [""] * 3
            lines.append([peer, str(both), *counted])
    if not lines:
        return ""
    parts = [f"### {own}", table(["better", "both answered", *WAYS], lines)]
    parts += [REASONS[own]] if own in REASONS else []
    named = _named(rows, own, {peer: better for (who, peer), better in found.items() if who == own})
    parts += ["\n".join(f"- {line}" for line in named)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _named(rows: Rows, own: str, better: dict[str, dict[str, list[str]]]) -> list[str]:
    """Return every cell in which another was better: who was best, and by how much."""
    said = []
    pairs = {peer: {name: pair for name, *pair in _pairs(rows, own, peer)} for peer in better}
    for cell in by_cell(mean_of_draws(rows)):
        ways = {way: [p for p, b in better.items() if cell in b.get(way, ())] for way in WAYS}
        told = [
            _said({peer: pairs[peer][cell] for peer in peers}, way)
            for way, peers in ways.items()
            if peers
        ]
        if told:
            said.append(f"{cell}: {'; '.join(told)}")
    return said


def _said(pairs: dict[str, list[dict[str, Any]]], way: str) -> str:
    """Say who was best in a cell; `pairs` has our row and the other's, by the other's name."""
    if way == ALONE:
        mine = next(iter(pairs.values()))[0]
        return f"ours {end(mine)}, {len(pairs)} others answered"
    measure = {AS_GOOD: "seconds", WORSE: "seconds", LEAN: "memory"}.get(way)
    if measure:
        best = min(pairs, key=lambda peer: float(pairs[peer][1][measure]))
        mine, theirs = pairs[best]
        ratio = float(mine[measure]) / max(float(theirs[measure]), 1e-4)
        return f"{way} by {best}" + (f" ({ratio:.1f} times)" if measure == "seconds" else "")
    if way == FOUND:
        best = max(pairs, key=lambda peer: float(pairs[peer][1]["found"]))
        mine, theirs = pairs[best]
        return f"{best} found {float(theirs['found']):.0%}, ours {float(mine['found']):.0%}"
    best = min(pairs, key=lambda peer: float(pairs[peer][1]["5-NN"]) + float(pairs[peer][1]["SVM"]))
    mine, theirs = pairs[best]
    errors = [" / ".join(f"{float(r[m]):.1%}" for m in ("5-NN", "SVM")) for r in (theirs, mine)]
    return f"{best} erred {errors[0]}, ours {errors[1]}"
