"""Hyperspheres: where each representative point's features hold, and how they vote.

A sphere lies in the coordinates its point has selected (Euclidean distance), and grows
while few enough samples of other classes are in it. A query is voted on by the spheres
that hold it (Armanfard, Reilly & Komeili 2017, Sec. II-C and eq. 11).
"""

from dataclasses import dataclass

import numpy as np

from convexfs.kernels import compiled

#: Samples that are compared at once.
BLOCK = 64
#: Votes closer than this are tied.
VOTE_TIE = 1e-12

#: Loops are written out below, because whole-array statements take numba seconds to compile.
kernel = compiled()


@kernel
def squared_distances(X, row, features):
    """Return squared distances from `row` to every row of X, in the given features only."""
    out = np.zeros(X.shape[0])
    for j in range(X.shape[0]):
        for k in range(features.size):
            step = X[j, features[k]] - row[features[k]]
            out[j] += step * step
    return out


def sphere_radius(distance, same, centre, gamma, normalised):
    """Return the radius: halfway between the last distance that is pure enough and the next.

    The centre is not counted. With `normalised` the counts are shares of the own class
    (without the centre) and of the others: n_o / (N - n) <= gamma n_s / (n - 1).
    """
    order = np.argsort(distance)
    return _radius(distance, order, same, int(same.sum()) - 1, centre, gamma, normalised)


@kernel
def _radius(distance, order, same, n_same, centre, gamma, normalised):
    n_other = same.size - n_same - 1
    per_same = 1.0 / n_same if normalised else 1.0
    per_other = 1.0 / n_other if normalised else 1.0
    inside = outside = 0
    last = 0.0
    k = 0
    while k < order.size:
        here = distance[order[k]]
        while k < order.size and distance[order[k]] == here:
            j = order[k]
            if same[j]:
                inside += j != centre
            else:
                outside += 1
            k += 1
        if outside * per_other > gamma * inside * per_same:
            return 0.5 * (last + here)
        last = here
    return last


@kernel
def nearest_agrees(X, j, row, features, same, bound):
    """Return whether most of the nearest samples to `row`, ties included, are in class `same`.

    Sample j is left out; `bound` is any squared distance known to hold one.
    """
    nearest, agree, ties = bound, 0, 0
    for k in range(X.shape[0]):
        if k == j:
            continue
        d = 0.0
        for q in features:
            step = X[k, q] - row[q]
            d += step * step
            if d > nearest:
                break
        if d < nearest:
            nearest, agree, ties = d, 0, 0
        if d == nearest:
            ties += 1
            agree += same[k]
    return 2 * agree > ties


def sphere_and_score(X, same, centre, features, gamma, normalised):
    """Return the radius, and how well nearest neighbours predict the class inside the sphere.

    Leave-one-out: the share of the own class that is inside and has its nearest neighbour
    in the class, minus the share of the others that is inside and has so too.
    """
    distance = np.sqrt(squared_distances(X, X[centre], features))
    radius = sphere_radius(distance, same, centre, gamma, normalised)
    P = np.take(X.T, features, axis=0)
    widest = int(np.ptp(P, axis=1).argmax())
    order = np.argsort(P[widest])
    P, inside = np.take(P, order, axis=1), distance[order] <= radius
    detected, alarms = _count_agreeing(P, widest, same[order], inside, np.empty(BLOCK))
    n_same = int(same.sum())
    return radius, detected / n_same - alarms / (len(same) - n_same)


@kernel
def _count_agreeing(P, axis, labels, inside, squared):
    """Count samples inside, of the class and of others, whose nearest neighbour is in the class.

    As :func:`nearest_agrees` says it. Samples, one a column, are sorted by the coordinate
    `axis`. Each is compared with blocks of others, the nearest first, unless that coordinate
    alone is farther than the nearest found. `squared` is scratch for a block.
    """
    n, detected, alarms = P.shape[1], 0, 0
    for j in range(n):
        if not inside[j]:
            continue
        nearest, agree, ties = np.inf, 0, 0
        for turn in range(2 * (n // BLOCK) + 2):
            first = (j // BLOCK + (turn // 2 + 1 if turn % 2 else -(turn // 2))) * BLOCK
            last = min(first + BLOCK, n)
            if first < 0 or first >= n:
                continue
            apart = max(P[axis, first] - P[axis, j], P[axis, j] - P[axis, last - 1], 0.0)
            if apart * apart > nearest:
                continue
            for i in range(last - first):
                squared[i] = 0.0
            for q in range(P.shape[0]):
                here, row = P[q, j], P[q, first:last]
                for i in range(row.size):
                    squared[i] += (row[i] - here) * (row[i] - here)
            if first <= j < last:
                squared[j - first] = np.inf
            for i in range(last - first):
                if squared[i] > nearest:
                    continue
                if squared[i] < nearest:
                    nearest, agree, ties = squared[i], 0, 0
                ties += 1
                agree += labels[first + i]
        if 2 * agree > ties:
            detected += labels[j]
            alarms += not labels[j]
    return detected, alarms


@kernel
def _count_votes(Q, X, codes, start, features, radii, neighbor_vote, votes):
    """Count, per query and class, the spheres that vote."""
    same = np.empty(codes.size, np.bool_)
    for i in range(radii.size):
        chosen = features[start[i] : start[i + 1]]
        for k in range(codes.size):
            same[k] = codes[k] == codes[i]
        for q in range(Q.shape[0]):
            d = 0.0
            for m in chosen:
                step = Q[q, m] - X[i, m]
                d += step * step
            # Do not test d <= radius^2: a radius that equals a sample's distance must include it.
            if np.sqrt(d) <= radii[i] and (
                not neighbor_vote or nearest_agrees(X, -1, Q[q], chosen, same, d)
            ):
                votes[q, codes[i]] += 1.0


@kernel
def _ask_nearest(Q, X, codes, start, features, votes):
    """Add, per sphere and query, a vote for the majority class of the nearest samples."""
    counts = np.empty(votes.shape[1])
    for i in range(start.size - 1):
        chosen = features[start[i] : start[i + 1]]
        for q in range(Q.shape[0]):
            squared = squared_distances(X, Q[q], chosen)
            nearest, most, ties = np.inf, 0.0, 0.0
            for k in range(squared.size):
                nearest = min(nearest, squared[k])
            for c in range(counts.size):
                counts[c] = 0.0
            for k in range(squared.size):
                if squared[k] == nearest:
                    counts[codes[k]] += 1.0
                    most = max(most, counts[codes[k]])
            for c in range(counts.size):
                ties += counts[c] == most
            for c in range(counts.size):
                votes[q, c] += (counts[c] == most) / ties


@dataclass(frozen=True)
class Hyperspheres:
    """All spheres of a fit, ready to vote.

    Attributes
    ----------
    X, codes : array (N, M), (N,)
        The representative points and their classes, 0 to K - 1.
    support : bool array (N, M)
        Coordinates of each sphere.
    radii : array (N,)
    neighbor_vote : bool
        Whether the nearest sample in the sphere's coordinates must agree (footnote 2).
    normalised : bool
        Whether votes are divided by the size of their class (eq. 11).
    """

    X: np.ndarray
    codes: np.ndarray
    support: np.ndarray
    radii: np.ndarray
    neighbor_vote: bool = True
    normalised: bool = True

    def votes(self, Q: np.ndarray) -> np.ndarray:
        """Return votes (queries, classes); if spheres tie or are silent, nearest samples vote too.

        Queries without votes or with ties use all neighbours.
        """
        votes = self._counted(Q, fallback=False)
        ordered = np.sort(votes, axis=1)
        undecided = np.flatnonzero(ordered[:, -1] - ordered[:, -2] <= VOTE_TIE)
        if len(undecided):
            asked = self._counted(Q[undecided], fallback=True)
            silent = ordered[undecided, -1] == 0
            # Neighbours only break ties: the spheres' votes keep their weight.
            votes[undecided] += np.where(silent[:, None], asked, 1e-6 * asked)
        return votes

    def classify(self, Q: np.ndarray) -> np.ndarray:
        """Return the classes with the most votes.

        What is tied even so goes to the class with most samples; of equally large ones, to
        that of the first sample. Names of classes, which codes are sorted by, have no part.
        """
        votes = self.votes(Q)
        classes, first, sizes = np.unique(self.codes, return_index=True, return_counts=True)
        preferred = classes[np.lexsort((first, -sizes))]
        tied = votes[:, preferred] >= votes.max(axis=1, keepdims=True) - VOTE_TIE
        return preferred[tied.argmax(axis=1)]

    def voters(self, x: np.ndarray) -> np.ndarray:
        """Return the indices of the spheres that vote on one query."""
        found = []
        for i, features in enumerate(map(np.flatnonzero, self.support)):
            # Do not test d <= radius^2: see :func:`_count_votes`.
            inside = np.sqrt(squared_distances(self.X[i : i + 1], x, features)[0]) <= self.radii[i]
            same = self.codes == self.codes[i]
            if inside and (
                not self.neighbor_vote or nearest_agrees(self.X, -1, x, features, same, np.inf)
            ):
                found.append(i)
        return np.array(found, dtype=np.int64)

    def _counted(self, Q: np.ndarray, fallback: bool) -> np.ndarray:
        rows, features = np.nonzero(self.support)
        start = np.searchsorted(rows, np.arange(len(self.support) + 1))
        sizes = np.bincount(self.codes)
        votes = np.zeros((len(Q), len(sizes)))
        known = Q, self.X, self.codes, start, features
        if fallback:
            _ask_nearest(*known, votes)
        else:
            _count_votes(*known, self.radii, self.neighbor_vote, votes)
        return votes / sizes if self.normalised else votes
