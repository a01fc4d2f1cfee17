"""Cones, their duals, the ways into them and the factors that leave them as they are."""

import numpy as np
import pytest

from convexfs.solving.cones import (
    Equality,
    Exponential,
    NonNegative,
    Power,
    SecondOrder,
    Semidefinite,
)

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
        inside = cone.into_dual(y, rng.random((25, cone.size)) < 0.5 * free)
        products = inside @ x.T
        sizes = np.abs(inside) @ np.abs(x.T)
        assert np.all(products >= -1e-12 * sizes)


@pytest.mark.parametrize("cone", CONES, ids=str)
def test_what_is_in_a_dual_cone_stays_where_it_is(cone):
    rng = np.random.default_rng(1)
    free = np.zeros((25, cone.size), dtype=bool)
    y = cone.into_dual(rng.standard_normal((25, cone.size)), free)
    np.testing.assert_allclose(cone.into_dual(y, free), y, rtol=1e-9, atol=1e-9)


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
        np.testing.assert_allclose(cone.into_dual(near, held), near, atol=1e-9)


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
    moved = Exponential().into_dual(y, held)
    assert moved[0, 0] == -1.0
    assert moved[0, 2] == 0.1
    assert moved[0, 1] > -3.0
    moved = Power((0.5, 0.5)).into_dual(np.array([[1.0, 0.0, 5.0]]), held)
    assert moved[0, [0, 2]].tolist() == [1.0, 5.0]
    assert moved[0, 1] > 0
