r"""Bounds of Logo's paper on the risk for unseen samples.

It (Sun, Todorovic and Goodison 2010, Sec. 5) bounds the excess of the true
logistic risk over the mean training loss, for all weights with
:math:`1^T w \le \beta` and features with :math:`|x| \le 1`. From eq. 23, with
:math:`\lceil x \rceil \le x + 1`,

.. math::
    \delta = 8 (J+1)^{256\beta^2/\varepsilon^2 + 1}
             \exp\left(\frac{-N \varepsilon^2}{512 (2\beta+1)^2}\right)

has the root bounded by :func:`risk_bound`. The bounds are above 1, and so say
nothing, at the sizes of the paper's experiments; that for narrow kernels rests on
a count of cells (Theorem 7) that is not proven beyond two features, and is given as
stated in the paper.
"""

import math

from convexfs.errors import check_choice, check_number

# The two limits of the kernel width in the paper: sigma to infinity, sigma to 0.
WIDE, NARROW = "wide", "narrow"


def risk_bound(
    n_samples: int,
    n_features: int,
    total_weight: float,
    delta: float = 0.05,
    kernel: str = WIDE,
    *,
    tight: bool = False,
) -> float:
    r"""Return the excess risk that is exceeded with probability at most `delta` (Theorem 8).

    .. math::
        \varepsilon = \sqrt{512 (2\beta+1)^2
            \sqrt{\frac{\ln(J+1)}{2N} + \left(\frac{L}{N}\right)^2}}

    or, with `tight`, before the last inequality of its derivation,
    :math:`\varepsilon^2 = 256 (2\beta+1)^2 [L/N + \sqrt{\ln(J+1)/(2N) + (L/N)^2}]`.

    Parameters
    ----------
    n_samples, n_features : int
        N and J.
    total_weight : float
        beta, the bound of ``1'w``.
    delta : float
        Between 0 and 1.
    kernel : {"wide", "narrow"}
        The limit of the kernel width: L = ln(J+1) + ln(8/delta) for "wide"
        (eq. 30); for "narrow" 4 ln(J+1) + ln(2/delta) if N < J (eq. 29), else
        ln(J+1) + ln(8 (N (N/2-1)^2 + 1)/delta) (eq. 27).
    """
    check_number("n_samples", n_samples, 1, whole=True)
    check_number("n_features", n_features, 1, whole=True)
    check_number("total_weight", total_weight, 0)
    check_number("delta", delta, 0, 1, open_ends=True)
    check_choice("kernel", kernel, (WIDE, NARROW))
    complexity = math.log(n_features + 1)
    rate = _confidence(n_samples, n_features, delta, kernel) / n_samples
    root = math.sqrt(complexity / (2 * n_samples) + rate**2)
    scale = 16 * (2 * total_weight + 1)
    return scale * math.sqrt(rate + root if tight else 2 * root)


def sample_size(
    bound: float,
    n_features: int,
    total_weight: float,
    delta: float = 0.05,
    kernel: str = WIDE,
    *,
    tight: bool = False,
) -> int:
    """Return the least number of samples at which :func:`risk_bound` is at most `bound`.

    It grows with the logarithm of the number of features.
    """
    check_number("bound", bound, 0, open_ends=True)

    def suffices(n: int) -> bool:
        return risk_bound(n, n_features, total_weight, delta, kernel, tight=tight) <= bound

    high = 1
    while not suffices(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if suffices(middle) else (middle, high)
    return high


def _confidence(n_samples: int, n_features: int, delta: float, kernel: str) -> float:
    """Return the confidence term L of eq. 27, 29 and 30."""
    complexity = math.log(n_features + 1)
    if kernel == WIDE:
        return complexity + math.log(8 / delta)
    if n_samples < n_features:
        return 4 * complexity + math.log(2 / delta)
    cells = n_samples * (n_samples / 2 - 1) ** 2 + 1
    return complexity + math.log(8 * cells / delta)
