"""The data of the comparison: signals planted in columns drawn at random, and real sets."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

#: Samples while the features grow, and features while the samples do.
FIXED_SAMPLES, FIXED_FEATURES = 200, 500
#: False discovery rate asked of knockoffs.
RATE = 0.2

Planted = tuple[np.ndarray, np.ndarray, np.ndarray]  #: samples, labels, which features matter


def linear(rng: np.random.Generator, n: int, p: int) -> Planted:
    """Ten features that shift with the class."""
    X, y, at = *_noise(rng, n, p), rng.choice(p, 10, replace=False)
    X[:, at] += y[:, None]
    return X, y, at


def xor(rng: np.random.Generator, n: int, p: int) -> Planted:
    """Two features whose signs make the class together, and none alone."""
    X, at = rng.standard_normal((n, p)), rng.choice(p, 2, replace=False)
    X[:, at] += 0.5 * np.sign(X[:, at])
    return X, (X[:, at].prod(axis=1) > 0).astype(int), at


def local(rng: np.random.Generator, n: int, p: int) -> Planted:
    """Two regions, told by one feature, with three features each that matter only there."""
    X, y, at = *_noise(rng, n, p), rng.choice(p, 7, replace=False)
    here = rng.random(n) < 0.5
    X[:, at[0]] += np.where(here, 3.0, -3.0)
    X[:, at[1:4]] += 2.0 * (y * here)[:, None]
    X[:, at[4:]] += 2.0 * (y * ~here)[:, None]
    return X, y, at


def _noise(rng: np.random.Generator, n: int, p: int) -> tuple[np.ndarray, np.ndarray]:
    return rng.standard_normal((n, p)), rng.permutation(np.arange(n) % 2)


SIGNALS: dict[str, Callable[..., Planted]] = {"linear": linear, "xor": xor, "local": local}


def planted(signal: str, n: int, p: int, seed: int = 0) -> Planted:
    """Standardised samples with a signal planted in columns drawn at random."""
    X, y, at = SIGNALS[signal](np.random.default_rng([seed, n, p, len(signal)]), n, p)
    return standard(X), y, np.sort(at)


def standard(X: np.ndarray) -> np.ndarray:
    """Columns of mean zero and spread one: what every contender is given."""
    X = X - X.mean(axis=0)
    spread = np.sqrt(np.einsum("nj,nj->j", X, X) / len(X))
    X /= np.where(spread > 0, spread, 1)
    return X


def found(scores: np.ndarray, true: np.ndarray) -> float:
    """Share of the planted features among as many best ones; equal scores count by chance."""
    scores, sought = np.nan_to_num(np.asarray(scores, float), nan=-np.inf), len(true)
    least = np.sort(scores)[-sought]
    above, tied = scores > least, scores == least
    chance = (sought - above.sum()) / tied.sum()
    return float((above[true].sum() + chance * tied[true].sum()) / sought)


def selected_at_rate(lead: np.ndarray, true: np.ndarray) -> dict[str, int]:
    """How many features knockoff+ selects at `RATE` by their leads, and how many falsely."""
    lead = np.nan_to_num(np.asarray(lead, float), nan=0.0)
    for least in np.unique(np.abs(lead[lead != 0])):
        chosen = np.flatnonzero(lead >= least)
        if 1 + np.sum(lead <= -least) <= RATE * len(chosen) * (1 + 1e-9):
            return {"selected": len(chosen), "false": int((~np.isin(chosen, true)).sum())}
    return {"selected": 0, "false": 0}


def real_sets(folder: str | None) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Sets of two classes: scikit-learn's own, and those of a folder (npz files with X and y)."""
    from sklearn.datasets import load_breast_cancer, load_wine

    wine = [np.asarray(values) for values in load_wine(return_X_y=True)]
    two, rng = wine[1] < 2, np.random.default_rng(0)
    own = {
        "breast cancer": load_breast_cancer(return_X_y=True),
        "wine (2 classes)": (wine[0][two], wine[1][two]),
    }
    # Shuffled copies of the columns, so that there is something to leave out.
    sets = {
        f"{name} + 200 noise": (np.hstack([X, rng.permuted(_wide(X), axis=0)]), y)
        for name, (X, y) in own.items()
    }
    for path in sorted(Path(folder).glob("*.npz")) if folder else ():
        with np.load(path, allow_pickle=False) as file:
            X, y = np.asarray(file["X"], float), np.unique(file["y"], return_inverse=True)[1]
        if y.max() == 1 and np.isfinite(X).all():
            sets[path.stem] = (X, y)
    return sets


def _wide(X: np.ndarray) -> np.ndarray:
    return np.tile(X, 200 // X.shape[1] + 1)[:, :200]


def nested_errors(
    score: Callable[[np.ndarray, np.ndarray, int], np.ndarray], X: np.ndarray, y: np.ndarray
) -> dict[str, float]:
    """Errors of 5-NN and an SVM on samples that neither the selection nor its size has seen."""
    from sklearn.model_selection import StratifiedKFold
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    models = {"5-NN": KNeighborsClassifier(5), "SVM": SVC()}
    sizes = [size for size in (5, 10, 20, 50) if size <= X.shape[1]]
    wrong = dict.fromkeys(models, 0)

    def errors_of_sizes(train: np.ndarray, test: np.ndarray) -> dict[str, list[int]]:
        scores = score(standard(X[train]), y[train], sizes[-1])
        order = np.argsort(-np.asarray(scores), kind="stable")
        return {
            name: [
                int((make_pipeline(StandardScaler(), model).fit(
                    X[train][:, order[:size]], y[train]
                ).predict(X[test][:, order[:size]]) != y[test]).sum())
                for size in sizes
            ]
            for name, model in models.items()
        }  # fmt: skip

    for outer, test in StratifiedKFold(3, shuffle=True, random_state=0).split(X, y):
        inner = StratifiedKFold(2, shuffle=True, random_state=1).split(X[outer], y[outer])
        tried = [errors_of_sizes(outer[a], outer[b]) for a, b in inner]
        on_test = errors_of_sizes(outer, test)
        for name in models:
            best = int(np.argmin(np.sum([errors[name] for errors in tried], axis=0)))
            wrong[name] += on_test[name][best]
    return {name: count / len(y) for name, count in wrong.items()}
