"""CPU time of fits beside another checkout of convexfs, and beside fast-select.

    python bench_speed.py --old ../old-checkout --cases logo-1000x500,lmnn-40x20 --repeats 3
    python bench_speed.py --first --old ../old-checkout      # first fits, empty numba cache
    python bench_speed.py --peer                      # needs pip install fast-select==0.3.0

Both checkouts run in processes of their own that take turns, on one thread; ratios are of the
least CPU times. A ratio above 1 means that this checkout is faster. Objectives say whether both
answers are equally good; `proven` counts certificates. Memory is the peak of a process that runs
one case, imports included.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

HERE = Path(__file__).resolve().parents[2]
#: Method, samples, features, and parameters of each case.
CASES: dict[str, tuple[str, int, int, dict[str, Any]]] = {
    "relief-1000x2000": ("Relief", 1000, 2000, {"n_neighbors": 10, "miss": "uniform"}),
    "relief-5000x500": ("Relief", 5000, 500, {"n_neighbors": 10, "miss": "uniform"}),
    "relief-20000x200": ("Relief", 20000, 200, {"n_neighbors": 10, "miss": "uniform"}),
    "relief-200x500": ("Relief", 200, 500, {"n_neighbors": 10, "miss": "uniform"}),
    "multisurf-1000x500": ("Relief", 1000, 500, {"n_neighbors": "multisurf"}),
    **{f"logo-400x500-{seed}": ("Logo", 400, 500, {"lam": 1.0}) for seed in range(10)},
    "logo-1000x500": ("Logo", 1000, 500, {"lam": 1.0}),
    "logo-2000x500": ("Logo", 2000, 500, {"lam": 1.0}),
    "lmba-90x400": ("Lmba", 90, 400, {}),
    "lmnn-40x20": ("LMNN", 40, 20, {}),
    "lmnn-80x42": ("LMNN", 80, 42, {}),
    "knockoffs-1000x250": ("KnockoffSelector", 1000, 250, {"random_state": 0}),
    "knockoffs-5000x500": ("KnockoffSelector", 5000, 500, {"random_state": 0}),
    "permutations-569x60": ("permutation_test", 569, 60, {"n_permutations": 200}),
}
FIRST = ("Relief", "Logo", "LLFS", "Lmba", "LFE", "LMNN")


def samples(case: str) -> tuple[np.ndarray, np.ndarray]:
    """Normal samples; a sum of ten features decides the class, with noise."""
    _, n, j, _ = CASES[case]
    rng = np.random.default_rng(int(case.rpartition("-")[2]) if case.count("-") == 2 else 0)
    X = rng.standard_normal((n, j))
    score = X[:, :10].sum(axis=1) + 2.0 * rng.standard_normal(n)
    return X, (score > 0).astype(int)


def run_case(case: str) -> dict[str, Any]:
    """Fit once; CPU seconds, objective and certificate."""
    import convexfs
    from convexfs.inference import KnockoffSelector, permutation_test

    method, _, _, parameters = CASES[case]
    X, y = samples(case)
    began = time.process_time()
    if method == "permutation_test":
        permutation_test(convexfs.Relief(n_neighbors=10), X, y, random_state=0, **parameters)
        return {"cpu": time.process_time() - began, "objective": None, "proven": None}
    kind = KnockoffSelector if method == "KnockoffSelector" else getattr(convexfs, method)
    model = kind(**parameters).fit(X, y)
    cpu, solution = time.process_time() - began, model.solution_
    return {"cpu": cpu, "objective": solution.objective, "proven": bool(model.certificate_.ok)}


def work() -> None:
    """Run the cases named on standard input, one line each, and answer in JSON."""
    warnings.simplefilter("ignore")
    for line in sys.stdin:
        ran = run_case(line.strip())
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps(ran | {"mb": peak}), flush=True)


class Checkout:
    """A process that runs cases by the code of one checkout, with a kernel cache of its own."""

    def __init__(self, root: Path, cache: str):
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
        places = {"PYTHONPATH": str(root), "NUMBA_CACHE_DIR": cache}
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--worker"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=os.environ | threads | places, cwd=cache,
        )  # fmt: skip

    def run(self, case: str) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(case + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self) -> None:
        self.process.communicate()


def compare(old: Path, cases: list[str], repeats: int) -> None:
    table = Table("case", "CPU s", "before", "ratio", "MB", "before", "objective", "before")
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
        for case in cases:
            both = Checkout(old, one), Checkout(HERE, two)
            # The first round compiles kernels; the least time leaves it out where there are more.
            rounds = [[each.run(case) for each in both] for _ in range(repeats)]
            before, after = (min(r[side]["cpu"] for r in rounds) for side in (0, 1))
            values = [
                "" if each["objective"] is None
                else f"{each['objective']:.8g}{'' if each['proven'] else ' (not proven)'}"
                for each in rounds[-1]
            ]  # fmt: skip
            speeds = f"{after:.3g}", f"{before:.3g}", f"{before / after:.2f}"
            peaks = [f"{each['mb']:.0f}" for each in rounds[-1][::-1]]
            table.add_row(case, *speeds, *peaks, *values[::-1])
            Console(stderr=True).print(case, f"{before / after:.2f}", highlight=False)
            for each in both:
                each.close()
    Console(width=110).print(table)


def compare_peer(repeats: int) -> None:
    os.environ["NUMBA_NUM_THREADS"] = "1"
    from fast_select import MultiSURF, ReliefF  # pyright: ignore[reportMissingImports]

    from convexfs import Relief

    table = Table("case", "fast-select CPU s", "convexfs CPU s", "ratio")
    for case in (name for name in CASES if name.startswith(("relief", "multisurf"))):
        X, y = samples(case)
        peers = (
            lambda: (ReliefF(n_neighbors=10) if "relief" in case else MultiSURF()).fit(X, y),  # noqa: B023
            lambda: Relief(**CASES[case][3]).fit(X, y),  # noqa: B023
        )
        taken = [[_cpu_seconds(run) for run in peers] for _ in range(repeats + 1)][1:]
        theirs, ours = (min(times) for times in zip(*taken, strict=True))
        table.add_row(case, f"{theirs:.3g}", f"{ours:.3g}", f"{theirs / ours:.2f}")
    Console(width=100).print(table)


def _cpu_seconds(run: Any) -> float:
    began = time.process_time()
    run()
    return time.process_time() - began


def first_fits(old: Path | None, repeats: int) -> None:
    """CPU seconds of fits that compile their kernels, imports not counted.

    Numba imports most of itself when it compiles for the first time, so it compiles an empty
    function before. Bytecode of all modules is written before, as an installation has it.
    """
    roots = [HERE] if old is None else [old, HERE]
    table = Table("first fit on iris", *(f"{root.name} CPU s" for root in roots), "ratio")
    with tempfile.TemporaryDirectory() as bytecode:
        for name in FIRST:
            taken = [[_first_fit(name, r, bytecode) for r in roots] for _ in range(repeats + 1)][1:]
            least = [min(times) for times in zip(*taken, strict=True)]
            table.add_row(name, *(f"{s:.2f}" for s in least), f"{least[0] / least[-1]:.2f}")
    Console(width=100).print(table)


def _first_fit(name: str, root: Path, bytecode: str) -> float:
    program = (
        "import time, convexfs, sklearn, numba, warnings; warnings.simplefilter('ignore');"
        "numba.njit(lambda: None)();"
        f"d = convexfs.load('iris').scaled(); model = convexfs.{name}(); t = time.process_time();"
        "model.fit(d.X, d.y); print(time.process_time() - t)"
    )
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryDirectory() as cache:
        places = {"PYTHONPATH": str(root), "NUMBA_CACHE_DIR": cache}
        ran = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=cache,
            env=kept | places | {"PYTHONPYCACHEPREFIX": bytecode},
        )  # fmt: skip
    return float(ran.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--old", type=Path, help="folder of the other checkout")
    parser.add_argument("--cases", default=",".join(CASES), help="names, separated by commas")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--peer", action="store_true", help="compare with fast-select")
    parser.add_argument("--first", action="store_true", help="measure first fits")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.worker:
        return work()
    old = None if asked.old is None else asked.old.resolve()
    if asked.first:
        first_fits(old, asked.repeats)
    if asked.peer:
        compare_peer(asked.repeats)
    if old is not None and not asked.first:
        compare(old, asked.cases.split(","), asked.repeats)
    if not (asked.first or asked.peer or asked.old):
        parser.error("give --old FOLDER, --peer or --first")
    return None


if __name__ == "__main__":
    main()
