"""What a first fit costs on an empty cache, and the same fit when the cache is full.

    python bench_compile.py [--against OTHER/CHECKOUT] [--only LLFS,Relief]

CPU seconds of ``fit`` (and ``predict``, where there is one), imports not counted: each in
a process of its own, the cache in a folder of its own. Ratios are of the difference of the
two, which is what compiling takes. With --against both checkouts take turns, so that a
busy machine is busy for both.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parents[2]
#: Estimators with their defaults; "wide" is of 3,000 features, where Logo has other kernels.
FITS = ("Relief", "IRelief", "Logo", "Logo wide", "LogoCV", "LFE", "Lmba", "Simba", "LLFS")


def fit(what: str) -> float:
    """CPU seconds of one fit in this process."""
    import warnings

    import numpy as np

    import convexfs

    name, _, shape = what.partition(" ")
    rng = np.random.default_rng(0)
    y = np.arange(51) % 3
    X = rng.standard_normal((51, 3000 if shape else 6))
    X[:, :3] += y[:, None]
    model = getattr(convexfs, name)()
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
        if hasattr(model, "predict"):
            model.predict(X)
    return time.process_time() - began


def cold_and_warm(checkout: Path, what: str) -> tuple[float, float]:
    """The same fit twice, in new processes: on an empty cache and on the one it filled."""
    with tempfile.TemporaryDirectory() as cache:
        variables = {"PYTHONPATH": str(checkout), "NUMBA_CACHE_DIR": cache, "OMP_NUM_THREADS": "1"}
        command = [sys.executable, __file__, "--fit", what]
        cold, warm = (
            float(subprocess.check_output(command, env=os.environ | variables, text=True))
            for _ in range(2)
        )
    return cold, warm


def compiling(cold: float, warm: float) -> float:
    return cold - warm


def main(against: Path | None, names: list[str]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("CPU s", "first", "again", "/ Relief's")
    if against:
        for title in ("first there", "again there", "here / there"):
            table.add_column(title)
    relief = compiling(*cold_and_warm(HERE, "Relief"))
    for what in names:
        cold, warm = cold_and_warm(HERE, what)
        row = [what, f"{cold:.2f}", f"{warm:.3f}", f"{compiling(cold, warm) / relief:.1f}"]
        if against:
            their_cold, their_warm = cold_and_warm(against, what)
            ratio = compiling(cold, warm) / compiling(their_cold, their_warm)
            row += [f"{their_cold:.2f}", f"{their_warm:.3f}", f"{ratio:.2f}"]
        table.add_row(*row)
    Console(width=100).print(table)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="What compiling costs a first fit.")
    parser.add_argument("--against", type=Path, help="another checkout of this project")
    parser.add_argument("--only", default=",".join(FITS), help="estimators, by commas")
    parser.add_argument("--fit", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.fit:
        print(fit(given.fit))
    else:
        main(given.against and given.against.resolve(), given.only.split(","))
