"""LLFS, Table III: AdaBoost and logistic regression on the features that others rank first."""

from functools import partial

from sklearn.ensemble import AdaBoostClassifier
from sklearn.linear_model import LogisticRegression

from papers.experiment import Case, Column, Experiment, Table, Variant
from papers.llfs.splits import SOURCES, budgets, coarse, parts
from papers.llfs.table2 import error, first_best, ranking
from papers.measurements import Numbers
from papers.splits import least_of_means

RANKERS = {"logo": "Logo", "fisher-markov": "FMS", "kpls": "kPLS", "mrmr": "mRMR"}
PRINTED = {"logo": "logo", "fisher-markov": "fms", "kpls": "kpls", "mrmr": "mrmr"}
CLASSIFIERS = {
    "adaboost": partial(AdaBoostClassifier, n_estimators=50, random_state=0),
    "logreg": partial(LogisticRegression, max_iter=1000),
}


def measure(case: Case) -> Numbers:
    """Return test errors in % over the number of features, a curve a classifier."""
    own = parts(case)
    order = first_best(ranking(case.method), own)
    counts = coarse(budgets(case.row, case.settings))
    return {
        name: [error(make(), own, order[:count]) for count in counts]
        for name, make in CLASSIFIERS.items()
    }


ERRORS = Table(
    name="llfs_table3",
    title="LLFS Table III: other classifiers on the features of others",
    printed="llfs_table3_adaboost_logreg_error",
    averaged=True,
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
        settings={"sizes": {}, "budgets": {}, "most_test_rows": 1500},
        seconds=dict.fromkeys(SOURCES, 2.2),
    ),
    quick=Variant(
        sources={"breast": "wdbc"},
        runs=2,
        settings={
            "sizes": {"breast": [60, 200, 30]},
            "budgets": {"breast": [3, 10, 20]},
            "most_test_rows": 200,
        },
        seconds={"breast": 4.0},
    ),
    notes=(
        "Columns are permuted, then z-scored by the training rows; splits as in llfs-table2.",
        "Least mean errors over 1, 3, 10, 30 features and the most that the paper tries, chosen on "
        "test rows as in the paper, which tries every number.",
        "AdaBoost has 50 stumps, logistic regression scikit-learn's ridge at C = 1: the paper "
        "says neither.",
        "The paper prints no deviations, so there is no verdict.",
    ),
)
