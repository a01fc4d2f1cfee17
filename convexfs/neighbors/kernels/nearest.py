"""Compiled loops over pairs of samples: who is near, and what differences from them add up to.

All of them release the GIL, so that blocks of rows can go to threads. They share one file
because numba's cache does not notice an edit in another one.
"""

import numpy as np

from convexfs.kernels import INNER, compiled

#: Features visited together: those of a few hundred rows then stay in the L2 cache.
_FEATURES = 512
#: Neighbours a sweep: the running sum is loaded and stored once for them.
_SWEEP = 4


@compiled()
def nearest_in_groups(dist, start, codes, n_groups, n_neighbors):
    """Indices of the nearest samples of each group, closest first, -1 where there are fewer.

    Groups are the classes, or with ``n_groups == 0`` two pools: the sample's own
    class, then all others. A sample is not its own neighbour; of equal
    distances the lower index is nearer.
    """
    groups = n_groups if n_groups else 2
    index = np.full((len(dist), groups, n_neighbors), -1, np.int64)
    best = np.full((len(dist), groups, n_neighbors), np.inf)
    take_nearer(dist, start, 0, codes, n_groups == 0, best, index)
    return index


@compiled()
def take_nearer(dist, start, first, codes, pooled, best, index):
    """Take samples from `first` on into the nearest of samples from `start` on, if they are.

    ``dist[row, column]`` is the distance of sample ``start + row`` from ``first + column``;
    `best` and `index` hold the nearest so far, all of which come before `first`.
    """
    rows, n = dist.shape
    last = best.shape[2] - 1
    for row in range(rows):
        own, line, farthest = codes[start + row], dist[row], largest(best[row, :, last])
        for column in range(n):
            d, i = line[column], first + column
            if d >= farthest or i == start + row:
                continue
            group = (0 if codes[i] == own else 1) if pooled else codes[i]
            near, known = best[row, group], index[row, group]
            if d >= near[last]:
                continue
            place = last
            while place > 0 and near[place - 1] > d:
                near[place], known[place] = near[place - 1], known[place - 1]
                place -= 1
            near[place], known[place] = d, i
            farthest = largest(best[row, :, last])


@compiled(**INNER)
def largest(few):
    """The largest of a few distances, for which ``max`` takes longer."""
    found = 0.0
    for d in few:
        found = max(found, d)
    return found


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
def nearest_shares(dist, codes, members, starts, limits):
    """Like `first_in_groups` of all rows, from distances that are not sorted.

    ``members[starts[c]:starts[c + 1]]`` are the samples of class c, in order. The nearest of a
    class come in the order of the samples, and of equal distances the first count as nearer.
    """
    n, n_classes = len(dist), len(starts) - 1
    index = np.full((n, n_classes, limits.max()), -1, np.int64)
    for row in range(n):
        for c in range(n_classes):
            group, number = members[starts[c] : starts[c + 1]], limits[codes[row], c]
            group = group[group != row]
            near = dist[row][group]
            if len(near) <= number:
                index[row, c, : len(near)] = group
                continue
            bound = np.partition(near, number - 1)[number - 1]
            ties, place = number - np.sum(near < bound), 0
            for m in range(len(near)):
                if near[m] < bound or (near[m] == bound and ties > 0):
                    ties -= near[m] == bound
                    index[row, c, place] = group[m]
                    place += 1
    return index


@compiled()
def add_signed(index, coefficient, total):
    """Add the signed weights of neighbours to a matrix of all pairs."""
    n, n_groups, number = index.shape
    for row in range(n):
        for group in range(n_groups):
            for m in range(number):
                if index[row, group, m] >= 0:
                    total[row, index[row, group, m]] += coefficient[row, group, m]


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
    """Sum over rows and neighbours of coefficient * |x_row - x_neighbour| (or its square).

    Of each feature the terms are added one after the other, in the order of the neighbours.
    """
    n_features, room = X.shape[1], index[0].size + _SWEEP
    out, others, weights = np.zeros(n_features), np.empty(room, np.int64), np.empty(room)
    for first in range(0, n_features, _FEATURES):
        last = min(first + _FEATURES, n_features)
        z = out[first:last]
        for row in range(len(index)):
            number = list_neighbors(index[row], coefficient[row], start + row, others, weights)
            x = X[start + row, first:last]
            for m in range(0, number, _SWEEP):
                y0, y1 = X[others[m], first:last], X[others[m + 1], first:last]
                y2, y3 = X[others[m + 2], first:last], X[others[m + 3], first:last]
                c0, c1, c2, c3 = weights[m], weights[m + 1], weights[m + 2], weights[m + 3]
                if squared:
                    for j in range(len(z)):
                        d0, d1, d2, d3 = x[j] - y0[j], x[j] - y1[j], x[j] - y2[j], x[j] - y3[j]
                        z[j] = z[j] + c0 * d0 * d0 + c1 * d1 * d1 + c2 * d2 * d2 + c3 * d3 * d3
                else:
                    for j in range(len(z)):
                        d0, d1, d2, d3 = x[j] - y0[j], x[j] - y1[j], x[j] - y2[j], x[j] - y3[j]
                        z[j] = z[j] + c0 * abs(d0) + c1 * abs(d1) + c2 * abs(d2) + c3 * abs(d3)
    return out


@compiled(**INNER)
def list_neighbors(index, coefficient, itself, others, weights):
    """Write neighbours that count and their coefficients in a row; return how many there are.

    The last sweep is filled up with the sample itself, which adds nothing.
    """
    number = 0
    for group in range(index.shape[0]):
        for m in range(index.shape[1]):
            if coefficient[group, m] != 0.0:
                others[number], weights[number] = index[group, m], coefficient[group, m]
                number += 1
    others[number : number + _SWEEP], weights[number : number + _SWEEP] = itself, 0.0
    return number
