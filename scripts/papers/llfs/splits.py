"""The data of the LLFS paper: its Table I, z-scores, noise, pruning of the microarrays."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from convexfs.methods.logo.fit import logo
from papers.experiment import Case, printed

SIZES = printed("llfs_table2_error")
#: Where each data set of the paper is found.
SOURCES = {
    "sonar": "data:sonar",
    "dna": "data:dna",
    "breast": "wdbc",
    "adult": "data:adult_a1a",
    "arr": "data:arrhythmia_420",
    "prostate": "data:prostate_ge",
    "duke_breast": "data:duke_breast",
    "leukemia": "data:leukemia_discrete7070",
    "colon": "data:colon",
    "nervous_system": "data:cns",
}
MICROARRAYS = ("prostate", "duke_breast", "leukemia", "colon", "nervous_system")
#: The largest budget and number of features that the paper tries (Sec. IV-C), beginning with 1.
LARGEST = dict.fromkeys(SOURCES, 30) | {"adult": 60, "arr": 100, "nervous_system": 35}
#: Where a fit takes a second or more, not all of them but every fifth or tenth.
STEPS = {"adult": 5, "arr": 10}
#: What is tried where it costs most, such as in folds: these, and the largest of a set.
COARSE = (1, 3, 10, 30)
#: The training rows are parted into as many, of which some or all are held out in turn.
FOLDS = 5
#: What microarrays are pruned to, by Logo's weights, for LLFS alone.
PRUNED_TO = 300
#: Where DNA has three classes; the paper asks whether there is a junction.
NO_JUNCTION = 2


@dataclass(frozen=True)
class Parts:
    """Training and test rows, z-scored by the training rows; ``columns`` are left for LLFS."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    columns: np.ndarray

    def pruned(self, columns: np.ndarray | None = None) -> "Parts":
        """Return the columns that are left alone."""
        kept = self.columns if columns is None else columns
        return replace(
            self, X=self.X[:, kept], X_test=self.X_test[:, kept], columns=np.arange(len(kept))
        )


#: The last split, by what determines it: the methods of a run share it.
_LAST: dict[str, Parts] = {}


def parts(case: Case) -> Parts:
    """Return a random split of a data set with noise features, and what pruning leaves of it."""
    key = f"{case.data.digest} {case.row} {case.run} {json.dumps(dict(case.settings))}"
    if key not in _LAST:
        _LAST.clear()
        _LAST[key] = _parts(case)
    return _LAST[key]


def sizes(row: str, settings: Mapping[str, Any]) -> tuple[int, int, int]:
    """Return how many rows train and test, and how many noise features are added."""
    asked = settings["sizes"].get(row)
    if asked is None:
        asked = [int(SIZES.loc[row, name]) for name in ("train", "test", "noise_added")]  # type: ignore[arg-type]
    train, test, noise = asked
    return train, min(test, settings["most_test_rows"]), noise


def budgets(row: str, settings: Mapping[str, Any]) -> list[int]:
    """Return the values of alpha, or numbers of features, that are tried, in order.

    They are the paper's, all of them or evenly spaced, with the coarse ones and the one printed.
    """
    asked = settings["budgets"].get(row)
    if asked is not None:
        return list(asked)
    largest, step = LARGEST[row], STEPS.get(row, 1)
    fixed = {int(SIZES.loc[row, "llfs_alpha"]), largest, *(b for b in COARSE if b <= largest)}  # type: ignore[arg-type]
    return sorted({*range(step, largest + 1, step), *fixed})


def coarse(tried: list[int]) -> list[int]:
    """Return the few of the values that are tried where each costs much."""
    return [value for value in tried if value in COARSE or value == tried[-1]]


def rows_drawn(case: Case) -> tuple[np.ndarray, np.ndarray, int]:
    """Return samples with noise, their classes, and how many of them, the first, train.

    Columns are permuted: no feature is preferred for where it stands.
    """
    train, test, noise = sizes(case.row, case.settings)
    rows = case.random("split").permutation(case.data.n_samples)[: train + test]
    added = case.random("noise").standard_normal((len(rows), noise))
    y = case.data.y[rows]
    if case.row.startswith("dna"):
        y = (y == NO_JUNCTION).astype(int)
    X = np.hstack([case.data.X[rows], added])
    order = case.random("columns").permutation(X.shape[1])
    return X[:, order], np.unique(y, return_inverse=True)[1], train


def folds(own: Parts, case: Case) -> Iterator[Parts]:
    """Yield folds of the training rows, each a split whose microarrays are pruned anew."""
    parted = StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(own.X, own.y)
    for train, held in islice(parted, case.settings["folds"]):
        X, y = own.X[train], own.y[train]
        yield Parts(X, y, own.X[held], own.y[held], left_by_pruning(X, y, case.row))


def z_scores(known: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Return columns of mean 0 and deviation 1 in the rows that are known."""
    spread = known.std(axis=0)
    return (X - known.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


def best_by_logo(X: np.ndarray, y: np.ndarray, n_features: int = PRUNED_TO) -> np.ndarray:
    """Return the columns that Logo weighs most, ascending."""
    if X.shape[1] <= n_features:
        return np.arange(X.shape[1])
    return np.sort(np.argsort(-logo(X, y).weights, kind="stable")[:n_features])


def left_by_pruning(X: np.ndarray, y: np.ndarray, row: str) -> np.ndarray:
    """Return the columns that LLFS is given: of microarrays those that Logo weighs most."""
    return best_by_logo(X, y) if row in MICROARRAYS else np.arange(X.shape[1])


def _parts(case: Case) -> Parts:
    X, y, train = rows_drawn(case)
    X = z_scores(X[:train], X)
    columns = left_by_pruning(X[:train], y[:train], case.row)
    return Parts(X[:train], y[:train], X[train:], y[train:], columns)
