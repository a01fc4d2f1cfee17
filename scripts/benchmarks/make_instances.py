"""Write small problems that have nothing to do with feature selection, a file each.

    python make_instances.py DIR

Classic ones and random ones of fixed seeds, every class of convex problem: linear (.mps, .lp),
quadratic (.qps), second-order, exponential and power cones (.cbf), semidefinite (.dat-s, .cbf).
`show`, `solve` and `compare` take the files as they are, and so do other programs.
"""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np

from convexfs import write_problem

Problem = cp.Problem
Random = np.random.Generator
#: What makes a problem: cvxpy's types take the comparisons among constraints for truth values.
stated: Any = cp.Problem


# Linear


def transport(random: Random, sources: int, sinks: int) -> Problem:
    """Cheapest shipment of what sources have to what sinks want."""
    wanted = random.integers(5, 20, sinks).astype(float)
    stock = np.full(sources, np.ceil(wanted.sum() / sources) + 2)
    x = cp.Variable((sources, sinks), name="x")
    limits = [cp.sum(x, axis=1) <= stock, cp.sum(x, axis=0) == wanted, x >= 0]
    return stated(cp.Minimize(cp.sum(cp.multiply(random.integers(1, 30, x.shape), x))), limits)


def diet(random: Random, foods: int, nutrients: int) -> Problem:
    """Cheapest meals that have enough and not too much of everything."""
    x, content = cp.Variable(foods, name="x"), random.uniform(0, 1, (nutrients, foods))
    need = 0.4 * content.sum(axis=1)
    limits = [content @ x >= need, content @ x <= 3 * need, x >= 0, x <= 4]
    return stated(cp.Minimize(random.uniform(1, 3, foods) @ x), limits)


def knapsack(random: Random, things: int, limits: int) -> Problem:
    """The relaxation of a knapsack with several limits."""
    x, weights = cp.Variable(things, name="x"), random.integers(5, 60, (limits, things))
    value = weights.mean(axis=0) + random.uniform(0, 10, things)
    return stated(cp.Maximize(value @ x), [weights @ x <= weights.sum(axis=1) / 3, x >= 0, x <= 1])


def klee_minty(_: Random, n: int) -> Problem:
    """The cube on which the simplex method may visit every corner."""
    x = cp.Variable(n, name="x")
    rows = np.array([[2.0 ** (i - j + 1) if j < i else float(i == j) for j in range(n)]
                     for i in range(n)])  # fmt: skip
    cost = 2.0 ** np.arange(n - 1, -1, -1)
    return stated(cp.Maximize(cost @ x), [rows @ x <= 5.0 ** np.arange(1, n + 1), x >= 0])


def degenerate(random: Random, n: int) -> Problem:
    """Many more constraints than needed meet in the optimum."""
    x, rows = cp.Variable(n, name="x"), random.integers(0, 3, (6 * n, n)).astype(float)
    rows[:n] = np.eye(n)
    return stated(cp.Maximize(cp.sum(x)), [rows @ x <= rows.sum(axis=1), x >= 0])


def assignment(random: Random, n: int) -> Problem:
    """The cheapest way to give every worker a task."""
    x = cp.Variable((n, n), name="x")
    limits = [cp.sum(x, axis=0) == 1, cp.sum(x, axis=1) == 1, x >= 0]
    return stated(cp.Minimize(cp.sum(cp.multiply(random.integers(1, 99, (n, n)), x))), limits)


def network_flow(random: Random, n: int) -> Problem:
    """The largest flow through a random network with capacities."""
    arcs = [(i, j) for i in range(n) for j in range(n) if i != j and random.random() < 0.4]
    arcs += [(i, i + 1) for i in range(n - 1) if (i, i + 1) not in arcs]
    x = cp.Variable(len(arcs), name="x")
    balance = np.zeros((n, len(arcs)))
    for column, (i, j) in enumerate(arcs):
        balance[i, column], balance[j, column] = -1.0, 1.0
    limits = [balance[1:-1] @ x == 0, x >= 0, x <= random.integers(1, 15, len(arcs))]
    return stated(cp.Maximize(balance[-1] @ x), limits)


def chebyshev_fit(random: Random, m: int, n: int) -> Problem:
    """The polynomial whose largest error at some points is least."""
    at = np.linspace(-1, 1, m)
    x, values = cp.Variable(n, name="x"), np.exp(at) + 0.1 * random.standard_normal(m)
    return stated(cp.Minimize(cp.norm(np.vander(at, n) @ x - values, "inf")))


def least_deviations(random: Random, m: int, n: int) -> Problem:
    """Regression by absolute errors, some of which are gross."""
    A = random.standard_normal((m, n))
    b = A @ random.standard_normal(n) + random.standard_t(2, m)
    return stated(cp.Minimize(cp.norm1(A @ cp.Variable(n, name="x") - b)))


# Quadratic


def portfolio(random: Random, n: int, factors: int) -> Problem:
    """The best return less risk of what is bought with a budget."""
    x = cp.Variable(n, name="x")
    F, gains = random.standard_normal((n, factors)), random.uniform(0, 0.1, n)
    risk = cp.sum_squares(F.T @ x) + cp.sum_squares(cp.multiply(random.uniform(0.1, 1, n), x))
    return stated(cp.Minimize(risk - gains @ x), [cp.sum(x) == 1, x >= 0])


def lasso(random: Random, m: int, n: int) -> Problem:
    """Least squares with a penalty on the coefficients."""
    A, x = random.standard_normal((m, n)), cp.Variable(n, name="x")
    b = A[:, :3].sum(axis=1) + 0.1 * random.standard_normal(m)
    price = 0.1 * np.abs(A.T @ b).max()
    return stated(cp.Minimize(0.5 * cp.sum_squares(A @ x - b) + price * cp.norm1(x)))


def support_vectors(random: Random, m: int, n: int) -> Problem:
    """The widest margin between two clouds, with some on the wrong side."""
    y = np.where(np.arange(m) % 2, 1.0, -1.0)
    X = random.standard_normal((m, n)) + 0.6 * y[:, None]
    w, b = cp.Variable(n, name="w"), cp.Variable(name="b")
    loss = cp.sum(cp.pos(1 - cp.multiply(y, X @ w + b)))
    return stated(cp.Minimize(0.5 * cp.sum_squares(w) + loss))


def control(random: Random, n: int, steps: int) -> Problem:
    """Steer a linear system to rest with bounded force."""
    A = np.eye(n) + 0.1 * random.standard_normal((n, n))
    B, x, u = random.standard_normal((n, 2)), cp.Variable((n, steps + 1)), cp.Variable((2, steps))
    limits = [x[:, 0] == random.standard_normal(n), x[:, 1:] == A @ x[:, :-1] + B @ u]
    cost = cp.sum_squares(x) + 0.1 * cp.sum_squares(u)
    return stated(cp.Minimize(cost), [*limits, cp.abs(u) <= 1])


def nearest_in_polytope(random: Random, m: int, n: int) -> Problem:
    """The point of a polytope nearest to one outside."""
    x, A = cp.Variable(n, name="x"), random.standard_normal((m, n))
    return stated(cp.Minimize(cp.sum_squares(x - 3 * np.ones(n))), [A @ x <= 1 + 0 * A[:, 0]])


def isotonic(random: Random, n: int) -> Problem:
    """The nearest sequence that never falls."""
    x, seen = cp.Variable(n, name="x"), np.sort(random.uniform(0, 1, n))
    seen = seen + 0.3 * random.standard_normal(n)
    return stated(cp.Minimize(cp.sum_squares(x - seen)), [x[1:] >= x[:-1]])


# Second-order cones


def chebyshev_centre(random: Random, m: int, n: int) -> Problem:
    """The largest ball inside a random polytope and a ball."""
    A, x, r = random.standard_normal((m, n)), cp.Variable(n, name="x"), cp.Variable(name="r")
    inside = [A @ x + np.linalg.norm(A, axis=1) * r <= 1, cp.norm(x) + r <= 2]
    return stated(cp.Maximize(r), inside)


def antenna(_: Random, elements: int, angles: int) -> Problem:
    """Weights of an array that hears one direction and little of the others."""
    half = np.linspace(np.pi / 10, np.pi / 2, angles // 2)
    side = np.concatenate([-half, half])
    real, imaginary = cp.Variable(elements, name="re"), cp.Variable(elements, name="im")
    t = cp.Variable(name="t")
    place = np.arange(elements)
    waves = np.exp(1j * np.pi * np.outer(np.sin(side), place))
    heard = [cp.hstack([wave.real @ real - wave.imag @ imaginary,
                        wave.real @ imaginary + wave.imag @ real]) for wave in waves]  # fmt: skip
    limits = [cp.norm(one) <= t for one in heard]
    return stated(cp.Minimize(t), [*limits, cp.sum(real) == 1, cp.sum(imaginary) == 0])


def robust_linear(random: Random, m: int, n: int) -> Problem:
    """A linear program whose rows lie in ellipsoids."""
    x, rows = cp.Variable(n, name="x"), random.uniform(0.5, 1.5, (m, n))
    spread = [0.1 * random.standard_normal((n, n)) for _ in range(m)]
    limits = [row @ x + cp.norm(S @ x) <= n for row, S in zip(rows, spread, strict=True)]
    return stated(cp.Maximize(random.uniform(1, 2, n) @ x), [*limits, x >= 0])


def facility(random: Random, towns: int) -> Problem:
    """The place with the least sum of distances."""
    x, at = cp.Variable(2, name="x"), random.uniform(0, 10, (towns, 2))
    return stated(cp.Minimize(sum(cp.norm(x - town) for town in at)))


def group_lasso(random: Random, m: int, groups: int) -> Problem:
    """Least deviation with a penalty on groups of coefficients."""
    A, x = random.standard_normal((m, 3 * groups)), cp.Variable(3 * groups, name="x")
    b = A[:, :3] @ [1.0, -2.0, 1.5] + 0.1 * random.standard_normal(m)
    price = 2 * sum(cp.norm(x[3 * g : 3 * g + 3]) for g in range(groups))
    return stated(cp.Minimize(cp.norm(A @ x - b) + 0.1 * price))


def truss(random: Random, bars: int) -> Problem:
    """Areas of bars that store least energy for their volume (hyperbolic constraints)."""
    area, load = cp.Variable(bars, name="area"), random.uniform(0.5, 2, bars)
    energy = sum(cp.quad_over_lin(load[i], area[i]) for i in range(bars))
    return stated(cp.Minimize(energy), [cp.sum(area) <= 5, area >= 0.05])


# Exponential and power cones


def logistic_regression(random: Random, m: int, n: int) -> Problem:
    """Probabilities of two classes, with a penalty on the coefficients."""
    X, w = random.standard_normal((m, n)), cp.Variable(n, name="w")
    y = np.sign(X[:, 0] + 0.5 * random.standard_normal(m))
    return stated(cp.Minimize(cp.sum(cp.logistic(cp.multiply(-y, X @ w))) + cp.norm1(w)))


def entropy_maximisation(random: Random, n: int, moments: int) -> Problem:
    """The most even probabilities of given moments."""
    p, A = cp.Variable(n, name="p"), random.standard_normal((moments, n))
    means = A @ random.dirichlet(np.ones(n))
    return stated(cp.Maximize(cp.sum(cp.entr(p))), [cp.sum(p) == 1, A @ p == means])


def geometric(random: Random, n: int, posynomials: int) -> Problem:
    """A geometric program in logarithms of its variables."""
    x = cp.Variable(n, name="x")
    limits = [cp.log_sum_exp(random.uniform(-1, 1, (4, n)) @ x + random.uniform(-3, -1, 4)) <= 0
              for _ in range(posynomials)]  # fmt: skip
    cost = cp.log_sum_exp(random.uniform(-1, 1, (3, n)) @ x)
    return stated(cp.Minimize(cost), [*limits, x >= -5, x <= 5])


def relative_entropy(random: Random, n: int) -> Problem:
    """The probabilities nearest to some, in relative entropy, that obey a few laws."""
    p, prior = cp.Variable(n, name="p"), random.dirichlet(np.ones(n))
    A = random.uniform(0, 1, (3, n))
    laws = [cp.sum(p) == 1, A @ p >= A @ random.dirichlet(np.ones(n))]
    return stated(cp.Minimize(cp.sum(cp.kl_div(p, prior))), laws)


def water_filling(random: Random, n: int) -> Problem:
    """Power for channels of different noise."""
    x, noise = cp.Variable(n, name="x"), random.uniform(0.2, 2, n)
    return stated(cp.Maximize(cp.sum(cp.log(noise + x))), [cp.sum(x) == 3, x >= 0])


def utilities(random: Random, n: int) -> Problem:
    """Goods shared by persons of whom each likes them by another power."""
    x, y = cp.Variable(n, name="x"), cp.Variable(n, name="y")
    u = cp.Variable(n, name="u")
    cone = cp.PowCone3D(x, y, u, random.uniform(0.2, 0.8, n))
    return stated(cp.Maximize(cp.sum(u)), [cone, cp.sum(x) <= 4, cp.sum(y) <= 6])


# Semidefinite


def _graph(random: Random, n: int, density: float) -> np.ndarray:
    upper = np.triu(random.random((n, n)) < density, 1)
    return (upper + upper.T).astype(float)


def max_cut(random: Random, n: int) -> Problem:
    """The relaxation of the largest cut of a graph."""
    X, W = cp.Variable((n, n), symmetric=True, name="X"), _graph(random, n, 0.4)
    laplacian = np.diag(W.sum(axis=0)) - W
    return stated(cp.Maximize(0.25 * cp.trace(laplacian @ X)), [X >> 0, cp.diag(X) == 1])


def lovasz_theta(random: Random, n: int) -> Problem:
    """A bound on the sets of a graph without neighbours."""
    X, edges = cp.Variable((n, n), symmetric=True, name="X"), np.argwhere(_graph(random, n, 0.3))
    apart = [X[i, j] == 0 for i, j in edges if i < j]
    return stated(cp.Maximize(cp.sum(X)), [X >> 0, cp.trace(X) == 1, *apart])


def five_cycle(_: Random) -> Problem:
    """Lovasz' own example, of which theta is the root of 5."""
    X = cp.Variable((5, 5), symmetric=True, name="X")
    apart = [X[i, (i + 1) % 5] == 0 for i in range(5)]
    return stated(cp.Maximize(cp.sum(X)), [X >> 0, cp.trace(X) == 1, *apart])


def matrix_completion(random: Random, m: int, n: int) -> Problem:
    """The matrix of least nuclear norm with some entries known."""
    M = np.outer(random.standard_normal(m), random.standard_normal(n))
    U, V = cp.Variable((m, m), symmetric=True), cp.Variable((n, n), symmetric=True)
    X = cp.Variable((m, n), name="X")
    seen = [X[i, j] == M[i, j] for i in range(m) for j in range(n) if random.random() < 0.6]
    whole = cp.bmat([[U, X], [X.T, V]])
    return stated(cp.Minimize(0.5 * (cp.trace(U) + cp.trace(V))), [whole >> 0, *seen])


def largest_eigenvalue(random: Random, n: int, matrices: int) -> Problem:
    """The mixture of symmetric matrices whose largest eigenvalue is least."""
    S = [(M + M.T) / 2 for M in random.standard_normal((matrices, n, n))]
    x, t = cp.Variable(matrices, name="x"), cp.Variable(name="t")
    mixed = sum(x[i] * S[i] for i in range(matrices))
    return stated(cp.Minimize(t), [t * np.eye(n) - mixed >> 0, cp.sum(x) == 1, x >= -1])


def nearest_correlation(random: Random, n: int) -> Problem:
    """The correlation matrix nearest to one that is none, by the largest error."""
    G = np.triu(random.choice([-0.8, 0.9], (n, n)), 1)
    X = cp.Variable((n, n), symmetric=True, name="X")
    error = cp.max(cp.abs(X - G - G.T - np.eye(n)))
    return stated(cp.Minimize(error), [X >> 0, cp.diag(X) == 1])


def lyapunov(random: Random, n: int) -> Problem:
    """The smallest quadratic function that falls along a stable system."""
    A = random.standard_normal((n, n))
    A -= (np.linalg.eigvals(A).real.max() + 0.5) * np.eye(n)
    P = cp.Variable((n, n), symmetric=True, name="P")
    return stated(cp.Minimize(cp.trace(P)), [-A.T @ P - P @ A - np.eye(n) >> 0, P >> 0])


def optimal_design(random: Random, n: int, trials: int) -> Problem:
    """Trials whose least-known direction is known best (E-optimal design)."""
    V, p, t = random.standard_normal((trials, n)), cp.Variable(trials), cp.Variable(name="t")
    seen = V.T @ cp.diag(p) @ V
    return stated(cp.Maximize(t), [seen - t * np.eye(n) >> 0, cp.sum(p) == 1, p >= 0])


#: Maker, ending of its files, and the sizes of each.
INSTANCES: list[tuple[Callable[..., Problem], str, list[tuple[int, ...]]]] = [
    (transport, ".mps", [(4, 6), (10, 15)]),
    (diet, ".lp", [(12, 5), (40, 15)]),
    (knapsack, ".mps.gz", [(30, 3), (150, 10)]),
    (klee_minty, ".mps", [(6,), (12,)]),
    (degenerate, ".mps", [(10,), (30,)]),
    (assignment, ".mps", [(8,), (20,)]),
    (network_flow, ".lp", [(8,), (15,)]),
    (chebyshev_fit, ".mps", [(60, 6)]),
    (least_deviations, ".mps", [(60, 6), (200, 20)]),
    (portfolio, ".qps", [(20, 4), (100, 10)]),
    (lasso, ".qps", [(30, 15), (60, 60)]),
    (support_vectors, ".qps", [(40, 4), (150, 10)]),
    (control, ".qps", [(4, 10), (6, 25)]),
    (nearest_in_polytope, ".qps.gz", [(30, 8), (100, 30)]),
    (isotonic, ".qps", [(40,), (200,)]),
    (chebyshev_centre, ".cbf", [(20, 4), (100, 15)]),
    (antenna, ".cbf", [(8, 20), (14, 50)]),
    (robust_linear, ".cbf", [(8, 5), (20, 10)]),
    (facility, ".cbf", [(12,), (60,)]),
    (group_lasso, ".cbf.gz", [(30, 5), (80, 15)]),
    (truss, ".cbf", [(10,), (40,)]),
    (logistic_regression, ".cbf", [(30, 4), (120, 10)]),
    (entropy_maximisation, ".cbf", [(20, 3), (100, 6)]),
    (geometric, ".cbf", [(5, 4), (12, 10)]),
    (relative_entropy, ".cbf.gz", [(20,), (80,)]),
    (water_filling, ".cbf", [(10,), (60,)]),
    (utilities, ".cbf", [(5,), (30,)]),
    (max_cut, ".dat-s", [(8,), (20,)]),
    (lovasz_theta, ".dat-s", [(8,), (14,)]),
    (five_cycle, ".dat-s", [()]),
    (matrix_completion, ".cbf", [(5, 4), (9, 8)]),
    (largest_eigenvalue, ".dat-s", [(6, 4), (14, 10)]),
    (nearest_correlation, ".cbf", [(5,), (9,)]),
    (lyapunov, ".dat-s.gz", [(4,), (8,)]),
    (optimal_design, ".dat-s", [(4, 12), (7, 30)]),
]


def instances() -> Iterator[tuple[str, Callable[[], Problem]]]:
    """Names of the files, and what makes each problem, the same in any order."""
    for position, (make, ending, sizes) in enumerate(INSTANCES):
        for number, size in enumerate(sizes):
            random = np.random.default_rng([position, number])
            name = "_".join([make.__name__, *map(str, size)])
            yield f"{name}{ending}", lambda make=make, random=random, size=size: make(random, *size)


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("usage: make_instances.py DIR")
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for count, (name, make) in enumerate(instances(), 1):
        write_problem(make(), folder / name)
        print(f"{count:3d} {folder / name}")


if __name__ == "__main__":
    main()
