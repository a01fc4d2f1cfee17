"""Write the numbers of the solver study on public instances into its page.

    convexfs compare --set all --instances DIR --sample 5 --seed 2027 --no-default \
        --tol 1e-3,1e-6 --repeats 2 --time-limit 10 --out runs/study
    python scripts/benchmarks/solver_study.py runs/study   # export, then tables of the page
    python scripts/benchmarks/solver_study.py              # tables of the page from the export

The export is scripts/pages/results/solver-study.csv; the page solver-study.md beside it has the
tables between comments that name them, and words around them.
"""

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd

PAGES = Path(__file__).parents[1] / "pages" / "results"
PAGE, EXPORT = PAGES / "solver-study.md", PAGES / "solver-study.csv"
#: Columns of the export: what the tables rest on, without places of the machine.
COLUMNS = [
    "set", "problem", "instance", "problem_class", "solver", "solver_version", "settings", "tol",
    "time_limit", "repeat", "status", "outcome", "ok", "objective", "published", "objective_error",
    "primal_residual", "gap", "error", "dimacs", "dimacs_error", "iterations", "compile_seconds",
    "solve_seconds", "solve_cpu_seconds", "clock_seconds", "setup_seconds", "charged_seconds",
    "peak_bytes", "busy", "failure",
]  # fmt: skip
#: Of whole numbers, and of those printed with three digits.
DIGITS = 7
WRONG = "wrong claim"


def export(folders: list[Path]) -> None:
    """Write the outcomes of studies to the export; a later one replaces instances of others."""
    from convexfs.study.outcomes import outcomes

    rows = pd.DataFrame()
    for folder in folders:
        more = outcomes(folder)[COLUMNS]
        if len(rows):
            rows = rows[~rows["instance"].isin(more["instance"])]
        rows = pd.concat([rows, more], ignore_index=True)
    rows = rows[rows["solver"] != "native"]
    # What a solver cannot take is the same in every repeat.
    rows = rows[(rows["outcome"] != "skipped") | (rows["repeat"] == 0)]
    rows["dimacs"] = rows["dimacs"].str.replace(r"(\.\d{6})\d+", r"\1", regex=True)
    rows["failure"] = rows["failure"].str.replace(r"/\S+/", "", regex=True).str.slice(0, 120)
    rows.to_csv(EXPORT, index=False, float_format=f"%.{DIGITS}g")


def by_solver(rows: pd.DataFrame) -> Iterator[list[str]]:
    """Yield outcomes of every solver at every accuracy."""
    yield ["accuracy", "solver", "version", "tried", "solved", "undecided", "wrong claims",
           "failed", "late", "DIMACS ≤ 10 × accuracy"]  # fmt: skip
    tried = rows[rows["outcome"] != "skipped"]
    for (settings, solver), own in tried.groupby(["settings", "solver"]):
        counts = [(own["outcome"] == name).sum() for name in
                  ("solved", "undecided", WRONG, "failed", "timeout")]  # fmt: skip
        known = own["dimacs_error"].notna()
        small = own["dimacs_error"] <= 10 * own["tol"].fillna(1e-5)
        dimacs = f"{(small & known).sum()} of {known.sum()}" if known.any() else "-"
        version = own["solver_version"].dropna().iloc[0]
        yield [str(settings), str(solver), version, *map(str, [len(own), *counts]), dimacs]


def by_set(rows: pd.DataFrame) -> Iterator[list[str]]:
    """Yield outcomes of every set, and how they agree with what is published."""
    from convexfs.study.published import contradicts

    yield ["set", "instances", "tried", "solved", "undecided", "wrong claims", "failed", "late",
           "solved with a published value", "agree", "contradict"]  # fmt: skip
    for name, own in rows[rows["outcome"] != "skipped"].groupby("set"):
        counts = [(own["outcome"] == each).sum() for each in
                  ("solved", "undecided", WRONG, "failed", "timeout")]  # fmt: skip
        known = own[own["published"].notna() & (own["outcome"] == "solved")]
        wrong = int(contradicts(known).sum())
        told = [own["instance"].nunique(), len(own), *counts, len(known), len(known) - wrong, wrong]
        yield [str(name), *map(str, told)]


def false_statuses(rows: pd.DataFrame) -> Iterator[list[str]]:
    """Yield statuses that contradict a proof: who says what of which instances."""
    yield ["solver", "says", "of", "which is proven or published to be", "tasks"]
    wrong = rows[rows["outcome"] == WRONG]
    truth = _truth(rows, wrong)
    denied = wrong[(truth.notna()) & (truth != wrong["status"])].assign(truth=truth)
    for (solver, says, true), own in denied.groupby(["solver", "status", "truth"]):
        names = ", ".join(sorted(set(own["problem"])))
        yield [str(solver), str(says), names, str(true), str(len(own))]


def refuted_points(rows: pd.DataFrame) -> Iterator[list[str]]:
    """Yield points called optimal that are refuted, with the largest numbers of each solver."""
    yield ["solver", "accuracy", "tasks", "instances", "largest violation", "largest DIMACS error",
           "objective off by"]  # fmt: skip
    wrong = rows[(rows["outcome"] == WRONG) & (rows["status"] == "optimal")]
    wrong = wrong[_truth(rows, wrong).fillna("optimal") == "optimal"]
    for (solver, settings), own in wrong.groupby(["solver", "settings"]):
        names = ", ".join(sorted(set(own["problem"])))
        sizes = [own[name].replace(np.inf, np.nan).max() for name in
                 ("primal_residual", "dimacs_error", "objective_error")]  # fmt: skip
        shown = ["-" if size != size else f"{size:.0e}" for size in sizes]
        yield [str(solver), str(settings), str(len(own)), names, *shown]


def fastest(rows: pd.DataFrame) -> Iterator[list[str]]:
    """Yield the fastest three solvers of each class among those that solved the most."""
    yield ["accuracy", "class", "instances", "solvers by share solved, then CPU seconds (median)"]
    tried = rows[(rows["outcome"] != "skipped") & rows["tol"].notna()]
    for (settings, name), group in tried.groupby(["settings", "problem_class"]):
        told = []
        for solver, own in group.groupby("solver"):
            solved = own["outcome"] == "solved"
            cpu = own.loc[solved, "solve_cpu_seconds"].median()
            told.append((-solved.mean(), cpu, f"{solver} {solved.mean():.0%}, {cpu:.2g} s"))
        words = "; ".join(text for share, _, text in sorted(told)[:3] if share < 0)
        yield [str(settings), str(name), str(group["instance"].nunique()), words or "none solved"]


def _truth(rows: pd.DataFrame, some: pd.DataFrame) -> pd.Series:
    """Return the status of the instances of some rows that is proven, or else published."""
    proven = rows[rows["outcome"] == "solved"].groupby("instance")["status"].first()
    printed = some["published"].str.replace(r"^[^a-z].*", "optimal", regex=True)
    return some["instance"].map(proven).fillna(printed)


TABLES: dict[str, Callable[[pd.DataFrame], Iterator[list[str]]]] = {
    "by-solver": by_solver,
    "by-set": by_set,
    "false-statuses": false_statuses,
    "refuted-points": refuted_points,
    "fastest": fastest,
}


def markdown(lines: Iterator[list[str]]) -> str:
    """Return rows as a table of Markdown, the first as its heading."""
    head, *body = lines
    rows = [head, ["---"] * len(head), *body]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def filled(page: str, rows: pd.DataFrame) -> str:
    """Return a page with its tables made anew."""
    for name, table in TABLES.items():
        block = rf"(<!-- {name} -->\n).*?(<!-- end -->)"
        text = markdown(table(rows))
        page = re.sub(block, lambda found, text=text: f"{found[1]}{text}\n{found[2]}", page,
                      flags=re.S)  # fmt: skip
    return page


def read_export() -> pd.DataFrame:
    """Return the rows of the export."""
    return pd.read_csv(EXPORT, dtype={"published": "string", "settings": "string"})


def main() -> None:
    if len(sys.argv) > 1:
        export([Path(word) for word in sys.argv[1:]])
    page = filled(PAGE.read_text(encoding="utf-8"), read_export())
    PAGE.write_text(page, encoding="utf-8")
    print(f"{PAGE}: {len(TABLES)} tables of {len(read_export()):,} tasks")


if __name__ == "__main__":
    main()
