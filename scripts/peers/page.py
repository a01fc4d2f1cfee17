"""The page of the comparison: tables, fitted growth, and where others are better."""

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from peers.contenders import CONTENDERS, OWN

Rows = list[dict[str, Any]]
OVER, NOT_TRIED, NOT_RUN = "over the limit", "not tried", "not run"
#: How a cell can end, as the page counts it; the first has a result.
ENDS = ("measured", "refused", "failed", OVER, NOT_TRIED, "did not start", NOT_RUN)
#: A time is called longer, memory larger, a share larger, an error smaller from here on.
FASTER, LEANER, MORE_FOUND, FEWER_ERRORS = 1.5, 1.5, 0.1, 0.02
#: Shorter times than this are equal: nobody notices them. Less memory than that isn't resolved.
NOTICED, RESOLVED = 0.05, 2**20
ROUNDING = 1e-9

HEAD = """# Side by side with other packages

What a user would pick instead, on the same samples: processor seconds of one run, memory beyond \
what the process held before, and what was found. All are given the same standardised columns. \
One run each, one process, one thread; standardising, loading and compiling are not counted. \
Memory under 1 MB isn't resolved and is shown as such. Written by `scripts/bench_peers.py`, which \
runs it all again; every cell is in [peers.csv](peers.csv).

Signals are planted and columns shuffled: *linear* (ten features shift with the class), *xor* (the \
signs of two make the class, and neither alone tells anything), *local* (one feature tells two \
regions, in each of which three others matter). Found is the share of planted features among as \
many best-ranked ones. One draw of the data stands for each cell, so that small differences of \
this share mean nothing.
"""


def write(rows: Rows, folder: Path, results: Path) -> None:
    """Write the page, its picture and its numbers into the guide."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "peers.csv").write_text(results.read_text())
    parts = [HEAD, _told(rows), _ended(rows), *_signals(rows), _growth(rows), _real(rows)]
    parts += [_losses(rows), _versions(rows)]
    (folder / "peers.md").write_text("\n".join(part for part in parts if part))
    _draw(rows, folder / "pictures/peers.png")


def _planted(rows: Rows) -> Rows:
    return [row for row in rows if row["signal"]]


def _seconds(row: dict[str, Any]) -> str:
    return f"{float(row['seconds']):.2g} s"


def _table(head: Iterable[str], lines: Iterable[Iterable[str]]) -> str:
    head = [*head]
    marks = ["---"] * len(head)
    return "\n".join("| " + " | ".join(line) + " |" for line in (head, marks, *map(list, lines)))


def _told(rows: Rows) -> str:
    """What was set by us, for each contender that was run."""
    run = {row["contender"] for row in rows}
    lines = [[name, who.told()] for name, who in CONTENDERS.items() if name in run]
    text = (
        "What we told each; all else is its package's default, and nothing was tuned. The prices "
        "of the l1 methods (C = 1, alpha = 1 / samples) are one and the same price, chosen by us. "
        "Those told the *number sought* know how many features are planted, which the others do "
        "not; on real data it is 50, the most that is tried."
    )
    return f"\n## Settings\n\n{text}\n\n{_table(['contender', 'told'], lines)}\n"


def end(row: dict[str, Any] | None) -> str:
    """How a cell ended, in one of the words of `ENDS`."""
    if row is None:
        return NOT_RUN
    return "measured" if row["seconds"] else row["ended"].partition(":")[0]


def ends(rows: Rows) -> dict[str, list[int]]:
    """How many cells of each contender ended in each way, of all that anybody was given."""
    cells = _by_cell(rows).values()
    return {
        name: [sum(end(cell.get(name)) == way for cell in cells) for way in ENDS]
        for name in CONTENDERS
    }


def _ended(rows: Rows) -> str:
    counts = ends(rows)
    total = np.sum([*counts.values()], axis=0)
    every = len(_by_cell(rows))
    planted = ", ".join(sorted({f"{float(row['limit']):g} s" for row in _planted(rows)}))
    real = ", ".join(sorted({f"{float(row['limit']):g} s" for row in rows if row["set"]}))
    told = ", ".join(f"{count} {way}" for way, count in zip(ENDS, total, strict=True) if count)
    text = (
        f"{every} cells for each of {len(CONTENDERS)} contenders make {total.sum()}: {told}. "
        f"A cell may take {planted} of processor time"
        + (f" (all of a real set: {real})" if real else "")
        + ", and up to a second more before it is ended. Not tried: a cell no larger was over the "
        "limit. Refused: the method said that it can't answer on such data; that is neither an "
        "answer nor a finding of nothing, and is counted apart."
    )
    shown = [i for i, count in enumerate(total) if count]
    lines = [[name, *(str(counts[name][i]) for i in shown)] for name in counts]
    reasons = "\n".join(f"- {line}" for line in _reasons(rows))
    table = _table(["contender", *(ENDS[i] for i in shown)], lines)
    return f"\n## Cells\n\n{text}\n\n{table}\n" + (f"\n{reasons}\n" if reasons else "")


def _reasons(rows: Rows) -> list[str]:
    """The first reason of each contender that refused or failed."""
    first = {}
    for row in rows:
        if end(row) in ("refused", "failed"):
            first.setdefault((row["contender"], end(row)), row["ended"].split(": ")[1])
    return [f"{name} {way}, for one: {reason}" for (name, way), reason in first.items()]


def _signals(rows: Rows) -> list[str]:
    """For each signal the largest cell of either kind that most were given."""
    parts = []
    for signal in dict.fromkeys(row["signal"] for row in _planted(rows)):
        here = [row for row in rows if row["signal"] == signal]
        shapes = sorted({(int(row["n"]), int(row["p"])) for row in here}, key=lambda s: s[0] * s[1])
        shown = [shape for shape in shapes if shape[0] == 100][-2:] + [
            shape for shape in shapes if shape[1] == 100
        ][-1:]
        head = ["contender", *(f"{n} x {p:,}" for n, p in shown)]
        lines = []
        for name in CONTENDERS:
            own = {(int(r["n"]), int(r["p"])): r for r in here if r["contender"] == name}
            if own:
                lines.append([name, *(_cell(own.get(shape)) for shape in shown)])
        title = f"\n## The {signal} signal\n\nSamples x features: found, processor time, memory.\n"
        parts.append(f"{title}\n{_table(head, lines)}\n")
    return parts


def _cell(row: dict[str, Any] | None) -> str:
    if row is None or not row["seconds"]:
        return end(row)
    return f"{float(row['found']):.0%}, {_seconds(row)}, {megabytes(float(row['memory']))}"


def megabytes(memory: float) -> str:
    return f"{memory / 2**20:.0f} MB" if memory >= RESOLVED else "< 1 MB"


def slopes(rows: Rows, name: str, along: str) -> float | None:
    """Fitted exponent of the time along features (at 100 samples) or samples (at 100 features)."""
    fixed = "n" if along == "p" else "p"
    points = {
        (float(row[along]), float(row["seconds"]))
        for row in _planted(rows)
        if row["contender"] == name and row["seconds"] and int(row[fixed]) == 100
    }
    sizes = {size for size, _ in points}
    if len(sizes) < 3:
        return None
    logs = np.log([(size, max(seconds, 1e-4)) for size, seconds in points])
    return float(np.polyfit(logs[:, 0], logs[:, 1], 1)[0])


def _growth(rows: Rows) -> str:
    lines = []
    for name in CONTENDERS:
        fitted = [slopes(rows, name, along) for along in ("p", "n")]
        if any(slope is not None for slope in fitted):
            told = ["too few points" if slope is None else f"{slope:.2f}" for slope in fitted]
            lines.append([name, *told])
    if not lines:
        return ""
    head = ["contender", "exponent in features", "exponent in samples"]
    text = (
        "Time grows as a power of the size: 1 is proportional, 2 quadratic. Short times flatten it."
    )
    picture = "![processor seconds over features and samples](pictures/peers.png)"
    return f"\n## Growth\n\n{text}\n\n{picture}\n\n{_table(head, lines)}\n"


def _real(rows: Rows) -> str:
    sets = [*dict.fromkeys(row["set"] for row in rows if row["set"])]
    if not sets:
        return ""
    lines = []
    for name in CONTENDERS:
        own = {row["set"]: row for row in rows if row["contender"] == name and row["set"]}
        if own:
            lines.append([name, *(_errors(own.get(which)) for which in sets)])
    text = (
        "Nested error of 5-NN / SVM, selection and its size chosen on training samples alone, and "
        "the processor time of all of it, classifiers too."
    )
    return f"\n## Real data\n\n{text}\n\n{_table(['contender', *sets], lines)}\n"


def _errors(row: dict[str, Any] | None) -> str:
    if row is None or not row["seconds"]:
        return end(row)
    return f"{float(row['5-NN']):.1%} / {float(row['SVM']):.1%}, {_seconds(row)}"


def losses(rows: Rows) -> list[str]:
    """Every peer that was better than convexfs in some cell, and at what."""
    said = []
    own_names = [name for name, who in CONTENDERS.items() if who.environment == OWN]
    for own in own_names:
        for peer, who in CONTENDERS.items():
            if who.environment == OWN:
                continue
            pairs = _pairs(rows, own, peer)
            both = sum(bool(mine["seconds"] and theirs["seconds"]) for _, mine, theirs in pairs)
            told = [
                f"{what} in {_where(where, len(pairs) if what.startswith('answered') else both)}"
                for what, where in _better(pairs, who.family == CONTENDERS[own].family).items()
            ]
            if told:
                said.append(f"**{peer}** against {own}: {'; '.join(told)}.")
    return said


def _where(cells: list[str], of: int) -> str:
    more = ", ..." if len(cells) > 3 else ""
    return f"{len(cells)} of {of} cells ({', '.join(cells[:3])}{more})"


def _by_cell(rows: Rows) -> dict[str, dict[str, dict]]:
    cells: dict[str, dict[str, dict]] = defaultdict(dict)
    for row in rows:
        name = row["set"] or f"{row['signal']} {row['n']} x {row['p']}"
        cells[name][row["contender"]] = row
    return cells


def _pairs(rows: Rows, own: str, peer: str) -> list[tuple[str, dict, dict]]:
    cells = _by_cell(rows).items()
    return [(name, c[own], c[peer]) for name, c in cells if own in c and peer in c]


def _better(pairs: list[tuple[str, dict, dict]], same_family: bool) -> dict[str, list[str]]:
    """In which cells the peer was better at what; cost is compared within a family."""
    better: dict[str, list[str]] = defaultdict(list)
    for name, own, peer in pairs:
        if not peer["seconds"]:
            continue
        if not own["seconds"]:
            better[f"answered (ours: {end(own)})"].append(name)
            continue
        for what, cost in (("faster", _slower), ("leaner", _larger)):
            if same_family and cost(own, peer):
                better[what].append(name)
        if peer["found"] and float(peer["found"]) - float(own["found"]) > MORE_FOUND + ROUNDING:
            better["found more"].append(name)
        if any(
            peer[model] and float(own[model]) - float(peer[model]) > FEWER_ERRORS + ROUNDING
            for model in ("5-NN", "SVM")
        ):
            better["erred less"].append(name)
    return better


def _slower(own: dict[str, Any], peer: dict[str, Any]) -> bool:
    seconds = float(own["seconds"])
    return seconds > NOTICED and seconds > FASTER * float(peer["seconds"])


def _larger(own: dict[str, Any], peer: dict[str, Any]) -> bool:
    least = LEANER * max(float(peer["memory"] or 0), RESOLVED)
    return float(own["memory"] or 0) > least


def _losses(rows: Rows) -> str:
    text = (
        f"Faster, leaner: by a factor above {FASTER:g} where the time can be noticed "
        f"({NOTICED:g} s) and the memory resolved (1 MB), within a family of methods. Found more: "
        f"by over {MORE_FOUND:.0%} of the planted; erred less: by over {FEWER_ERRORS:.0%} of the "
        "samples, with either classifier, whatever the family. These are counted over cells that "
        "both answered; where only the other did, that is said apart. What is not listed was not "
        "better in any cell that was measured."
    )
    said = losses(rows)
    listed = "\n".join(f"- {line}" for line in said) if said else "Nothing was measured that is."
    return f"\n## Where others are better\n\n{text}\n\n{listed}\n"


def _versions(rows: Rows) -> str:
    known = {CONTENDERS[row["contender"]].package: row["version"] for row in rows if row["version"]}
    told = ", ".join(f"{package} {version}" for package, version in sorted(known.items()))
    return f"\n## Versions\n\n{told}.\n"


def _draw(rows: Rows, path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    path.parent.mkdir(exist_ok=True)
    figure, axes = plt.subplots(1, 2, figsize=(10, 6), sharey=True, layout="constrained")
    for axis, along, fixed in zip(axes, ("p", "n"), ("n", "p"), strict=True):
        for i, (name, who) in enumerate(CONTENDERS.items()):
            points = sorted(
                (int(row[along]), float(row["seconds"]))
                for row in rows
                if row["contender"] == name and row["signal"] == "linear" and row["seconds"]
                and int(row[fixed]) == 100
            )  # fmt: skip
            if points:
                own = who.environment == OWN
                look = {"linewidth": 3} if own else {"linewidth": 1, "linestyle": "--"}
                axis.plot(*zip(*points, strict=True), marker="o", markersize=3, label=name,
                          color=plt.get_cmap("tab20")(i % 20), **look)  # fmt: skip
        axis.set(xscale="log", yscale="log", xlabel="features" if along == "p" else "samples")
        axis.xaxis.set_minor_formatter("")  # else labels lie one over another
        axis.set_title(f"linear signal, 100 {'samples' if along == 'p' else 'features'}")
    axes[0].set_ylabel("processor seconds")
    figure.legend(
        *axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=8
    )
    figure.savefig(path, dpi=110)
    plt.close(figure)
