"""convexfs side by side with other packages: time, memory and quality on the same data.

    python bench_peers.py --setup           # environments of the others, made once
    python bench_peers.py --quick           # some minutes of processor time
    python bench_peers.py                   # all sizes; run it again to resume
    python bench_peers.py --data FOLDER     # also npz files with X and y, two classes each
    python bench_peers.py --page            # the page alone, from what was measured

Each contender ranks the features of the same samples, in one process. Samples are drawn again
where the first draw took little time. Cells are kept in a csv file as they end, and are not run
again, except with a larger --limit those that were over a smaller one. The page of the guide is
written from that file.
"""

import argparse
import csv
import json
import os
import signal
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from peers import page
from peers.contenders import CONTENDERS, NEW, OLD, OWN
from peers.rows import NOT_TRIED, OVER, READY, end
from peers.worlds import FIXED_FEATURES, FIXED_SAMPLES, SIGNALS, real_sets

ROOT = Path(__file__).parents[2]
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "convexfs/peers"
PACKAGES = {
    NEW: ["skrebate", "scikit-learn", "mrmr_selection", "Boruta", "abess", "celer", "skglm",
          "hidimstat", "knockpy", "fast-select"],
    # What no longer runs with today's numpy and scikit-learn.
    OLD: ["numpy==1.26.4", "scipy==1.11.4", "scikit-learn==1.3.2", "LFSpy==1.0.4",
          "metric-learn==0.7.0"],
}  # fmt: skip
COLUMNS = ("contender", "signal", "n", "p", "draw", "set", "limit", "seconds", "memory", "found",
           "selected", "false", "5-NN", "SVM", "ended", "version")  # fmt: skip
#: Along one of these the features grow, along the other the samples.
FEATURES = {"quick": (50, 500, 5_000), "full": (50, 500, 5_000, 20_000, 100_000)}
SAMPLES = {"quick": (50, 200, 1_000), "full": (50, 200, 1_000, 5_000)}
#: Processor seconds that a cell may take; all of a real set may take so many times more.
LIMIT = {"quick": 3.0, "full": 4.0}
REAL = 2
#: Times that samples are drawn. All but the first may take such a part of the limit, except at
#: the fixed size, where contenders are compared on common draws.
DRAWS = 5


def main() -> None:
    asked = arguments()
    if asked.setup:
        return setup()
    rows = read(asked.results)
    if not asked.page:
        for name in asked.only or CONTENDERS:
            measure(name, asked, rows)
        keep(asked.results, read(asked.results))
    if asked.to is not None:
        asked.to.write_text(page.short(read(asked.results), asked.title))
        return
    results, guide = ROOT / "scripts/pages/results", ROOT / "convexfs/guide"
    page.write(read(asked.results), results, guide, asked.results)


def measure(name: str, asked: argparse.Namespace, rows: list[dict[str, Any]]) -> None:
    """Run what is left of a contender, draw by draw, and keep each cell as it ends."""
    with asked.results.open("a", newline="") as file:
        for draw in range(DRAWS):
            for row in run(name, todo(name, cells(asked, draw), rows), [*rows]):
                rows.append(row)
                writer(file).writerow(row)
                file.flush()
                print(*(row.get(column, "") for column in COLUMNS), sep="  ", flush=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--setup", action="store_true", help="make the environments of the others")
    parser.add_argument("--quick", action="store_true", help="small sizes, 3 s a cell")
    parser.add_argument("--page", action="store_true", help="only write the page")
    parser.add_argument("--limit", type=float, help="processor seconds a cell may take")
    parser.add_argument("--data", help="folder of npz files with X and y, besides scikit-learn's")
    parser.add_argument("--only", nargs="*", choices=CONTENDERS, help="these contenders")
    parser.add_argument("--to", type=Path, metavar="FILE", help="write a short page to this file")
    parser.add_argument("--title", default="Peers", help="heading of that page")
    parser.add_argument("--results", type=Path, default=Path("peers.csv"))
    asked = parser.parse_args()
    asked.size = "quick" if asked.quick else "full"
    asked.limit = asked.limit or LIMIT[asked.size]
    return asked


def setup() -> None:
    """Make the environments, and say who can be used."""
    for name, packages in PACKAGES.items():
        venv.create(CACHE / name, with_pip=True, clear=True)
        if not installed(name, packages):
            # One that cannot be had is not to take the others with it.
            pinned = [package for package in packages if "==" in package]
            for package in packages:
                if not installed(name, [*pinned, package]):
                    print(f"{package} cannot be installed", flush=True)
    say_who_answers()


def say_who_answers() -> None:
    """Have each contender fit small data once, and say which cannot, and why."""
    for name in CONTENDERS:
        said = [*answers(name, [])]
        told = "usable" if READY in said else f"cannot be used here: {said[-1]['ended']}"
        print(f"{name}: {told}", flush=True)


def installed(environment: str, packages: list[str]) -> bool:
    command = [python_of(environment), "-m", "pip", "install", "--quiet", *packages]
    return subprocess.run(command, check=False).returncode == 0


def python_of(environment: str) -> str:
    return sys.executable if environment == OWN else str(CACHE / environment / "bin/python")


def cells(asked: argparse.Namespace, draw: int) -> list[dict[str, Any]]:
    """Each signal over growing features and growing samples, then the real sets, once."""
    shapes = [(FIXED_SAMPLES, p) for p in FEATURES[asked.size]]
    shapes += [(n, FIXED_FEATURES) for n in SAMPLES[asked.size]]
    fixed = (FIXED_SAMPLES, FIXED_FEATURES)
    planted = [
        {"signal": signal, "n": n, "p": p, "draw": draw,
         "limit": asked.limit / DRAWS if draw and (n, p) != fixed else asked.limit}
        for signal in SIGNALS
        for n, p in dict.fromkeys(shapes)
    ]  # fmt: skip
    if draw:
        return planted
    sets = [
        {"set": name, "data": asked.data, "limit": REAL * asked.limit}
        for name in real_sets(asked.data)
    ]
    return planted + sets


def key(cell: dict[str, Any]) -> tuple[str, ...]:
    parts = ("contender", "signal", "n", "p", "draw", "set")
    return tuple(str(cell.get(part, "")) for part in parts)


def todo(
    name: str, wanted: Iterable[dict[str, Any]], rows: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """The cells that have no row, or were ended by a smaller limit than now."""
    have = {key(row): row for row in rows}
    return [cell for cell in wanted if not _done(cell, have.get(key({"contender": name, **cell})))]


def _done(cell: dict[str, Any], row: dict[str, Any] | None) -> bool:
    if row is None:
        return False
    return end(row) not in (OVER, NOT_TRIED) or cell["limit"] <= float(row["limit"])


def hopeless(cell: dict[str, Any], rows: list[dict[str, Any]]) -> bool:
    """Whether one no larger of its signal took longer than it may, so that it is not tried."""
    return "signal" in cell and any(
        cell["n"] >= int(other["n"])
        and cell["p"] >= int(other["p"])
        and cell["limit"] <= took(other)
        for other in rows
        if other["signal"] == cell["signal"]
    )


def took(row: dict[str, Any]) -> float:
    """Processor seconds of a cell; if it was ended, those that it had."""
    return float(row["limit"] if end(row) == OVER else row.get("seconds") or 0)


def run(name: str, left: list[dict[str, Any]], rows: list[dict[str, Any]]) -> Iterator[dict]:
    """Give cells to processes, a new one whenever one was ended; yield a row for each."""
    known = [row for row in rows if row["contender"] == name]
    while left:
        for cell in [cell for cell in left if hopeless(cell, known)]:
            left.remove(cell)
            yield row_of(name, cell, NOT_TRIED)
        if not left:
            return
        ready, begun, last = False, None, {}
        for line in answers(name, left):
            if "cell" in line:
                begun = None
                left.remove(line["cell"])
                known.append(row_of(name, **line))
                yield known[-1]
            ready, begun, last = ready or line == READY, line.get("begins", begun), line
        if not ready:  # then it will not be another time
            yield from (row_of(name, cell, last["ended"]) for cell in left)
            return
        if begun:
            left.remove(begun)
            known.append(row_of(name, begun, last["ended"]))
            yield known[-1]


def row_of(name: str, cell: dict[str, Any], ended: str = "", **result: Any) -> dict[str, Any]:
    return dict.fromkeys(COLUMNS, "") | {"contender": name, **cell, "ended": ended, **result}


def answers(name: str, left: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """What a process of this contender says, and last how it ended."""
    contender = CONTENDERS[name]
    python = python_of(contender.environment)
    own = {"PYTHONPATH": str(ROOT) if contender.environment == OWN else ""}
    if not Path(python).exists():
        yield {"ended": "did not start: there is no environment, --setup makes it"}
        return
    with tempfile.TemporaryFile("w+") as errors, subprocess.Popen(
        [python, str(ROOT / "scripts/peers/cell.py"), name],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True,
        env=os.environ | own | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("".join(json.dumps(cell) + "\n" for cell in left))
        process.stdin.close()
        yield from (json.loads(line) for line in process.stdout if line.startswith("{"))
        code = process.wait()
        errors.seek(0)
        said = errors.read().strip().rpartition("\n")[2]
        yield {"ended": how_ended(code, said)}


def how_ended(code: int, said: str) -> str:
    """Why a process that had begun a cell, or its first small fit, ended with this code."""
    if code == -signal.SIGXCPU:
        return OVER
    told = f"signal {-code}" if code < 0 else f"code {code}"
    return f"failed: the process ended with {told}: {said}"[:200]


def writer(file: Any) -> csv.DictWriter:
    return csv.DictWriter(file, COLUMNS, extrasaction="ignore", restval="")


def keep(path: Path, rows: list[dict[str, Any]]) -> None:
    with path.open("w", newline="") as file:
        into = writer(file)
        into.writeheader()
        into.writerows(rows)


def read(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        keep(path, [])
    with path.open(newline="") as file:
        # A cell that was tried again has more than one row: the last counts.
        return [*{key(row): row for row in csv.DictReader(file)}.values()]


if __name__ == "__main__":
    main()
