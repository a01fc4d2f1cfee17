"""Who is compared, and how each is asked for a ranking.

Every function takes samples, labels 0 or 1 and the number of features sought, and returns a
score for each feature, the higher the better. Settings are the packages' own defaults, but for
ten neighbours wherever neighbours are counted, one process, and a price or size that a user
would take. This file is also run in environments without convexfs.
"""

# pyright: reportMissingImports=false

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Score = Callable[[np.ndarray, np.ndarray, int], np.ndarray]
OWN, NEW, OLD = "convexfs", "new", "old"


@dataclass(frozen=True)
class Contender:
    """A way to rank features, the environment it runs in and the family it is compared in."""

    score: Score
    family: str
    environment: str
    package: str


CONTENDERS: dict[str, Contender] = {}


def contender(name: str, family: str, environment: str, package: str) -> Callable[[Score], Score]:
    """Enter a function into the list."""

    def enter(score: Score) -> Score:
        CONTENDERS[name] = Contender(score, family, environment, package)
        return score

    return enter


def first_named(chosen: Any, n_features: int) -> np.ndarray:
    """Scores of a list of features, the first the best."""
    scores = np.zeros(n_features)
    scores[np.asarray(chosen, int)] = np.arange(len(chosen), 0, -1)
    return scores


def unit(X: np.ndarray) -> np.ndarray:
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1)


@contender("convexfs Relief", "neighbours", OWN, "convexfs")
def own_relief(X, y, k):
    from convexfs import Relief

    return Relief(n_neighbors=10).fit(X, y).margin_


@contender("skrebate ReliefF", "neighbours", NEW, "skrebate")
def rebate_relieff(X, y, k):
    from skrebate import ReliefF

    return ReliefF(n_neighbors=10, n_jobs=1).fit(X, y).feature_importances_


@contender("skrebate MultiSURF", "neighbours", NEW, "skrebate")
def rebate_multisurf(X, y, k):
    from skrebate import MultiSURF

    return MultiSURF(n_jobs=1).fit(X, y).feature_importances_


@contender("convexfs Logo", "sparse", OWN, "convexfs")
def own_logo(X, y, k):
    from convexfs import Logo

    return Logo().fit(unit(X), y).feature_importances_


@contender("l1-logistic (liblinear)", "sparse", NEW, "scikit-learn")
def liblinear(X, y, k):
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(l1_ratio=1.0, C=1.0, solver="liblinear").fit(unit(X), y)
    return np.abs(model.coef_[0])


@contender("celer", "sparse", NEW, "celer")
def celer(X, y, k):
    from celer import LogisticRegression

    return np.abs(LogisticRegression(C=1.0).fit(np.asfortranarray(unit(X)), y).coef_[0])


@contender("skglm", "sparse", NEW, "skglm")
def skglm(X, y, k):
    from skglm import SparseLogisticRegression

    model = SparseLogisticRegression(alpha=1.0 / len(y)).fit(np.asfortranarray(unit(X)), y)
    return np.abs(model.coef_[0])


@contender("abess", "sparse", NEW, "abess")
def abess(X, y, k):
    from abess import LogisticRegression

    model = LogisticRegression(support_size=[k], thread=1).fit(unit(X), y)
    return np.abs(np.asarray(model.coef_).ravel())


@contender("F test", "filters", NEW, "scikit-learn")
def f_test(X, y, k):
    from sklearn.feature_selection import f_classif

    return f_classif(X, y)[0]


@contender("mutual information", "filters", NEW, "scikit-learn")
def mutual_information(X, y, k):
    from sklearn.feature_selection import mutual_info_classif

    return mutual_info_classif(X, y, random_state=0)


@contender("mrmr", "filters", NEW, "mrmr-selection")
def mrmr(X, y, k):
    import pandas as pd
    from mrmr import mrmr_classif

    frame = pd.DataFrame(X)
    chosen = mrmr_classif(frame, pd.Series(y), K=k, show_progress=False, n_jobs=1)
    return first_named(chosen, X.shape[1])


@contender("random forest", "trees", NEW, "scikit-learn")
def forest(X, y, k):
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(n_jobs=1, random_state=0).fit(X, y).feature_importances_


@contender("Boruta", "trees", NEW, "Boruta")
def boruta(X, y, k):
    from boruta import BorutaPy
    from sklearn.ensemble import RandomForestClassifier

    trees = RandomForestClassifier(n_jobs=1, max_depth=5, random_state=0)
    model = BorutaPy(trees, n_estimators="auto", max_iter=20, random_state=0).fit(X, y)
    return -model.ranking_.astype(float)


@contender("RFE (linear SVM)", "trees", NEW, "scikit-learn")
def recursive(X, y, k):
    from sklearn.feature_selection import RFE
    from sklearn.svm import LinearSVC

    tenth: Any = 0.1
    model = RFE(LinearSVC(random_state=0), n_features_to_select=1, step=tenth).fit(unit(X), y)
    return -model.ranking_.astype(float)


@contender("convexfs KnockoffSelector", "knockoffs", OWN, "convexfs")
def own_knockoffs(X, y, k):
    from convexfs import KnockoffSelector

    return KnockoffSelector(random_state=0).fit(X, y).W_


@contender("knockpy", "knockoffs", NEW, "knockpy")
def knockpy(X, y, k):
    from knockpy import KnockoffFilter

    model = KnockoffFilter(ksampler="gaussian", fstat="lasso")
    np.random.seed(0)  # noqa: NPY002 (it has no other)
    model.forward(X=unit(X), y=y.astype(float), fdr=0.2)
    return np.asarray(model.W)


@contender("hidimstat knockoffs", "knockoffs", NEW, "hidimstat")
def hidimstat(X, y, k):
    from hidimstat import ModelXKnockoff

    model = ModelXKnockoff(random_state=0).fit(unit(X), y.astype(float))
    return np.ravel(model.importance(unit(X), y.astype(float)))


@contender("convexfs LLFS", "local", OWN, "convexfs")
def own_llfs(X, y, k):
    from convexfs import LLFS

    return LLFS(random_state=0).fit(unit(X), y).feature_importances_


@contender("LFSpy", "local", OLD, "LFSpy")
def lfspy(X, y, k):
    from LFSpy import LocalFeatureSelection

    model = LocalFeatureSelection(alpha=k, rr_seed=0)
    model.fit(X, y.astype(int))
    return np.asarray(model.fstar).mean(axis=1)


@contender("metric-learn LMNN", "local", OLD, "metric-learn")
def metric_lmnn(X, y, k):
    from metric_learn import LMNN

    return np.square(LMNN(n_neighbors=3, random_state=0).fit(unit(X), y).components_).sum(axis=0)


@contender("metric-learn NCA", "local", OLD, "metric-learn")
def metric_nca(X, y, k):
    from metric_learn import NCA

    return np.square(NCA(random_state=0).fit(unit(X), y).components_).sum(axis=0)
