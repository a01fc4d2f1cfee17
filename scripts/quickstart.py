"""A first look: features selected, every problem file solved, solvers compared, two pages.

    python scripts/quickstart.py

Everything goes to runs/quickstart; started again, it goes on from there.
"""

import glob
import os
import shlex
import sys
import time
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

import convexfs
from convexfs.cli import main as command
from convexfs.errors import SolverUnavailable

ROOT = Path(__file__).parents[1]
OUT = Path("runs/quickstart")
DATA = {"twonorm:n=300,noise=80,seed=1": 20, "wdbc": 10}
SOLVERS = ["native", "CLARABEL", "ECOS", "SCS"]
#: Compared is one file of each class of problems: SOC, EXP, LP and SDP.
COMMANDS = {
    "2 of 4: every problem file solved": [f"solve problems/*.py --jobs 2 --out {OUT}/solve"],
    "3 of 4: solvers compared": [
        f"compare relief logo llfs lfe --solvers {','.join(SOLVERS)} "
        f"--tol 1e-6 --no-default --repeats 3 --time-limit 20 --out {OUT}/compare"
    ],
    "4 of 4: pages": [f"report {OUT}/solve", f"report {OUT}/compare"],
}
NEXT = f"""Open {ROOT / OUT}/compare/report.html in a browser; it needs no network.
To have the command in this shell:
  export PATH={shlex.quote(str(Path(sys.executable).parent))}:"$PATH"
Next:
  convexfs guide                                     pages to read: your table to a gene list, ...
  convexfs select wdbc --top 5 --plot weights.png    features of your data
  convexfs show problems/logo.py                     a problem as mathematics
  problems/README.md                                 a problem of your own"""
console = Console(soft_wrap=True, highlight=False)


def main() -> None:
    os.chdir(ROOT)
    began = time.perf_counter()
    console.rule("1 of 4: RELIEF by its closed form and by three solvers", align="left")
    select()
    for title, lines in COMMANDS.items():
        console.rule(title, align="left")
        for line in lines:
            run(line)
    console.rule(f"done in {time.perf_counter() - began:.0f} s", align="left")
    console.print(NEXT)


def run(line: str) -> None:
    """Do what the command does; tasks that failed are told by it and end nothing."""
    console.print(f"$ convexfs {line}")
    words = [name for word in line.split() for name in sorted(glob.glob(word)) or [word]]
    code = command(words)
    if code > 1:
        sys.exit(code)


def select() -> None:
    """Fit RELIEF by every solver and print what each chose."""
    headings = ("data", "solver", "features chosen", "objective", "certificate", "seconds")
    table = Table(*headings, box=SIMPLE_HEAD)
    with console.status("compiling"):
        # The first fits compile the kernels and load cvxpy, which no row should pay for.
        for solver in ("native", "CLARABEL"):
            convexfs.Relief(solver=solver).fit([[0.0], [1.0], [5.0], [6.0]], [0, 0, 1, 1])
        for spec, top in DATA.items():
            data = convexfs.load(spec).scaled()
            for solver in SOLVERS:
                table.add_row(spec.partition(":")[0], solver, *cells(data, top, solver))
    console.print(table)


def cells(data: convexfs.Dataset, top: int, solver: str) -> list[str]:
    """One line of the table."""
    selector = convexfs.Relief(n_neighbors=10, n_features_to_select=top, solver=solver)
    start = time.perf_counter()
    try:
        selector.fit(data.X, data.y)
    except SolverUnavailable:
        return ["not installed", "", "", ""]
    seconds = time.perf_counter() - start
    chosen = sorted(range(data.n_features), key=lambda j: -selector.weights_[j])[:top]
    found = "" if data.relevant is None else f" ({len({*chosen} & {*data.relevant})} true)"
    return [
        f"{top} of {data.n_features}{found}",
        f"{selector.solution_.objective:.4f}",
        str(selector.certificate_),
        f"{seconds:.3f}",
    ]


if __name__ == "__main__":
    main()
