r"""The problems (6) and (7) of one representative point, by an active-set Newton method.

.. math::
    (6)\; \epsilon_{max} = \max_f U_2(f) \qquad
    (7)\; \min_f U_1(f)\ \text{s.t.}\ U_2(f) \ge \beta \epsilon_{max}
    \qquad\text{over } 0 \le f \le 1,\; 1 \le 1^T f \le \alpha

A slack feature with distance 0 and bound :math:`\alpha - 1` turns the budget into
:math:`1^T f = \alpha`, so that every move is an exchange. f is a Karush-Kuhn-Tucker point
when, for some :math:`\mu \ge 0`, no exchange lowers :math:`r^T f`,
:math:`r = \nabla U_1 - \mu \nabla U_2`. One iteration is a Newton step for this on the
free features, those strictly between their bounds:

.. math::
    \begin{pmatrix} H & -\nabla U_2 & 1 \\ \nabla U_2^T & 0 & 0 \\ 1^T & 0 & 0 \end{pmatrix}
    \begin{pmatrix} d \\ \mu \\ \nu \end{pmatrix} =
    \begin{pmatrix} -\nabla U_1 \\ \epsilon - U_2 \\ 0 \end{pmatrix},

H the Hessian of :math:`U_1 - \mu U_2`, or of :math:`-\mu U_2` (U1 replaced by its tangent,
which lies above it) where the former is not positive on the constraints. The step is cut
at the bounds and halved until :math:`U_1 + \rho |\epsilon - U_2|` falls. A feature at a
bound leaves the free set; when that is stationary, the exchange that lowers r'f fastest
enters; when U2 cannot reach epsilon inside it, that of least :math:`\Delta U_1/\Delta U_2`.
(6) is the same with U1 left out and :math:`\mu = 1`.

(7) minimises a concave function: these are *local* optima. There is no proof that the
iteration ends: its length is bounded, and what did not converge is said not to have.
"""

from collections import namedtuple

import numpy as np
from numba import njit

#: Numbers are finite here, so sums may be reordered; nothing else is assumed.
kernel = njit(nogil=True, cache=True, fastmath={"reassoc", "contract", "arcp", "nsz"})

MOST_FREE = 64  #: room for free features; 1 to 10 of them in practice
#: Share of max |r| an exchange must gain to enter, and that may be left at the end.
PRICE_TOL, KKT_TOL = 1e-8, 1e-6
#: U2 is brought this much, relatively, above what is asked, and at most twice that.
LEVEL_TOL = 1e-11
MOST_HALVINGS, MOST_ATTEMPTS = 30, 10

#: Distances (feature, sample), the own class first, the slack feature last; number of
#: samples in the own class; steepness and slope of G; upper bounds.
Point = namedtuple("Point", "D own s lam upper")
#: What an iteration writes into, allocated once.
Work = namedtuple("Work", "z trial dz slope bend v r rise free is_free g1 g2 K x")


@kernel
def workspace(n_features, n_samples):
    """Arrays for one point; the free set is empty."""
    n, m, k = n_samples, n_features, MOST_FREE
    return Work(
        np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n),
        np.empty(m), np.empty(m), np.empty(k, np.int64), np.zeros(m, np.bool_),
        np.empty(k), np.empty(k), np.empty((k + 2, k + 2)), np.empty(k + 2),
    )  # fmt: skip


@kernel
def utilities(point, z, slope, bend):
    """U1 and U2 at the distances z; fills dU/dz and -d2U/dz2."""
    own, s, lam = point.own, point.s, point.lam
    u1 = u2 = 0.0
    for j in range(z.size):
        n = own if j < own else z.size - own
        p = 1.0 / (1.0 + np.exp(-s * z[j]))
        slope[j] = (s * p * (1.0 - p) + lam) / n
        bend[j] = s * s * p * (1.0 - p) * (2.0 * p - 1.0) / n
        value = (p - 0.5 + lam * z[j]) / n
        u1, u2 = (u1 + value, u2) if j < own else (u1, u2 + value)
    return u1, u2


@kernel
def dot(a, b, first, last):
    """Inner product of two stretches."""
    total = 0.0
    for j in range(first, last):
        total += a[j] * b[j]
    return total


@kernel
def solve_linear(K, x, n):
    """Solve K y = x into x by elimination; False if K is singular."""
    for c in range(n):
        r = c + np.argmax(np.abs(K[c:n, c]))
        if abs(K[r, c]) < 1e-200:
            return False
        for j in range(c, n):
            K[c, j], K[r, j] = K[r, j], K[c, j]
        x[c], x[r] = x[r], x[c]
        for i in range(c + 1, n):
            factor = K[i, c] / K[c, c]
            K[i, c:n] -= factor * K[c, c:n]
            x[i] -= factor * x[c]
    for c in range(n - 1, -1, -1):
        x[c] = (x[c] - dot(K[c], x, c + 1, n)) / K[c, c]
    return True


@kernel
def start_at(point, f, work):
    """Distances and utilities at f, and its free features; returns U1, U2 and their number."""
    work.z[:] = 0.0
    k = 0
    for m in range(f.size):
        work.is_free[m] = False
        if f[m] > 0.0:
            work.z[:] += f[m] * point.D[m]
            if f[m] < point.upper[m] and k < MOST_FREE - 2:
                work.free[k] = m
                work.is_free[m] = True
                k += 1
    u1, u2 = utilities(point, work.z, work.slope, work.bend)
    return u1, u2, k


@kernel
def free_gradients(point, work, k, cost):
    """Fill g1 and g2, the gradients on the free features; whether g2 varies, and its largest."""
    low, high = np.inf, 0.0
    for a in range(k):
        row = point.D[work.free[a]]
        work.g1[a] = cost * dot(row, work.slope, 0, point.own)
        work.g2[a] = dot(row, work.slope, point.own, row.size)
        low, high = min(low, work.g2[a]), max(high, work.g2[a])
    return high - low > 1e-9 * high, high


@kernel
def fill_hessian(point, work, k, mu, concave_part):
    """Hessian of ``concave_part * U1 - mu U2`` on the free features, with a ridge for twins."""
    own, n, K = point.own, work.z.size, work.K
    ridge = 0.0
    for a in range(k):
        row = point.D[work.free[a]]
        work.v[:own] = -concave_part * work.bend[:own] * row[:own]
        work.v[own:] = mu * work.bend[own:] * row[own:]
        for b in range(a + 1):
            K[a, b] = K[b, a] = dot(work.v, point.D[work.free[b]], 0, n)
        reduced = abs(work.g1[a] - mu * work.g2[a])
        ridge = max(ridge, 1e-10 * abs(K[a, a]) + 1e-9 * reduced + 1e-13 * work.g2[a])
    for a in range(k):
        K[a, a] += ridge


@kernel
def newton_step(point, work, k, mu, gap, level):
    """Step x[:k], multiplier x[k] of U2 and x[k + 1] of the budget; False if singular.

    With `level` U2 is asked to move by `gap`, else mu is kept as it is.
    """
    K, x = work.K, work.x
    for concave_part in (1.0, 0.0):
        if concave_part == 1.0 and not level:
            continue
        fill_hessian(point, work, k, mu, concave_part)
        K[k : k + 2, k : k + 2] = 0.0
        for a in range(k):
            K[a, k] = -work.g2[a]
            K[k, a] = work.g2[a] if level else 0.0
            K[a, k + 1] = K[k + 1, a] = 1.0
            x[a] = -work.g1[a]
        x[k], x[k + 1] = gap, 0.0
        if not level:
            K[k, k], x[k] = 1.0, mu
        regular = solve_linear(K, x, k + 2)
        # Two features have no room for curvature: both constraints fix the step.
        if regular and (k == 2 or dot(work.g1, x, 0, k) < x[k] * gap):
            return True
    return regular


@kernel
def steepest_exchange(r, f, upper):
    """The feature to raise and the feature to lower that reduce r'f fastest."""
    up = down = -1
    for m in range(f.size):
        if f[m] < upper[m] and (up < 0 or r[m] < r[up]):
            up = m
        if f[m] > 0.0 and (down < 0 or r[m] > r[down]):
            down = m
    return up, down


@kernel
def reduced_gradient(point, work, cost, mu):
    """Fill r with ``cost * grad U1 - mu grad U2`` over all features; returns max |r|."""
    own = point.own
    work.v[:own] = cost * work.slope[:own]
    work.v[own:] = -mu * work.slope[own:]
    np.dot(point.D, work.v, work.r)
    return max(work.r.max(), -work.r.min())


@kernel
def admit(work, k, feature):
    """Add a feature to the free set if it is not in it."""
    if work.is_free[feature]:
        return k
    work.free[k] = feature
    work.is_free[feature] = True
    return k + 1


@kernel
def restoring_step(point, work, f, k, gap, cost):
    """Fill x with the exchange that moves U2 by `gap` for the least U1; admit its features.

    Dinkelbach's iteration on the ratio of the two; exchanges that hardly move U2 are
    ignored. Returns the number of free features, 0 if no exchange moves U2, and the price.
    """
    reduced_gradient(point, work, 0.0, -1.0 if gap > 0.0 else 1.0)
    work.rise[:] = work.r
    reduced_gradient(point, work, cost, 0.0)
    g1, rise = work.r, work.rise
    up, down = steepest_exchange(-rise, f, point.upper)
    least = 0.05 * (rise[up] - rise[down])
    if least <= 0.0:
        return 0, 0.0
    price = 0.0
    for _ in range(20):
        price = (g1[up] - g1[down]) / (rise[up] - rise[down])
        r = g1 - price * rise
        i, j = steepest_exchange(r, f, point.upper)
        if r[j] - r[i] <= 1e-12 * abs(r[j]) or rise[i] - rise[j] <= least:
            break
        up, down = i, j
    k = admit(work, admit(work, k, up), down)
    free_gradients(point, work, k, cost)
    for a in range(k):
        m = work.free[a]
        sign = 1.0 if m == up else -1.0 if m == down else 0.0
        work.x[a] = sign * abs(gap) / (rise[up] - rise[down])
    return k, price


@kernel
def dismiss_at_bounds(point, work, f, k, block):
    """Take the features whose step ended at a bound out of the free set."""
    for a in range(k - 1, -1, -1):
        m = work.free[a]
        bound = 0.0 if work.x[a] < 0.0 else point.upper[m]
        if a == block or (work.x[a] != 0.0 and abs(f[m] - bound) <= 1e-12):
            f[m] = bound
            work.is_free[m] = False
            k -= 1
            work.free[a] = work.free[k]
            work.x[a] = work.x[k]
    return k


@kernel
def longest_step(point, work, f, k):
    """Share of the step x, at most 1, that keeps the bounds, and which feature blocks it."""
    t, block = 1.0, -1
    for a in range(k):
        m, x = work.free[a], work.x[a]
        room = point.upper[m] - f[m] if x > 0.0 else f[m]
        if x != 0.0 and t * abs(x) >= room:
            t, block = room / abs(x), a
    return t, block


@kernel
def line_search(point, work, k, t, level, weight, rho, mu, eps, u1, u2):
    """Halve t until the exact penalty (the Lagrangian where mu is fixed) falls enough."""
    work.dz[:] = 0.0
    descent = -rho * abs(eps - u2) if level else 0.0
    for a in range(k):
        work.dz[:] += work.x[a] * point.D[work.free[a]]
        descent += work.x[a] * (weight * work.g1[a] - (0.0 if level else mu * work.g2[a]))
    start = weight * u1 + (rho * abs(eps - u2) if level else -mu * u2)
    halvings = 0
    while True:
        work.trial[:] = work.z + t * work.dz
        u1, u2 = utilities(point, work.trial, work.slope, work.bend)
        rounding = 1e-15 * (1.0 + rho)
        reached = weight * u1 + (rho * abs(eps - u2) if level else -mu * u2)
        if reached <= start + 1e-4 * t * descent + rounding or halvings == MOST_HALVINGS:
            return t, u1, u2, halvings
        t *= 0.5
        halvings += 1


@kernel
def advance(point, work, f, k, level, weight, mu, rho, eps, u1, u2):
    """Move along x: new U1, U2, free features, whether U2 = eps holds now, and halvings."""
    t, block = longest_step(point, work, f, k)
    halvings = 0
    if t > 0.0:
        gap, old_u2 = eps - u2, u2
        t, u1, u2, halvings = line_search(point, work, k, t, level, weight, rho, mu, eps, u1, u2)
        if weight > 0.0 and not level and u2 < eps:
            # The constraint became active on the way. U2 is concave: its chord is below it.
            t *= gap / (u2 - old_u2)
            level, halvings = True, 1
            work.trial[:] = work.z + t * work.dz
            u1, u2 = utilities(point, work.trial, work.slope, work.bend)
        work.z[:] = work.trial
        for a in range(k):
            m = work.free[a]
            f[m] = min(max(f[m] + t * work.x[a], 0.0), point.upper[m])
    if block >= 0:
        k = dismiss_at_bounds(point, work, f, k, block if halvings == 0 else -1)
    return u1, u2, k, level, halvings


@kernel
def penalty_for(work, k, gap, mu, new_mu, restore, cautious, previous):
    """Weight of |U2 - eps| against U1 in the merit.

    Just above the multiplier: a heavier one stalls on a curved constraint. A cautious
    one never falls, so that all steps lower one function and none can cycle.
    """
    rising = 1.2 * dot(work.g1, work.x, 0, k) / max(abs(gap), 1e-300)
    if cautious:
        return max(previous, 2.0 * abs(mu) if restore else abs(new_mu), rising)
    return 1.0 if restore else max(1.001 * abs(new_mu), rising)


@kernel
def kkt_point(point, work, f, mu, eps, cost, cautious, max_iter):
    """From f, in place, to a KKT point of (7) with U2 >= eps (cost 1) or of (6) (cost 0).

    Returns U1, U2, mu, the KKT residual relative to max |r| (infinite if the iteration
    did not end) and the number of iterations.
    """
    u1, u2, k = start_at(point, f, work)
    tol = LEVEL_TOL * eps
    eps += tol
    level, stuck, penalty, iteration = cost > 0.0 and u2 < eps, False, 0.0, 0
    if cost > 0.0 and not level:
        mu = 0.0  # from inside U1 alone falls, until U2 = eps stops it
    for iteration in range(max_iter):
        if k > MOST_FREE - 2:
            break
        gap = eps - u2 if cost > 0.0 else 0.0
        varies, high = free_gradients(point, work, k, cost)
        flat = level and (k < 2 or not varies)
        restore = level and (flat or stuck) and abs(gap) > tol
        new_mu, residual = mu, 0.0
        if restore:
            k, price = restoring_step(point, work, f, k, gap, cost)
            if k == 0:
                break
            mu = abs(price) if price * gap > 0.0 else mu
        elif k >= 2 and not flat:
            if not newton_step(point, work, k, mu, gap, level):
                break
            new_mu = work.x[k]
            residual = np.abs(work.g1[:k] - new_mu * work.g2[:k] + work.x[k + 1]).max()
        settled = residual <= 1e-9 * (1.0 + abs(new_mu)) * high
        if settled and not restore and (not level or abs(gap) <= tol):
            mu = new_mu
            largest = reduced_gradient(point, work, cost, mu)
            up, down = steepest_exchange(work.r, f, point.upper)
            # Where U1 and mu U2 cancel everywhere, r is rounding and no scale.
            left = (work.r[down] - work.r[up]) / max(largest, 1e-2 * abs(mu) * high, 1e-300)
            if left > PRICE_TOL and not (work.is_free[up] and work.is_free[down]):
                k = admit(work, admit(work, k, up), down)
            elif level and mu < 0.0:  # U2 >= eps does not bind: go on without it
                level, mu = False, 0.0
            else:
                return u1, u2, mu, max(left, 0.0), iteration
            continue
        penalty = penalty_for(work, k, gap, mu, new_mu, restore, cautious, penalty)
        weight = 0.0 if restore and not cautious else cost
        u1, u2, k, level, halvings = advance(
            point, work, f, k, level, weight, mu, penalty, eps, u1, u2
        )
        stuck = level and halvings > 1 and not restore
        if level and not restore and new_mu > 0.0:
            mu = min(new_mu, 10.0 * mu) if mu > 0.0 else new_mu
    return u1, u2, mu, np.inf, iteration


@kernel
def least_u1(point, f, mu, eps, max_iter):
    """(7) from f, in place: U1, U2, mu, KKT residual and iterations.

    By turns bold and cautious until one of them ends: bold steps are fast but can
    cycle; cautious ones cannot, but creep where the penalty has grown large.
    """
    work = workspace(point.D.shape[0], point.D.shape[1])
    u1 = u2 = used = 0
    residual = np.inf
    for attempt in range(MOST_ATTEMPTS):
        cautious = attempt % 2 == 1
        u1, u2, mu, residual, steps = kkt_point(point, work, f, mu, eps, 1.0, cautious, max_iter)
        used += steps
        if residual <= KKT_TOL and u2 >= eps:
            break
    return u1, u2, mu, residual, used
