"""The page of the comparison: tables, fitted growth, and where others are better."""

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from peers.contenders import CONTENDERS, OWN

Rows = list[dict[str, Any]]
OVER = "over the limit"
#: A time is called longer, a share larger, an error smaller from here on.
FASTER, MORE_FOUND, FEWER_ERRORS = 1.5, 0.1, 0.02
#: Shorter times than this are equal: nobody notices them.
NOTICED = 0.05

HEAD = """# Side by side with other packages

What a user would pick instead, on the same samples: processor seconds of one run, memory beyond \
the data, and what was found. One run each, one process, one thread; loading and compiling \
are not counted. Settings are the packages' own, with ten neighbours wherever neighbours are \
counted. Written by `scripts/bench_peers.py`, which runs it all again; every cell is in \
[peers.csv](peers.csv).

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
    parts = [HEAD, *_signals(rows), _growth(rows), _real(rows), _losses(rows), _versions(rows)]
    (folder / "peers.md").write_text("\n".join(part for part in parts if part))
    _draw(rows, folder / "pictures/peers.png")


def _planted(rows: Rows) -> Rows:
    return [row for row in rows if row["signal"]]


def _seconds(row: dict[str, Any]) -> str:
    return f"{float(row['seconds']):.2g} s" if row["seconds"] not in ("", None) else row["ended"]


def _table(head: Iterable[str], lines: Iterable[Iterable[str]]) -> str:
    head = [*head]
    marks = ["---"] * len(head)
    return "\n".join("| " + " | ".join(line) + " |" for line in (head, marks, *map(list, lines)))


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
    if row is None:
        return "not run"
    if row["seconds"] in ("", None):
        return row["ended"]
    return f"{float(row['found']):.0%}, {_seconds(row)}, {float(row['memory']) / 2**20:.0f} MB"


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
        "the processor time of all of it."
    )
    return f"\n## Real data\n\n{text}\n\n{_table(['contender', *sets], lines)}\n"


def _errors(row: dict[str, Any] | None) -> str:
    if row is None:
        return "not run"
    if row["5-NN"] in ("", None):
        return row["ended"]
    return f"{float(row['5-NN']):.1%} / {float(row['SVM']):.1%}, {_seconds(row)}"


def losses(rows: Rows) -> list[str]:
    """Every peer that was faster in its family, found more, or erred less, than convexfs there."""
    said = []
    own_names = [name for name, who in CONTENDERS.items() if who.environment == OWN]
    for own in own_names:
        for peer, who in CONTENDERS.items():
            if who.environment == OWN:
                continue
            pairs = _pairs(rows, own, peer)
            told = [
                f"{what} in {len(where)} of {len(pairs)} cells ({', '.join(where[:3])}"
                f"{', ...' if len(where) > 3 else ''})"
                for what, where in _better(pairs).items()
                if where and (what != "faster" or who.family == CONTENDERS[own].family)
            ]
            if told:
                said.append(f"**{peer}** against {own}: {'; '.join(told)}.")
    return said


def _pairs(rows: Rows, own: str, peer: str) -> list[tuple[str, dict, dict]]:
    cells: dict[str, dict[str, dict]] = defaultdict(dict)
    for row in rows:
        name = row["set"] or f"{row['signal']} {row['n']} x {row['p']}"
        cells[name][row["contender"]] = row
    return [(name, c[own], c[peer]) for name, c in cells.items() if own in c and peer in c]


def _better(pairs: list[tuple[str, dict, dict]]) -> dict[str, list[str]]:
    better: dict[str, list[str]] = {"faster": [], "found more": [], "erred less": []}
    for name, own, peer in pairs:
        if not peer["seconds"]:
            continue
        time_own = float(own["seconds"]) if own["seconds"] else np.inf
        if time_own > NOTICED and time_own > FASTER * float(peer["seconds"]):
            better["faster"].append(name)
        if peer["found"] and float(peer["found"]) > float(own["found"] or 0) + MORE_FOUND:
            better["found more"].append(name)
        if any(
            peer[m] and float(peer[m]) < float(own[m] or 1) - FEWER_ERRORS for m in ("5-NN", "SVM")
        ):
            better["erred less"].append(name)
    return better


def _losses(rows: Rows) -> str:
    text = (
        f"Faster: by a factor above {FASTER:g} where it can be noticed ({NOTICED:g} s), within a "
        f"family of methods. Found more: by over {MORE_FOUND:.0%}; erred less: by over "
        f"{FEWER_ERRORS:.0%}, whatever the family. What is not listed was not better in any "
        "cell that was measured."
    )
    said = losses(rows)
    listed = "\n".join(f"- {line}" for line in said) if said else "Nothing was measured that is."
    return f"\n## Where others are better\n\n{text}\n\n{listed}\n"


def _versions(rows: Rows) -> str:
    known = {CONTENDERS[row["contender"]].package: row["version"] for row in rows if row["version"]}
    told = ", ".join(f"{package} {version}" for package, version in sorted(known.items()))
    shapes = {name: sum(row["contender"] == name for row in rows) for name in CONTENDERS}
    short = [name for name, count in shapes.items() if count < max(shapes.values())]
    missing = f" Not measured in every cell, or at all: {', '.join(short)}." if short else ""
    return f"\n## Versions\n\n{told}.{missing}\n"


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
        axis.set_title(f"linear signal, 100 {'samples' if along == 'p' else 'features'}")
    axes[0].set_ylabel("processor seconds")
    figure.legend(
        *axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=8
    )
    figure.savefig(path, dpi=110)
    plt.close(figure)
