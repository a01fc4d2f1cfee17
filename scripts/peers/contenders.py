"""Who is compared, what each is told, and how each is asked for a ranking.

Every function takes samples, labels 0 or 1 and its settings, and returns a score for each
feature, the higher the better. All are given the same standardised columns. What is set by us
stands in the settings, which the page shows as they are; the rest is the package's own default.
This file is also run in environments without convexfs.
"""

# pyright: reportMissingImports=false

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Rank = Callable[..., np.ndarray]
OWN, NEW, OLD = "convexfs", "new", "old"


@dataclass(frozen=True)
class Given:
    """A setting that is made when it is known how many samples there are and what is sought."""

    text: str
    of: Callable[[int, int], Any]


SOUGHT = Given("number sought", lambda n, k: k)


@dataclass(frozen=True)
class Contender:
    """A way to rank features, the environment it runs in and the family it is compared in."""

    rank: Rank
    family: str
    environment: str
    package: str
    settings: dict[str, Any]

    def score(self, X: np.ndarray, y: np.ndarray, sought: int) -> np.ndarray:
        """Scores of the features; only those whose settings say so learn how many are sought."""
        made = {
            name: value.of(len(y), sought) if isinstance(value, Given) else value
            for name, value in self.settings.items()
        }
        return self.rank(X, y, **made)

    def told(self) -> str:
        """The settings in words."""
        said = [
            f"{name} = {value.text if isinstance(value, Given) else value}"
            for name, value in self.settings.items()
        ]
        return ", ".join(said) or "nothing"


CONTENDERS: dict[str, Contender] = {}


def contender(
    name: str, family: str, environment: str, package: str, **settings: Any
) -> Callable[[Rank], Rank]:
    """Enter a function into the list, with what it is told."""

    def enter(rank: Rank) -> Rank:
        CONTENDERS[name] = Contender(rank, family, environment, package, settings)
        return rank

    return enter


def first_named(chosen: Any, n_features: int) -> np.ndarray:
    """Scores of a list of features, the first the best."""
    scores = np.zeros(n_features)
    scores[np.asarray(chosen, int)] = np.arange(len(chosen), 0, -1)
    return scores


def linear_svm(n: int, sought: int) -> Any:
    from sklearn.svm import LinearSVC

    return LinearSVC(random_state=0)


def shallow_trees(n: int, sought: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(n_jobs=1, max_depth=5, random_state=0)


@contender("convexfs Relief", "neighbours", OWN, "convexfs", n_neighbors=10)
def own_relief(X, y, **settings):
    from convexfs import Relief

    return Relief(**settings).fit(X, y).margin_


BY_RANGE = "divided by their range, as skrebate does itself"


@contender("convexfs MultiSURF by range", "neighbours", OWN, "convexfs",
           n_neighbors="multisurf", columns=BY_RANGE)  # fmt: skip
@contender("convexfs Relief by range", "neighbours", OWN, "convexfs",
           n_neighbors=10, columns=BY_RANGE)  # fmt: skip
def own_relief_by_range(X, y, columns, **settings):
    ranges = np.ptp(X, axis=0)
    return own_relief(X / np.where(ranges > 0, ranges, 1), y, **settings)


@contender("skrebate ReliefF", "neighbours", NEW, "skrebate", n_neighbors=10, n_jobs=1)
def rebate_relieff(X, y, **settings):
    from skrebate import ReliefF

    return ReliefF(**settings).fit(X, y).feature_importances_


@contender("skrebate MultiSURF", "neighbours", NEW, "skrebate", n_jobs=1)
def rebate_multisurf(X, y, **settings):
    from skrebate import MultiSURF

    return MultiSURF(**settings).fit(X, y).feature_importances_


@contender("fast-select ReliefF", "neighbours", NEW, "fast-select",
           n_neighbors=10, backend="cpu", n_jobs=1)  # fmt: skip
def fast_relieff(X, y, **settings):
    from fast_select import ReliefF

    return ReliefF(**settings).fit(X, y).feature_importances_


@contender("fast-select MultiSURF", "neighbours", NEW, "fast-select", backend="cpu", n_jobs=1)
def fast_multisurf(X, y, **settings):
    from fast_select import MultiSURF

    return MultiSURF(**settings).fit(X, y).feature_importances_


@contender("convexfs Logo", "sparse", OWN, "convexfs")
def own_logo(X, y):
    from convexfs import Logo

    return Logo(lam=1.0).fit(X, y).feature_importances_


@contender("l1-logistic (liblinear)", "sparse", NEW, "scikit-learn",
           l1_ratio=1.0, C=1.0, solver="liblinear")  # fmt: skip
def liblinear(X, y, **settings):
    from sklearn.linear_model import LogisticRegression

    return np.abs(LogisticRegression(**settings).fit(X, y).coef_[0])


@contender("celer", "sparse", NEW, "celer", C=1.0)
def celer(X, y, **settings):
    from celer import LogisticRegression

    return np.abs(LogisticRegression(**settings).fit(np.asfortranarray(X), y).coef_[0])


@contender("skglm", "sparse", NEW, "skglm", alpha=Given("1 / samples", lambda n, k: 1 / n))
def skglm(X, y, **settings):
    from skglm import SparseLogisticRegression

    return np.abs(SparseLogisticRegression(**settings).fit(np.asfortranarray(X), y).coef_[0])


@contender("abess", "sparse", NEW, "abess", support_size=SOUGHT, thread=1)
def abess(X, y, **settings):
    from abess import LogisticRegression

    return np.abs(np.ravel(LogisticRegression(**settings).fit(X, y).coef_))


@contender("F test", "filters", NEW, "scikit-learn")
def f_test(X, y):
    from sklearn.feature_selection import f_classif

    return f_classif(X, y)[0]


@contender("mutual information", "filters", NEW, "scikit-learn", random_state=0)
def mutual_information(X, y, **settings):
    from sklearn.feature_selection import mutual_info_classif

    return mutual_info_classif(X, y, **settings)


@contender("mrmr", "filters", NEW, "mrmr-selection", K=SOUGHT, n_jobs=1)
def mrmr(X, y, **settings):
    import pandas as pd
    from mrmr import mrmr_classif

    chosen = mrmr_classif(pd.DataFrame(X), pd.Series(y), show_progress=False, **settings)
    return first_named(chosen, X.shape[1])


@contender("random forest", "trees", NEW, "scikit-learn", n_jobs=1, random_state=0)
def forest(X, y, **settings):
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(**settings).fit(X, y).feature_importances_


@contender("Boruta", "trees", NEW, "Boruta",
           estimator=Given("random forest of depth 5", shallow_trees),
           n_estimators="auto", max_iter=20, random_state=0)  # fmt: skip
def boruta(X, y, **settings):
    from boruta import BorutaPy

    return -BorutaPy(**settings).fit(X, y).ranking_.astype(float)


@contender("RFE (linear SVM)", "trees", NEW, "scikit-learn",
           estimator=Given("LinearSVC", linear_svm),
           n_features_to_select=1, step=0.1)  # fmt: skip
def recursive(X, y, **settings):
    from sklearn.feature_selection import RFE

    return -RFE(**settings).fit(X, y).ranking_.astype(float)


@contender("convexfs KnockoffSelector", "knockoffs", OWN, "convexfs", force=True, random_state=0)
def own_knockoffs(X, y, **settings):
    from convexfs import KnockoffSelector

    return KnockoffSelector(**settings).fit(X, y).W_


@contender("knockpy", "knockoffs", NEW, "knockpy", ksampler="gaussian", fstat="lasso")
def knockpy(X, y, **settings):
    from knockpy import KnockoffFilter

    model = KnockoffFilter(**settings)
    np.random.seed(0)  # noqa: NPY002 (it has no other)
    model.forward(X=X, y=y.astype(float))
    return np.asarray(model.W)


@contender("hidimstat knockoffs", "knockoffs", NEW, "hidimstat", random_state=0)
def hidimstat(X, y, **settings):
    from hidimstat import ModelXKnockoff

    model = ModelXKnockoff(**settings).fit(X, y.astype(float))
    return np.ravel(model.importance(X, y.astype(float)))


@contender("convexfs LLFS", "local", OWN, "convexfs", random_state=0)
def own_llfs(X, y, **settings):
    from convexfs import LLFS

    return LLFS(**settings).fit(X, y).feature_importances_


@contender("LFSpy", "local", OLD, "LFSpy", alpha=SOUGHT, rr_seed=0)
def lfspy(X, y, **settings):
    from LFSpy import LocalFeatureSelection

    model = LocalFeatureSelection(**settings)
    model.fit(X, y.astype(int))
    return np.asarray(model.fstar).mean(axis=1)


@contender("metric-learn LMNN", "local", OLD, "metric-learn", n_neighbors=3, random_state=0)
def metric_lmnn(X, y, **settings):
    from metric_learn import LMNN

    return np.square(LMNN(**settings).fit(X, y).components_).sum(axis=0)


@contender("metric-learn NCA", "local", OLD, "metric-learn", random_state=0)
def metric_nca(X, y, **settings):
    from metric_learn import NCA

    return np.square(NCA(**settings).fit(X, y).components_).sum(axis=0)
