"""Compiled loops over pairs of samples.

All of them work on blocks of rows, so that memory stays at ``rows x N``
whatever the number of features, and release the GIL, so that blocks can go to
threads. They share one file because numba's cache does not notice an edit in
another one.
"""

import numpy as np

from convexfs.compiling import compiled

#: Features visited together: a slice of a few rows then stays in the L1 cache.
_FEATURE_BLOCK = 256
#: Rows that share one sweep over the samples.
ROW_TILE = 16

# Sums may be reordered, so that they use vector instructions; NaN stays NaN.
_FAST = {"reassoc", "contract", "nsz"}


@compiled(fastmath=_FAST)
def distances(X, start, stop, squared):
    """Manhattan or squared Euclidean distances of rows [start, stop) to all rows."""
    n, n_features = X.shape
    out = np.zeros((stop - start, n))
    for first in range(0, n_features, _FEATURE_BLOCK):
        last = min(first + _FEATURE_BLOCK, n_features)
        for tile in range(start, stop, ROW_TILE):
            for i in range(n):
                for row in range(tile, min(tile + ROW_TILE, stop)):
                    total = 0.0
                    if squared:
                        for j in range(first, last):
                            step = X[row, j] - X[i, j]
                            total += step * step
                    else:
                        for j in range(first, last):
                            total += abs(X[row, j] - X[i, j])
                    out[row - start, i] += total
    return out


@compiled()
def nearest_in_groups(dist, start, codes, n_groups, n_neighbors):
    """Indices of the nearest samples of each group, closest first, -1 where there are fewer.

    Groups are the classes, or with ``n_groups == 0`` two pools: the sample's own
    class, then all others. A sample is not its own neighbour; of equal
    distances the lower index is nearer.
    """
    rows, n = dist.shape
    pooled = n_groups == 0
    groups = 2 if pooled else n_groups
    index = np.full((rows, groups, n_neighbors), -1, np.int64)
    best = np.full((groups, n_neighbors), np.inf)
    for row in range(rows):
        best[:] = np.inf
        own = codes[start + row]
        for i in range(n):
            if i == start + row:
                continue
            group = (0 if codes[i] == own else 1) if pooled else codes[i]
            d = dist[row, i]
            if d >= best[group, n_neighbors - 1]:
                continue
            place = n_neighbors - 1
            while place > 0 and best[group, place - 1] > d:
                best[group, place] = best[group, place - 1]
                index[row, group, place] = index[row, group, place - 1]
                place -= 1
            best[group, place] = d
            index[row, group, place] = i
    return index


@compiled()
def first_in_groups(order, start, codes, n_groups, limits):
    """Like `nearest_in_groups`, of samples already sorted: nearest first in each row of `order`.

    A sample of class a takes the ``limits[a, group]`` first of a group.
    """
    rows, n = order.shape
    pooled = n_groups == 0
    groups = 2 if pooled else n_groups
    index = np.full((rows, groups, limits.max()), -1, np.int64)
    taken = np.zeros(groups, np.int64)
    for row in range(rows):
        taken[:] = 0
        own = codes[start + row]
        missing = limits[own].sum()
        for place in range(n):
            i = order[row, place]
            if i == start + row:
                continue
            group = (0 if codes[i] == own else 1) if pooled else codes[i]
            if taken[group] == limits[own, group]:
                continue
            index[row, group, taken[group]] = i
            taken[group] += 1
            missing -= 1
            if missing == 0:
                break
    return index


@compiled()
def near_in_groups(order, reach, codes, n_groups):
    """Like `first_in_groups`, of the first ``reach[row]`` samples in each row of `order`."""
    rows = len(order)
    pooled = n_groups == 0
    groups = 2 if pooled else n_groups
    index = np.full((rows, groups, max(reach.max(), 1)), -1, np.int64)
    taken = np.zeros(groups, np.int64)
    for row in range(rows):
        taken[:] = 0
        for place in range(reach[row]):
            i = order[row, place]
            if i == row:
                continue
            group = (0 if codes[i] == codes[row] else 1) if pooled else codes[i]
            index[row, group, taken[group]] = i
            taken[group] += 1
    return index


@compiled()
def signed_difference_sum(X, start, index, coefficient, squared):
    """Sum over rows and neighbours of coefficient * |x_row - x_neighbour| (or its square)."""
    rows, groups, n_neighbors = index.shape
    n_features = X.shape[1]
    z = np.zeros(n_features)
    for row in range(rows):
        for group in range(groups):
            for m in range(n_neighbors):
                c = coefficient[row, group, m]
                if c == 0.0:
                    continue
                i = index[row, group, m]
                if squared:
                    for j in range(n_features):
                        step = X[start + row, j] - X[i, j]
                        z[j] += c * step * step
                else:
                    for j in range(n_features):
                        z[j] += c * abs(X[start + row, j] - X[i, j])
    return z
