"""Logo, Figures 3 to 7 on the spiral, and whether its fixed point is unique (Sec. 3, 4.1)."""

import time
import warnings
from typing import Any

import numpy as np
import pandas as pd

from convexfs.errors import ConvexfsWarning
from convexfs.methods.logo.estimator import Logo
from papers.baselines.checks import standardised
from papers.experiment import Case, Column, Experiment, Figure, Table, Variant
from papers.measurements import Numbers
from papers.splits import noisy_split

#: Iterations that Figure 5b shows.
SHOWN_ITERATIONS = 30
#: Noise features from which on they are held in single precision: a million take 1.8 GB.
SINGLE_PRECISION = 100_000
#: Relative change at which the paper stops.
STOPPED = 0.01


def measure_weights(case: Case) -> Numbers:
    """Return weights of the two relevant features and the largest other, and what it took."""
    X, y = _noisy_spiral(case, case.settings["noise"][case.row])
    began = time.process_time()
    model = Logo(sigma=2.0, lam=1.0).fit(X, y)
    seconds = time.process_time() - began
    return {**_weights(model), "seconds": seconds, "iterations": model.n_iter_}


def measure_parameters(case: Case) -> Numbers:
    """Return weights, and whether the iteration ends: as printed, undamped, and certified."""
    sigma, lam = case.settings["pairs"][case.row]
    X, y = _noisy_spiral(case, case.settings["noise"])
    chosen: dict[str, Any] = {"damped": {}, "undamped": {"damping": 0.0}}[case.method]
    if case.method == "undamped":
        chosen |= {"max_iter": SHOWN_ITERATIONS, "tol": STOPPED}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvexfsWarning)  # what does not converge is the result
        model = Logo(sigma=sigma, lam=lam, **chosen).fit(X, y)
    changes = [at["residual"] for at in model.history_]
    return {
        **_weights(model),
        "converges": float(model.converged_),
        "iterations": model.n_iter_,
        "period": model.period_,
        "change": changes[-1],
        "changes": changes,
    }


def measure_starts(case: Case) -> Numbers:
    """Return how far two certified fixed points are apart, from w = 1 and the clean answer."""
    train, noise = case.settings["train"], case.settings["noise"]
    split = noisy_split(case, train, case.data.n_samples - train, noise)
    X = standardised(split.X)
    clean = Logo(sigma=2.0, lam=1.0).fit(X[:, split.original], split.y)
    start = np.concatenate([clean.weights_, np.zeros(noise)])
    usual = Logo(sigma=2.0, lam=1.0).fit(X, split.y)
    other = Logo(sigma=2.0, lam=1.0, start=start).fit(X, split.y)
    apart = np.linalg.norm(usual.weights_ - other.weights_) / np.linalg.norm(usual.weights_)
    return {
        "apart": float(apart),
        "both_certified": float(usual.certificate_.ok is True and other.certificate_.ok is True),
        "from_ones": float(usual.solution_.objective or np.nan),
        "from_clean": float(other.solution_.objective or np.nan),
    }


def measure_classifier(case: Case) -> Numbers:
    """Return test errors in % of Logo's own classifier and of one nearest neighbour."""
    noise = case.settings["noise"][case.row]
    train, test = case.settings["sizes"]
    split = noisy_split(case, train, test, noise, shuffle_columns=True)
    if case.method == "logo":
        guess = Logo(sigma=2.0, lam=1.0).fit(split.X, split.y).predict(split.X_test)
    else:
        squares = (split.X_test**2).sum(axis=1)[:, None] - 2 * split.X_test @ split.X.T
        guess = split.y[(squares + (split.X**2).sum(axis=1)).argmin(axis=1)]
    return {"error": 100.0 * float(np.mean(guess != split.y_test))}


def _noisy_spiral(case: Case, noise: int) -> tuple[np.ndarray, np.ndarray]:
    random, shape = case.random(f"noise {noise}"), (case.data.n_samples, noise)
    if noise < SINGLE_PRECISION:
        return np.hstack([case.data.X, random.standard_normal(shape)]), case.data.y
    X = np.empty((shape[0], 2 + noise), np.float32)
    X[:, :2] = case.data.X
    for row in X:
        row[2:] = random.standard_normal(noise, np.float32)
    return X, case.data.y


def _weights(model: Logo) -> dict[str, float]:
    weights = model.weights_
    return {
        "first": float(weights[0]),
        "second": float(weights[1]),
        "other": float(weights[2:].max()),
        "others": float((weights[2:] > 0.01 * weights.max()).sum()),
    }


def _times(runs: pd.DataFrame) -> pd.DataFrame:
    """Return Figure 5a: seconds by the number of features."""
    own = runs[runs["measure"] == "seconds"].groupby("data", sort=False)["value"].mean()
    ours = [("ours", float(str(row).split()[0]), seconds) for row, seconds in own.items()]
    points = [*ours, ("Pentium 4 (paper)", 100.0, 3.5), ("Pentium 4 (paper)", 1000.0, 37.0)]
    points.append(("Pentium 4 (paper)", 20000.0, 372.0))
    return pd.DataFrame(points, columns=["series", "x", "y"])


def _changes(runs: pd.DataFrame) -> pd.DataFrame:
    """Return Figure 5b: relative change of the weights by iteration, undamped."""
    chosen = (runs["measure"] == "changes") & (runs["method"] == "undamped") & (runs["run"] == 0)
    own = runs[chosen & runs["data"].str.endswith("lam 1")]
    return pd.DataFrame(
        {"series": own["data"], "x": own["position"] + 1, "y": own["value"].clip(lower=1e-12)}
    )


def _errors(runs: pd.DataFrame) -> pd.DataFrame:
    own = runs.groupby(["method", "data"], sort=False)["value"].mean().reset_index()
    x = own["data"].str.split().str[0].astype(float)
    return pd.DataFrame({"series": own["method"], "x": x, "y": own["value"]})


def _counts(*counts: int) -> dict[str, int]:
    return {f"{count} noise features": count for count in counts}


def _pairs(*pairs: tuple[float, float]) -> dict[str, list[float]]:
    return {f"sigma {sigma:g}, lam {lam:g}": [sigma, lam] for sigma, lam in pairs}


FIGURE_3 = _counts(50, 500, 5000, 10000, 20000, 30000)
FIGURE_4, QUICK_4 = _counts(100_000, 1_000_000), _counts(2000)
FIGURE_5B = _pairs(*((sigma, 1.0) for sigma in (0.01, 0.05, 0.5, 1.0, 10.0, 50.0)))
FIGURE_6 = _pairs(*((2.0, lam) for lam in (0.1, 0.5, 1.0, 1.5, 2.0)))
FIGURE_7 = _pairs(*((sigma, 1.0) for sigma in (0.1, 0.5, 1.0, 3.0, 5.0)))
SETTINGS = FIGURE_5B | FIGURE_6 | FIGURE_7
GROWING = _counts(0, 10, 100, 1000, 5000)
PAPER = (
    "Sun, Todorovic and Goodison, Local-Learning-Based Feature Selection for High-Dimensional "
    "Data Analysis, TPAMI 2010"
)
WEIGHTS = (
    Column("first weight", "logo", "first"),
    Column("second weight", "logo", "second"),
    Column("largest other", "logo", "other"),
    Column("others selected", "logo", "others"),
    Column("iterations", "logo", "iterations"),
)
FIGURE3_TABLE = Table(
    name="logo_figure3",
    title="Logo Figures 3 and 5a: weights on the spiral, sigma 2, lam 1",
    printed="logo_figure5",
    unit="weights, counts, seconds",
    columns=(*WEIGHTS, Column("seconds", "logo", "seconds", "seconds")),
)
NOISE = Experiment(
    name="logo-noise",
    title="Logo Figures 3 and 5a: the spiral with ever more noise features",
    reference=f"{PAPER}, Sec. 4.1",
    methods=("logo",),
    measure=measure_weights,
    tables=(FIGURE3_TABLE,),
    figures=(
        Figure(
            "logo_figure5a", "Processor time by noise features", _times,
            "noise features", "seconds", log_x=True, log_y=True,
        ),
    ),
    full=Variant(
        dict.fromkeys(FIGURE_3, "spiral"), 3, {"noise": FIGURE_3},
        dict(zip(FIGURE_3, (0.3, 0.4, 1.3, 2.5, 5.0, 8.0), strict=True)),
    ),
    quick=Variant(
        dict.fromkeys(list(FIGURE_3)[:2], "spiral"), 1, {"noise": FIGURE_3},
        dict.fromkeys(list(FIGURE_3)[:2], 0.4),
    ),
    notes=(
        "The paper gives no formula of its spiral; this is convexfs's, used raw.",
        "A million noise features, as in Figure 4, are logo-million.",
    ),
)  # fmt: skip
MILLION = Experiment(
    name="logo-million",
    title="Logo Figure 4: the spiral with a million noise features",
    reference=f"{PAPER}, Sec. 4.1",
    methods=("logo",),
    measure=measure_weights,
    tables=(
        Table(
            name="logo_figure4",
            title="Logo Figure 4: weights on the spiral, sigma 2, lam 1",
            unit="weights, counts, seconds",
            columns=(*WEIGHTS, Column("seconds", "logo", "seconds")),
        ),
    ),
    full=Variant(
        dict.fromkeys(FIGURE_4, "spiral"), 1, {"noise": FIGURE_4},
        dict(zip(FIGURE_4, (7.0, 30.0), strict=True)),
    ),
    quick=Variant(
        dict.fromkeys(QUICK_4, "spiral"), 1, {"noise": QUICK_4}, dict.fromkeys(QUICK_4, 0.5)
    ),
    notes=("A million features in single precision take 1.8 GB: use --jobs 1 where that is much.",),
)  # fmt: skip
PARAMETERS_TABLE = Table(
    name="logo_figure567",
    title="Logo Figures 5b, 6 and 7: weights and convergence by sigma and lam",
    printed="logo_figure5",
    unit="weights; 1: converges",
    columns=(
        Column("first weight", "damped", "first"),
        Column("second weight", "damped", "second"),
        Column("largest other", "damped", "other"),
        Column("converges", "undamped", "converges", "converges", "as printed, 30 iterations"),
        Column("last change", "undamped", "change", reading="as printed, 30 iterations"),
        Column("converges", "damped", "converges", reading="damped and certified", default=False),
        Column("iterations", "damped", "iterations", reading="damped and certified"),
    ),
)
PARAMETERS = Experiment(
    name="logo-parameters",
    title="Logo Figures 5b, 6 and 7: the spiral with 5000 noise features at other sigma and lam",
    reference=f"{PAPER}, Sec. 4.1",
    methods=("damped", "undamped"),
    measure=measure_parameters,
    tables=(PARAMETERS_TABLE,),
    figures=(
        Figure(
            "logo_figure5b", "Change of the weights, undamped", _changes,
            "iteration", "relative change", log_y=True,
        ),
    ),
    full=Variant(
        dict.fromkeys(SETTINGS, "spiral"), 1, {"noise": 5000, "pairs": SETTINGS},
        dict.fromkeys(SETTINGS, 8.0),
    ),
    quick=Variant(
        dict.fromkeys(SETTINGS, "spiral:n=60"), 1, {"noise": 50, "pairs": SETTINGS},
        dict.fromkeys(SETTINGS, 0.3),
    ),
    notes=(
        "Figure 5b shows all six sigmas converge; the larger sigma, the faster.",
        "A change is measured here relative to the weights.",
    ),
)  # fmt: skip
STARTS = Experiment(
    name="logo-starts",
    title="Logo Theorem 2: whether the fixed point is unique",
    reference=f"{PAPER}, Sec. 3.1",
    methods=("two-starts",),
    measure=measure_starts,
    tables=(
        Table(
            name="logo_starts",
            title="Fixed points from w = 1 and from the answer without noise, sigma 2, lam 1",
            unit="relative distance of the weights; 1: both certified; objectives",
            columns=(
                Column("apart", "two-starts", "apart"),
                Column("both certified", "two-starts", "both_certified"),
                Column("objective from w = 1", "two-starts", "from_ones"),
                Column("objective from the clean answer", "two-starts", "from_clean"),
            ),
        ),
    ),
    full=Variant(
        {"waveform": "data:waveform", "twonorm": "data:twonorm"}, 5,
        {"train": 120, "noise": 5000}, {"waveform": 3.0, "twonorm": 3.0},
    ),
    quick=Variant(
        {"waveform": "waveform:n=300,seed=1"}, 2, {"train": 120, "noise": 500}, {"waveform": 1.0},
    ),
    notes=(
        "Columns are standardised. Two certified fixed points apart from each other are against "
        "a unique one.",
    ),
)  # fmt: skip
CLASSIFIER = Experiment(
    name="logo-classifier",
    title="Logo's own classifier against growing noise",
    reference=f"{PAPER}, Sec. 5",
    methods=("logo", "nearest-neighbour"),
    measure=measure_classifier,
    tables=(
        Table(
            name="logo_classifier",
            title="Twonorm: test error by noise features, sigma 2, lam 1",
            columns=(
                Column("Logo's classifier", "logo"),
                Column("nearest neighbour", "nearest-neighbour"),
            ),
        ),
    ),
    figures=(
        Figure(
            "logo_classifier_curve", "Twonorm: error by noise features", _errors,
            "noise features", "test error, %",
        ),
    ),
    full=Variant(
        dict.fromkeys(GROWING, "data:twonorm"), 5, {"noise": GROWING, "sizes": [120, 7000]},
        dict(zip(GROWING, (0.2, 0.2, 0.3, 0.7, 2.5), strict=True)),
    ),
    quick=Variant(
        dict.fromkeys(list(GROWING)[:4], "twonorm:n=620,seed=1"), 2,
        {"noise": GROWING, "sizes": [120, 500]}, dict.fromkeys(list(GROWING)[:4], 0.3),
    ),
)  # fmt: skip
