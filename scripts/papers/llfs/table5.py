"""LLFS, Table V: DNA with a thousand rows to train on, and how it may have been coded."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from convexfs.methods.llfs.estimator import LLFS
from papers.experiment import Case, Column, Experiment, Table, Variant
from papers.llfs import table2
from papers.llfs.splits import Parts, budgets, parts, rows_drawn
from papers.llfs.table2 import KERNELS, error
from papers.measurements import Numbers
from papers.splits import least_of_means


def measure(case: Case) -> Numbers:
    """Return test errors in % as Table II has them, or of LLFS on data coded otherwise."""
    if case.method not in CODED:
        return table2.measure(case)
    own = CODED[case.method](case)
    tried = budgets(case.row, case.settings)
    return {"errors": [error(LLFS(max_features=alpha), own) for alpha in tried]}


def as_coded(case: Case) -> Parts:
    """Return a split with its features as they are, 0 and 1, and noise of deviation 1."""
    X, y, train = rows_drawn(case)
    return Parts(X[:train], y[:train], X[train:], y[train:], np.arange(X.shape[1]))


def all_classes(case: Case) -> Parts:
    """Return a split with the classes of the data, two kinds of junction and none."""
    own = parts(case)
    y = case.data.y[case.random("split").permutation(case.data.n_samples)]
    train, test = len(own.y), len(own.y_test)
    return replace(own, y=y[:train], y_test=y[train : train + test])


CODED: dict[str, Callable[[Case], Parts]] = {"llfs-0-1": as_coded, "llfs-three": all_classes}
ERRORS = Table(
    name="llfs_table5",
    title="LLFS Table V: test errors with 1000 training rows",
    printed="llfs_table5_error",
    columns=(
        Column("LLFS", "llfs", "least errors", "llfs", "junction or none", honest="nested"),
        Column("LLFS", "llfs-0-1", "least errors", "llfs", "junction or none, not scaled", False),
        Column("LLFS", "llfs-three", "least errors", "llfs", "three classes", False),
        *(
            Column(
                heading, method, f"least {kernel}", printed, f"SVM kernel {kernel}",
                default=kernel == "unscaled", honest=f"nested {kernel}",
            )
            for heading, method, printed in (
                ("Logo", "logo", "logo"), ("FMS", "fisher-markov", "fms"),
                ("kPLS", "kpls", "kpls"), ("mRMR", "mrmr", "mrmr"),
            )
            for kernel in KERNELS
        ),
        Column("SVM, all features", "svm", "unscaled", "svm", "SVM kernel unscaled"),
        Column("SVM, all features", "svm", "scaled", "svm", "SVM kernel scaled", default=False),
        Column("l1-logistic", "l1-logistic"),
        Column("random forest", "random-forest"),
    ),
)  # fmt: skip
EXPERIMENT = Experiment(
    name="llfs-table5",
    title="LLFS Table V: DNA with 1000 training rows",
    reference="Armanfard, Reilly and Komeili, Logistic Localized Modeling, 2017, Sec. IV-J",
    methods=(
        "llfs", *CODED, "logo", "fisher-markov", "kpls", "mrmr", "svm",
        "l1-logistic", "random-forest",
    ),
    measure=measure,
    derived=partial(least_of_means, measures=("errors", *KERNELS)),
    tables=(ERRORS,),
    full=Variant(
        sources={"dna300": "data:dna", "dna1": "data:dna"},
        runs=1,
        settings={
            "sizes": {"dna300": [300, 2186, 100], "dna1": [1000, 2186, 100]},
            "budgets": {"dna300": [10, 30], "dna1": [10, 30]},
            "most_test_rows": 2186,
            "folds": 1,
        },
        seconds={"dna300": 40.0, "dna1": 480.0},
    ),
    quick=Variant(
        sources={"subclasses": "subclasses:n=200"},
        runs=1,
        settings={
            "sizes": {"subclasses": [200, 200, 20]},
            "budgets": {"subclasses": [3, 10]},
            "most_test_rows": 200,
            "folds": 1,
        },
        seconds={"subclasses": 10.0},
    ),
    notes=(
        "The paper prints neither deviations nor the number of runs: there is no verdict.",
        "A fit takes half a minute, so alpha and the number of features are tried at the paper's "
        "typical value, 10, and at its largest, 30; honest is what a held-out fifth of the "
        "training rows chooses.",
        "dna300 has 300 training rows, which the paper has not.",
        "The paper asks whether there is a junction, as we do; three classes tell its two kinds.",
    ),
)  # fmt: skip
