"""Run the same small study twice: do the two agree on every lead beyond its interval?

    python scripts/bench_study.py [REPEATS]

Prints each class's fastest solver in both runs, the leads with their intervals, and what
one measurement costs beyond the solve it measures.
"""

import sys
import tempfile
import time
from pathlib import Path

import pandas as pd

from convexfs.study.compare import compare_files
from convexfs.study.outcomes import outcomes
from convexfs.study.profiles import SCOPE, leaders

PROBLEMS = Path(__file__).parents[1] / "problems"
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
    return leaders(frame).set_index(SCOPE)


def main(repeats: int) -> int:
    with tempfile.TemporaryDirectory() as scratch:
        one, two = (study(Path(scratch) / str(seed), seed, repeats) for seed in (1, 2))
    agreed = True
    for where in one.index:
        first, second = one.loc[where], two.loc[where]
        same = first["fastest"] == second["fastest"]
        clear = first["clear"] or second["clear"]
        agreed = agreed and (same or not clear)
        told = [
            f"{row['fastest']} {row['lead']:.3f} ({row['lead_low']:.3f} to {row['lead_high']:.3f})"
            for row in (first, second)
        ]
        verdict = "same" if same else "DIFFERENT" if clear else "different, within the interval"
        print(f"{' '.join(map(str, where))}: {' | '.join(told)}: {verdict}")
    print("all clear leads agree" if agreed else "a clear lead was contradicted")
    return 0 if agreed else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 5))
