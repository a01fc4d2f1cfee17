"""Theoretical bounds of LLFS's paper for unseen samples.

Armanfard, Reilly and Komeili (2017, Sec. III-D) count the dichotomies of the spheres, for raw
impurity and without the vote of the nearest neighbour. The bounds hold as stated there.
"""

import math

from convexfs.errors import check_number


def vc_dimension(n_clusters: int, gamma: float) -> int:
    r"""Return the VC dimension :math:`h = L(\lceil 1/\gamma \rceil - 1)` of LLFS.

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
    # 1/(1/49) is slightly above 49, but its ceiling must not be 50.
    return n_clusters * (math.ceil(1.0 / gamma * (1.0 - 1e-12)) - 1)


def risk_bound(training_error: float, n_samples: int, h: int, xi: float = 0.05) -> float:
    r"""Return the risk that is exceeded with probability at most xi (eq. 15).

    .. math::
        R \le R_N + \sqrt{\frac{h(\ln(2N/h) + 1) - \ln(\xi/4)}{N}}

    It says something only where N is much larger than h. From h = 2N on, where 2N samples
    can be split in every way, the formula is taken at h = 2N: the bound is above 1.
    """
    check_number("training_error", training_error, 0, 1)
    check_number("n_samples", n_samples, 1, whole=True)
    check_number("h", h, 1, whole=True)
    check_number("xi", xi, 0, 1, open_ends=True)
    h = min(h, 2 * n_samples)
    inside = h * (math.log(2 * n_samples / h) + 1) - math.log(xi / 4)
    return training_error + math.sqrt(inside / n_samples)


def sample_size(h: int, rho: float, tau: float = 0.05) -> int:
    r"""Return the number of samples for training and true risk to differ by at most rho (eq. 18).

    .. math::
        N \ge \frac{64}{\rho^2}\left(2h \ln\frac{12}{\rho} + \ln\frac{4}{\tau}\right),

    with probability 1 - tau.
    """
    check_number("h", h, 1, whole=True)
    check_number("rho", rho, 0, 1, open_ends=True)
    check_number("tau", tau, 0, 1, open_ends=True)
    return math.ceil(64 / rho**2 * (2 * h * math.log(12 / rho) + math.log(4 / tau)))
