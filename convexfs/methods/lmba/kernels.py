r"""Compiled loops over Lmba's triplets, from the N x N distances alone.

A triplet (i, j, p) has the hinge :math:`h = \theta_i + d(i, j) - d(i, p)` and,
rounded over a width mu, the share :math:`\pi = \min(\max(h / \mu, 0), 1)`.
"""

from convexfs.kernels import compiled


@compiled()
def hinge_sums(d, theta, codes, targets, mu, C):
    """Add hinge shares to C in place, + at targets, - at impostors; return sums and a count.

    Returns the sum of positive hinges, ``sum theta_i share`` and the number of
    triplets inside the rounded part. With mu = 0 shares are 0 or 1.
    """
    n, k = targets.shape
    hinges = earned = 0.0
    rounded = 0
    for i in range(n):
        for rank in range(k):
            j = targets[i, rank]
            if j < 0:
                continue
            reach = theta[i] + d[i, j]
            counted = 0.0
            for p in range(n):
                h = reach - d[i, p]
                if codes[p] == codes[i] or h <= 0.0:
                    continue
                hinges += h
                share = 1.0
                if h < mu:
                    share = h / mu
                    rounded += 1
                counted += share
                C[i, p] -= share
            C[i, j] += counted
            earned += theta[i] * counted
    return hinges, earned, rounded


@compiled()
def slope(d, g, step, theta, codes, targets, mu):
    """Return the rounded hinges' sum at distances ``d + step g``, differentiated in `step`."""
    n, k = targets.shape
    total = 0.0
    for i in range(n):
        for rank in range(k):
            j = targets[i, rank]
            if j < 0:
                continue
            reach = theta[i] + d[i, j] + step * g[i, j]
            for p in range(n):
                h = reach - d[i, p] - step * g[i, p]
                if codes[p] != codes[i] and h > 0.0:
                    share = h / mu if h < mu else 1.0
                    total += share * (g[i, j] - g[i, p])
    return total


@compiled()
def rounded_rows(d, theta, codes, targets, mu, i, out):
    """Set ``out[rank, p]`` to 1 if the hinge of that triplet of sample i is rounded, else to 0."""
    n, k = targets.shape
    out[:] = 0.0
    for rank in range(k):
        j = targets[i, rank]
        if j < 0:
            continue
        reach = theta[i] + d[i, j]
        for p in range(n):
            h = reach - d[i, p]
            if codes[p] != codes[i] and 0.0 < h < mu:
                out[rank, p] = 1.0
