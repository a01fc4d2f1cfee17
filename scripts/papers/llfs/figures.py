"""LLFS, Fig. 7, 10 to 14 and Sec. IV-H: what is chosen, how much of it, and at what price."""

import time
from collections.abc import Callable

import numpy as np
import pandas as pd

from convexfs.data import load
from convexfs.methods.llfs.estimator import LLFS
from convexfs.methods.llfs.fit import Settings, point_work
from papers.experiment import Case, Column, Experiment, Figure, Table, Variant
from papers.llfs.splits import SOURCES, parts, z_scores
from papers.llfs.table2 import mistakes
from papers.measurements import Numbers

#: The paper's typical budget.
TYPICAL = 10
#: Of DNA, counted from 0: next to the junction, and where the paper sees the choices.
NEAR, SEEN = slice(60, 120), slice(79, 105)
#: Distances of a binary entry to its relaxed one, as counted.
BINS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 1.0)


def measure(case: Case) -> Numbers:
    """Return the numbers of one figure."""
    return FIGURES[case.method](case)


def _choices(case: Case) -> Numbers:
    """Return where the choices of all points fall, in % of the choices; columns are permuted."""
    settings = case.settings
    noise = settings["noise"][case.method]
    rows = case.random("split").permutation(case.data.n_samples)[: settings["train"]]
    added = case.random("noise").standard_normal((len(rows), noise))
    X = np.hstack([case.data.X[rows], added])
    order = case.random("columns").permutation(X.shape[1])
    X = z_scores(X, X)[:, order]
    codes = np.unique(case.data.y[rows] == case.data.y.max(), return_inverse=True)[1]
    began = time.process_time()
    model = LLFS(max_features=TYPICAL).fit(X, codes)
    seconds = time.process_time() - began
    chosen = np.empty(X.shape[1])
    chosen[order] = model.weights_
    original, share = case.data.n_features, 100.0 / chosen.sum()
    return {
        "near": share * chosen[:original][NEAR].sum(),
        "seen": share * chosen[:original][SEEN].sum(),
        "noise": share * chosen[original:].sum(),
        "most_noise": 100.0 * chosen[original:].max(),
        "most": 100.0 * chosen.max(),
        "seconds": seconds,
        "chosen": 100.0 * chosen[:original],
    }


def _sweep(case: Case) -> Numbers:
    """Return errors in % and chosen features over the budget, for both readings of sigma."""
    own, numbers = parts(case), {}
    for reading in ("feasible", "literal"):
        models = [
            LLFS(max_features=alpha, sigma_init=reading).fit(own.X, own.y)
            for alpha in case.settings["swept"]
        ]
        numbers[f"errors {reading}"] = [mistakes(model, own) for model in models]
        numbers[f"features {reading}"] = [
            float(model.local_support_.sum(axis=1).mean()) for model in models
        ]
    return numbers | {"budgets": [float(alpha) for alpha in case.settings["swept"]]}


def _distances(case: Case) -> Numbers:
    """Return how far the entries of every point's choice are from the relaxed ones, in %."""
    own = parts(case).pruned()
    asked = Settings(max_features=min(TYPICAL, own.X.shape[1]))
    work = point_work(own.X, own.y, asked)
    far: list[np.ndarray] = []
    for point in range(len(own.y)):
        answer, sets = work.solve(point)
        (chosen,) = np.flatnonzero(sets.table["beta"] == answer.beta)
        mask, relaxed = sets.masks[chosen], sets.f
        if mask is not None and relaxed is not None:
            far.append(np.abs(mask - relaxed[chosen]))
    counts = np.histogram(np.concatenate(far), BINS)[0]
    moved = np.concatenate(far) > 1e-6
    return {
        "histogram": 100.0 * counts / counts.sum(),
        "same": 100.0 * float(np.mean(~moved)),
        "fractional": float(np.mean([np.sum(own > 1e-6) for own in far])),
    }


def _growth(case: Case) -> Numbers:
    """Return seconds of a point with ever more samples, the least of three points."""
    settings, seconds = case.settings, []
    for samples in settings["grown"]:
        data = load(f"subclasses:n={samples // 3},noise={settings['noise']['growth']}").scaled()
        work = point_work(data.X, data.y, Settings(max_features=2))
        seconds.append(min(_seconds(work, point) for point in range(3)))
    return {"seconds": seconds, "samples": [float(samples) for samples in settings["grown"]]}


def _seconds(work: Callable[[int], object], point: int) -> float:
    began = time.process_time()
    work(point)
    return time.process_time() - began


FIGURES: dict[str, Callable[[Case], Numbers]] = {
    "choices": _choices,
    "sweep": _sweep,
    "distances": _distances,
    "growth": _growth,
    "many": _choices,
}
#: The data set of each.
ON = {
    "choices": "dna", "sweep": "breast", "distances": "duke_breast", "growth": "subclasses",
    "many": "dna",
}  # fmt: skip


def _pairs(runs: pd.DataFrame, x: str, y: str, series: str) -> pd.DataFrame:
    """Return means over runs of one curve against another."""
    means = runs.groupby(["measure", "position"])["value"].mean()
    if x not in means.index or y not in means.index:
        return pd.DataFrame({"series": [], "x": [], "y": []})
    return pd.DataFrame({"series": series, "x": means[x].to_numpy(), "y": means[y].to_numpy()})


def _swept(what: str, runs: pd.DataFrame) -> pd.DataFrame:
    own = runs[runs["method"] == "sweep"]
    curves = [_pairs(own, "budgets", f"{what} {each}", each) for each in ("feasible", "literal")]
    return pd.concat(curves, ignore_index=True)


def errors_by_budget(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the curves of Fig. 10."""
    return _swept("errors", runs)


def features_by_budget(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the curves of Fig. 11, and where the paper sees them end."""
    paper = pd.DataFrame({"series": ["saturation (paper)"], "x": [130.0], "y": [21.0]})
    return pd.concat([_swept("features", runs), paper], ignore_index=True)


def chosen_of_dna(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the bars of Fig. 7 and 13: how many points choose each original feature."""
    own = runs[(runs["measure"] == "chosen") & runs["method"].isin(["choices", "many"])]
    means = own.groupby(["method", "position"], sort=False)["value"].mean().reset_index()
    names = {"choices": "100 noise features", "many": "100,000 noise features"}
    named = means["method"].map(names)
    return pd.DataFrame({"series": named, "x": means["position"] + 1, "y": means["value"]})


def histogram(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the bars of Fig. 12."""
    own = runs[runs["measure"] == "histogram"].groupby("position")["value"].mean()
    return pd.DataFrame(
        {"series": "entries", "x": BINS[:-1], "y": own.reindex(range(7)).to_numpy()}
    )


def growth(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the curve of Fig. 14."""
    return _pairs(runs[runs["method"] == "growth"], "samples", "seconds", "a point")


CHOSEN = Table(
    name="llfs_choices",
    title="LLFS Fig. 7 and 13: where the choices fall, alpha = 10",
    unit="% of all choices; of points for the single features",
    rows=("dna",),
    columns=tuple(
        Column(f"{heading}, {kind}", method, measure)
        for method, kind in (("choices", "100 noise"), ("many", "100,000 noise"))
        for heading, measure in (
            ("features 61-120", "near"),
            ("features 80-105", "seen"),
            ("noise features", "noise"),
            ("points choosing the commonest feature", "most"),
            ("points choosing the commonest noise feature", "most_noise"),
        )
    ),
)
ROUNDED = Table(
    name="llfs_rounding",
    title="LLFS Fig. 12: entries that rounding leaves as they are",
    unit="% of entries; number of entries a point",
    rows=("duke_breast",),
    columns=(
        Column("left as they are", "distances", "same"),
        Column("fractional ones a point", "distances", "fractional"),
    ),
)
EXPERIMENT = Experiment(
    name="llfs-figures",
    title="LLFS Fig. 7, 10 to 14 and Sec. IV-H",
    reference="Armanfard, Reilly and Komeili, Logistic Localized Modeling, 2017, Sec. IV",
    methods=tuple(FIGURES),
    measure=measure,
    tables=(CHOSEN, ROUNDED),
    figures=(
        Figure("llfs_fig7_13", "Chosen features of DNA", chosen_of_dna, "feature", "% of points"),
        Figure("llfs_fig10", "Error of breast", errors_by_budget, "alpha", "error, %"),
        Figure("llfs_fig11", "Chosen of breast", features_by_budget, "alpha", "features a point"),
        Figure("llfs_fig12", "Binary and relaxed", histogram, "distance at least", "% of entries"),
        Figure("llfs_fig14", "Time of a point", growth, "samples", "seconds", True, True),
    ),
    left_out={
        (row, method): "another figure"
        for row in ON.values() for method in ON if ON[method] != row
    },
    full=Variant(
        sources={"dna": SOURCES["dna"], "breast": "wdbc", "duke_breast": SOURCES["duke_breast"],
                 "subclasses": "subclasses"},
        runs=1,
        settings={
            "sizes": {}, "most_test_rows": 1500, "train": 100,
            "noise": {"choices": 100, "many": 100_000, "growth": 5000},
            "swept": [1, *range(10, 131, 10)], "grown": [300, 1000, 3000],
        },
        seconds={"dna": 93.0, "breast": 9.0, "duke_breast": 0.2, "subclasses": 14.0},
    ),
    quick=Variant(
        sources={"breast": "wdbc", "duke_breast": "twonorm:n=42", "subclasses": "subclasses"},
        runs=1,
        settings={
            "sizes": {"breast": [60, 200, 30], "duke_breast": [30, 12, 20]},
            "most_test_rows": 200, "train": 60,
            "noise": {"choices": 100, "many": 1000, "growth": 100},
            "swept": [1, 5, 20, 60], "grown": [150, 300],
        },
        seconds={"breast": 3.0, "duke_breast": 1.0, "subclasses": 2.0},
    ),
    notes=(
        "One split; DNA asks whether there is a junction, rows of the figure train.",
        "Fig. 14 stops at 3000 samples (the paper: 10,000), which with 5002 features take a "
        "gigabyte; times are the least of three points.",
        "The paper's curves are pictures: only the saturation of Fig. 11 at 21 is a number.",
    ),
)  # fmt: skip
