"""Every number of a page, computed again from the exported table by plain loops.

Nothing of convexfs is used but the export: what is told on the page has to follow from it.

    python -m tests.study.recomputed DIR     # the folder of a comparison
"""

import json
import math
import statistics
import sys
import tempfile
from pathlib import Path

import pandas as pd
from scipy import stats

SHIFT = 1e-3
ANSWERED = ("solved", "undecided")
CURVE = tuple(10.0**-power for power in range(1, 11))
LIMITS = {"solved": "solved", "undecided": "undecided", "wrong claim": "wrong_claims",
          "failed": "failed", "timeout": "timeouts", "skipped": "skipped"}  # fmt: skip


def told(value):
    """Whether a cell of the export says something."""
    return value is not None and value == value and value is not pd.NA


def exported(path):
    """The rows of an export as dicts."""
    frame = pd.read_parquet(path)
    return frame.astype(object).where(frame.notna(), None).to_dict("records")


def groups(rows, *names):
    found = {}
    for row in rows:
        found.setdefault(tuple(row[name] for name in names), []).append(row)
    return found


def asked_for(rows):
    """The accuracies that solvers were asked for."""
    return sorted({row["tol"] for row in rows if told(row["tol"])} or {1e-5}, reverse=True)


def mean_and_half(cells):
    """Mean over instances of means over repeats, and half of Student's interval."""
    by_instance = []
    for instance in sorted({instance for instance, _ in cells}):
        own = [value for (name, _), value in cells.items() if name == instance and told(value)]
        if own:
            by_instance.append(statistics.fmean(own))
    middle = statistics.fmean(by_instance) if by_instance else math.nan
    count = len(by_instance)
    if count < 5:
        return middle, math.nan
    return middle, stats.t.ppf(0.995, count - 1) * statistics.stdev(by_instance) / math.sqrt(count)


def mean_and_ends(cells):
    middle, half = mean_and_half(cells)
    return middle - half, middle, middle + half


def log_seconds(rows, shift, name="charged_seconds"):
    return {
        (row["instance"], row["repeat"]): math.log(max(row[name] + shift, 1e-7))
        for row in rows
        if told(row.get(name))
    }


def seconds(rows, shift):
    middle, half = mean_and_half(log_seconds(rows, shift))
    mean = math.exp(middle) - shift
    factor = math.exp(half * math.exp(middle) / max(mean, 1e-7)) if half == half else math.nan
    return {"seconds": mean, "seconds_low": mean / factor, "seconds_high": mean * factor}


def ratio(slow, fast, shift):
    """Low end, mean and high end of how many times as long the slow ones take."""
    ours, theirs = slow, fast
    both = {place: ours[place] - theirs[place] for place in ours if place in theirs}
    every = {place: both.get(place, math.nan) for place in ours}
    return tuple(math.exp(end) for end in mean_and_ends(every))


def best_of(rows):
    """The least seconds of an answer, by settings, instance and repeat."""
    return {
        place: min((r["charged_seconds"] for r in own if r["outcome"] in ANSWERED), default=None)
        for place, own in groups(rows, "settings", "instance", "repeat").items()
    }


def times_best(tried, best, shift):
    mine = log_seconds(tried, shift)
    other = {
        (row["instance"], row["repeat"]): math.log(max(fastest + shift, 1e-7))
        for row in tried
        if (fastest := best[row["settings"], row["instance"], row["repeat"]]) is not None
    }
    return ratio(mine, other, shift)[1]


def median(values):
    known = [value for value in values if told(value)]
    return statistics.median(known) if known else math.nan


def summary(rows, shift):
    """What the table of verdicts says of each settings and solver."""
    best, table = best_of(rows), {}
    for (settings, solver), own in groups(rows, "settings", "solver").items():
        tried = [row for row in own if row["outcome"] != "skipped"]
        if solver == "native" and not tried:
            continue
        solved = [row for row in own if row["outcome"] == "solved"]
        counts = {
            name: sum(row["outcome"] == outcome for row in own) for outcome, name in LIMITS.items()
        }
        peaks = [row["peak_bytes"] for row in tried if told(row["peak_bytes"])]
        setups = [
            row["setup_seconds"] / row["solve_seconds"] if told(row["setup_seconds"]) else None
            for row in solved
        ]
        names = ("seconds", "seconds_low", "seconds_high")
        unknown: dict[str, float] = dict.fromkeys(names, math.nan)
        times = seconds(tried, shift) if tried else unknown
        table[settings, solver] = counts | {
            "instances": len({row["instance"] for row in tried}),
            "of": len({row["instance"] for row in rows if row["settings"] == settings}),
            "tried": len(tried),
            "success_rate": len(solved) / len(tried) if tried else math.nan,
            **times,
            "times_best": times_best(tried, best, shift),
            "times_best_unshifted": times_best(tried, best, 0.0),
            "shift": shift,
            "par10": statistics.fmean(
                row["charged_seconds"] * (1 if row["outcome"] in ANSWERED else 10) for row in tried
            ) if tried else math.nan,
            "compile_seconds": median(row["compile_seconds"] for row in tried),
            "setup_share": median(setups),
            "iterations": median(row["iterations"] for row in solved),
            "peak_megabytes": max(peaks) / 1e6 if peaks else math.nan,
            "busy": sum(row["busy"] is True for row in tried),
            "error": median(row["error"] for row in solved),
            "dimacs_error": median(
                max(json.loads(row["dimacs"]).values()) if row["dimacs"] else None for row in solved
            ),
        }  # fmt: skip
    return table


def published(rows):
    """What the table of published optima says of each instance."""
    table = {}
    for (of, instance, printed), own in groups(
        [row for row in rows if told(row["published"])], "set", "instance", "published"
    ).items():
        solved = [row for row in own if row["outcome"] == "solved"]
        wrong = [row for row in solved if against(row, printed)]
        table[of, instance] = {
            "solved": len(solved),
            "contradicting": len(wrong),
        }
    return table


def against(row, printed):
    """Whether a solved row is not what is printed: another status, or another optimum."""
    if printed in ("infeasible", "unbounded"):
        return row["status"] != printed
    mantissa, _, power = printed.lower().partition("e")
    digits = len(mantissa.split(".")[1]) if "." in mantissa else 0
    room = 0.5 * 10.0 ** (int(power or 0) - digits)
    tol = row["tol"] if told(row["tol"]) else 1e-5
    room += 10 * (1 + 1e-9) * tol * max(1.0, abs(float(printed)))
    return row["status"] != "optimal" or abs(row["objective"] - float(printed)) > room


def accuracy(row):
    """The accuracy an answer was verified to have."""
    if not told(row["gap"]) or not told(row["error"]):
        return math.inf
    return max(row["error"], row["objective_error"] or 0.0)


def quickest(rows, target):
    """The quickest run of each solver, instance and repeat that got to an accuracy."""
    longest = max(max(row["solve_seconds"] or 0.0, row["wall_seconds"] or 0.0) for row in rows)
    found = {}
    for row in rows:
        if row["outcome"] == "skipped" or "warm" in row["settings"]:
            continue
        limit = row["time_limit"] if told(row["time_limit"]) else longest
        there = accuracy(row) <= target and (row["solve_seconds"] or math.inf) <= limit
        run = {
            **row, "outcome": "solved" if there else "failed", "settings": "",
            "charged_seconds": row["solve_seconds"] if there else limit,
            "at": row["settings"] if there else None,
        }  # fmt: skip
        place = (row["instance"], row["repeat"], row["solver"])
        known = found.get(place)
        if known is None or run["charged_seconds"] < known["charged_seconds"]:
            found[place] = run
    return list(found.values())


def by_class(rows):
    found = {name: own for (name,), own in groups(rows, "problem_class").items()}
    return {"all": rows, **found} if len(found) > 1 else found


def achieved(rows, shift, targets=None):
    """What the table of times to an accuracy says of each target, class and solver."""
    table = {}
    for target in targets or asked_for(rows):
        runs = quickest(rows, target)
        best = best_of(runs)
        for name, some in by_class(runs).items():
            for (solver,), own in groups(some, "solver").items():
                table[target, name, solver] = {
                    "instances": len({row["instance"] for row in own}),
                    "reached": statistics.fmean(row["outcome"] == "solved" for row in own),
                    **seconds(own, shift),
                    "times_best": times_best(own, best, shift),
                    "times_best_unshifted": times_best(own, best, 0.0),
                }
    return table


def ranks(rows, shift):
    """What the ranking says of each settings, class, scope and solver."""
    table = {}
    tried = [row for row in rows if row["outcome"] != "skipped"]
    for (settings, name), some in groups(tried, "settings", "problem_class").items():
        taken = {
            solver: {row["instance"] for row in own}
            for (solver,), own in groups(some, "solver").items()
        }
        scopes = {"all": {row["instance"] for row in some}}
        if "native" in taken and taken["native"] != scopes["all"]:
            scopes["native"] = taken["native"]
        for scope, instances in scopes.items():
            means = {}
            for solver in taken:
                if instances <= taken[solver]:
                    own = [r for r in some if r["solver"] == solver and r["instance"] in instances]
                    means[solver] = seconds(own, shift) | {"rows": own}
            order = sorted(means, key=lambda solver: means[solver]["seconds"])
            for place, solver in enumerate(order):
                row = means[solver]
                solved = [r for r in row["rows"] if r["outcome"] == "solved"]
                told_of = {
                    "rank": place + 1, "solved": len(solved), "instances": len(instances),
                    "success_rate": len(solved) / len(row["rows"]),
                    **{key: row[key] for key in ("seconds", "seconds_low", "seconds_high")},
                }  # fmt: skip
                if place + 1 < len(order):
                    behind = means[order[place + 1]]["rows"]
                    pairs = [
                        ratio(log_seconds(behind, s), log_seconds(row["rows"], s), s)
                        for s in (shift, 0.0)
                    ]
                    ends = dict(zip(("lead_low", "lead", "lead_high"), pairs[0], strict=True))
                    told_of |= ends | {"lead_unshifted": pairs[1][1]}
                table[settings, name, scope, solver] = told_of
    return table


def differences(table, expected, key, tolerance=1e-9):
    """Say which cells of a page's table are not what was expected of them."""
    found = []
    rows = {tuple(row[name] for name in key): row for row in table.to_dict("records")}
    if set(rows) != set(expected):
        found.append(f"rows {sorted(map(str, set(rows) ^ set(expected)))[:3]}")
    for place in rows.keys() & expected.keys():
        for name, value in expected[place].items():
            shown = rows[place][name]
            shown = math.nan if shown is None else shown
            same = math.isclose(shown, value, rel_tol=tolerance, abs_tol=1e-12)
            if not same and not (shown != shown and value != value):
                found.append(f"{place} {name}: {shown!r} on the page, {value!r} from the export")
    return found


def page_differences(page, rows):
    """Say what on a page does not follow from an export."""
    from tests.report.pages import frame_of, numbers_in

    numbers, shift = numbers_in(page), SHIFT
    tables = {name: frame_of(table) for name, table in numbers["tables"].items()}
    found = differences(tables["summary"], summary(rows, shift), ("settings", "solver"))
    if "achieved" in tables:
        where = ("target", "problem_class", "solver")
        found += differences(tables["achieved"], achieved(rows, shift), where)
    if "ranking" in tables:
        where = ("settings", "problem_class", "scope", "solver")
        found += differences(tables["ranking"], ranks(rows, shift), where)
    if "published" in tables:
        found += differences(tables["published"], published(rows), ("set", "instance"))
    if "cost-of-accuracy" in numbers["figures"]:
        drawn = frame_of(numbers["figures"]["cost-of-accuracy"]["table"])
        expected = {
            place: {"seconds": float(f"{row['seconds']:.4g}")}  # along a logarithmic axis
            for place, row in achieved(rows, shift, CURVE).items()
            if row["reached"] > 0
        }
        found += differences(drawn, expected, ("target", "problem_class", "solver"))
    return found


def main(folder):
    from convexfs.study.outcomes import export
    from convexfs.study.page import gather

    with tempfile.TemporaryDirectory() as scratch:
        export(folder, Path(scratch) / "rows.parquet")
        rows = exported(Path(scratch) / "rows.parquet")
    found = page_differences(gather(folder).html, rows)
    print(f"{len(rows)} rows, {len(found)} numbers differ", *found[:20], sep="\n")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
