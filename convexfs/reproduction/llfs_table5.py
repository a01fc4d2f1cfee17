"""LLFS, Table V: DNA with a thousand rows to train on."""

from functools import partial

from convexfs.reproduction.curves import least_of_means
from convexfs.reproduction.experiment import Column, Experiment, Table, Variant
from convexfs.reproduction.llfs_splits import COARSE
from convexfs.reproduction.llfs_table2 import KERNELS, measure

ERRORS = Table(
    name="llfs_table5",
    title="LLFS Table V: test errors with 1000 training rows",
    printed="llfs_table5_error",
    columns=(
        Column("LLFS", "llfs", "least errors", "llfs"),
        *(
            Column(
                heading, method, f"least {kernel}", printed, f"SVM kernel {kernel}",
                default=kernel == "unscaled",
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
        "llfs", "logo", "fisher-markov", "kpls", "mrmr", "svm", "l1-logistic", "random-forest",
    ),
    measure=measure,
    derived=partial(least_of_means, measures=("errors", *KERNELS)),
    tables=(ERRORS,),
    full=Variant(
        sources={"dna1": "data:dna"},
        runs=1,
        settings={
            "sizes": {"dna1": [1000, 2186, 100]},
            "budgets": {"dna1": list(COARSE)},
            "most_test_rows": 2186,
            "folds": 1,
        },
        seconds={"dna1": 200.0},
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
    notes=("The paper prints neither deviations nor the number of runs: there is no verdict.",),
)  # fmt: skip
