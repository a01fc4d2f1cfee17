"""A first look: features of a table, solutions that are proven, solvers compared, two pages.

    python scripts/quickstart.py

Everything goes to runs/quickstart; run it again to resume.
"""

import contextlib
import io
import os
import shlex
import sys
import time
from pathlib import Path
from typing import Any

from rich.console import Console

import convexfs
from convexfs.cli import main as command

ROOT = Path(__file__).parents[1]
OUT = Path("runs/quickstart")
DATA = "wdbc"
#: Problem files of four classes: second-order cones, exponential cones, linear, semidefinite.
FILES = ["relief", "logo", "llfs", "lfe"]
SOLVERS = ["native", "CLARABEL", "ECOS", "SCS"]
STUDY = ["compare", *FILES, "--solvers", ",".join(SOLVERS), "--tol", "1e-6", "--no-default",
         "--repeats", "1", "--time-limit", "20", "--out", str(OUT / "compare")]  # fmt: skip
NEXT = f"""Pages:  {OUT}/select.html   {OUT}/compare/report.html
Next:   convexfs select YOUR.csv --target COLUMN      convexfs guide
        export PATH={shlex.quote(str(Path(sys.executable).parent))}:"$PATH\""""
console = Console(soft_wrap=True, highlight=False)


def main() -> None:
    os.chdir(ROOT)
    OUT.mkdir(parents=True, exist_ok=True)
    began = time.perf_counter()
    console.print(f"convexfs {convexfs.__version__}: a demonstration of about one minute\n")
    with console.status("compiling kernels, loading cvxpy"):
        # No time below should contain this.
        for solver in ("native", "CLARABEL"):
            convexfs.Relief(solver=solver, n_features_to_select=5).fit(*warm_up_data())
    show_features()
    with console.status("solving and verifying"):
        study = run_study()
    show_verdicts(study)
    show_solvers(study)
    console.print(f"{NEXT}\nDone in {time.perf_counter() - began:.0f} s.")


def warm_up_data() -> tuple:
    data = convexfs.load(DATA).scaled()
    return data.X, data.y


def show_features() -> None:
    """Select features of a table, and write the page about them."""
    console.print(f"1  Which features matter?         convexfs select {DATA}")
    with console.status("testing 30 features"):
        found = convexfs.select(DATA, "relief").with_curve()
        (OUT / "select.html").write_text(found.to_html(), encoding="utf-8")
    table: Any = found.ranking()
    for row in table.head(4).itertuples():
        bar = "█" * max(round(24 * row.weight / table["weight"].max()), 1)
        console.print(f"     {row.name:22} {bar:24}  q = {row.q:.1g}")
    curve: Any = found.curve()
    console.print(
        f"     {int(table['selected'].sum())} of {len(table)} significant at FDR 10 %; "
        f"{curve.chosen} predict as well as all:\n"
        f"     held-out error {curve.held_out_error:.2f} (chance {curve.chance:.2f})\n"
    )


def run_study() -> Any:
    """Compare the solvers without the command's output; return the finished tasks."""
    with contextlib.redirect_stdout(io.StringIO()):
        code = command(STUDY)
        code = code if code > 1 else command(["report", str(OUT / "compare")])
    if code > 1:
        sys.exit(code)
    return convexfs.open_run(OUT / "compare").tasks()


def show_verdicts(tasks: Any) -> None:
    """Count the verdicts on all solutions."""
    tasks = tasks[tasks["status"] != "skipped"]
    verdicts = tasks["ok"].astype("boolean")
    proven, refuted = int((verdicts == True).sum()), int((verdicts == False).sum())  # noqa: E712
    console.print(
        "2  Are the problems really solved?   convexfs solve relief logo llfs lfe\n"
        f"     {len(tasks)} solutions: {proven} proven, {refuted} refuted, "
        f"{len(tasks) - proven - refuted} undecided\n"
    )


def show_solvers(tasks: Any) -> None:
    """Print how often and how fast each solver was right."""
    console.print("3  Which solver?                  convexfs compare relief logo llfs lfe")
    console.print("     solver     proven     seconds, mean")
    tasks = tasks[tasks["status"] != "skipped"]
    for solver in SOLVERS:
        own = tasks[tasks["solver"] == solver]
        if len(own):
            proven = f"{int(own['ok'].astype('boolean').sum())} of {len(own)}"
            console.print(f"     {solver:10} {proven:10} {own['solve_seconds'].mean():8.4f}")
    console.print()


if __name__ == "__main__":
    main()
