"""Runs the cells of one contender, a line of JSON each; killed by the system when one is too long.

    python scripts/peers/cell.py NAME < cells     # cells: lines of JSON

A first fit on small data loads and compiles what is needed and is not counted. Of each cell are
counted the processor seconds of this process, its threads and children, and the memory beyond
what it held before. Columns are standardised before the count begins. More memory than
`MOST_MEMORY` is not given.
"""

import ctypes
import gc
import json
import resource
import sys
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from peers.contenders import CONTENDERS, Contender
from peers.rows import OVER, READY
from peers.worlds import found, nested_errors, planted, real_sets, selected_at_rate

#: Processor seconds that the first fit may take.
FIRST_FIT = 100.0
MOST_MEMORY = 6 * 2**30
NO_MEMORY = f"{OVER}: {MOST_MEMORY // 2**30} GB"


def cpu_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def peak_bytes() -> int:
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.partition("VmHWM:")[2].split()[0])


def forget_peak() -> None:
    """Give freed memory back, lest a cell find it for nothing, and count the peak from here."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")


def within(limit: float) -> None:
    """Let the system end this process when it has used that much more."""
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (int(cpu_seconds() + limit + 1), hard))


def measured(contender: Contender, cell: dict[str, Any]) -> dict[str, Any]:
    if "set" in cell:
        X, y = real_sets(cell["data"])[cell["set"]]
        before = cpu_seconds()
        errors = nested_errors(contender.score, X, y)
        return {"seconds": cpu_seconds() - before, **errors}
    X, y, true = planted(cell["signal"], cell["n"], cell["p"], cell["draw"])
    forget_peak()
    held, before = peak_bytes(), cpu_seconds()
    scores = contender.score(X, y, len(true))
    cost = {"seconds": cpu_seconds() - before, "memory": peak_bytes() - held}
    quality = {"found": found(scores, true)}
    if contender.family == "knockoffs":
        quality |= selected_at_rate(scores, true)
    return cost | quality


def main() -> None:
    contender = CONTENDERS[sys.argv[1]]
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    within(FIRST_FIT)
    X, y, true = planted("linear", 40, 20)
    contender.score(X, y, len(true))
    print(json.dumps(READY), flush=True)
    for line in sys.stdin:
        cell = json.loads(line)
        print(json.dumps({"begins": cell}), flush=True)
        within(cell["limit"])
        result = answer(contender, cell)
        print(json.dumps({"cell": cell, **result}), flush=True)
        if result.get("ended") == NO_MEMORY:
            return  # what is left of it might burden the next cell


def answer(contender: Contender, cell: dict[str, Any]) -> dict[str, Any]:
    """What was measured, or why nothing was."""
    known = {"version": version(contender.package)}
    try:
        return known | measured(contender, cell)
    except MemoryError:
        return known | {"ended": NO_MEMORY}
    except ValueError as error:
        return known | {"ended": f"refused: {error}"[:200]}
    except Exception as error:
        return known | {"ended": f"failed: {type(error).__name__}: {error}"[:200]}


if __name__ == "__main__":
    main()
