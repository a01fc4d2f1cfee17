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

(7) minimises a concave function: these are *local* optima. Nothing proves that the
iteration ends: its length is bounded, and its result says whether it converged.
"""

from collections import namedtuple

import numpy as np

from convexfs.methods.llfs.native.kernels import (
    add_scaled,
    admit,
    dot,
    kernel,
    leaf,
    longest_step,
    part,
    put,
    solve_linear,
    steepest_exchange,
    utilities,
)

MOST_FREE = 64  #: room for free features; 1 to 10 occur in practice
#: Share of max |r| that an exchange must gain to enter, and that may remain at the end.
PRICE_TOL, KKT_TOL = 1e-8, 1e-6
#: Relative stationarity below which a better exchange is searched for.
NEAR = 1e-3
#: U2 is brought above the requested level by this relative amount, and at most twice that.
LEVEL_TOL = 1e-11
#: Limits on the iterations of a step, a solution and an attempt; 5 to 30 are usual.
MOST_HALVINGS, MOST_ATTEMPTS, MAX_ITER = 30, 10, 100
#: Columns of the table of a path.
COLUMNS = ("u1", "u2", "mu", "residual", "iterations")
U1, U2, MU, RESIDUAL, ITERATIONS = range(5)

#: Work arrays, allocated once: rows of samples, of features, and of free features. There are few,
#: because each array is seven numbers in every compiled call.
Work = namedtuple("Work", "samples features small K free is_free row")
Z, TRIAL, DZ, SLOPE, BEND, V = range(6)
R, RISE, CLIMB, TRIED = range(4)
G1, G2, X = range(3)


def workspace(point):
    """Allocate the work arrays of one point; the free set is empty."""
    (m, n), k = point.D.shape, MOST_FREE
    return Work(
        np.empty((6, n)), np.empty((4, m)), np.empty((3, k + 2)), np.empty((k + 2, k + 2)),
        np.empty(k, np.int64), np.zeros(m, np.bool_), np.empty(len(COLUMNS)),
    )  # fmt: skip


@leaf
def start_at(point, f, work):
    """Write distances and free features at f; return U1, U2 and the number of free features."""
    z = work.samples[Z]
    for j in range(z.size):
        z[j] = 0.0
    k = 0
    for m in range(f.size):
        work.is_free[m] = False
        if f[m] > 0.0:
            add_scaled(z, f[m], point.D[m], z)
            if f[m] < point.upper[m] and k < MOST_FREE - 2:
                k = admit(work, k, m)
    u1, u2 = utilities(point, z, work.samples[SLOPE], work.samples[BEND])
    return u1, u2, k


@leaf
def free_gradients(point, work, k, cost):
    """Write cost * grad U1 and grad U2 on free features; return if the latter varies, its max."""
    low, high, own, slope = np.inf, 0.0, point.own, work.samples[SLOPE]
    for a in range(k):
        row, g1, g2 = point.D[work.free[a]], 0.0, 0.0
        for j in range(slope.size):
            term = row[j] * slope[j]
            g1 += term if j < own else 0.0
            g2 += 0.0 if j < own else term
        work.small[G1, a] = cost * g1
        work.small[G2, a] = g2
        low, high = min(low, g2), max(high, g2)
    return high - low > 1e-9 * high, high


@leaf
def fill_hessian(point, work, k, mu, concave_part):
    """Write the Hessian of ``concave_part * U1 - mu U2`` on the free features, with a ridge."""
    own, K, v, bend = point.own, work.K, work.samples[V], work.samples[BEND]
    ridge = 0.0
    for a in range(k):
        row = point.D[work.free[a]]
        for j in range(v.size):
            v[j] = (mu if j >= own else -concave_part) * bend[j] * row[j]
        for b in range(a + 1):
            K[a, b] = K[b, a] = dot(v, point.D[work.free[b]], v.size)
        g2 = work.small[G2, a]
        reduced = abs(work.small[G1, a] - mu * g2)
        ridge = max(ridge, 1e-10 * abs(K[a, a]) + 1e-9 * reduced + 1e-13 * g2)
    for a in range(k):
        K[a, a] += ridge


@part
def newton_step(point, work, k, mu, gap, level):
    """Compute step x[:k] and multipliers x[k] of U2, x[k + 1] of the budget; False if singular.

    With `level` U2 is asked to move by `gap`, else mu is kept as it is.
    """
    K, x, regular = work.K, work.small[X], False
    for attempt in range(0 if level else 1, 2):
        fill_hessian(point, work, k, mu, 1.0 - attempt)
        K[k, k] = K[k, k + 1] = K[k + 1, k] = K[k + 1, k + 1] = 0.0
        for a in range(k):
            g2 = work.small[G2, a]
            K[a, k] = -g2
            K[k, a] = g2 if level else 0.0
            K[a, k + 1] = K[k + 1, a] = 1.0
            x[a] = -work.small[G1, a]
        x[k] = gap
        x[k + 1] = 0.0
        if not level:
            K[k, k] = 1.0
            x[k] = mu
        regular = solve_linear(K, x, k + 2)
        # With two free features, both constraints fix the step.
        if regular and (k == 2 or dot(work.small[G1], x, k) < x[k] * gap):
            break
    return regular


@leaf
def reduced_gradient(point, work, cost, mu, r):
    """Write ``cost * grad U1 - mu grad U2`` over all features into r; return max |r|."""
    own, v, slope = point.own, work.samples[V], work.samples[SLOPE]
    for j in range(v.size):
        v[j] = (cost if j < own else -mu) * slope[j]
    largest = 0.0
    for m in range(r.size):
        r[m] = dot(v, point.D[m], v.size)
        largest = max(largest, abs(r[m]))
    return largest


@leaf
def restoring_step(point, work, f, k, gap, cost):
    """Write the cheapest exchange that moves U2 by `gap` into x; return k (0: none), multiplier.

    Dinkelbach's iteration on the ratio of the two; exchanges that hardly move U2 are
    ignored. Returns the number of free features, 0 if no exchange moves U2, and the multiplier.
    """
    r, rise, climb = work.features[R], work.features[RISE], work.features[CLIMB]
    reduced_gradient(point, work, cost, 0.0, climb)
    reduced_gradient(point, work, 0.0, -1.0 if gap > 0.0 else 1.0, rise)
    add_scaled(rise, -2.0, rise, r)
    up, down = steepest_exchange(r, f, point.upper)
    least = 0.05 * (rise[up] - rise[down])
    if least <= 0.0:
        return 0, 0.0
    price = 0.0
    for _ in range(20):
        price = (climb[up] - climb[down]) / (rise[up] - rise[down])
        add_scaled(climb, -price, rise, r)
        i, j = steepest_exchange(r, f, point.upper)
        if r[j] - r[i] <= 1e-12 * abs(r[j]) or rise[i] - rise[j] <= least:
            break
        up, down = i, j
    k = admit(work, admit(work, k, up), down)
    free_gradients(point, work, k, cost)
    for a in range(k):
        m = work.free[a]
        sign = 1.0 if m == up else -1.0 if m == down else 0.0
        work.small[X, a] = sign * abs(gap) / (rise[up] - rise[down])
    return k, price


@part
def dismiss_at_bounds(point, work, f, k, block):
    """Remove features whose step ended at a bound from the free set; return its new size."""
    x = work.small[X]
    for a in range(k - 1, -1, -1):
        m = work.free[a]
        bound = 0.0 if x[a] < 0.0 else point.upper[m]
        if a == block or (x[a] != 0.0 and abs(f[m] - bound) <= 1e-12):
            f[m] = bound
            work.is_free[m] = False
            k -= 1
            work.free[a] = work.free[k]
            x[a] = x[k]
    return k


@part
def line_search(point, work, k, t, level, weight, rho, mu, eps, u1, u2):
    """Halve t, at most 30 times, until the merit function falls; return t, U1, U2, halvings."""
    dz, trial = work.samples[DZ], work.samples[TRIAL]
    for j in range(dz.size):
        dz[j] = 0.0
    descent = -rho * abs(eps - u2) if level else 0.0
    for a in range(k):
        x = work.small[X, a]
        add_scaled(dz, x, point.D[work.free[a]], dz)
        descent += x * (weight * work.small[G1, a] - (0.0 if level else mu * work.small[G2, a]))
    start = weight * u1 + (rho * abs(eps - u2) if level else -mu * u2)
    halvings, rounding = 0, 1e-15 * (1.0 + rho)
    while True:
        add_scaled(work.samples[Z], t, dz, trial)
        u1, u2 = utilities(point, trial, work.samples[SLOPE], work.samples[BEND])
        reached = weight * u1 + (rho * abs(eps - u2) if level else -mu * u2)
        if reached <= start + 1e-4 * t * descent + rounding or halvings == MOST_HALVINGS:
            return t, u1, u2, halvings
        t *= 0.5
        halvings += 1


@leaf
def advance(point, work, f, k, level, weight, mu, rho, eps, u1, u2):
    """Move along x; return U1, U2, number of free features, whether U2 = eps is held, halvings."""
    x, z, trial = work.small[X], work.samples[Z], work.samples[TRIAL]
    t, block = longest_step(point.upper, work.free, f, k, x)
    halvings = 0
    if t > 0.0:
        gap, old_u2 = eps - u2, u2
        t, u1, u2, halvings = line_search(point, work, k, t, level, weight, rho, mu, eps, u1, u2)
        if weight > 0.0 and not level and u2 < eps:
            # The constraint became active on the way; U2 is concave, so its chord is below it.
            t *= gap / (u2 - old_u2)
            level, halvings = True, 1
            add_scaled(z, t, work.samples[DZ], trial)
            u1, u2 = utilities(point, trial, work.samples[SLOPE], work.samples[BEND])
        for j in range(z.size):
            z[j] = trial[j]
        for a in range(k):
            m = work.free[a]
            f[m] = min(max(f[m] + t * x[a], 0.0), point.upper[m])
    if block >= 0:
        k = dismiss_at_bounds(point, work, f, k, block if halvings == 0 else -1)
    return u1, u2, k, level, halvings


@part
def penalty_for(work, k, gap, mu, new_mu, restore, cautious, previous):
    """Return the weight of |U2 - eps| against U1 in the merit function.

    Just above the multiplier: a heavier one stalls on a curved constraint. A cautious
    one never falls, so that all steps lower one function and none can cycle.
    """
    rising = 1.2 * dot(work.small[G1], work.small[X], k) / max(abs(gap), 1e-300)
    if cautious:
        return max(previous, 2.0 * abs(mu) if restore else abs(new_mu), rising)
    return 1.0 if restore else max(1.001 * abs(new_mu), rising)


@part
def local_optimum(point, work, f, mu, asked, cost, row):
    """Move f in place towards a KKT point of (7), U2 >= asked, or of (6) if cost is 0; fill `row`.

    The search keeps to U2 = eps, just above what is asked; but (6), and (7) started inside
    with mu = 0, keep mu, (7) until U2 falls to eps. By turns bold and cautious until one of
    them ends: bold steps are fast but can cycle; cautious ones cannot, but creep where the
    penalty has grown large. Fills row with U1, U2, mu, the KKT residual relative to max |r|
    (infinite if the iteration did not end) and the number of iterations.
    """
    r, g1, g2, x = work.features[R], work.small[G1], work.small[G2], work.small[X]
    tol, used = LEVEL_TOL * asked, 0.0
    eps = asked + tol
    for attempt in range(MOST_ATTEMPTS):
        cautious = attempt % 2 == 1
        u1, u2, k = start_at(point, f, work)
        level = cost > 0.0 and (mu > 0.0 or u2 < eps)
        stuck, looked, penalty, reached = False, False, 0.0, np.inf
        for iteration in range(MAX_ITER):
            row[ITERATIONS] = used + iteration
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
                new_mu = x[k]
                for a in range(k):
                    residual = max(residual, abs(g1[a] - new_mu * g2[a] + x[k + 1]))
            scale = (1.0 + abs(new_mu)) * high
            exact = residual <= 1e-9 * scale and (not level or abs(gap) <= tol)
            near = residual <= NEAR * scale and abs(gap) <= NEAR * eps
            if not restore and (exact or (near and not looked)):
                largest = reduced_gradient(point, work, cost, new_mu, r)
                up, down = steepest_exchange(r, f, point.upper)
                # If U1 and mu U2 cancel everywhere, r is rounding and cannot serve as a scale.
                left = (r[down] - r[up]) / max(largest, 1e-2 * abs(new_mu) * high, 1e-300)
                gains = left > (PRICE_TOL if exact else 10.0 * NEAR)
                looked = not gains
                if gains and not (work.is_free[up] and work.is_free[down]):
                    k, mu = admit(work, admit(work, k, up), down), new_mu
                    continue
                # U2 >= eps does not bind: continue without it.
                if exact and level and new_mu < 0.0:
                    level, mu = False, 0.0
                    continue
                if exact:
                    mu, reached = new_mu, max(left, 0.0)
                    break
            penalty = penalty_for(work, k, gap, mu, new_mu, restore, cautious, penalty)
            weight = 0.0 if restore and not cautious else cost
            u1, u2, k, level, halvings = advance(
                point, work, f, k, level, weight, mu, penalty, eps, u1, u2
            )
            stuck = level and halvings > 1 and not restore
            if level and not restore and new_mu > 0.0:
                mu = min(new_mu, 10.0 * mu) if mu > 0.0 else new_mu
        used = row[ITERATIONS]
        row[U1] = u1
        row[U2] = u2
        row[MU] = mu
        row[RESIDUAL] = reached
        if reached <= KKT_TOL and u2 >= asked:
            break


@leaf
def serves(row, eps):
    """Return whether a row of the table is a converged solution for this level."""
    return row[U2] >= eps and row[RESIDUAL] < np.inf


@kernel
def follow(point, work, levels, F, table, cost, back, only_failed):
    """Solve (6) or (7) for the levels of U2, each from its neighbour's solution.

    Ascending, each starts from the one before, the first being F[0], table[0]. `back`,
    descending, from the one above, which serves here too; the best answer stays. If the
    one above is still the better one, its U1 is lowered from inside the constraint, so
    that U1 never falls as the level rises. All callers share one loop: the method is
    compiled into each place that calls it, which takes seconds.
    """
    f, row, last = work.features[TRIED], work.row, levels.size - 1
    for step in range(1, last if back else last + 1):
        b = last - step if back else step
        near = b + 1 if back else b - 1
        eps, used = levels[b], table[b, ITERATIONS]
        if back and eps <= table[0, U2]:
            break
        served = back and serves(table[b], eps)
        enough = not back and eps <= table[near, U2]
        for inside in range(2 if back else 0 if enough else 1):
            if served and (only_failed or inside) and table[b, U1] <= table[near, U1]:
                break
            for m in range(f.size):
                f[m] = F[near, m]
            mu = 0.0 if inside else table[near, MU]
            local_optimum(point, work, f, mu, eps, cost, row)
            used += row[ITERATIONS]
            if not back or (serves(row, eps) and (not served or row[U1] < table[b, U1])):
                put(f, row, F, table, b)
                served = True
        if not served:
            put(F[near], table[near], F, table, b)
            if back:  # The point is feasible, but may not be a local optimum.
                table[b, RESIDUAL] = np.inf
        table[b, ITERATIONS] = used
