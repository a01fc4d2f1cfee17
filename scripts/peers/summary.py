"""What the page says first: one size at a glance, and who is faster within a family."""

from collections.abc import Iterable
from statistics import mean, median
from typing import Any

from peers.contenders import CONTENDERS, OWN
from peers.rows import Rows, by_cell, table
from peers.worlds import FIXED_FEATURES, FIXED_SAMPLES, SIGNALS


def in_short(rows: Rows) -> str:
    """That part of the page."""
    return "\n".join(part for part in (_glance(rows), _families(rows)) if part)


def _glance(rows: Rows) -> str:
    """Share found of every signal, and time, where features and samples are those held fixed."""
    cells = {signal: _cell(rows, signal) for signal in SIGNALS}
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
    text = (
        f"Planted features found at {FIXED_SAMPLES} samples x {FIXED_FEATURES} features, the mean "
        "of the draws, and processor seconds. Ours in bold."
    )
    return f"\n## In short\n\n{text}\n\n{table(['contender', *SIGNALS, 'time'], lines)}\n"


def _cell(rows: Rows, signal: str) -> dict[str, dict[str, Any]]:
    return by_cell(rows).get(f"{signal} {FIXED_SAMPLES} x {FIXED_FEATURES}", {})


def _marked(name: str) -> str:
    return f"**{name}**" if CONTENDERS[name].environment == OWN else name


def _families(rows: Rows) -> str:
    lines = []
    for own, who in CONTENDERS.items():
        for peer, other in CONTENDERS.items():
            if who.environment == OWN and other.environment != OWN and who.family == other.family:
                lines += _against(rows, own, peer)
    if not lines:
        return ""
    text = (
        "Against others of its family, over the cells that both answered: the median of the "
        "other's time over ours (above 1 we are faster), the mean share found, and the mean "
        "nested error of 5-NN on real data."
    )
    head = ["ours", "other", "cells", "its time over ours", "found: ours, its", "error: ours, its"]
    return f"{text}\n\n{table(head, lines)}\n"


def _against(rows: Rows, own: str, peer: str) -> list[list[str]]:
    cells = [(cell.get(own), cell.get(peer)) for cell in by_cell(rows).values()]
    both = [(a, b) for a, b in cells if a and b and a["seconds"] and b["seconds"]]
    if not both:
        return []
    ratio = median(float(b["seconds"]) / max(float(a["seconds"]), 1e-4) for a, b in both)
    found, errors = (_means(both, what) for what in ("found", "5-NN"))
    times = f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.2g}"
    return [[own, peer, str(len(both)), times, found, errors]]


def _means(both: Iterable[tuple[dict, dict]], what: str) -> str:
    known = [(float(a[what]), float(b[what])) for a, b in both if a[what] and b[what]]
    if not known:
        return ""
    return ", ".join(f"{mean(side):.0%}" for side in zip(*known, strict=True))
