"""Compiled loops over pairs of samples: nearest neighbours and sums of differences.

All of them release the GIL, so that blocks of rows can go to threads. They share one file because
numba's cache does not detect edits in another one.
"""

import numpy as np

from convexfs.kernels import INNER, compiled
from convexfs.neighbors.kernels.vectors import DOUBLES, filled, load, plus_weighted, store

#: Features and samples per tile, which stays in the L2 cache.
_FEATURES, _SAMPLES = 512, 128
#: Features whose terms are summed before they are added to the total, as for distances.
_TERMS = 128
#: Neighbours per sweep: the running sum is loaded and stored once per sweep.
_SWEEP = 4
#: Distances that are compared at once with the farthest neighbour.
_FEW = 32


@compiled()
def nearest_in_groups(dist, start, codes, n_groups, n_neighbors):
    """Return the indices of each row's nearest samples in each group, closest first; pad with -1.

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
    """Update `best` and `index` in place with a panel of distances to samples from `first` on.

    ``dist[row, column]`` is the distance of sample ``start + row`` from ``first + column``;
    `best` and `index` hold the nearest so far, all of which come before `first`.
    """
    rows, n = dist.shape
    last = best.shape[2] - 1
    for row in range(rows):
        own, line, farthest = codes[start + row], dist[row], largest(best[row, :, last])
        for few in range(0, n, _FEW):
            nearer, part = 0, line[few : few + _FEW]
            for column in range(len(part)):
                nearer += part[column] < farthest
            if nearer == 0:
                continue
            for column in range(few, min(few + _FEW, n)):
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
    """Return the largest of a few distances; faster than ``max``."""
    found = few[0]
    for d in few:
        found = max(found, d)
    return found


@compiled()
def settle(X, start, number, slack, relative, best, index, exact, failed):
    """Sort candidates found in float32 by float64 distances in place; mark failed rows as True.

    A distance d in `best` of sample ``start + row`` errs by at most ``slack[start + row] +
    relative * d``. Lists hold more than the `number` of neighbours. A row fails if samples
    outside of its lists may be among these: too many are almost equally near. `exact` is scratch
    of the length of a list.
    """
    for row in range(len(best)):
        x, error = X[start + row], 2.0 * slack[start + row]
        for group in range(best.shape[1]):
            near, known = best[row, group], index[row, group]
            first = 0
            while first < number and known[first] >= 0:
                stop = first + 1
                while (
                    stop < len(near)
                    and known[stop] >= 0
                    and near[stop] - near[stop - 1]
                    <= error + relative * (np.float64(near[stop]) + near[stop - 1])
                ):
                    stop += 1
                if stop == len(near):
                    failed[row] = True
                elif stop > first + 1:
                    sort_exactly(X, x, known[first:stop], exact)
                first = stop


@compiled(**INNER)
def sort_exactly(X, x, known, exact):
    """Sort the indices `known` in place by distance from `x`, ties by index."""
    for m in range(len(known)):
        i, d, place = known[m], distance(x, X[known[m]]), m
        while place > 0 and (
            exact[place - 1] > d or (exact[place - 1] == d and known[place - 1] > i)
        ):
            exact[place], known[place] = exact[place - 1], known[place - 1]
            place -= 1
        exact[place], known[place] = d, i


@compiled(**INNER)
def distance(x, y):
    """Return a Manhattan distance, summed in the order of :mod:`.distance_sums`."""
    total = 0.0
    for first in range(0, len(x), _TERMS):
        part = 0.0
        for j in range(first, min(first + _TERMS, len(x))):
            part += abs(x[j] - y[j])
        total += part
    return total


@compiled()
def first_in_groups(order, codes, n_groups, number):
    """Do as `nearest_in_groups` does, from rows of `order` that list samples nearest first."""
    n = len(order)
    pooled = n_groups == 0
    groups = 2 if pooled else n_groups
    index = np.full((n, groups, number), -1, np.int64)
    taken = np.empty(groups, np.int64)
    for row in range(n):
        missing = groups * number
        taken[:] = 0
        for place in range(n):
            i = order[row, place]
            if i == row:
                continue
            group = (0 if codes[i] == codes[row] else 1) if pooled else codes[i]
            if taken[group] == number:
                continue
            index[row, group, taken[group]] = i
            taken[group] += 1
            missing -= 1
            if missing == 0:
                break
    return index


@compiled()
def weigh_first(order, codes, limits, weights, left, out):
    """Set ``out[n, i] = weights[n, c]`` for the first samples i of class c in row n of `order`.

    Each row takes ``limits[own, c]`` of them, or all if they are fewer; `left` is scratch, one
    number a class, and `out` comes filled with zeros.
    """
    for row in range(len(order)):
        missing = 0
        for c in range(len(left)):
            left[c] = limits[codes[row], c]
            missing += left[c]
        for place in range(len(order)):
            i = order[row, place]
            c = codes[i]
            if i != row and left[c] > 0:
                out[row, i] = weights[row, c]
                left[c] -= 1
                missing -= 1
                if missing == 0:
                    break


@compiled()
def weigh_within(dist, codes, by_class, places, starts, bounds, limits, weights, line, out):
    """Set ``out[n, i] = weights[n, c]`` for samples i of class c within ``bounds[n, c]``, else 0.

    Of samples at the bound itself the first are taken, until there are ``limits[own, c]``.
    Class c has the samples ``by_class[starts[c]:starts[c + 1]]``, in their order; sample i is
    at ``places[i]`` there. These indices are unsigned, which saves checks of their sign.
    `line` is scratch for a row.
    """
    n = len(dist)
    for row in range(n):
        own, far, near = codes[row], dist[row], out[row]
        for place in range(n):
            line[place] = far[by_class[place]]
        line[places[row]] = np.nan  # NaN is within no bound, not even an infinite one.
        for c in range(weights.shape[1]):
            part, bound, weight = line[starts[c] : starts[c + 1]], bounds[row, c], weights[row, c]
            place, excess = len(part), -limits[own, c]
            for k in range(len(part)):
                excess += part[k] <= bound
            while excess > 0:
                place -= 1
                if part[place] == bound:
                    part[place] = np.nan
                    excess -= 1
            for k in range(len(part)):
                part[k] = weight if part[k] <= bound else 0.0
        for i in range(n):
            near[i] = line[places[i]]


@compiled()
def add_permuted(dist, order):
    """Return ``dist[n, i] + dist[order[n], order[i]]`` as a matrix (N, N)."""
    n = len(dist)
    out = np.empty((n, n))
    for row in range(n):
        line, other = dist[row], dist[order[row]]
        for i in range(n):
            out[row, i] = line[i] + other[order[i]]
    return out


@compiled()
def add_signed(index, coefficient, total):
    """Add the signed weights of listed neighbours to the matrix `total` (N, N)."""
    n, n_groups, number = index.shape
    for row in range(n):
        for group in range(n_groups):
            for m in range(number):
                if index[row, group, m] >= 0:
                    total[row, index[row, group, m]] += coefficient[row, group, m]


@compiled()
def count_near(dist, radii, codes, n_classes):
    """Return how many other samples of each class are within each sample's radius (N, classes)."""
    n = len(dist)
    counts = np.zeros((n, n_classes), np.int64)
    for row in range(n):
        line, radius, count = dist[row], radii[row], counts[row]
        for i in range(n):
            count[codes[i]] += line[i] < radius
        count[codes[row]] -= line[row] < radius
    return counts


@compiled()
def weigh_near(dist, radii, codes, weights):
    """Return (N, N): ``weights[n, class of i]`` for samples i within the radius of n, else 0."""
    n = len(dist)
    out = np.empty((n, n))
    for row in range(n):
        line, radius, weight, near = dist[row], radii[row], weights[row], out[row]
        for i in range(n):
            # Read the weight of every sample: to read only some would need a branch, which is slow.
            value = weight[codes[i]]
            near[i] = value if line[i] < radius else 0.0
        near[row] = 0.0
    return out


@compiled()
def merge_lists(index, coefficient, ends, places, lower, value, starts, stops, others, weight):
    """Merge neighbours (n, i) and (i, n) into one pair with n < i and the sum of both weights.

    Fills ``starts, stops, others, weight``: the partners of sample n in pairs are
    ``others[starts[n]:stops[n]]``, sorted. `ends`, `places`, `lower` and `value` are scratch.
    `starts` and `ends` come filled with zeros, for a sample more than there are.
    """
    n, n_groups, number = index.shape
    for row in range(n):
        for group in range(n_groups):
            for m in range(number):
                if coefficient[row, group, m] != 0.0:
                    i = index[row, group, m]
                    ends[max(row, i) + 1] += 1
                    starts[min(row, i) + 1] += 1
    for row in range(n):
        ends[row + 1] += ends[row]
        starts[row + 1] += starts[row]
    # Sort by the higher index first, so that the lists of the lower one fill in sorted order.
    for row in range(n):
        places[row], stops[row] = ends[row], starts[row]
    for row in range(n):
        for group in range(n_groups):
            for m in range(number):
                if coefficient[row, group, m] != 0.0:
                    i = index[row, group, m]
                    place = places[max(row, i)]
                    lower[place], value[place] = min(row, i), coefficient[row, group, m]
                    places[max(row, i)] += 1
    for i in range(n):
        for k in range(ends[i], ends[i + 1]):
            a = lower[k]
            place = stops[a]
            if place > starts[a] and others[place - 1] == i:
                weight[place - 1] += value[k]
            else:
                others[place], weight[place] = i, value[k]
                stops[a] += 1


@compiled()
def merge_all(signed, starts, stops, others, weight):
    """Do as :func:`merge_lists` does, from a matrix (N, N) of weights into arrays with space."""
    n = len(signed)
    for first in range(0, n, _SAMPLES):
        for column in range(first, n, _SAMPLES):
            for row in range(first, min(first + _SAMPLES, n)):
                place = stops[row] if column > first else starts[row]
                for i in range(max(column, row + 1), min(column + _SAMPLES, n)):
                    # Pairs of weight 0 are overwritten by the next: a branch would be slower.
                    both = signed[row, i] + signed[i, row]
                    others[place], weight[place] = i, both
                    place += both != 0.0
                stops[row] = place


@compiled()
def add_pair_differences(X, first_row, starts, stops, others, weight, squared, places, out):
    """Add, per feature, the sum of weight * |x_n - x_i| (or its square) over pairs to `out`.

    Pairs of sample ``first_row + r`` are numbers ``starts[r]`` to ``stops[r]``, as from
    :func:`merge_lists`. Of each feature the terms are added one after the other: by `_SAMPLES`
    of the higher samples, then by the lower and the higher sample. `places` is scratch of the
    shape of `starts`. `squared` is True or None: only the used branch is compiled.
    """
    n, n_features = X.shape
    for first in range(0, n_features, _FEATURES):
        last = min(first + _FEATURES, n_features)
        whole = last - (last - first) % DOUBLES
        for panel in range(first_row - first_row % _SAMPLES, n, _SAMPLES):
            for row in range(min(len(starts), panel + _SAMPLES - first_row)):
                x = X[first_row + row]
                start = stop = places[row] if panel > first_row + row else starts[row]
                while stop < stops[row] and others[stop] < panel + _SAMPLES:
                    stop += 1
                places[row] = stop
                full = stop - (stop - start) % _SWEEP
                for k in range(start, full, _SWEEP):
                    y0, y1 = X[others[k]], X[others[k + 1]]
                    y2, y3 = X[others[k + 2]], X[others[k + 3]]
                    c0, c1, c2, c3 = weight[k], weight[k + 1], weight[k + 2], weight[k + 3]
                    w0, w1, w2, w3 = filled(c0), filled(c1), filled(c2), filled(c3)
                    for j in range(first, whole, DOUBLES):
                        u = load(x, j)
                        z = plus_weighted(load(out, j), w0, u, load(y0, j), squared)
                        z = plus_weighted(z, w1, u, load(y1, j), squared)
                        z = plus_weighted(z, w2, u, load(y2, j), squared)
                        store(out, j, plus_weighted(z, w3, u, load(y3, j), squared))
                    for j in range(whole, last):
                        d = plus_weighted(out[j], c0, x[j], y0[j], squared)
                        d = plus_weighted(d, c1, x[j], y1[j], squared)
                        d = plus_weighted(d, c2, x[j], y2[j], squared)
                        out[j] = plus_weighted(d, c3, x[j], y3[j], squared)
                for k in range(full, stop):
                    y, c = X[others[k]], weight[k]
                    w = filled(c)
                    for j in range(first, whole, DOUBLES):
                        u, v = load(x, j), load(y, j)
                        store(out, j, plus_weighted(load(out, j), w, u, v, squared))
                    for j in range(whole, last):
                        out[j] = plus_weighted(out[j], c, x[j], y[j], squared)
