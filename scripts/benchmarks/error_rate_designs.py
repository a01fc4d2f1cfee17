"""Data sets whose related features are known, for ``bench_error_rates.py``."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    load_wine,
    make_classification,
)

import convexfs

BUNDLED = {"wdbc": load_breast_cancer, "wine": load_wine, "iris": load_iris}
GENES = ("leukemia", "dlbcl", "brain_tumor2")
#: Tables that played no part in choosing the rule.
UNSEEN = ("sonar", "heart", "thyroid", "colon", "prostate_ge", "cns", "duke_breast")
#: Genes of a large table, drawn anew for each set.
DRAWN = 500
Rng = np.random.Generator


@dataclass
class Sample:
    """A data set whose related features are known."""

    X: Any
    y: np.ndarray
    related: np.ndarray
    options: dict[str, Any] = field(default_factory=dict)
    model: Any = None

    @property
    def estimator(self) -> Any:
        return convexfs.Relief() if self.model is None else self.model


Design = Callable[[Rng], Sample]


def labels(*counts: int) -> np.ndarray:
    return np.repeat(np.arange(len(counts)), counts)


def first(number: int, n_features: int) -> np.ndarray:
    return np.arange(n_features) < number


def scaled(X: np.ndarray) -> np.ndarray:
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


def in_blocks(rng: Rng, n: int, j: int, rho: float = 0.7) -> np.ndarray:
    """Gaussian columns, ten and ten of which have the correlation rho."""
    shared = np.repeat(rng.normal(size=(n, -(-j // 10))), 10, axis=1)[:, :j]
    return np.sqrt(rho) * shared + np.sqrt(1 - rho) * rng.normal(size=(n, j))


def shifted(X: np.ndarray, y: np.ndarray, number: int, size: float, **more: Any) -> Sample:
    """Shift the first columns between two classes."""
    X = X.copy()
    X[:, :number] += size * (y[:, None] > 0)
    return Sample(scaled(X), y, first(number, X.shape[1]), **more)


def without_signal(X: np.ndarray, y: np.ndarray, **more: Any) -> Sample:
    return Sample(scaled(X), y, np.zeros(X.shape[1], bool), **more)


def with_gaps(X: np.ndarray, share: Any, rng: Rng) -> np.ndarray:
    return np.where(rng.random(X.shape) < share, np.nan, X)


def mixed_noise(rng: Rng, n: int, j: int) -> np.ndarray:
    """Columns of many kinds: heavy tails, counts, rare values, ties, outliers."""
    kinds = [
        rng.normal(size=(n, j)), rng.standard_t(2, size=(n, j)),
        (rng.random((n, j)) < 0.015) * 1.0,
        rng.poisson(rng.gamma(0.3, 1.0, size=j), size=(n, j)) * 1.0,
        np.round(rng.normal(size=(n, j))),
        np.where(rng.random((n, j)) < 0.03, 10 * rng.normal(size=(n, j)), 0.0),
    ]  # fmt: skip
    return np.stack(kinds)[np.arange(j) % len(kinds), :, np.arange(j)].T


def subjects(rng: Rng) -> Sample:
    """Subjects with one to five replicates each, ten columns shifted."""
    group = np.repeat(np.arange(40), rng.integers(1, 6, 40))
    y = (np.arange(40) % 2)[group]
    X = rng.normal(size=(40, 100))[group] + 0.3 * rng.normal(size=(len(group), 100))
    return shifted(X, y, 10, 3.0, options={"groups": group})


def sites(rng: Rng) -> Sample:
    """Two sites with other class shares, which shift the unrelated columns."""
    site = rng.integers(0, 2, 150)
    y = (rng.random(150) < np.where(site, 0.8, 0.2)).astype(int)
    X = rng.normal(size=(150, 100)) + 0.7 * site[:, None] * rng.normal(size=100)
    return shifted(X, y, 10, 3.0, options={"blocks": site})


def numbers(rng: Rng, **settings: Any) -> Sample:
    X = rng.normal(size=(120, 100))
    y = X[:, :5].sum(axis=1) + rng.normal(size=120)
    return Sample(scaled(X), y, first(5, 100), model=convexfs.ReliefRegressor(**settings))


def categories(rng: Rng) -> Sample:
    """Half of the columns are categories, one value in ten is missing, ten columns related."""
    y = labels(60, 60)
    X = rng.normal(size=(120, 100)) + 1.5 * (first(10, 100) & (y[:, None] > 0))
    X[:, ::2] = np.digitize(X[:, ::2], [-1.0, 0.0, 1.0])
    model = convexfs.Relief(categorical_features=list(range(0, 100, 2)))
    return Sample(with_gaps(X, 0.1, rng), y, first(10, 100), model=model)


def counts(rng: Rng) -> Sample:
    """Sparse counts of cells of two kinds, 20 markers."""
    from scipy.sparse import csr_array

    y = labels(120, 30)
    rate = np.where(first(20, 300) & (y[:, None] > 0), 1.5, rng.gamma(0.5, 0.4, size=300))
    X = np.log1p(rng.poisson(rate))
    return Sample(csr_array(X / np.maximum(X.std(axis=0), 1e-9)), y, first(20, 300))


def four_groups(rng: Rng) -> Sample:
    y = labels(400, 60, 15, 5)
    X = rng.normal(size=(480, 100))
    for c in (1, 2, 3):
        X[:, 3 * c - 3 : 3 * c] += 2.5 * (y[:, None] == c)
    return Sample(scaled(X), y, first(9, 100))


def four_classes(rng: Rng) -> Sample:
    y, X = labels(20, 20, 20, 20), rng.normal(size=(80, 200))
    X[:, :12] += 1.5 * rng.normal(size=(4, 12))[y]
    return Sample(scaled(X), y, first(12, 200))


def beside_noise(X: np.ndarray, y: np.ndarray, rng: Rng, kind: str) -> Sample:
    """A real table beside copies with shuffled rows, or as many Gaussian columns."""
    if X.shape[1] > DRAWN:
        X = X[:, rng.choice(X.shape[1], DRAWN, replace=False)]
    noise = X[rng.permutation(len(X))] if kind == "copies" else rng.normal(size=X.shape)
    return Sample(scaled(np.hstack([X, noise])), y, first(X.shape[1], 2 * X.shape[1]))


def synthetic() -> dict[str, Design]:
    """Designs that need no data."""
    return {
        "null, correlated": lambda r: without_signal(in_blocks(r, 100, 200), labels(50, 50)),
        "null, one factor": lambda r: without_signal(
            r.normal(size=(100, 200)) + r.normal(size=(100, 1)), labels(50, 50)
        ),
        "null, 85/15": lambda r: without_signal(r.normal(size=(100, 200)), labels(85, 15)),
        "null, t(2)": lambda r: without_signal(r.standard_t(2, (100, 200)), labels(50, 50)),
        "null, 40 x 2000": lambda r: without_signal(r.normal(size=(40, 2000)), labels(20, 20)),
        "null, 10 % missing": lambda r: Sample(
            with_gaps(r.normal(size=(100, 100)), 0.1, r), labels(50, 50), np.zeros(100, bool)
        ),
        "null, mixed columns 80/20": lambda r: without_signal(
            mixed_noise(r, 150, 200), labels(120, 30)
        ),
        "null, 5 classes": lambda r: without_signal(r.normal(size=(100, 200)), labels(*[20] * 5)),
        "65/15: 20 of 500": lambda r: shifted(r.normal(size=(80, 500)), labels(65, 15), 20, 2.5),
        "blocks: strong": lambda r: shifted(in_blocks(r, 150, 200), labels(90, 60), 10, 3.0),
        "90/10, mixed columns": lambda r: _beside_mixed(r, labels(135, 15)),
        "half related, t(2)": lambda r: shifted(
            r.standard_t(2, (150, 200)), labels(105, 45), 100, 4.0
        ),
        "n = 30, 20 of 500": lambda r: shifted(r.normal(size=(30, 500)), labels(21, 9), 20, 3.0),
        "400/60/15/5": four_groups,
        "4 classes x 20": four_classes,
        "replicates, groups": subjects,
        "sites, blocks": sites,
        "categories, 10 % missing": categories,
        "sparse counts": counts,
        "5 of 100, numeric target": numbers,
        "5 of 100, soft numeric target": lambda r: numbers(r, sigma=10.0),
        "Simba, 65/15": lambda r: shifted(
            r.normal(size=(80, 200)), labels(65, 15), 20, 2.5, model=convexfs.Simba()
        ),
        "Lmba, blocks": lambda r: shifted(
            in_blocks(r, 100, 100), labels(60, 40), 10, 3.0, model=convexfs.Lmba()
        ),
        "I-RELIEF, 10 of 50": lambda r: shifted(
            r.normal(size=(80, 50)), labels(50, 30), 10, 2.5, model=convexfs.IRelief()
        ),
        "n_neighbors=1, 10 of 200": lambda r: shifted(
            r.normal(size=(100, 200)), labels(60, 40), 10, 3.0, model=convexfs.Relief(n_neighbors=1)
        ),
        "sqeuclidean, 90/10": lambda r: _beside_mixed(
            r, labels(135, 15), convexfs.Relief(metric="sqeuclidean")
        ),
        "balanced weights, 90/10": lambda r: _beside_mixed(
            r, labels(135, 15), convexfs.Relief(class_weight="balanced")
        ),
        "missing by class (no level)": _missing_by_class,
        **_hostile(),
        **_unseen(),
    }


def _hostile() -> dict[str, Design]:
    """Designs made after the rule was chosen, in order to break it."""
    return {
        "genotypes 80/20, 10 of 200": lambda r: Sample(
            scaled(
                r.binomial(2, np.where(first(10, 200) & (labels(80, 20)[:, None] > 0), 0.7, 0.15))
                + 0.0
            ),
            labels(80, 20),
            first(10, 200),
        ),
        "one dominant column 70/30": lambda r: shifted(
            r.normal(size=(100, 50)), labels(70, 30), 1, 12.0
        ),
        "3 classes x 5, 10 of 500": lambda r: _three_of_five(r),
        "135/15, t(2) noise": lambda r: _beside(r.standard_t(2, (150, 200)), labels(135, 15), r),
        "100/20, zero-inflated counts": lambda r: _beside(
            r.poisson(4.0, (120, 200)) * (r.random((120, 200)) < 0.1) + 0.0, labels(100, 20), r
        ),
        "120/30, lognormal noise": lambda r: _beside(
            np.exp(1.5 * r.normal(size=(150, 200))), labels(120, 30), r
        ),
        "70/30, noise of correlation .95": lambda r: _beside(
            np.sqrt(0.95) * r.normal(size=(100, 1)) + np.sqrt(0.05) * r.normal(size=(100, 150)),
            labels(70, 30), r,
        ),
        "numeric target, t(2)": lambda r: _heavy_numbers(r),
        "60/58/2, 10 of 100": lambda r: _tiny_class(r),
        "45/15, 20 of 5000": lambda r: shifted(
            r.normal(size=(60, 5000)), labels(45, 15), 20, 2.5
        ),
        "other spread in the small class (related)": lambda r: Sample(
            scaled(r.normal(size=(150, 100)) * np.where(labels(120, 30), 1.3, 1.0)[:, None]),
            labels(120, 30),
            np.zeros(100, bool),
        ),
    }  # fmt: skip


def _unseen() -> dict[str, Design]:
    """Designs first run after the rule was settled; none led to a change."""
    return {
        "unseen: clusters in a hypercube": _hypercube,
        "unseen: digits + copies": lambda r: _rows_beside_copies(load_digits, 200, r),
        "unseen: numeric target, diabetes + copies": lambda r: _rows_beside_copies(
            load_diabetes, 150, r, convexfs.ReliefRegressor()
        ),
        "unseen: wine + lognormal": lambda r: _table_beside(
            load_wine, np.exp(1.2 * r.normal(size=(178, 40)))
        ),
        "unseen: iris + t(2)": lambda r: _table_beside(load_iris, r.standard_t(2, (150, 40))),
        "unseen: answers 1 to 5": _survey,
        "unseen: neighbouring columns alike": _neighbouring_columns,
        "unseen: counts of genes, shares of all (related)": lambda r: _gene_counts(r, 0),
        "unseen: counts of genes": lambda r: _gene_counts(r, 20),
        "unseen: rows of other size": lambda r: without_signal(
            r.normal(size=(100, 200)) * np.exp(0.7 * r.normal(size=(100, 1))), labels(70, 30)
        ),
        "unseen: null, rare binary columns": lambda r: without_signal(
            (r.random((60, 300)) < 0.06) + 0.0, labels(40, 20)
        ),
        "unseen: 6 classes, 300 x 40": _six_classes,
    }


def _hypercube(rng: Rng) -> Sample:
    sample: Any = make_classification(
        150, 120, n_informative=8, n_redundant=4, n_clusters_per_class=2, class_sep=1.5,
        shuffle=False, random_state=int(rng.integers(2**31)),
    )  # fmt: skip
    X, y = sample
    return Sample(scaled(X), y, first(12, 120))


def _rows_beside_copies(
    source: Callable[..., Any], rows: int, rng: Rng, model: Any = None
) -> Sample:
    """Rows drawn from a table, beside a copy of the columns with shuffled rows."""
    X, y = source(return_X_y=True)
    drawn = rng.choice(len(X), rows, replace=False)
    X = X[drawn][:, X[drawn].std(axis=0) > 0]
    sample = beside_noise(scaled(X), y[drawn], rng, "copies")
    sample.model = model
    return sample


def _table_beside(source: Callable[..., Any], noise: np.ndarray) -> Sample:
    X, y = source(return_X_y=True)
    return Sample(scaled(np.hstack([X, noise])), y, first(X.shape[1], X.shape[1] + 40))


def _survey(rng: Rng) -> Sample:
    """Answers of 70 and 50 people to 60 questions, 8 of them related."""
    y = labels(70, 50)
    trait = rng.normal(size=(120, 60)) + 0.9 * (first(8, 60) & (y[:, None] > 0))
    return Sample(scaled(np.digitize(trait, [-1.5, -0.5, 0.5, 1.5]) + 1.0), y, first(8, 60))


def _neighbouring_columns(rng: Rng) -> Sample:
    """Two independent stretches of columns, correlated .9 with the next; one of them shifted."""
    X = rng.normal(size=(120, 150))
    for j in range(150):
        if j not in (0, 30):
            X[:, j] = 0.9 * X[:, j - 1] + np.sqrt(0.19) * X[:, j]
    return shifted(X, labels(80, 40), 30, 2.0)


def _gene_counts(rng: Rng, begin: int) -> Sample:
    """Overdispersed counts at other depths, as logarithms of shares; 20 of 400 related.

    Shares are of the sums from gene `begin` on. Shares of all genes fall where related ones rise,
    so that they relate every gene to the class.
    """
    y = labels(50, 30)
    rate = rng.gamma(1.0, 20.0, size=400) * np.where(first(20, 400) & (y[:, None] > 0), 2.5, 1.0)
    counts = rng.poisson(rate * rng.gamma(4.0, 0.25, (80, 400)) * rng.gamma(8.0, 0.125, (80, 1)))
    shares = counts / counts[:, begin:].sum(axis=1)[:, None]
    return Sample(scaled(np.log1p(1e4 * shares)), y, first(20, 400))


def _six_classes(rng: Rng) -> Sample:
    y, X = np.arange(300) % 6, rng.normal(size=(300, 40))
    X[:, :6] += 2.0 * np.eye(6)[y]
    return Sample(scaled(X), y, first(6, 40))


def _beside(noise: np.ndarray, y: np.ndarray, rng: Rng) -> Sample:
    """Ten Gaussian columns, shifted between two classes, instead of the first ones."""
    X = noise.copy()
    X[:, :10] = rng.normal(size=(len(y), 10))
    return shifted(X, y, 10, 4.0)


def _three_of_five(rng: Rng) -> Sample:
    y, X = labels(5, 5, 5), rng.normal(size=(15, 500))
    X[:, :10] += 4.0 * rng.normal(size=(3, 10))[y]
    return Sample(scaled(X), y, first(10, 500))


def _tiny_class(rng: Rng) -> Sample:
    y, X = labels(60, 58, 2), rng.normal(size=(120, 100))
    X[:, :10] += 0.9 * (y[:, None] == 1)
    return Sample(scaled(X), y, first(10, 100))


def _heavy_numbers(rng: Rng) -> Sample:
    X = rng.normal(size=(120, 100))
    y = X[:, :5].sum(axis=1) + rng.standard_t(2, 120)
    return Sample(scaled(X), y, first(5, 100), model=convexfs.ReliefRegressor(sigma=10.0))


def _beside_mixed(rng: Rng, y: np.ndarray, model: Any = None) -> Sample:
    X = mixed_noise(rng, len(y), 200)
    X[:, :10] = rng.normal(size=(len(y), 10))
    return shifted(X, y, 10, 4.0, model=model)


def _missing_by_class(rng: Rng) -> Sample:
    y = labels(60, 60)
    sample = shifted(rng.normal(size=(120, 60)), y, 10, 3.0)
    sample.X = with_gaps(sample.X, np.where(y[:, None] > 0, 0.5, 0.05), rng)
    return sample


def real(data: Path | None) -> dict[str, Design]:
    """Real tables beside unrelated columns."""
    tables: dict[str, Any] = {n: source(return_X_y=True) for n, source in BUNDLED.items()}
    for name in (*GENES, *UNSEEN) if data is not None else ():
        with np.load(Path(data or "") / f"{name}.npz", allow_pickle=False) as file:
            X, y = file["X"].astype(float), np.unique(file["y"], return_inverse=True)[1]
        tables[name] = X[:, X.std(axis=0) > 0], y
    return {
        f"{name} + {kind}": lambda r, X=X, y=y, kind=kind: beside_noise(scaled(X), y, r, kind)
        for name, (X, y) in tables.items()
        for kind in ("copies", "Gaussian")
    }


def power_designs() -> dict[str, Design]:
    """Signals of several kinds."""

    def xor(j: int) -> Design:
        def make(rng: Rng) -> Sample:
            X = rng.normal(size=(300, j))
            return Sample(X, (X[:, 0] * X[:, 1] > 0).astype(int), first(2, j))

        return make

    def variance(rng: Rng) -> Sample:
        y, X = labels(75, 75), rng.normal(size=(150, 200))
        X[:, :10] *= np.where(y, 2.0, 0.8)[:, None]
        return Sample(scaled(X), y, first(10, 200))

    def local(rng: Rng) -> Sample:
        y, X, part = labels(75, 75), rng.normal(size=(150, 200)), rng.integers(0, 3, 150)
        for q in range(3):
            X[:, 4 * q : 4 * q + 4] += 2.2 * ((y == 1) & (part == q))[:, None]
        return Sample(scaled(X), y, first(12, 200))

    def cells(rng: Rng) -> Sample:
        y, X = labels(300, 200, 150, 110, 40), rng.normal(size=(800, 10_000))
        X[:, :100] += 0.8 * (y[:, None] == 4)
        return Sample(scaled(X), y, first(100, 10_000))

    return {
        "linear, .9 sd": lambda r: shifted(r.normal(size=(150, 200)), labels(75, 75), 10, 0.9),
        "linear in blocks": lambda r: shifted(in_blocks(r, 150, 200), labels(75, 75), 10, 0.9),
        "variance": variance, "local": local,
        "xor 10": xor(10), "xor 50": xor(50), "xor 300": xor(300),
        "rare classes 400/60/15/5": four_groups, "markers of 40 of 800 cells": cells,
    }  # fmt: skip


def penalty_designs() -> dict[str, Design]:
    """Small designs for Logo."""

    def product(rng: Rng) -> Sample:
        X = rng.normal(size=(200, 50))
        return Sample(X, (X[:, 0] * X[:, 1] > 0).astype(int), first(2, 50))

    return {
        "null, 150 x 100": lambda r: without_signal(r.normal(size=(150, 100)), labels(75, 75)),
        "null, 60 x 300": lambda r: without_signal(r.normal(size=(60, 300)), labels(30, 30)),
        "null, 85/15": lambda r: without_signal(r.normal(size=(100, 100)), labels(85, 15)),
        "null, correlated": lambda r: without_signal(in_blocks(r, 100, 100), labels(50, 50)),
        "null, mixed columns": lambda r: without_signal(mixed_noise(r, 120, 100), labels(80, 40)),
        "null, 3 classes": lambda r: without_signal(r.normal(size=(90, 200)), labels(30, 30, 30)),
        "linear, .9 sd": lambda r: shifted(r.normal(size=(150, 100)), labels(75, 75), 10, 0.9),
        "strong": lambda r: shifted(r.normal(size=(150, 100)), labels(75, 75), 10, 3.0),
        "product of two": product,
        "90/10, mixed columns": lambda r: _beside_mixed(r, labels(135, 15)),
    }
