"""Samples, labels and parameters that nobody should pass, as Python expressions.

An expression can be evaluated here and printed into a reproducer. The names it may use are in
:data:`NAMES`.
"""

import datetime
from collections.abc import Callable
from math import inf, nan
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse

from .attack import pick

NAMES = {
    "np": np,
    "pd": pd,
    "nan": nan,
    "inf": inf,
    "datetime": datetime,
    "sparse": scipy.sparse,
}
HEADER = """import datetime
from math import inf, nan

import numpy as np
import pandas as pd
from scipy import sparse
"""
#: Whole matrices, multiplied or shifted.
SCALES = ["1.0", "1e-3", "1e3", "1e-12", "1e12", "1e-150", "1e150", "1e-308", "1e307", "5e-324"]
#: Cells that are put among others.
CELLS = [nan, inf, -inf, 1e308, -1e308, 1.7e308, 1e200, 1e-320, 5e-324, -0.0, 0.0, 1e16, 1e-16]


def matrix(rng: np.random.Generator) -> tuple[str, int]:
    """Samples, most of them within reason, and the number of rows."""
    rows, columns = _size(rng)
    kind = pick(rng, ["normal", "normal", "ties", "binary", "equal", "steps", "heavy"])
    X = {
        "normal": lambda: rng.normal(size=(rows, columns)),
        "ties": lambda: rng.integers(-1, 2, (rows, columns)).astype(float),
        "binary": lambda: rng.integers(0, 2, (rows, columns)).astype(float),
        "equal": lambda: np.ones((rows, columns)),
        "steps": lambda: np.arange(float(rows * columns)).reshape(rows, columns),
        "heavy": lambda: rng.standard_cauchy((rows, columns)) ** 3,
    }[kind]()
    X = np.round(X, 3)
    for damage in (_constant, _copy, _repeat_row, _cells):
        if rng.random() < 0.2:
            damage(rng, X)
    expression = f"np.array({X.tolist()}).reshape({rows}, {columns})"
    if rng.random() < 0.25:
        expression = f"{expression} * {pick(rng, SCALES)}"
    if rng.random() < 0.08:
        expression = f"{expression} + {pick(rng, ['1e8', '1e15', '-1e300'])}"
    if rng.random() < 0.25:
        expression = pick(rng, DRESSES).replace("{}", f"({expression})")
    return expression, rows


def _size(rng: np.random.Generator) -> tuple[int, int]:
    if rng.random() < 0.75:
        return int(rng.integers(4, 16)), int(rng.integers(1, 7))
    return pick(rng, [(2, 1), (2, 2), (3, 1), (8, 1), (4, 30), (30, 2), (1, 3), (0, 3), (5, 0)])


def _constant(rng: np.random.Generator, X: np.ndarray) -> None:
    if X.size:
        X[:, rng.integers(X.shape[1])] = pick(rng, [0.0, 1.0, -3.5, 1e10])


def _copy(rng: np.random.Generator, X: np.ndarray) -> None:
    if X.size:
        X[:, rng.integers(X.shape[1])] = X[:, rng.integers(X.shape[1])]


def _repeat_row(rng: np.random.Generator, X: np.ndarray) -> None:
    if X.size:
        X[rng.integers(len(X))] = X[rng.integers(len(X))]


def _cells(rng: np.random.Generator, X: np.ndarray) -> None:
    if X.size:
        for _ in range(rng.integers(1, 4)):
            X[rng.integers(len(X)), rng.integers(X.shape[1])] = pick(rng, CELLS)


#: What a matrix can be dressed in: types, layouts, containers, shapes that are wrong.
DRESSES = [
    "np.asfortranarray({})",
    "np.repeat({}, 2, axis=1)[:, ::2]",
    "{}[::-1]",
    "{}.astype(np.float32)",
    "np.nan_to_num({}, posinf=6e4, neginf=-6e4).clip(-6e4, 6e4).astype(np.float16)",
    "np.nan_to_num({}).clip(-100, 100).astype(np.int8)",
    "np.nan_to_num({}).clip(-1e9, 1e9).astype(np.int64)",
    "({} > 0)",
    "{}.astype(object)",
    "{}.astype(str)",
    "{}.astype(complex)",
    "{}.astype('>f8')",
    "{}.astype(np.longdouble)",
    "np.nan_to_num({}).clip(0, 100).astype('datetime64[s]')",
    "np.nan_to_num({}).clip(0, 100).astype('timedelta64[s]')",
    "{}.tolist()",
    "pd.DataFrame({})",
    "pd.DataFrame({}).add_prefix('f')",
    "pd.DataFrame({}).assign(when=datetime.datetime(2020, 1, 1))",
    "pd.DataFrame({}).assign(text='a')",
    "pd.DataFrame({}).astype('Float64')",
    "sparse.csr_matrix({})",
    "np.ma.masked_invalid({})",
    "{}.ravel()",
    "{}[None]",
    "{}[0:0]",
    "[[1.0], [2.0, 3.0]]",
    "np.array([[None] * 3] * 4)",
    "[['a', 1.0], [None, 2.0]]",
    "None",
    "3.0",
    "'text'",
    "np.broadcast_to({}[:1], {}.shape)",
]


def labels(rng: np.random.Generator, rows: int) -> str:
    """Labels of so many rows, most of them of two classes."""
    if rng.random() < 0.7:
        codes = rng.integers(0, pick(rng, [2, 2, 2, 3, 4]), rows)
        codes[:2] = np.arange(min(rows, 2))
        return f"np.array({codes.tolist()})"
    return pick(rng, LABELS).format(n=rows)


LABELS = [
    "np.zeros({n}, int)",
    "np.arange({n})",
    "np.arange({n}) == 0",
    "np.arange({n}) % 2 + 0.5",
    "np.arange({n}) % 2 * 1e308",
    "np.array([None, 'a'] * {n}, object)[:{n}]",
    "np.array([1, 'a'] * {n}, object)[:{n}]",
    "[1, 'a', None] * {n}",
    "(['a', 'b'] * {n})[:{n}]",
    "np.array([b'a', b'b'] * {n})[:{n}]",
    "np.array([nan, 1.0] * {n})[:{n}]",
    "np.array([inf, 1.0] * {n})[:{n}]",
    "np.array([2**62, -(2**62)] * {n})[:{n}]",
    "np.arange({n}) % 2 == 0",
    "np.arange(2 * {n}).reshape({n}, 2) % 2",
    "(np.arange({n}) % 2)[:, None]",
    "np.arange({n} + 1) % 2",
    "np.arange({n} // 2) % 2",
    "pd.Series(np.arange({n}) % 2, dtype='category')",
    "pd.Series(np.arange({n}) % 2, index=np.arange({n})[::-1])",
    "pd.Series(['a', pd.NA] * {n}, dtype='string')[:{n}]",
    "np.array(['2020-01-01', '2021-01-01'] * {n}, 'datetime64[D]')[:{n}]",
    "np.array([(0, 1)] * {n}, 'i4,i4')",
    "np.arange({n}) % 2 + 1j",
    "[[0], [1, 2]]",
    "(np.arange({n}) % 2).astype(np.float16)",
    "None",
    "'ab'",
    "3",
]

#: Values that fit no parameter, or only some.
ODD = ["-1", "0", "0.0", "1", "1.5", "1e-300", "1e-12", "1e12", "1e308", "nan", "inf", "-inf"]
ODD += ["None", "True", "False", "'a'", "''", "[]", "{}", "()", "[1, 2]", "(0.1, 5.0)", "2**63"]
ODD += ["10**30", "-(10**400)", "np.float32(2)", "np.int64(3)", "np.ones(3)", "np.array(nan)", "1j"]
ODD += ["pd.NA", "pd.Series([1, 2])", "np.array(1.0)", "np.array(['a', 'b'])"]
ODD += ["object()", "len", "b'x'", "np.random.default_rng(0)", "'\\x1b[31mred'"]
#: Asked for more rounds, a method may well take its time.
COUNTS = {"n_epochs", "n_starts", "n_roundings", "cv", "n_jobs", "max_iter", "betas", "verbose"}
PATIENT = ["-1", "0", "1", "2", "3", "1.5", "None", "'a'", "nan", "[]", "True", "-(10**400)"]
PATIENT += ["{}", "pd.NA", "np.ones(3)", "np.array(['a', 'b'])"]
FORMS_OF_LLFS = ["compactness", "separation", "linear", "bisection", "ratio", "exact"]
#: Words that some parameter knows.
WORDS = {
    "miss": ["nearest", "prior", "uniform"],
    "metric": ["manhattan", "sqeuclidean"],
    "utility": ["linear", "sigmoid"],
    "algorithm": ["certified", "paper"],
    "form": ["closed", "trace", "row-sparse", "simplex", "box", "gradient", *FORMS_OF_LLFS],
    "rounding": ["enumerate", "random"],
    "sigma_init": ["feasible", "literal"],
    "impurity": ["normalised", "raw"],
    "vote": ["normalised", "raw"],
    "support": ["frequent", "union"],
    "solver": ["auto", "native", "CLARABEL", "HIGHS", "nosuch"],
}
#: Ordinary numbers, by the name of the parameter.
NUMBERS = {
    "sigma": ["0.1", "2.0", "10.0", "1e-3", "1e3"],
    "lam": ["0", "1e-3", "1.0", "10.0", "1e3"],
    "beta": ["None", "0.1", "1.0", "10.0"],
    "gamma": ["0.0", "0.2", "1.0"],
    "c": ["0.1", "1.0", "10.0"],
    "l1": ["0.0", "0.1", "1e9"],
    "damping": ["0.0", "0.5", "0.9"],
    "n_neighbors": ["1", "2", "3", "100"],
    "n_features_to_select": ["None", "1", "2", "100"],
    "max_features": ["None", "1", "2", "100"],
    "betas": ["2", "3", "[0.0, 1.0]", "[0.5]"],
    "n_components": ["None", "1", "2", "'auto'"],
    "prune_to": ["None", "1", "2"],
    "keep": ["None", "1"],
    "online": ["True", "False"],
    "swap": ["True", "False"],
    "prune": ["True", "False"],
    "start": ["None", "np.ones(3)", "np.zeros(3)", "[1.0, nan]", "np.array([1e308] * 4)", "[-1.0]"],
    "bound": ["True", "False"],
    "neighbor_vote": ["True", "False"],
    "random_state": ["0", "None"],
    "max_iter": ["1", "20"],
}


def parameters(rng: np.random.Generator, known: list[str], quick: dict[str, str]) -> dict[str, str]:
    """Settings by name: those that keep a method quick, some usual ones, and perhaps an odd one."""
    chosen = dict(quick)
    usual = [name for name in known if name in NUMBERS or name in WORDS]
    for name in usual:
        if rng.random() < 0.15:
            words = [repr(word) for word in WORDS.get(name, ())]
            # Most words on the list of another method are wrong here, and should be said to be.
            chosen[name] = pick(rng, [*words, *NUMBERS.get(name, ())])
    if rng.random() < 0.25:
        name = pick(rng, [name for name in known if name not in ("run_dir", "formulation")])
        chosen[name] = pick(rng, PATIENT if name in COUNTS else ODD)
    return chosen


def evaluated(expression: str) -> Any:
    """What an expression of this module says."""
    compiled: Callable[..., Any] = eval
    return compiled(expression, dict(NAMES))
