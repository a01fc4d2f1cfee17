"""convexfs side by side with other packages: time, memory and quality on the same data.

    python scripts/bench_peers.py --setup           # environments of the others, made once
    python scripts/bench_peers.py --quick           # some minutes of processor time
    python scripts/bench_peers.py                   # all sizes; an interrupted run goes on
    python scripts/bench_peers.py --data FOLDER     # npz files with X and y, two classes each

Each contender ranks the features of the same samples, once, in one process. Cells are kept in a
csv file as they end, and are not run again. The page of the guide is written from that file.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import venv
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from peers import page
from peers.contenders import CONTENDERS, NEW, OLD, OWN
from peers.page import NOT_TRIED, OVER
from peers.worlds import SIGNALS, real_sets

ROOT = Path(__file__).parents[1]
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "convexfs/peers"
PACKAGES = {
    NEW: ["skrebate", "scikit-learn", "mrmr_selection", "Boruta", "abess", "celer", "skglm",
          "hidimstat", "knockpy"],
    # What no longer runs with today's numpy and scikit-learn.
    OLD: ["numpy==1.26.4", "scipy==1.11.4", "scikit-learn==1.3.2", "LFSpy==1.0.4",
          "metric-learn==0.7.0"],
}  # fmt: skip
COLUMNS = ("contender", "signal", "n", "p", "set", "limit", "seconds", "memory", "found", "5-NN",
           "SVM", "ended", "version")  # fmt: skip
#: Along one of these the features grow, along the other the samples.
FEATURES = {"quick": (50, 500, 5_000), "full": (50, 500, 5_000, 20_000, 100_000)}
SAMPLES = {"quick": (50, 200, 800), "full": (50, 200, 1_000, 5_000)}
FIXED_SAMPLES, FIXED_FEATURES = 100, 100


def main() -> None:
    asked = arguments()
    if asked.setup:
        return setup()
    rows = read(asked.results)
    for name in asked.only or CONTENDERS:
        with asked.results.open("a", newline="") as file:
            for row in run(name, [*todo(name, cells(asked), rows)], rows):
                writer(file).writerow(row)
                file.flush()
                rows.append(row)
                print(*(row.get(column, "") for column in COLUMNS), sep="  ", flush=True)
    page.write(read(asked.results), ROOT / "convexfs/guide", asked.results)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--setup", action="store_true", help="make the environments of the others")
    parser.add_argument("--quick", action="store_true", help="small sizes, 3 s a cell")
    parser.add_argument("--limit", type=float, help="processor seconds a cell may take")
    parser.add_argument("--data", help="folder of npz files with X and y")
    parser.add_argument("--only", nargs="*", choices=CONTENDERS, help="these contenders")
    parser.add_argument("--results", type=Path, default=Path("peers.csv"))
    asked = parser.parse_args()
    asked.size = "quick" if asked.quick else "full"
    asked.limit = asked.limit or (3.0 if asked.quick else 20.0)
    return asked


def setup() -> None:
    for name, packages in PACKAGES.items():
        venv.create(CACHE / name, with_pip=True, clear=True)
        install = ["-m", "pip", "install", "--quiet", *packages]
        subprocess.run([python_of(name), *install], check=True)


def python_of(environment: str) -> str:
    return sys.executable if environment == OWN else str(CACHE / environment / "bin/python")


def cells(asked: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Each signal over growing features and growing samples, then the real sets."""
    for signal in SIGNALS:
        for p in FEATURES[asked.size]:
            yield {"signal": signal, "n": FIXED_SAMPLES, "p": p, "limit": asked.limit}
        for n in SAMPLES[asked.size]:
            yield {"signal": signal, "n": n, "p": FIXED_FEATURES, "limit": asked.limit}
    for name in real_sets(asked.data):
        yield {"set": name, "data": asked.data, "limit": 3 * asked.limit}


def key(cell: dict[str, Any]) -> tuple[str, ...]:
    return tuple(str(cell.get(part) or "") for part in ("signal", "n", "p", "set"))


def todo(name: str, wanted: Iterable[dict[str, Any]], rows: list[dict[str, Any]]) -> Iterator[dict]:
    have = {key(row) for row in rows if row["contender"] == name}
    return (cell for cell in wanted if key(cell) not in have)


def hopeless(cell: dict[str, Any], over: list[dict[str, Any]]) -> bool:
    """Whether a cell no larger was over the limit, so that this one is not tried."""
    return "signal" in cell and any(
        other.get("signal") == cell["signal"]
        and cell["n"] >= other["n"]
        and cell["p"] >= other["p"]
        for other in over
    )


def run(name: str, left: list[dict[str, Any]], rows: list[dict[str, Any]]) -> Iterator[dict]:
    """Give cells to processes, a new one whenever one was ended; yield a row for each."""
    over = [
        {"signal": row["signal"], "n": int(row["n"]), "p": int(row["p"])}
        for row in rows
        if row["contender"] == name and row["ended"] == OVER and row["signal"]
    ]
    while left:
        for cell in [cell for cell in left if hopeless(cell, over)]:
            left.remove(cell)
            yield {"contender": name, **bare(cell), "ended": NOT_TRIED}
        if not left:
            return
        begun = False
        for line in answers(name, left):
            if "begins" in line:
                begun = True
                continue
            left.remove(line["cell"])
            ended = line.pop("failure", "")
            yield {"contender": name, **bare(line.pop("cell")), **line, "ended": ended}
            begun = False
        if left:
            cell = left.pop(0)
            over.append(cell)
            yield {"contender": name, **bare(cell), "ended": OVER if begun else "did not start"}


def bare(cell: dict[str, Any]) -> dict[str, Any]:
    return {part: value for part, value in cell.items() if part != "data"}


def answers(name: str, left: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """What a process of this contender says, until it ends or is ended."""
    contender = CONTENDERS[name]
    own = {"PYTHONPATH": str(ROOT)} if contender.environment == OWN else {"PYTHONPATH": ""}
    with subprocess.Popen(
        [python_of(contender.environment), str(ROOT / "scripts/peers/cell.py"), name],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        env=os.environ | own | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("".join(json.dumps(cell) + "\n" for cell in left))
        process.stdin.close()
        for line in process.stdout:
            if line.startswith("{"):
                yield json.loads(line)


def writer(file: Any) -> csv.DictWriter:
    return csv.DictWriter(file, COLUMNS, extrasaction="ignore", restval="")


def read(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        with path.open("w", newline="") as file:
            writer(file).writeheader()
    with path.open(newline="") as file:
        return [*csv.DictReader(file)]


if __name__ == "__main__":
    main()
