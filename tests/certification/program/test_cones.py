"""Cones, their duals, the ways into them and the factors that leave them as they are."""

import numpy as np
import pytest

from convexfs.certification.program.cones import Equality, NonNegative, SecondOrder, Semidefinite
from convexfs.certification.program.exponential_and_power import Exponential, Power

CONES = [
    Equality(),
    NonNegative(),
    SecondOrder(4),
    Semidefinite(3),
    Exponential(),
    Power((0.3, 0.7)),
    Power((0.2, 0.3, 0.5)),
]


def members(cone, count, rng):
    """Vectors of the cone, on its boundary and inside."""
    draw = rng.standard_normal((count, cone.size))
    inside = rng.integers(0, 2, count) * rng.uniform(0, 1, count)
    match cone:
        case Equality():
            return 0 * draw
        case NonNegative():
            return np.abs(draw) * rng.integers(0, 2, draw.shape)
        case SecondOrder():
            draw[:, 0] = np.linalg.norm(draw[:, 1:], axis=1) + inside
            return draw
        case Semidefinite(side):
            factors = rng.standard_normal((count, side, side - 1))
            return cone.triangles(factors @ factors.transpose(0, 2, 1))
        case Exponential():
            x, y = draw[:, 0], np.abs(draw[:, 1]) + 0.1
            return np.column_stack([x, y, y * np.exp(x / y) + inside])
        case Power(exponents):
            u = np.abs(draw[:, :-1])
            product = np.prod(u**exponents, axis=1)
            return np.column_stack([u, product * rng.uniform(-1, 1, count)])
    raise NotImplementedError(f"no members of {cone}")


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("cone", CONES, ids=str)
def test_what_is_moved_into_a_dual_cone_has_no_negative_product(cone, free):
    rng = np.random.default_rng(0)
    for _ in range(40):
        x = members(cone, 25, rng)
        y = 10.0 ** rng.integers(-3, 4) * rng.standard_normal((25, cone.size))
        inside = cone.into_dual(y, rng.random((25, cone.size)) < 0.5 * free, 0.0)
        products = inside @ x.T
        sizes = np.abs(inside) @ np.abs(x.T)
        assert np.all(products >= -1e-12 * sizes)


@pytest.mark.parametrize("cone", CONES, ids=str)
def test_what_is_in_a_dual_cone_stays_where_it_is(cone):
    rng = np.random.default_rng(1)
    free = np.zeros((25, cone.size), dtype=bool)
    y = cone.into_dual(rng.standard_normal((25, cone.size)), free, 0.0)
    np.testing.assert_allclose(cone.into_dual(y, free, 0.0), y, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("cone", CONES, ids=str)
def test_members_are_not_outside_and_what_is_moved_off_is(cone):
    rng = np.random.default_rng(2)
    x = members(cone, 25, rng)
    assert cone.outside(x).max() <= 1e-12
    off = x - 0.1 * (np.ones(cone.size) if isinstance(cone, Equality) else cone.interior())
    if not isinstance(cone, Power | Exponential):
        on_boundary = cone.outside(x - 1e-9 * cone.interior()) > 0
        off = off[on_boundary] if on_boundary.any() else off
    assert cone.outside(off).max() > 0.01


@pytest.mark.parametrize("cone", CONES[1:], ids=str)
def test_the_interior_is_inside_the_cone_and_its_dual(cone):
    middle = cone.interior()[None]
    rng = np.random.default_rng(3)
    for _ in range(20):
        near = middle + 0.05 * rng.standard_normal(middle.shape)
        assert cone.outside(near)[0] == 0
        held = np.zeros(near.shape, dtype=bool)
        np.testing.assert_allclose(cone.into_dual(near, held, 0.0), near, atol=1e-9)


@pytest.mark.parametrize("cone", CONES[1:], ids=str)
def test_scaled_cones_are_the_same_cones(cone):
    rng = np.random.default_rng(4)
    x = members(cone, 25, rng)
    factors = cone.scales(10.0 ** rng.uniform(-3, 3, (25, cone.size)))
    scaled = x * factors
    assert np.all(cone.outside(scaled) <= 1e-9 * np.abs(scaled).max(axis=1))


def test_the_faces_of_the_exponential_cone_belong_to_it():
    cone = Exponential()
    points = np.array([[-1.0, 0.0, 2.0], [0.0, 0.0, 0.0], [1.0, 0.0, 2.0], [0.0, 1.0, 0.9]])
    assert (cone.outside(points) > 0).tolist() == [False, False, True, True]


def test_a_free_entry_is_raised_rather_than_one_that_counts():
    y = np.array([[-1.0, -3.0, 0.1]])
    held = np.array([[False, True, False]])
    moved = Exponential().into_dual(y, held, 0.0)
    assert moved[0, 0] == -1.0
    assert moved[0, 2] == 0.1
    assert moved[0, 1] > -3.0
    moved = Power((0.5, 0.5)).into_dual(np.array([[1.0, 0.0, 5.0]]), held, 0.0)
    assert moved[0, [0, 2]].tolist() == [1.0, 5.0]
    assert moved[0, 1] > 0


@pytest.mark.parametrize("cone", CONES[1:], ids=str)
def test_points_moved_into_a_cone_are_in_it(cone):
    rng = np.random.default_rng(5)
    x = members(cone, 25, rng) - 1e-3 * rng.standard_normal((25, cone.size))
    moved = cone.inside(x)
    assert cone.outside(moved).max() <= 1e-9 * np.abs(moved).max()
    assert np.abs(moved - x).max() <= 1.0


@pytest.mark.parametrize("cone", CONES[1:], ids=str)
def test_a_box_is_surely_inside_only_if_all_its_points_are(cone):
    rng = np.random.default_rng(6)
    boxes = [
        (
            cone.inside(rng.standard_normal((1, cone.size))) + 0.2 * cone.interior(),
            10.0 ** rng.uniform(-6, 0) * rng.random((1, cone.size)),
        )
        for _ in range(60)
    ]
    surely = [box for box in boxes if cone.surely_contains(*box)]
    assert len(surely) > 10
    for x, radii in surely:
        points = x + radii * rng.choice([-1.0, 1.0], (200, cone.size))
        assert cone.outside(points).max() <= 1e-12
    outside = -cone.interior()[None]
    assert not cone.surely_contains(outside, np.zeros_like(outside))


@pytest.mark.parametrize("ball", [True, False])
@pytest.mark.parametrize("cone", CONES[1:], ids=str)
def test_factors_keep_multipliers_in_the_dual_cone(cone, ball):
    """Every y + Gv with a short v has no negative product with a member of the cone."""
    rng = np.random.default_rng(7)
    x = members(cone, 400, rng)
    held = np.zeros((1, cone.size), dtype=bool)
    moving = 0
    for _ in range(30):
        y = cone.into_dual(rng.standard_normal((1, cone.size)), held, 0.1)
        y = y + 10.0 ** rng.uniform(-4, 0) * cone.interior()
        factors, eta = cone.dual_factors(y, ball), rng.uniform(0.01, 0.45)
        if not factors.any() or not cone.dual_surely_contains(y, factors, eta):
            continue
        moving += 1
        v = rng.standard_normal((50, cone.size))
        v *= eta / np.linalg.norm(v, axis=1, keepdims=True)
        changes = np.vstack([_moved(cone, factors, each[None]) for each in v])
        products = (y + changes) @ x.T
        assert np.all(products >= -1e-12 * (np.abs(y + changes) @ np.abs(x.T)))
    assert moving > 5


def _moved(cone, factors, v):
    if factors.ndim == 1:
        return factors * v
    if isinstance(cone, Semidefinite):
        return cone.triangles(factors @ cone.matrices(v) @ factors.transpose(0, 2, 1))
    return v @ factors[0].T


@pytest.mark.parametrize("cone", [each for each in CONES if isinstance(each, Exponential | Power)])
@pytest.mark.parametrize("depth", [1e-1, 1e-5, 1e-9])
def test_ellipsoids_near_the_boundary_are_kept_in_the_dual_cone(cone, depth):
    """Long and thin ones too, which no box around them would fit into; some must be too large."""
    rng = np.random.default_rng(5)
    held = np.zeros((60, cone.size), dtype=bool)
    draw = np.abs(rng.standard_normal((60, cone.size))) + 0.01
    draw[:, 0] *= -1.0 if isinstance(cone, Exponential) else 1.0
    draw[:, 1] -= 2.0 if isinstance(cone, Exponential) else 0.0
    draw[:, -1] += 0.0 if isinstance(cone, Exponential) else 5.0
    values = cone.into_dual(draw, held, depth)
    values *= 10.0 ** rng.integers(-6, 7, (60, 1))
    kept = {0.01: 0, 0.3: 0, 3.0: 0}
    for point in values[:, None]:
        factors = cone.dual_factors(point, ball=False)
        if not factors.any():
            continue
        for eta in kept:
            if not cone.dual_surely_contains(point, factors, eta):
                continue
            kept[eta] += 1
            v = rng.standard_normal((300, cone.size))
            v *= eta / np.linalg.norm(v, axis=1, keepdims=True)
            assert np.all(_dual_slack(cone, point + v @ factors[0].T) >= -1e-12)
    assert kept[0.01] >= 20
    assert kept[3.0] == 0


def _dual_slack(cone, values):
    """By how much points are inside the dual cone, relative to its terms, in closed form."""
    if isinstance(cone, Exponential):
        a, v, w = -values[:, 0], values[:, 1], values[:, 2]
        assert min(a.min(), w.min()) > 0
        logs = np.log(w / a)
        return (v + a + a * logs) / (np.abs(v) + a * (1 + np.abs(logs)))
    u, w = values[:, :-1], values[:, -1]
    assert u.min() > 0
    return 1.0 - np.abs(w) / np.prod((u / cone.exponents) ** cone.exponents, axis=1)
