r"""What the papers promise about unseen samples.

Logo (Sun, Todorovic and Goodison 2010, Sec. 5) bounds the excess of the true
logistic risk over the mean training loss, for all weights with
:math:`1^T w \le \beta` and features with :math:`|x| \le 1`. From eq. 23, with
:math:`\lceil x \rceil \le x + 1`,

.. math::
    \delta = 8 (J+1)^{256\beta^2/\varepsilon^2 + 1}
             \exp\left(\frac{-N \varepsilon^2}{512 (2\beta+1)^2}\right)

has the root bounded by :func:`logo_risk_bound`. The bounds are above 1, and so say
nothing, at the sizes of the paper's experiments; that for narrow kernels rests on
a count of cells (Theorem 7) that is not proven beyond two features, and is given as
stated in the paper.

LLFS (Armanfard, Reilly and Komeili 2017, Sec. III-D) counts the dichotomies its spheres
make, for raw impurity and without the nearest neighbour's say; its bounds hold as stated
there.
"""

import math

from convexfs.errors import check_choice, check_number

#: Limits of the kernel width the paper treats: sigma to infinity, sigma to 0.
WIDE, NARROW = "wide", "narrow"


def logo_risk_bound(
    n_samples: int,
    n_features: int,
    total_weight: float,
    delta: float = 0.05,
    kernel: str = WIDE,
    *,
    tight: bool = False,
) -> float:
    r"""Excess risk that is exceeded with probability `delta` at most (Theorem 8).

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


def logo_sample_size(
    bound: float,
    n_features: int,
    total_weight: float,
    delta: float = 0.05,
    kernel: str = WIDE,
    *,
    tight: bool = False,
) -> int:
    """Least number of samples for which :func:`logo_risk_bound` is at most `bound`.

    It grows with the logarithm of the number of features.
    """
    check_number("bound", bound, 0, open_ends=True)

    def suffices(n: int) -> bool:
        return logo_risk_bound(n, n_features, total_weight, delta, kernel, tight=tight) <= bound

    high = 1
    while not suffices(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if suffices(middle) else (middle, high)
    return high


def _confidence(n_samples: int, n_features: int, delta: float, kernel: str) -> float:
    """L, what the wish for certainty adds."""
    complexity = math.log(n_features + 1)
    if kernel == WIDE:
        return complexity + math.log(8 / delta)
    if n_samples < n_features:
        return 4 * complexity + math.log(2 / delta)
    cells = n_samples * (n_samples / 2 - 1) ** 2 + 1
    return complexity + math.log(8 * cells / delta)


def vc_dimension(n_clusters: int, gamma: float) -> int:
    r"""Vapnik-Chervonenkis dimension :math:`h = L(\lceil 1/\gamma \rceil - 1)` of LLFS.

    Parameters
    ----------
    n_clusters : int
        L, the number of clusters the samples form (Sec. III-B): the paper takes the spheres
        of one cluster for one. It is known for made-up data, else estimated, and at most the
        number of spheres, which is that of the samples.
    gamma : float in (0, 1)
        The impurity a sphere may have.

    Examples
    --------
    >>> vc_dimension(4, 0.2)
    16
    """
    check_number("n_clusters", n_clusters, 1, whole=True)
    check_number("gamma", gamma, 0, 1, open_ends=True)
    # 1/(1/49) is a hair above 49, and its ceiling must not be 50.
    return n_clusters * (math.ceil(1.0 / gamma * (1.0 - 1e-12)) - 1)


def llfs_risk_bound(training_error: float, n_samples: int, h: int, xi: float = 0.05) -> float:
    r"""Risk that is exceeded with probability xi at most (eq. 15).

    .. math::
        R \le R_N + \sqrt{\frac{h(\ln(2N/h) + 1) - \ln(\xi/4)}{N}}

    It says something only where N is much larger than h.
    """
    check_number("training_error", training_error, 0, 1)
    check_number("n_samples", n_samples, 1, whole=True)
    check_number("h", h, 1, whole=True)
    check_number("xi", xi, 0, 1, open_ends=True)
    inside = h * (math.log(2 * n_samples / h) + 1) - math.log(xi / 4)
    return training_error + math.sqrt(max(inside, 0.0) / n_samples)


def llfs_sample_size(h: int, rho: float, tau: float = 0.05) -> int:
    r"""Samples after which training and true risk differ by at most rho (eq. 18).

    .. math::
        N \ge \frac{64}{\rho^2}\left(2h \ln\frac{12}{\rho} + \ln\frac{4}{\tau}\right),

    with probability 1 - tau.
    """
    check_number("h", h, 1, whole=True)
    check_number("rho", rho, 0, 1, open_ends=True)
    check_number("tau", tau, 0, 1, open_ends=True)
    return math.ceil(64 / rho**2 * (2 * h * math.log(12 / rho) + math.log(4 / tau)))
