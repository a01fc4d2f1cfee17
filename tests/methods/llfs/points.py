"""Representative points for the tests of LLFS."""

import numpy as np

from convexfs.methods.llfs.numbers import local_values

BETAS = np.linspace(0, 1, 21)


def sample(seed, n=30, m=12, classes=2):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    return rng.standard_normal((n, m)) + 1.5 * y[:, None] * (np.arange(m) < 3), y


def point_values(seed=0, n=30, m=12, alpha=3, classes=2, point=0, sigma_init="feasible"):
    X, y = sample(seed, n, m, classes)
    return local_values(X, y, point, alpha, sigma_init)
