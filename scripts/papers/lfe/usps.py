"""LFE, Sec. 6.2: handwritten digits 3 and 5 in twenty extracted features."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.model_selection import StratifiedKFold

from convexfs.methods.lfe.estimator import LFE, ODD_NEIGHBORS, mistakes_at
from papers.baselines import projection
from papers.experiment import Case, Column, Experiment, Table, Variant
from papers.measurements import Numbers
from papers.splits import Split, noisy_split

FOLDS = 10


def measure(case: Case) -> Numbers:
    """Return the test error in % and the processor seconds of one projection."""
    train, test = case.settings["sizes"][case.row]
    split = noisy_split(case, train, test, 0)
    began = time.process_time()
    project = PROJECTIONS[case.method](split, case.settings)
    seconds = time.process_time() - began
    votes = _votes(project(split.X), split.y)
    distances = cdist(project(split.X_test), project(split.X), "sqeuclidean")
    (wrong,) = mistakes_at(distances, split.y, split.y_test, [votes])
    return {"error": 100.0 * wrong / len(split.y_test), "seconds": seconds, "votes": votes}


def _votes(X: np.ndarray, y: np.ndarray) -> int:
    """Choose K by folds of the training rows, in the space learned from all of them."""
    squares, wrong = cdist(X, X, "sqeuclidean"), np.zeros(len(ODD_NEIGHBORS))
    for train, held in StratifiedKFold(FOLDS).split(X, y):
        wrong += mistakes_at(squares[np.ix_(held, train)], y[train], y[held], ODD_NEIGHBORS)
    return ODD_NEIGHBORS[int(wrong.argmin())]


Projecting = Callable[[np.ndarray], np.ndarray]


def _lfe(split: Split, settings: Any) -> Projecting:
    """Choose the number of hits and misses on a quarter of the training rows."""
    held = np.arange(len(split.X)) % 4 == 0
    errors = []
    for neighbors in settings["neighbors"]:
        model = LFE(n_neighbors=neighbors, n_components=settings["features"])
        project = model.fit(split.X[~held], split.y[~held]).transform
        distances = cdist(project(split.X[held]), project(split.X[~held]), "sqeuclidean")
        errors.append(mistakes_at(distances, split.y[~held], split.y[held], ODD_NEIGHBORS).mean())
    best = settings["neighbors"][int(np.argmin(errors))]
    model = LFE(n_neighbors=best, n_components=settings["features"])
    return model.fit(split.X, split.y).transform


def _named(name: str, **options: Any) -> Callable[[Split, Any], Projecting]:
    def fit(split: Split, settings: Any) -> Projecting:
        model = projection(name)(n_components=settings["features"], **options)
        return model.fit(split.X, split.y).transform

    return fit


def _nca(split: Split, settings: Any) -> Projecting:
    """Learn inside the fifty leading principal components, as the paper does."""
    first = projection("pca")(n_components=min(50, split.X.shape[1])).fit(split.X, split.y)
    model = projection("nca")(n_components=settings["features"], random_state=0)
    model.fit(first.transform(split.X), split.y)
    return lambda new: model.transform(first.transform(new))


PROJECTIONS: dict[str, Callable[[Split, Any], Projecting]] = {
    "lfe": _lfe,
    "nca": _nca,
    "dann": _named("dann"),
    "pca": _named("pca"),
}
HEADINGS = {"lfe": "LFE", "nca": "NCA", "dann": "DANN", "pca": "PCA"}
ERRORS = Table(
    name="lfe_usps",
    title="LFE Sec. 6.2: test errors of nearest neighbours in 20 features",
    printed="lfe_usps_face_20_features_knn_error",
    reference="LFE",
    columns=tuple(Column(HEADINGS[name], name, "error", name) for name in HEADINGS),
)
EXPERIMENT = Experiment(
    name="lfe-usps",
    title="LFE Sec. 6.2: digits 3 against 5 in twenty features",
    reference="Sun and Wu, Feature Extraction through Local Learning, 2009, Sec. 6.2",
    methods=tuple(HEADINGS),
    measure=measure,
    tables=(ERRORS,),
    full=Variant(
        sources={"usps_3_vs_5": "data:usps_3v5", "face": "data:face"},
        runs=20,
        settings={
            "sizes": {"usps_3_vs_5": [1214, 326], "face": [500, 1456]},
            "features": 20,
            "neighbors": [1, 5, 10, 20],
        },
        seconds={"usps_3_vs_5": 3.0, "face": 20.0},
    ),
    quick=Variant(
        sources={"digits": "digits"},
        runs=1,
        settings={"sizes": {"digits": [400, 1000]}, "features": 20, "neighbors": [1, 10]},
        seconds={"digits": 0.3},
    ),
    notes=(
        "Hits and misses are chosen on a quarter of the training rows, votes by ten folds.",
        "The face data are not at hand.",
    ),
)
