"""The page of the comparison: tables, fitted growth, and where others are better."""

from pathlib import Path
from typing import Any

import numpy as np

from peers.contenders import CONTENDERS, OWN
from peers.losses import losses_part
from peers.rows import ENDS, OVER, RESOLVED, Rows, by_cell, end, mean_of_draws, table
from peers.summary import in_short, losses_first
from peers.worlds import FIXED_FEATURES, FIXED_SAMPLES, RATE

HEAD = """# Side by side with other packages

What a user would pick instead, on the same samples: processor seconds of a run, memory beyond \
what the process held before, and what was found. All are given the same standardised columns. \
One process, one thread; standardising, loading and compiling are not counted. \
Memory under 1 MB isn't resolved and is shown as such. Written by `bench_peers.py`, which \
runs it all again; every cell is in [peers.csv](peers.csv).

Signals are planted in columns drawn at random: *linear* (ten features shift with the class), \
*xor* (the product of two signs is the class), *local* (one feature separates two regions; in \
each, three other features matter). Found is the share of planted features among as many \
best-ranked ones. Samples are drawn five times where the first draw took less than a fifth of the \
time allowed, and at the size of the first table; else once. The tables of each signal show the \
mean of the draws that ended in time. All comparisons of two contenders use their common draws.
"""
#: A space at which no line of a table is broken: between a number and its unit.
NO_BREAK = "\N{NO-BREAK SPACE}"


#: The page of the guide: losses first.
SHORT = """# Peers

This page compares convexfs with other packages on the same samples, one thread each. \
Where others of the same family are better, over all draws that both answered (by a factor \
above 1.5, or by over 2 % of the planted features, or over 1 % of held-out samples):

LOSSES

l1 methods fit one linear model, while Logo computes distances of all pairs of samples. skrebate \
and fast-select divide columns by their range; scale your columns so, and `Relief` finds the \
same features as skrebate (*by range* below).

Signals are planted in columns drawn at random: *linear* (ten features shift with the class), \
*xor* (the product of two signs is the class), *local* (one feature separates two regions; \
in each, three other features matter). "Found" is the share of planted features among as many \
best-ranked ones. Times are CPU seconds without loading, standardising and compiling. Samples \
are drawn up to five times, and contenders are compared on common draws only; n is their number. \
If you choose between two that differ by a few per cent, take n into account.

![CPU seconds over features and samples](pictures/peers.png)
"""


def short(draws: Rows, title: str) -> str:
    """Return the short page, losses first, of the contenders that were measured."""
    text = SHORT.replace("# Peers", f"# {title}").replace("LOSSES", losses_first(draws))
    text = text.partition("![")[0]
    return "\n".join([text, in_short(draws), _versions(mean_of_draws(draws))])


def write(rows: Rows, folder: Path, guide: Path, results: Path) -> None:
    """Write the page with all tables and numbers to `folder`, and a short one to the guide."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "peers.csv").write_text(results.read_text())
    draws, rows = rows, mean_of_draws(rows)
    end_of_page = (
        "\nAll settings, cells, real data sets, versions and losses are in "
        "`scripts/pages/results/peers.md` of the repository and on the site. "
        "Run `python scripts/peers/bench_peers.py` to repeat the comparison. A later run compares "
        "the RELIEF implementations alone, fast-select among them: it finds the same features as "
        "`Relief` by range (`scripts/pages/results/peers-relief.md`).\n"
    )
    short = SHORT.replace("LOSSES", losses_first(draws))
    (guide / "peers.md").write_text("\n".join([short, in_short(draws), end_of_page]))
    _draw(rows, guide / "pictures/peers.png")
    parts = [
        HEAD,
        in_short(draws),
        _told(rows),
        _ended(rows),
        *_signals(rows),
        _growth(rows),
        _real(rows),
    ]
    parts += [_rates(rows), losses_part(draws), _versions(rows)]
    (folder / "peers.md").write_text("\n".join(part for part in parts if part))


def _planted(rows: Rows) -> Rows:
    return [row for row in rows if row["signal"]]


def _seconds(row: dict[str, Any]) -> str:
    return f"{float(row['seconds']):.2g} s"


def _told(rows: Rows) -> str:
    """What was set by us, for each contender that was run."""
    run = {row["contender"] for row in rows}
    lines = [[name, who.told()] for name, who in CONTENDERS.items() if name in run]
    text = (
        "The settings that we passed; all others are the package's defaults, and no parameter was "
        "tuned. The penalties of the l1 methods (C = 1, alpha = 1 / samples) are the same penalty, "
        "chosen by us. Those given the *number sought* know how many are planted, which the "
        "others do not; on real data it is 50, the most that is tried. Two things were decided "
        "with results of this comparison seen: those *by range* were added once skrebate had "
        "found more, and some constants of Logo's search for a fixed point, which set its time "
        "and which of several fixed points it reaches, were chosen among a dozen variants on ten "
        "of these draws."
    )
    return f"\n## Settings\n\n{text}\n\n{table(['contender', 'settings'], lines)}\n"


def ends(rows: Rows) -> dict[str, list[int]]:
    """How many cells of each contender ended in each way, of all that anybody was given."""
    cells = by_cell(rows).values()
    return {
        name: [sum(end(cell.get(name)) == way for cell in cells) for way in ENDS]
        for name in CONTENDERS
    }


def _ended(rows: Rows) -> str:
    counts = ends(rows)
    total = np.sum([*counts.values()], axis=0)
    every = len(by_cell(rows))
    planted, real = _limits(_planted(rows)), _limits([row for row in rows if row["set"]])
    told = ", ".join(f"{count} {way}" for way, count in zip(ENDS, total, strict=True) if count)
    text = (
        f"{every} cells for each of {len(CONTENDERS)} contenders make {total.sum()}: {told}. "
        f"A cell may take {planted} of processor time"
        + (f" (all of a real set: {real})" if real else "")
        + ", and up to a second more before it is ended, and 6 GB of memory. Not tried: a cell no "
        "larger of the same signal was over the limit. Refused: the method said that it can't "
        "answer on such data; that is neither an answer nor a finding of nothing, and is counted "
        "apart. Not run: still to be measured, so that nothing is said about it here."
    )
    shown = [i for i, count in enumerate(total) if count]
    lines = [[name, *(str(counts[name][i]) for i in shown)] for name in counts]
    reasons = "\n".join(f"- {line}" for line in _reasons(rows))
    ways = table(["contender", *(ENDS[i] for i in shown)], lines)
    return f"\n## Cells\n\n{text}\n\n{ways}\n" + (f"\n{reasons}\n" if reasons else "")


def _limits(rows: Rows) -> str:
    limits = sorted({float(row["limit"]) for row in rows})
    return " or ".join(f"{limit:g} s" for limit in limits)


def _unmeasured(row: dict[str, Any] | None) -> str:
    ended = end(row)
    return f"over {float(row['limit']):g} s" if row and row["ended"] == OVER else ended


def _reasons(rows: Rows) -> list[str]:
    """The first reason of each contender that refused or failed."""
    first = {}
    for row in rows:
        if end(row) in ("refused", "failed"):
            first.setdefault((row["contender"], end(row)), row["ended"].partition(": ")[2])
    return [f"{name} {way}, for one: {reason}" for (name, way), reason in first.items()]


def _signals(rows: Rows) -> list[str]:
    """For each signal the cells along growing features, then along growing samples."""
    parts = []
    for signal in dict.fromkeys(row["signal"] for row in _planted(rows)):
        here = [row for row in rows if row["signal"] == signal]
        shapes = sorted({(int(row["n"]), int(row["p"])) for row in here}, key=lambda s: s[0] * s[1])
        shown = [shape for shape in shapes if shape[0] == FIXED_SAMPLES][-4:]
        shown += [shape for shape in shapes if shape[1] == FIXED_FEATURES and shape not in shown]
        head = ["contender", *(f"{n} x {p:,}" for n, p in shown)]
        lines = []
        for name in CONTENDERS:
            own = {(int(r["n"]), int(r["p"])): r for r in here if r["contender"] == name}
            if own:
                lines.append([name, *(_cell(own.get(shape)) for shape in shown)])
        title = f"\n## The {signal} signal\n\nSamples x features: found, processor time, memory.\n"
        parts.append(f"{title}\n{table(head, lines)}\n")
    return parts


def _cell(row: dict[str, Any] | None) -> str:
    if row is None or not row["seconds"]:
        return _unmeasured(row)
    parts = [f"{float(row['found']):.0%}", _seconds(row), megabytes(float(row["memory"]))]
    return ", ".join(part.replace(" ", NO_BREAK) for part in parts)


def megabytes(memory: float) -> str:
    return f"{memory / 2**20:.0f} MB" if memory >= RESOLVED else "< 1 MB"


def slopes(rows: Rows, name: str, along: str) -> float | None:
    """Fitted exponent of the time along features or along samples, the others fixed."""
    fixed, at = _fixed(along)
    points = {
        (float(row[along]), float(row["seconds"]))
        for row in _planted(rows)
        if row["contender"] == name and row["seconds"] and int(row[fixed]) == at
    }
    sizes = {size for size, _ in points}
    if len(sizes) < 3:
        return None
    logs = np.log([(size, max(seconds, 1e-4)) for size, seconds in points])
    return float(np.polyfit(logs[:, 0], logs[:, 1], 1)[0])


def _fixed(along: str) -> tuple[str, int]:
    """What does not grow when the other does, and how many of it there are."""
    return ("n", FIXED_SAMPLES) if along == "p" else ("p", FIXED_FEATURES)


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
    picture = "![processor seconds over features and samples](../guide/pictures/peers.png)"
    return f"\n## Growth\n\n{text}\n\n{picture}\n\n{table(head, lines)}\n"


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
    return f"\n## Real data\n\n{text}\n\n{table(['contender', *sets], lines)}\n"


def _errors(row: dict[str, Any] | None) -> str:
    if row is None or not row["seconds"]:
        return _unmeasured(row)
    errors = " / ".join(f"{float(row[model]):.1%}" for model in ("5-NN", "SVM"))
    return ", ".join(part.replace(" ", NO_BREAK) for part in (errors, _seconds(row)))


def _rates(rows: Rows) -> str:
    """What knockoffs select at the rate asked for, where there are few samples and where not."""
    lines = []
    for name, who in CONTENDERS.items():
        here = [r for r in rows if r["contender"] == name and r["selected"]]
        if who.family == "knockoffs" and here:
            few = [row for row in here if int(row["n"]) < 2 * int(row["p"])]
            many = [row for row in here if row not in few]
            lines.append([name, *_selected(few), *_selected(many)])
    if not lines:
        return ""
    text = (
        f"Features that knockoff+ selects at a false discovery rate of {RATE:g} by each one's own "
        "leads, and how many of them are not planted, over all draws measured with fewer than two "
        "samples a feature, and with more. A few draws count features and are no rate: that of "
        "convexfs over many is on the [page of knockoffs](../guide/knockoffs.md)."
    )
    head = ["contender", "draws with few samples", "selected", "false",
            "draws with more", "selected", "false"]  # fmt: skip
    return f"\n## Knockoffs at a rate\n\n{text}\n\n{table(head, lines)}\n"


def _selected(rows: Rows) -> list[str]:
    totals = [sum(float(row[what]) for row in rows) for what in ("selected", "false")]
    return [str(sum(int(row["draw"]) for row in rows)), *(f"{total:.0f}" for total in totals)]


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
    for axis, along in zip(axes, ("p", "n"), strict=True):
        fixed, at = _fixed(along)
        for i, (name, who) in enumerate(CONTENDERS.items()):
            points = sorted(
                (int(row[along]), float(row["seconds"]))
                for row in rows
                if row["contender"] == name and row["signal"] == "linear" and row["seconds"]
                and int(row[fixed]) == at
            )  # fmt: skip
            if points:
                own = who.environment == OWN
                look = {"linewidth": 3} if own else {"linewidth": 1, "linestyle": "--"}
                axis.plot(*zip(*points, strict=True), marker="o", markersize=3, label=name,
                          color=plt.get_cmap("tab20")(i % 20), **look)  # fmt: skip
        axis.set(xscale="log", yscale="log", xlabel="features" if along == "p" else "samples")
        axis.xaxis.set_minor_formatter("")  # else labels lie one over another
        axis.set_title(f"linear signal, {at} {'samples' if along == 'p' else 'features'}")
    axes[0].set_ylabel("processor seconds")
    figure.legend(
        *axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=8
    )
    figure.savefig(path, dpi=110)
    plt.close(figure)
