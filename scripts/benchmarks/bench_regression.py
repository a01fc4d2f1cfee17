"""Targets of numbers: the regressors beside other rankings, where the true features are known.

    python bench_regression.py                     # five seeds, 1,000 noise features
    python bench_regression.py --seeds 1 --noise 50
    python bench_regression.py --targets ring --json ring.json
    python bench_regression.py --table ring.json product.json    # as the guide has it

Of every ranking: the average precision of the true features, and R2 of ten nearest neighbours on
one half of the samples, in as many features as are true, chosen on the other half. Means over
seeds with their standard errors. With every certified fit: whether it converged, and its
certificate. scikit-rebate is run by --rebate if it is installed (`pip install skrebate`).
"""

import argparse
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.ensemble import RandomForestRegressor
from sklearn.feature_selection import f_regression, mutual_info_regression
from sklearn.metrics import average_precision_score
from sklearn.neighbors import KNeighborsRegressor

from convexfs import LogoRegressor, ReliefRegressor, load
from convexfs.records import VERDICTS

TARGETS = ("friedman", "product", "ring")
Ranking = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, str]]


def of(model) -> Ranking:
    """The weights of a regressor, and what its certificate says."""

    def rank(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, str]:
        fitted = model.fit(X, y)
        proof = fitted.certificate_
        said = VERDICTS[proof.ok]
        if hasattr(fitted, "converged_"):
            said = f"{'converged' if fitted.converged_ else 'not converged'}, {said}"
            return fitted.weights_, f"{said}, gap {proof.gap:.0e}, {fitted.n_iter_} iterations"
        return fitted.margin_, said

    return rank


def plain(score) -> Ranking:
    """A score that promises nothing."""
    return lambda X, y: (np.nan_to_num(score(X, y)), "")


def forest(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    model = RandomForestRegressor(100, min_samples_leaf=2, random_state=0)
    return model.fit(X, y).feature_importances_


def rebate(name: str, **settings) -> Ranking:
    def score(X: np.ndarray, y: np.ndarray) -> np.ndarray:
        import skrebate  # pyright: ignore[reportMissingImports]

        model = getattr(skrebate, name)(n_features_to_select=2, **settings)
        return model.fit(X.copy(), y.copy()).feature_importances_

    return plain(score)


RANKINGS: dict[str, Ranking] = {
    "LogoRegressor, rank": of(LogoRegressor()),
    "LogoRegressor, range": of(LogoRegressor(difference="range")),
    "RReliefF, 10": of(ReliefRegressor(n_features_to_select=5)),
    "RReliefF, 70, spread 20": of(
        ReliefRegressor(n_neighbors=70, spread=20, n_features_to_select=5)
    ),
    "soft-miss RELIEF": of(ReliefRegressor(sigma=2.0, n_features_to_select=5)),
    "random forest": plain(forest),
    "mutual information": plain(lambda X, y: mutual_info_regression(X, y, random_state=0)),
    "f_regression": plain(lambda X, y: f_regression(X, y)[0]),
}
REBATE = {
    "scikit-rebate ReliefF 10": rebate("ReliefF", n_neighbors=10),
    "scikit-rebate MultiSURF": rebate("MultiSURF"),
}


def judged(rank: Ranking, X: np.ndarray, y: np.ndarray, true: np.ndarray) -> dict:
    """Average precision on all samples, R2 across halves, CPU seconds, what was certified."""
    start = time.process_time()
    scores, said = rank(X, y)
    took = time.process_time() - start
    half = len(y) // 2
    first, also = rank(X[:half], y[:half])
    chosen = np.argsort(-first, kind="stable")[: true.sum()]
    near = KNeighborsRegressor(10).fit(X[:half][:, chosen], y[:half])
    return {
        "ap": float(average_precision_score(true, scores)),
        "r2": float(near.score(X[half:][:, chosen], y[half:])),
        "seconds": took,
        "fits": [said, also],
    }


def mean(values: list[float]) -> str:
    spread = f" ± {np.std(values, ddof=1) / len(values) ** 0.5:.2f}" if len(values) > 1 else ""
    return f"{np.mean(values):.2f}{spread}"


def markdown(files: list[Path]) -> str:
    """Average precision and R2 of every ranking and target, of numbers written before."""
    rows = [row for file in files for row in json.loads(file.read_text(encoding="utf-8"))]
    targets = [name for name in TARGETS if name in {row["target"] for row in rows}]
    lines = ["| | " + " | ".join(targets) + " |", "|---" * (len(targets) + 1) + "|"]
    for name in RANKINGS | REBATE:
        cells = []
        for target in targets:
            own = [row for row in rows if (row["target"], row["ranking"]) == (target, name)]
            pair = (mean([row[key] for row in own]) for key in ("ap", "r2"))
            cells.append(", ".join(pair) if own else "")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    fits = [said for row in rows for said in row["fits"] if said]
    good = sum(said.startswith(("converged, certified", "certified")) for said in fits)
    return "\n".join([*lines, f"\n{good} of {len(fits)} fits with a certificate have it."])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--noise", type=int, default=1000)
    parser.add_argument("--targets", nargs="+", default=TARGETS, choices=TARGETS)
    parser.add_argument("--rebate", action="store_true", help="scikit-rebate too: minutes a target")
    parser.add_argument("--only", help="rankings whose name holds this")
    parser.add_argument("--json", type=Path, help="where to write all numbers")
    parser.add_argument("--table", type=Path, nargs="+", help="what --json wrote, as Markdown")
    chosen = parser.parse_args()
    if chosen.table:
        print(markdown(chosen.table))
        return
    rankings = RANKINGS | (REBATE if chosen.rebate else {})
    if chosen.only:
        rankings = {name: rank for name, rank in rankings.items() if chosen.only in name}
    warnings.simplefilter("ignore")  # what did not converge is told below
    console, rows = Console(width=150), []
    table = Table("target", "ranking", "AP", "R2 of 10-NN", "CPU s", "fits")
    for target in chosen.targets:
        for name, rank in rankings.items():
            found = []
            for seed in range(chosen.seeds):
                data = load(f"{target}:noise={chosen.noise},seed={seed}").scaled()
                # Rows are drawn independently: the halves need no shuffling.
                true = np.isin(np.arange(data.n_features), data.relevant or ())
                found.append(judged(rank, data.X, data.y, true))
            rows += [{"target": target, "ranking": name, **row} for row in found]
            fits = [said for row in found for said in row["fits"] if said]
            told = {word: sum(fit.startswith(word) for fit in fits) for word in
                    ("converged", "not converged", *VERDICTS.values())}  # fmt: skip
            cells = [mean([row[key] for row in found]) for key in ("ap", "r2")]
            cells.append(f"{np.mean([row['seconds'] for row in found]):.2f}")
            counts = ", ".join(f"{count} {word}" for word, count in told.items() if count)
            table.add_row(target, name, *cells, counts)
            console.print(f"{target} {name}: {' '.join(cells)} {counts}", highlight=False)
    console.print(table)
    if chosen.json is not None:
        chosen.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
