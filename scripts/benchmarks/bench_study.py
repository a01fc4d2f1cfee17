"""Run the same small study twice: do the two agree on every lead beyond its interval?

    python bench_study.py [REPEATS]

Prints the solvers of each class in their order in both runs with every lead over the next,
and what one measurement costs beyond the solve it measures.
"""

import sys
import tempfile
import time
from pathlib import Path

import pandas as pd

from convexfs.study.compare import compare_files
from convexfs.study.outcomes import outcomes
from convexfs.study.summary import SCOPE, ranking

PROBLEMS = Path(__file__).parents[2] / "problems"
FILES = ["irelief", "logo_garrote", "llfs_ratio", "lfe_row_sparse"]
SOLVERS = ["native", "CLARABEL", "ECOS", "SCS", "HIGHS"]


def study(folder: Path, seed: int, repeats: int) -> pd.DataFrame:
    began = time.perf_counter()
    progress = compare_files(
        [PROBLEMS / f"{name}.py" for name in FILES],
        folder,
        solvers=SOLVERS,
        tols=[1e-6],
        default=False,
        repeats=repeats,
        time_limit=20.0,
        seed=seed,
    )
    frame = outcomes(folder)
    spent, solving = time.perf_counter() - began, frame["solve_seconds"].sum()
    tried = len(frame[frame["outcome"] != "skipped"])
    print(
        f"{progress.total} tasks, {tried} tried, in {spent:.1f} s; solving took {solving:.1f} s, "
        f"so {1000 * (spent - solving) / progress.total:.0f} ms a task beside it"
    )
    return ranking(frame)


def contradicted(one: pd.DataFrame, two: pd.DataFrame) -> list[str]:
    """Clear leads over the next in rank that the other run has the other way round."""
    places = two.set_index([*SCOPE, "solver"])["rank"].to_dict()
    found = []
    for where, rows in one.groupby(SCOPE):
        for place, behind in zip(rows.to_dict("records"), rows["solver"][1:], strict=False):
            ahead = place["solver"]
            if place["clear"] and places[(*where, ahead)] > places[(*where, behind)]:
                found.append(f"{' '.join(map(str, where))}: {ahead} before {behind}")
    return found


def main(repeats: int) -> int:
    with tempfile.TemporaryDirectory() as scratch:
        one, two = (study(Path(scratch) / str(seed), seed, repeats) for seed in (1, 2))
    for where, rows in one.groupby(SCOPE):
        again = two[(two[SCOPE] == list(where)).all(axis=1)]
        print(" ".join(map(str, where)))
        print("  one:", _line(rows))
        print("  two:", _line(again))
    wrong = contradicted(one, two) + contradicted(two, one)
    clear = int(one["clear"].sum() + two["clear"].sum())
    print(f"{clear} clear leads in both runs, {len(wrong)} contradicted", *wrong, sep="\n")
    return 1 if wrong else 0


def _line(rows: pd.DataFrame) -> str:
    """Solvers in their order; between two the lead, in brackets where it is not clear."""
    words = []
    for row in rows.to_dict("records"):
        words.append(row["solver"])
        if row["lead"] == row["lead"]:
            words.append(f"{row['lead']:.2f}" if row["clear"] else f"({row['lead']:.2f})")
    return " ".join(words)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 5))
