"""Lmba, Fig. 4 to 6: nearest neighbours on ever more of the ranked features."""

from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier

from convexfs.methods.lmba.estimator import Lmba
from convexfs.methods.simba.estimator import Simba
from papers.baselines import selector
from papers.experiment import Case, Column, Experiment, Figure, Table, Variant
from papers.llfs.splits import z_scores
from papers.measurements import Numbers

FOLDS = 5
#: Numbers of features tried where there are many.
COUNTS = (1, 2, 3, 5, 8, 12, 20, 30, 50, 80, 120, 200, 400)


def measure(case: Case) -> Numbers:
    """Return the accuracy in % of 1-NN by the number of features, over five folds."""
    rows = case.random("rows").permutation(case.data.n_samples)[: case.settings["most_rows"]]
    X, y = case.data.X[rows], case.data.y[rows]
    order = case.random("columns").permutation(X.shape[1])
    X, counts = X[:, order], counts_of(X.shape[1])
    right = np.zeros(len(counts))
    for train, held in StratifiedKFold(FOLDS, shuffle=True, random_state=case.run).split(X, y):
        known, new = (z_scores(X[train], X[part]) for part in (train, held))
        ranked = np.argsort(-SCORES[case.method](known, y[train], case.run), kind="stable")
        for place, count in enumerate(counts):
            first = ranked[:count]
            model = KNeighborsClassifier(1).fit(known[:, first], y[train])
            right[place] += np.sum(model.predict(new[:, first]) == y[held])
    curve = 100.0 * right / len(y)
    return {
        "accuracy": curve, "counts": [float(count) for count in counts], "mean": curve.mean(),
        "best": curve.max(),
    }  # fmt: skip


def counts_of(n_features: int) -> list[int]:
    """Return the numbers of features that are tried: all up to 30, some of more."""
    if n_features <= 30:
        return list(range(1, n_features + 1))
    return [*(count for count in COUNTS if count < n_features), n_features]


def _weights(model: Callable, X: np.ndarray, y: np.ndarray, run: int) -> np.ndarray:
    return model(random_state=run).fit(X, y).weights_


def _baseline(name: str, X: np.ndarray, y: np.ndarray, run: int) -> np.ndarray:
    return selector(name)(X, y)


SCORES: dict[str, Callable[[np.ndarray, np.ndarray, int], np.ndarray]] = {
    "lmba": partial(_weights, Lmba),
    "lmba-descent": partial(_weights, partial(Lmba, form="gradient")),
    "simba": partial(_weights, Simba),
    "mitra": partial(_baseline, "mitra"),
    "relieff": partial(_baseline, "relieff"),
    "random-forest": partial(_baseline, "random-forest"),
}
HEADINGS = {
    "lmba": "Lmba, convex", "lmba-descent": "Lmba, descent", "simba": "Simba", "mitra": "Mitra",
    "relieff": "RELIEF-F", "random-forest": "random forest",
}  # fmt: skip


def curves(row: str, runs: pd.DataFrame) -> pd.DataFrame:
    """Return the mean curves of a data set."""
    own = runs[runs["data"] == row]
    means = own.groupby(["method", "measure", "position"], sort=False)["value"].mean()
    made = [
        pd.DataFrame({
            "series": HEADINGS[method],
            "x": means[method, "counts"].to_numpy(),
            "y": means[method, "accuracy"].to_numpy(),
        })
        for method in own["method"].unique()
    ]  # fmt: skip
    return pd.concat(made or [pd.DataFrame({"series": [], "x": [], "y": []})], ignore_index=True)


ACCURACY = Table(
    name="lmba_curves",
    title="Lmba Fig. 4 to 6: accuracy of nearest neighbours, mean over the numbers of features",
    unit="accuracy, %",
    reference="Lmba, convex",
    higher_is_better=True,
    columns=tuple(Column(heading, method, "mean") for method, heading in HEADINGS.items()),
)
EXPERIMENT = Experiment(
    name="lmba-curves",
    title="Lmba Fig. 4 to 6: nearest neighbours on the ranked features of three sets",
    reference="Feature selection based on loss-margin of nearest neighbor classification, 2009",
    methods=tuple(SCORES),
    measure=measure,
    tables=(ACCURACY,),
    figures=tuple(
        Figure(
            f"lmba_{row}", f"{title} (Fig. {number})", partial(curves, row), "features",
            "accuracy of 1-NN, %", log_x=row == "mfeat",
        )
        for row, title, number in (
            ("mfeat", "Multi-features", 4), ("wdbc", "WDBC", 5), ("diabetis", "Diabetes", 6)
        )
    ),
    full=Variant(
        sources={"mfeat": "data:mfeat", "wdbc": "wdbc", "diabetis": "data:diabetis"},
        runs=1,
        settings={"most_rows": 600},
        seconds={"mfeat": 90.0, "wdbc": 10.0, "diabetis": 10.0},
    ),
    quick=Variant(
        sources={"wdbc": "wdbc"}, runs=1, settings={"most_rows": 100}, seconds={"wdbc": 10.0}
    ),
    notes=(
        "Ranked on the training rows of each fold, z-scored by them, columns permuted.",
        "Of more than 600 rows 600 are drawn. The paper's curves are pictures without numbers.",
    ),
)  # fmt: skip
