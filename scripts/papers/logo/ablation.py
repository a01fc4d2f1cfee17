"""Why rows of Logo's Table 2 differ: RFE's kernel width, and the coding of the splice data."""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist

from convexfs.methods.logo.estimator import Logo
from papers.baselines import selector
from papers.baselines.checks import standardised
from papers.experiment import Case, Column, Experiment, Table, Variant
from papers.logo.rankings import readings
from papers.logo.table2 import MOST_FEATURES, TRIED, prepared
from papers.logo.table2 import measure as measure_table2
from papers.measurements import Numbers

#: Widths tried, times the median squared distance of the clean columns.
RELATIVE_GAMMAS = {"gamma 1/64": 1 / 64, "gamma 1/8": 1 / 8, "gamma 1": 1.0, "gamma 4": 4.0}
#: Prices of weight tried, and orders of the features that have none.
PRICES = {"lam 0.5": 0.5, "lam 1": 1.0, "lam 2": 2.0, "lam 3": 3.0, "lam 5": 5.0}
ORDERS = {"permuted": "random", "slope": "slope", "index": "column, leaks"}
#: What the letters A, C, G, T are coded as; the file at hand has 1 = A, 2 = G, 3 = C, 4 = T.
CODINGS = {
    "splice, A G C T": (1, 2, 3, 4),
    "splice, A C G T": (1, 3, 2, 4),
    "splice, A T C G": (1, 4, 3, 2),
}


def measure_gamma(case: Case) -> Numbers:
    """Return the least test error in % after RFE with one width for all rounds."""
    split, machine = prepared(case)
    if case.method == "gamma 1/J":
        scores = selector("rfe-rbf")(split.X, split.y, C=machine.C)
    else:
        middle = float(np.median(pdist(standardised(split.clean().X), "sqeuclidean")))
        gamma = RELATIVE_GAMMAS[case.method] / middle
        scores = selector("rfe-rbf")(split.X, split.y, C=machine.C, gamma=gamma)
    order = np.argsort(-scores, kind="stable")[:MOST_FEATURES]
    kept = float(split.original[order[: int(split.original.sum())]].sum())
    return {"error": float(machine.curve(split, order).min()), "originals": kept}


def measure_coding(case: Case) -> Numbers:
    """Return the numbers of Table 2 with the four letters coded otherwise."""
    code = np.array([0, *case.settings["codings"][case.row]], dtype=float)
    recoded = replace(case.data, X=code[np.clip(case.data.X, 1, 4).astype(int)])
    return measure_table2(replace(case, data=recoded))


def measure_ties(case: Case) -> Numbers:
    """Return the least test error in % at one price, by the order of features without weight."""
    split, machine = prepared(case)
    model = Logo(sigma=2.0, lam=PRICES[case.method]).fit(split.X, split.y)
    ranked = readings(model, split, MOST_FEATURES)
    curves = {name: machine.curve(split, getattr(ranked, name)) for name in ORDERS}
    numbers: dict[str, Any] = {name: float(curve.min()) for name, curve in curves.items()}
    return numbers | {
        "strict": float(curves["slope"][: ranked.held].min()),
        "features": float(curves["slope"].argmin() + 1),
        "originals": float(split.original[ranked.slope[: int(split.original.sum())]].sum()),
    }


REFERENCE = (
    "Sun, Todorovic and Goodison, Local-Learning-Based Feature Selection for High-Dimensional "
    "Data Analysis, TPAMI 2010, Table 2"
)
GAMMA = Experiment(
    name="logo-rfe-gamma",
    title="Why RFE fails in Logo's Table 2: the kernel width",
    reference=REFERENCE,
    methods=("gamma 1/J", *RELATIVE_GAMMAS),
    measure=measure_gamma,
    tables=(
        Table(
            name="logo_rfe_gamma",
            title="RFE by its width, times the median squared distance of the clean columns",
            printed="logo_table2_svm_error",
            columns=tuple(
                Column("RFE", name, "error", "rfe", name, False)
                for name in ("gamma 1/J", *RELATIVE_GAMMAS)
            ),
        ),
        Table(
            name="logo_rfe_gamma_originals",
            title="Original features among as many left last",
            unit="features",
            columns=tuple(
                Column(name, name, "originals") for name in ("gamma 1/J", *RELATIVE_GAMMAS)
            ),
        ),
    ),
    full=Variant(
        {"waveform": "data:waveform", "twonorm": "data:twonorm"}, 3,
        {**TRIED, "sizes": {}, "noise": 5000}, {"waveform": 18.0, "twonorm": 18.0},
    ),
    quick=Variant(
        {"twonorm": "twonorm:n=600,seed=1"}, 1,
        {**TRIED, "sizes": {"twonorm": [100, 500]}, "noise": 500}, {"twonorm": 4.0},
    ),
    notes=("A kernel as narrow as the clean columns ask for is the identity beside the noise.",),
)  # fmt: skip
SPLICE = Experiment(
    name="logo-splice-coding",
    title="Why splice differs in Logo's Table 2: the coding of four letters",
    reference=REFERENCE,
    methods=("svm-original", "ks", "logo-2-1"),
    measure=measure_coding,
    tables=(
        Table(
            name="logo_splice_coding",
            title="Splice by the order of its letters; the paper has 20.4 (1.8), 23.5 (1.0), "
            "17.8 (1.9)",
            columns=(
                Column("SVM, original features", "svm-original"),
                Column("KS", "ks"),
                Column("Logo, sigma 2, lam 1, strict", "logo-2-1"),
                Column("Logo, sigma 2, lam 1, own classifier", "logo-2-1", "own"),
            ),
        ),
    ),
    full=Variant(
        dict.fromkeys(CODINGS, "data:splice"), 3,
        {
            **TRIED, "nested": [], "sizes": {row: [110, 2175] for row in CODINGS}, "noise": 5000,
            "codings": CODINGS,
        },
        dict.fromkeys(CODINGS, 5.0),
    ),
    quick=Variant(
        {"iris": "iris"}, 1,
        {
            **TRIED, "nested": [], "sizes": {"iris": [75, 75]}, "noise": 50,
            "codings": {"iris": (1, 2, 3, 4)},
        },
        {"iris": 2.0},
    ),
    notes=("Each row has splits of its own.",),
)  # fmt: skip
TIES = Experiment(
    name="logo-ties",
    title="Why twonorm and waveform differ in Logo's Table 2: features of weight zero, and lam",
    reference=REFERENCE,
    methods=tuple(PRICES),
    measure=measure_ties,
    tables=(
        Table(
            name="logo_ties",
            title="Logo at sigma 2 by lam and the order of features without weight",
            printed="logo_table2_svm_error",
            columns=tuple(
                Column(method, method, name, "logo", reading, default=name == "strict")
                for method in PRICES
                for name, reading in {"strict": "left out", **ORDERS}.items()
            ),
        ),
        Table(
            name="logo_ties_originals",
            title="Original features among as many ranked first, ties by slope",
            unit="features",
            columns=tuple(Column(method, method, "originals") for method in PRICES),
        ),
    ),
    full=Variant(
        sources={
            "twonorm": "data:twonorm", "waveform": "data:waveform", "splice": "data:splice",
            "thyroid": "data:thyroid", "heart": "data:heart",
        },
        runs=10,
        settings={**TRIED, "sizes": {}, "noise": 5000, "grid": {}, "grids": {}},
        seconds={"twonorm": 10, "waveform": 7, "splice": 4, "thyroid": 2, "heart": 2},
    ),
    quick=Variant(
        sources={"twonorm": "twonorm:n=600,seed=1"},
        runs=1,
        settings={
            **TRIED, "sizes": {"twonorm": [100, 500]}, "noise": 200, "grid": {}, "grids": {},
        },
        seconds={"twonorm": 3},
    ),
    notes=(
        "slope: features of weight zero follow by the price at which they would take weight. "
        "column: original columns follow first, which leaks what is to be found.",
    ),
)  # fmt: skip
