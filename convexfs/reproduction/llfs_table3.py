"""LLFS, Table III: AdaBoost and logistic regression on the features that others rank first."""

from functools import partial

import numpy as np
from sklearn.ensemble import AdaBoostClassifier
from sklearn.linear_model import LogisticRegression

from convexfs.baselines import selector
from convexfs.batch.measuring import Numbers
from convexfs.methods.logo.estimator import Logo
from convexfs.reproduction.curves import least_of_means
from convexfs.reproduction.experiment import Case, Column, Experiment, Table, Variant
from convexfs.reproduction.llfs_splits import SOURCES, parts
from convexfs.reproduction.llfs_table2 import error

COUNTS = (2, 5, 10, 20, 30)
RANKERS = {"logo": "Logo", "fisher-markov": "FMS", "kpls": "kPLS", "mrmr": "mRMR"}
PRINTED = {"logo": "logo", "fisher-markov": "fms", "kpls": "kpls", "mrmr": "mrmr"}
CLASSIFIERS = {
    "adaboost": partial(AdaBoostClassifier, n_estimators=50, random_state=0),
    "logreg": partial(LogisticRegression, max_iter=1000),
}


def measure(case: Case) -> Numbers:
    """Return test errors in % over the number of features, a curve a classifier."""
    own = parts(case)
    ranks = selector(case.method) if case.method != "logo" else _logo
    order = np.argsort(-ranks(own.X, own.y), kind="stable")
    return {
        name: [error(make(), own, order[:count]) for count in COUNTS]
        for name, make in CLASSIFIERS.items()
    }


def _logo(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    return Logo().fit(X, y).weights_


ERRORS = Table(
    name="llfs_table3",
    title="LLFS Table III: other classifiers on the features of others",
    printed="llfs_table3_adaboost_logreg_error",
    columns=tuple(
        Column(
            f"{heading}, {name}", method, f"least {classifier}", f"{PRINTED[method]}_{classifier}"
        )
        for method, heading in RANKERS.items()
        for classifier, name in (("adaboost", "AdaBoost"), ("logreg", "logistic"))
    ),
)
EXPERIMENT = Experiment(
    name="llfs-table3",
    title="LLFS Table III: AdaBoost and logistic regression on the features of others",
    reference="Armanfard, Reilly and Komeili, Logistic Localized Modeling, 2017, Sec. IV-C",
    methods=tuple(RANKERS),
    measure=measure,
    derived=partial(least_of_means, measures=CLASSIFIERS),
    tables=(ERRORS,),
    full=Variant(
        sources=SOURCES,
        runs=10,
        settings={"sizes": {}, "most_test_rows": 1500},
        seconds=dict.fromkeys(SOURCES, 4.0),
    ),
    quick=Variant(
        sources={"breast": "wdbc"},
        runs=2,
        settings={"sizes": {"breast": [60, 200, 30]}, "most_test_rows": 200},
        seconds={"breast": 4.0},
    ),
    notes=(
        "Columns are permuted, then z-scored by the training rows.",
        "AdaBoost has 50 stumps, logistic regression scikit-learn's ridge at C = 1: the paper "
        "says neither.",
        "The paper prints no deviations, so there is no verdict.",
    ),
)
