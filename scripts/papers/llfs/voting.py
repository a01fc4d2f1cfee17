"""LLFS, Table II, adult: what the division of votes by the size of classes costs there."""

from functools import partial

import numpy as np
from sklearn.metrics import balanced_accuracy_score

from convexfs.methods.llfs.estimator import LLFS
from papers.experiment import Case, Column, Experiment, Table, Variant
from papers.llfs.splits import SOURCES, budgets, parts
from papers.measurements import Numbers
from papers.splits import least_of_means

VOTES = {"normalised": "divided by the class sizes (eq. 11)", "raw": "not divided"}
ROWS = ("adult", "breast", "sonar")


def measure(case: Case) -> Numbers:
    """Return test errors in %, of all rows and of the mean class, by budget."""
    own, curves = parts(case).pruned(), []
    for alpha in budgets(case.row, case.settings):
        model = LLFS(max_features=alpha, vote=case.method).fit(own.X, own.y)
        said = model.predict(own.X_test)
        balanced = balanced_accuracy_score(own.y_test, said)
        curves.append((100.0 * np.mean(said != own.y_test), 100.0 * (1.0 - balanced)))
    plain, of_classes = np.transpose(curves)
    return {"errors": plain, "balanced": of_classes}


ERRORS = Table(
    name="llfs_vote",
    title="LLFS Table II with votes as they are counted: test errors",
    printed="llfs_table2_error",
    rows=ROWS,
    columns=(
        *(
            Column("LLFS", vote, "least errors", "llfs", reading, default=vote == "normalised")
            for vote, reading in VOTES.items()
        ),
        *(
            Column("mean error of the classes", vote, "least balanced", reading=reading)
            for vote, reading in VOTES.items()
        ),
    ),
)
EXPERIMENT = Experiment(
    name="llfs-vote",
    title="LLFS Table II, adult: votes divided by the size of classes, or not",
    reference="Armanfard, Reilly and Komeili, Logistic Localized Modeling, 2017, eq. 11",
    methods=tuple(VOTES),
    measure=measure,
    derived=partial(least_of_means, measures=("errors", "balanced")),
    tables=(ERRORS,),
    full=Variant(
        sources={row: SOURCES[row] for row in ROWS},
        runs=10,
        settings={
            "sizes": {},
            "budgets": {"adult": [10, 19], "breast": [10, 17], "sonar": [5, 10]},
            "most_test_rows": 1500,
        },
        seconds={"adult": 4.0, "breast": 1.2, "sonar": 1.0},
    ),
    quick=Variant(
        sources={"breast": "wdbc"},
        runs=2,
        settings={
            "sizes": {"breast": [60, 200, 30]}, "budgets": {"breast": [3, 5]}, "most_test_rows": 200
        },
        seconds={"breast": 2.0},
    ),
    notes=("Splits, scales and budgets as in llfs-table2, two budgets a set.",),
)  # fmt: skip
