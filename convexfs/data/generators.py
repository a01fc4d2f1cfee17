"""Data made by formula, where the relevant features are known.

Every generator adds ``noise`` features drawn from N(0, 1) on a random stream of their
own: the relevant part stays the same, whatever their number. Rows are ordered by class
unless a docstring says otherwise.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from math import isfinite, sqrt
from typing import Any

import numpy as np

from convexfs.data.dataset import Dataset
from convexfs.data.readers.memory_limit import ReadLimit
from convexfs.data.validation import require_two_classes, row_blocks
from convexfs.errors import InputError

_NORM_DIMENSION = 20
_WAVE_LENGTH = 21
_FRIEDMAN = 10


def spiral(
    n: int = 230, turns: float = 1.0, radius: float = 10.0, noise: int = 0, seed: int = 0
) -> Dataset:
    """Two arms of Fermat's spiral, to be used unscaled.

    For k = 1..n, arm 1 is the point at angle and distance ::

        angle_k = 2 pi turns k / n        distance_k = radius sqrt(k / n)

    and arm 2 is minus arm 1. (Sun, Todorovic and Goodison 2010 draw such a spiral
    without a formula; this one is convexfs's reading.)

    Parameters
    ----------
    n : int
        Points per arm.
    turns, radius : float
        Number of turns, and distance of the last point.
    noise, seed : int
        Number of N(0, 1) features added, and the seed they are drawn with.
    """
    _require(n=(n, 1), noise=(noise, 0), seed=(seed, 0))
    _require_positive(turns=turns, radius=radius)
    k = np.arange(1, n + 1) / n
    angle, distance = 2 * np.pi * turns * k, radius * np.sqrt(k)
    arm = distance[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    y = np.repeat([0, 1], n)
    return _assemble("spiral", np.vstack([arm, -arm]), y, noise, seed, scale="none")


def twonorm(n: int = 400, noise: int = 0, seed: int = 0) -> Dataset:
    """Two Gaussian classes in 20 dimensions, apart along the diagonal.

    With a = 2 / sqrt(20) and 1 the vector of ones::

        class 1: x ~ N(a 1, I)        class 2: x ~ N(-a 1, I)

    The Bayes rule is the sign of 1'x, its error Phi(-2) = 2.3 % (Breiman 1996, "Bias,
    variance, and arcing classifiers").

    Parameters
    ----------
    n : int
        Samples in all, split evenly.
    noise, seed : int
        Number of N(0, 1) features added, and the seed.
    """
    y, draw = _classes_and_stream(n, 2, noise, seed)
    a = 2 / sqrt(_NORM_DIMENSION)
    X = draw.standard_normal((n, _NORM_DIMENSION)) + np.array([a, -a])[y, None]
    return _assemble("twonorm", X, y, noise, seed)


def ringnorm(n: int = 400, distance: float = 2.0, noise: int = 0, seed: int = 0) -> Dataset:
    """Two Gaussian classes in 20 dimensions, one inside the other.

    With a = distance / sqrt(20) and 1 the vector of ones::

        class 1: x ~ N(0, 4 I)        class 2: x ~ N(a 1, I)

    (Breiman 1996.) The files in circulation have distance = 2, with a Bayes error of
    1.2 %; some texts print a = 1 / sqrt(20), which is distance = 1.

    Parameters
    ----------
    n : int
        Samples in all, split evenly.
    distance : float
        Between the two centres.
    noise, seed : int
        Number of N(0, 1) features added, and the seed.
    """
    _require(distance=(distance, 0))
    y, draw = _classes_and_stream(n, 2, noise, seed)
    centre = np.array([0.0, distance / sqrt(_NORM_DIMENSION)])
    spread = np.array([2.0, 1.0])
    X = centre[y, None] + spread[y, None] * draw.standard_normal((n, _NORM_DIMENSION))
    return _assemble("ringnorm", X, y, noise, seed)


def waveform(n: int = 400, noise: int = 0, seed: int = 0) -> Dataset:
    """Three classes of waves, each a random mixture of two triangles out of three.

    With the triangles, for i = 1..21, ::

        h1(i) = max(6 - |i - 11|, 0)    h2(i) = h1(i - 4)    h3(i) = h1(i + 4)

    and u ~ U(0, 1), e_i ~ N(0, 1)::

        class 1: x_i = u h1(i) + (1 - u) h2(i) + e_i
        class 2: x_i = u h1(i) + (1 - u) h3(i) + e_i
        class 3: x_i = u h2(i) + (1 - u) h3(i) + e_i

    All triangles vanish at i = 1 and i = 21: features 2 to 20 are relevant. The Bayes
    error is 14 % (Breiman, Friedman, Olshen and Stone 1984, sec. 2.6.2).

    Parameters
    ----------
    n : int
        Samples in all, split as evenly as possible.
    noise, seed : int
        Number of N(0, 1) features added, and the seed; noise=19 gives the
        40-feature version.
    """
    y, draw = _classes_and_stream(n, 3, noise, seed)
    i = np.arange(1, _WAVE_LENGTH + 1)
    triangles = np.array([np.maximum(6 - np.abs(i - peak), 0) for peak in (11, 15, 7)])
    first, second = triangles[[0, 0, 1]], triangles[[1, 2, 2]]
    u = draw.random((n, 1))
    X = u * first[y] + (1 - u) * second[y] + draw.standard_normal((n, _WAVE_LENGTH))
    relevant = np.flatnonzero(triangles.any(axis=0)).tolist()
    return _assemble("waveform", X, y, noise, seed, relevant=relevant)


def subclasses(n: int = 30, gap: float = 8.0, noise: int = 0, seed: int = 0) -> Dataset:
    """One class of two separate clusters, and one class between them.

    ::

        class Y1: squares   ~ N((gap, 0), I)    and    triangles ~ N((0, gap), I)
        class Y2:             N((0, 0), I)

    Squares need only x1 to stand apart from Y2, triangles only x2, Y2 needs both.
    ``groups`` is 0 for squares, 1 for triangles, 2 for Y2. (After Armanfard, Reilly and
    Komeili 2017, Fig. 4, which gives unit variances but no centres.)

    Parameters
    ----------
    n : int
        Samples per cluster.
    gap : float
        Distance of both clusters of Y1 from Y2.
    noise, seed : int
        Number of N(0, 1) features added, and the seed.
    """
    _require(n=(n, 1), gap=(gap, 0), noise=(noise, 0), seed=(seed, 0))
    groups = np.repeat([0, 1, 2], n)
    centres = np.array([[gap, 0.0], [0.0, gap], [0.0, 0.0]])
    X = centres[groups] + _streams(seed)[0].standard_normal((3 * n, 2))
    y = (groups == 2).astype(np.int64)
    return _assemble("subclasses", X, y, noise, seed, class_names=("Y1", "Y2"), groups=groups)


def six_gaussians(
    n: int = 100, shift: float = 1.5, irrelevant: int = 14, noise: int = 0, seed: int = 0
) -> Dataset:
    """Two classes that differ in the means of six Gaussian features.

    ::

        x1..x6 ~ N(0, 1) in class 1        x1..x6 ~ N(shift, 1) in class 2
        x7, x8, ... ~ U(0, 1) in both

    (After the first synthetic set of the Lmba paper, Pattern Recognition 2009, sec. 4,
    which gives no parameters.)

    Parameters
    ----------
    n : int
        Samples in all, split evenly.
    shift : float
        Difference of the class means.
    irrelevant : int
        Number of uniform features.
    noise, seed : int
        Number of N(0, 1) features added, and the seed.
    """
    _require(shift=(shift, 0), irrelevant=(irrelevant, 0))
    y, draw = _classes_and_stream(n, 2, noise, seed)
    gaussian = draw.standard_normal((n, 6)) + shift * y[:, None]
    X = np.hstack([gaussian, draw.random((n, irrelevant))])
    return _assemble("six_gaussians", X, y, noise, seed, relevant=range(6))


def sign_bits(n: int = 100, features: int = 10, noise: int = 0, seed: int = 0) -> Dataset:
    """Make four classes that differ by the signs of the first two features.

    With independent x_j ~ N(0, 1), ::

        class = 2 [x1 > 0] + [x2 > 0]

    Rows come in the order drawn and class sizes are random. (Multi-class set of the
    Lmba paper, Pattern Recognition 2009, sec. 4.)

    Parameters
    ----------
    n : int
        Samples in all.
    features : int
        Number of features, two of them relevant.
    noise, seed : int
        Number of further N(0, 1) features, and the seed.
    """
    _require(n=(n, 2), features=(features, 2), noise=(noise, 0), seed=(seed, 0))
    X = _streams(seed)[0].standard_normal((n, features))
    bits = (X[:, :2] > 0).astype(np.int64)
    names = ("0", "1", "2", "3")
    y = 2 * bits[:, 0] + bits[:, 1]
    require_two_classes(y, names, f"sign_bits:n={n},seed={seed}")
    return _assemble("sign_bits", X, y, noise, seed, class_names=names, relevant=(0, 1))


def friedman(n: int = 250, noise: int = 0, seed: int = 0) -> Dataset:
    """Generate a numeric target from five features (Friedman's function).

    With x_1, ..., x_10 uniform on [0, 1] and e ~ N(0, 1)::

        y = 10 sin(pi x1 x2) + 20 (x3 - 1/2)^2 + 10 x4 + 5 x5 + e

    (Friedman 1991, "Multivariate adaptive regression splines".)

    Parameters
    ----------
    n : int
        Samples.
    noise, seed : int
        Number of N(0, 1) features added, and the seed.
    """
    X, draw = _uniform(n, _FRIEDMAN, noise, seed)
    waves = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    y = waves + 10 * X[:, 3] + 5 * X[:, 4] + draw.standard_normal(n)
    return _assemble("friedman", X, y, noise, seed, relevant=range(5))


def product(n: int = 250, noise: int = 0, seed: int = 0) -> Dataset:
    """Generate a numeric target that is the product of two features.

    With x_1, x_2 uniform on [-1, 1] and e ~ N(0, 1): ``y = x1 x2 + e / 20``.

    Parameters
    ----------
    n : int
        Samples.
    noise, seed : int
        Number of N(0, 1) features added, and the seed.
    """
    X, draw = _uniform(n, 2, noise, seed, low=-1.0)
    y = X[:, 0] * X[:, 1] + draw.standard_normal(n) / 20
    return _assemble("product", X, y, noise, seed)


def ring(n: int = 300, noise: int = 0, seed: int = 0) -> Dataset:
    """Generate a numeric target that is a wave of the distance from the origin.

    With x_1, x_2 uniform on [-1, 1], r their distance from 0 and e ~ N(0, 1):
    ``y = sin(5 r) + e / 10``.

    Parameters
    ----------
    n : int
        Samples.
    noise, seed : int
        Number of N(0, 1) features added, and the seed.
    """
    X, draw = _uniform(n, 2, noise, seed, low=-1.0)
    y = np.sin(5 * np.hypot(X[:, 0], X[:, 1])) + draw.standard_normal(n) / 10
    return _assemble("ring", X, y, noise, seed)


#: Functions from a generator's parameters to the numbers of rows and columns it makes.
_SHAPES: dict[Callable[..., Dataset], Callable[..., tuple[int, int]]] = {
    spiral: lambda n, noise, **_: (2 * n, 2 + noise),
    twonorm: lambda n, noise, **_: (n, _NORM_DIMENSION + noise),
    ringnorm: lambda n, noise, **_: (n, _NORM_DIMENSION + noise),
    waveform: lambda n, noise, **_: (n, _WAVE_LENGTH + noise),
    subclasses: lambda n, noise, **_: (3 * n, 2 + noise),
    six_gaussians: lambda n, irrelevant, noise, **_: (n, 6 + irrelevant + noise),
    sign_bits: lambda n, features, noise, **_: (n, features + noise),
    friedman: lambda n, noise, **_: (n, _FRIEDMAN + noise),
    product: lambda n, noise, **_: (n, 2 + noise),
    ring: lambda n, noise, **_: (n, 2 + noise),
}
#: Measured peak memory of generating data, in bytes: per cell, and per feature name.
_CELL, _NAME = 32, 150


def check_size(
    generator: Callable[..., Dataset], parameters: Mapping[str, Any], what: str, limit: ReadLimit
) -> None:
    """Raise InputError if generating with these parameters would exceed the memory limit."""
    arguments = inspect.signature(generator).bind(**parameters)
    arguments.apply_defaults()
    rows, columns = _SHAPES[generator](**arguments.arguments)
    limit.check(_CELL * rows * columns + _NAME * columns, what, "ask for less of it")


def _streams(seed: int) -> list[np.random.Generator]:
    return np.random.default_rng(seed).spawn(2)


def _uniform(
    n: int, features: int, noise: int, seed: int, low: float = 0.0
) -> tuple[np.ndarray, np.random.Generator]:
    _require(n=(n, 2), noise=(noise, 0), seed=(seed, 0))
    draw = _streams(seed)[0]
    return draw.uniform(low, 1.0, (n, features)), draw


def _classes_and_stream(
    n: int, classes: int, noise: int, seed: int
) -> tuple[np.ndarray, np.random.Generator]:
    _require(n=(n, classes), noise=(noise, 0), seed=(seed, 0))
    return np.arange(n) * classes // n, _streams(seed)[0]


def _assemble(
    name: str,
    real: np.ndarray,
    y: np.ndarray,
    noise: int,
    seed: int,
    class_names: Sequence[str] | None = None,
    relevant: Sequence[int] | None = None,
    groups: np.ndarray | None = None,
    scale: str = "zscore",
) -> Dataset:
    width = real.shape[1]
    X = np.empty((real.shape[0], width + noise))
    X[:, :width] = real
    draw = _streams(seed)[1]
    for rows in row_blocks(X):
        X[rows, width:] = draw.standard_normal((X[rows].shape[0], noise))
    names = [f"x{j}" for j in range(1, width + 1)] + [f"noise{j}" for j in range(1, noise + 1)]
    codes = range(0) if y.dtype.kind == "f" else range(1, y.max() + 2)
    return Dataset(
        X=X,
        y=y,
        feature_names=tuple(names),
        class_names=tuple(class_names or (str(k) for k in codes)),
        name=name,
        scale=scale,
        relevant=tuple(range(width) if relevant is None else relevant),
        groups=groups,
    )


def _require(**bounds: tuple[float, float]) -> None:
    for key, (value, least) in bounds.items():
        if not (isfinite(value) and value >= least):
            raise InputError(f"{key} is {value}; give a finite number of at least {least}")


def _require_positive(**values: float) -> None:
    for key, value in values.items():
        if not (isfinite(value) and value > 0):
            raise InputError(f"{key} is {value}; give a finite number above 0")
