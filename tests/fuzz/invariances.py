"""What must not matter, on data without ties: order, names, shift, scale, threads, precision."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import convexfs

from .arrays import quiet
from .arrays import warm as arrays_warm
from .attack import Attack, Failure, Verdict, cause_of, pick

#: Methods with settings. Iterations end at a distance from their fixed point: here a short one.
METHODS: dict[str, list[dict[str, Any]]] = {
    "Relief": [{}, {"n_neighbors": 3, "miss": "prior"}, {"metric": "sqeuclidean"}, {"l1": 0.1}],
    "IRelief": [{"tol": 1e-9}, {"tol": 1e-9, "sigma": 5.0}],
    "Simba": [{"random_state": 0}, {"random_state": 1, "utility": "sigmoid"}],
    "Logo": [{"tol": 1e-9, "lam": 1.0}, {"tol": 1e-9, "lam": 0.3}, {"tol": 1e-9, "beta": 2.0}],
    "LogoCV": [{"tol": 1e-9, "sigmas": [2.0], "lams": [0.5, 2.0], "cv": 2}],
    "LFE": [{}, {"n_neighbors": 3}],
    "LMNN": [{"n_neighbors": 1, "solver_tol": 1e-8}],
    "MMC": [{}, {"n_components": 1}],
    "Lmba": [{}, {"form": "box"}],
    "LLFS": [{"betas": 3}, {"betas": 3, "form": "linear"}],
    "ReliefRegressor": [{"n_neighbors": 5}, {"sigma": 2.0, "difference": "range"}],
    "LogoRegressor": [{"tol": 1e-9, "lam": 1.0}, {"tol": 1e-9, "difference": "range", "beta": 2.0}],
}
#: Those that learn from numbers, which have no names.
REGRESSORS = frozenset({"ReliefRegressor", "LogoRegressor"})
#: How far numbers may be apart, relative to the largest: rounding, or what a solver leaves.
TOLERANCE = {"Relief": 1e-7, "IRelief": 1e-5, "Logo": 1e-3, "LFE": 1e-7, "Lmba": 1e-3, "LLFS": 1e-9}
TOLERANCE |= {"Simba": 1e-9, "LogoCV": 1e-3, "LMNN": 1e-3, "MMC": 1e-7}
TOLERANCE |= {"ReliefRegressor": 1e-7, "LogoRegressor": 1e-3}


@dataclass(frozen=True)
class Law:
    """A change of samples and settings, and what it makes of the numbers.

    ``change`` takes the samples, the labels and a generator and returns changed ones, with the
    order the features are in afterwards.
    """

    change: Callable[..., tuple[np.ndarray, np.ndarray, np.ndarray]]
    settings: Callable[[dict[str, Any]], dict[str, Any]] = lambda settings: settings
    #: Methods for which it is no law: Simba walks through the samples in their order, LogoCV
    #: splits them by it; thresholds or widths that are fixed numbers do not scale with the data.
    but: frozenset[str] = field(default_factory=frozenset)
    #: Makes samples that can be so changed of any.
    fitting: Callable[[np.ndarray], np.ndarray] = lambda X: X


def _columns(X, y, rng):
    order = rng.permutation(X.shape[1])
    return X[:, order], y, order


def _rows(X, y, rng):
    order = rng.permutation(len(X))
    return X[order], y[order], np.arange(X.shape[1])


def _names(X, y, rng):
    names = np.array(["z", "a", "m", "b"])[rng.permutation(4)]
    return X, names[y], np.arange(X.shape[1])


def _shifted(X, y, rng):
    return X + rng.integers(-64, 64, X.shape[1]), y, np.arange(X.shape[1])


def _scaled(X, y, rng):
    return 2.0 ** rng.integers(-20, 20) * X, y, np.arange(X.shape[1])


def _same(X, y, rng):
    return X, y, np.arange(X.shape[1])


def _single(X, y, rng):
    return X.astype(np.float32), y, np.arange(X.shape[1])


def _whole(X, y, rng):
    return X.astype(np.int64), y, np.arange(X.shape[1])


def _fortran(X, y, rng):
    return np.asfortranarray(X), y, np.arange(X.shape[1])


LAWS = {
    "column order": Law(_columns, but=frozenset({"Simba"})),
    "row order": Law(_rows, but=frozenset({"Simba", "LogoCV"})),
    "class names": Law(_names, but=REGRESSORS),
    "shift": Law(_shifted),
    "scale": Law(_scaled, but=frozenset(METHODS) - {"Relief", "LFE"}),
    "n_jobs": Law(_same, lambda settings: settings | {"n_jobs": 2}, but=frozenset({"LLFS"})),
    "float32": Law(_single),
    "integers": Law(_whole, fitting=lambda X: np.round(4 * X)),
    "memory layout": Law(_fortran),
}


@dataclass(frozen=True)
class Case:
    """A method with settings, a law, and the seed of samples and change."""

    method: str
    settings: Mapping[str, Any]
    law: str
    seed: int


def make(rng: np.random.Generator) -> Case:
    method = pick(rng, METHODS)
    law = pick(rng, [name for name, law in LAWS.items() if method not in law.but])
    return Case(method, pick(rng, METHODS[method]), law, int(rng.integers(2**32)))


def sample(seed: int) -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
    """Samples that float32 holds exactly: two features of the class, and noise."""
    rng = np.random.default_rng(seed)
    rows, columns, classes = (
        int(rng.integers(12, 30)),
        int(rng.integers(3, 8)),
        pick(rng, [2, 2, 3]),
    )
    y = np.arange(rows) % classes
    X = rng.normal(size=(rows, columns)) + 2.0 * y[:, None] * (np.arange(columns) < 2)
    return X.astype(np.float32).astype(np.float64), y, rng


def judge(case: Case) -> Verdict:
    """Fit before and after, and compare; a fit that did not converge promises nothing."""
    law = LAWS[case.law]
    (X, y), (changed_X, changed_y), order = _before_and_after(case)
    try:
        with quiet():
            before = _fit(case.method, dict(case.settings), X, y)
            after = _fit(case.method, law.settings(dict(case.settings)), changed_X, changed_y)
    except Exception as error:
        return Verdict("crashed", (Failure("crash", f"{case.method}: {cause_of(error)}"),))
    if not (getattr(before, "converged_", True) and getattr(after, "converged_", True)):
        return Verdict("not converged")
    expected, found = _numbers(before, order), _numbers(after, np.arange(X.shape[1]))
    if case.law == "scale" and case.method == "LFE":
        expected, found = expected / np.abs(expected).max(), found / np.abs(found).max()
    apart = np.abs(expected - found).max() / max(np.abs(expected).max(), 1e-300)
    if apart <= TOLERANCE[case.method]:
        return Verdict("holds")
    return Verdict("violated", (Failure("law", f"{case.law} matters to {case.method}"),))


def _before_and_after(case: Case) -> tuple[Any, Any, np.ndarray]:
    """Samples and labels, the changed ones, and the order of features in these."""
    law = LAWS[case.law]
    X, y, rng = sample(case.seed)
    X = law.fitting(X)
    changed_X, changed_y, order = law.change(X, y, rng)
    return (X, y), (changed_X, changed_y), order


def _fit(method: str, settings: dict[str, Any], X: np.ndarray, y: np.ndarray) -> Any:
    return getattr(convexfs, method)(**settings).fit(X, y)


def _numbers(model: Any, order: np.ndarray) -> np.ndarray:
    """Weights, or a projection's metric, with the features in an order."""
    if hasattr(model, "weights_"):
        return model.weights_[order]
    metric = model.components_.T @ model.components_
    return metric[np.ix_(order, order)]


def reproducer(case: Case) -> dict[str, bytes]:
    """A program with the numbers themselves, before and after."""
    law = LAWS[case.law]
    before, after, order = _before_and_after(case)
    settings = (dict(case.settings), law.settings(dict(case.settings)))
    shown = "import numpy as np\n\nimport convexfs\n\n"
    shown += f"# {case.law}; the features are then in the order {order.tolist()}\n"
    for (A, b), chosen in zip((before, after), settings, strict=True):
        layout = "F" if A.flags.f_contiguous else "C"
        shown += f"X = np.array({A.tolist()}, dtype=np.{A.dtype.name}, order={layout!r})\n"
        shown += f"y = np.array({b.tolist()})\n"
        shown += f"model = convexfs.{case.method}(**{chosen}).fit(X, y)\n"
        shown += "print(getattr(model, 'weights_', None), getattr(model, 'metric_', None))\n"
    return {"case.py": shown.encode()}


ATTACK = Attack(make, judge, reproducer, share=5, warm=arrays_warm)
