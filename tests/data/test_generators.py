import inspect
from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from convexfs.data.generators import (
    check_size,
    ringnorm,
    sign_bits,
    six_gaussians,
    spiral,
    subclasses,
    twonorm,
    waveform,
)
from convexfs.data.readers.memory_limit import ReadLimit
from convexfs.data.specs import GENERATORS, generator
from convexfs.errors import InputError

generators = st.sampled_from(sorted(GENERATORS))
seeds = st.integers(0, 2**32)
OF_NUMBERS = ("friedman", "product", "ring")
OF_CLASSES = [name for name in GENERATORS if name not in OF_NUMBERS]


@given(generators, seeds, st.integers(0, 5))
@settings(max_examples=30, deadline=None)
def test_the_seed_decides(name, seed, noise):
    first, second = (generator(name)(noise=noise, seed=seed) for _ in range(2))
    assert first.digest == second.digest


@given(generators, seeds, st.integers(1, 40))
@settings(max_examples=30, deadline=None)
def test_noise_leaves_the_relevant_part_alone(name, seed, noise):
    plain, noisy = generator(name)(seed=seed), generator(name)(noise=noise, seed=seed)
    np.testing.assert_array_equal(noisy.X[:, : plain.n_features], plain.X)
    np.testing.assert_array_equal(noisy.y, plain.y)
    assert noisy.relevant == plain.relevant
    assert noisy.feature_names[plain.n_features :] == tuple(f"noise{j + 1}" for j in range(noise))


@pytest.mark.parametrize("name", GENERATORS)
def test_what_every_generator_returns(name):
    data = generator(name)()
    assert data.name == name
    assert data.X.flags.c_contiguous
    assert data.feature_names == tuple(f"x{j + 1}" for j in range(data.n_features))
    assert np.isfinite(data.X).all()
    assert data.numeric == (name in OF_NUMBERS)
    assert set(data.relevant or ()) <= set(range(data.n_features))
    assert data.scale == ("none" if name == "spiral" else "zscore")


@pytest.mark.parametrize("name", OF_CLASSES)
def test_classes_are_counted_from_0(name):
    data = generator(name)()
    assert np.unique(data.y).tolist() == list(range(data.n_classes))


@pytest.mark.parametrize("name", [name for name in OF_CLASSES if name != "sign_bits"])
def test_rows_are_ordered_by_class(name):
    assert (np.diff(generator(name)().y) >= 0).all()


@pytest.mark.parametrize("name", [n for n in OF_CLASSES if n not in ("sign_bits", "subclasses")])
def test_classes_are_even(name):
    assert np.ptp(np.bincount(generator(name)().y)) <= 1


@pytest.mark.parametrize(
    ("name", "without_error"),
    [
        ("friedman", lambda x: 10 * np.sin(np.pi * x[0] * x[1]) + 20 * (x[2] - 0.5) ** 2
         + 10 * x[3] + 5 * x[4]),
        ("product", lambda x: x[0] * x[1]),
        ("ring", lambda x: np.sin(5 * np.sqrt(x[0] ** 2 + x[1] ** 2))),
    ],
)  # fmt: skip
def test_numbers_are_the_printed_formula_and_a_normal_error(name, without_error):
    data = generator(name)(n=4000, seed=3)
    error = data.y - without_error(data.X.T)
    deviation = {"friedman": 1.0, "product": 1 / 20, "ring": 1 / 10}[name]
    assert error.mean() == pytest.approx(0, abs=0.06 * deviation)
    assert error.std() == pytest.approx(deviation, rel=0.05)


@pytest.mark.parametrize("name", GENERATORS)
def test_bad_values_are_named(name):
    make = generator(name)
    for key in inspect.signature(make).parameters:
        with pytest.raises(InputError, match=f"{key} is -1; give a finite number"):
            make(**{key: -1})


@pytest.mark.parametrize("name", GENERATORS)
@pytest.mark.parametrize("chosen", [{}, {"n": 7, "noise": 3}])
def test_the_size_is_known_before_anything_is_made(name, chosen):
    data = generator(name)(**chosen)
    cells = 32 * data.X.size + 150 * data.n_features
    check_size(generator(name), chosen, name, ReadLimit(cells, "just enough"))
    with pytest.raises(InputError, match=f"^{name} would need .*just too little.*ask for less"):
        check_size(generator(name), chosen, name, ReadLimit(cells - 1, "just too little"))


def test_every_generator_has_a_size():
    from convexfs.data import generators as synthetic

    assert [make.__name__ for make in synthetic._SHAPES] == list(GENERATORS)


def test_noise_is_standard_normal_and_unrelated_to_the_signal():
    data = twonorm(n=2000, noise=40, seed=1)
    noise = data.X[:, 20:]
    np.testing.assert_allclose(noise.mean(axis=0), 0, atol=5 / sqrt(2000))
    np.testing.assert_allclose(noise.std(axis=0), 1, atol=0.1)
    correlation = np.corrcoef(data.X.T)[:20, 20:]
    assert np.abs(correlation).max() < 0.12


def test_spiral_follows_its_formula():
    data = spiral()
    first, second = data.X[:230], data.X[230:]
    np.testing.assert_array_equal(second, -first)
    k = np.arange(1, 231)
    np.testing.assert_allclose(np.hypot(*first.T), 10 * np.sqrt(k / 230))
    angle = np.unwrap(np.arctan2(first[:, 1], first[:, 0]))
    np.testing.assert_allclose(angle, 2 * np.pi * k / 230)


def test_twonorm_has_the_bayes_error_of_its_definition():
    data = twonorm(n=20000)
    np.testing.assert_allclose(data.X[data.y == 0].mean(axis=0), 2 / sqrt(20), atol=0.05)
    wrong = (data.X.sum(axis=1) < 0) != (data.y == 1)
    assert wrong.mean() == pytest.approx(0.02275, abs=0.005)


@pytest.mark.parametrize(("distance", "error"), [(2.0, 0.0122), (1.0, 0.0153)])
def test_ringnorm_has_the_bayes_error_of_its_definition(distance, error):
    data = ringnorm(n=20000, distance=distance)
    wide, narrow = data.X[data.y == 0], data.X[data.y == 1]
    np.testing.assert_allclose(wide.std(axis=0), 2, rtol=0.05)
    np.testing.assert_allclose(narrow.std(axis=0), 1, rtol=0.05)
    centre = distance / sqrt(20)
    np.testing.assert_allclose(narrow.mean(axis=0), centre, atol=0.05)
    # log density of the narrow class over that of the wide one
    evidence = (
        20 * np.log(2) + (data.X**2).sum(axis=1) / 8 - ((data.X - centre) ** 2).sum(axis=1) / 2
    )
    assert ((evidence > 0) != (data.y == 1)).mean() == pytest.approx(error, abs=0.004)


def test_waveform_means_are_the_averages_of_two_triangles():
    data = waveform(n=30000)
    i = np.arange(1, 22)
    h1, h2, h3 = (np.maximum(6 - abs(i - peak), 0) for peak in (11, 15, 7))
    for code, (a, b) in enumerate([(h1, h2), (h1, h3), (h2, h3)]):
        rows = data.X[data.y == code]
        np.testing.assert_allclose(rows.mean(axis=0), (a + b) / 2, atol=0.08)
        np.testing.assert_allclose(rows.var(axis=0), 1 + (a - b) ** 2 / 12, rtol=0.08)
    assert data.relevant == tuple(range(1, 20))


def test_subclasses_stand_at_their_centres():
    data = subclasses(n=2000)
    assert data.groups is not None
    for group, centre in enumerate([(8, 0), (0, 8), (0, 0)]):
        np.testing.assert_allclose(data.X[data.groups == group].mean(axis=0), centre, atol=0.12)
    assert (data.labels[data.groups == 2] == "Y2").all()
    assert (data.labels[data.groups < 2] == "Y1").all()


def test_six_gaussians_differ_in_six_means():
    data = six_gaussians(n=20000)
    gap = data.X[data.y == 1].mean(axis=0) - data.X[data.y == 0].mean(axis=0)
    np.testing.assert_allclose(gap[:6], 1.5, atol=0.07)
    np.testing.assert_allclose(gap[6:], 0, atol=0.03)
    assert data.n_features == 20
    assert data.relevant == tuple(range(6))
    assert data.X[:, 6:].min() >= 0
    assert data.X[:, 6:].max() < 1


def test_sign_bits_are_the_signs():
    data = sign_bits()
    np.testing.assert_array_equal(data.y, 2 * (data.X[:, 0] > 0) + (data.X[:, 1] > 0))
    assert data.relevant == (0, 1)


def test_sign_bits_need_two_classes():
    seed = next(s for s in range(100) if _all_positive(s))
    with pytest.raises(InputError, match="only one class"):
        sign_bits(n=2, seed=seed)


def _all_positive(seed):
    draws = np.random.default_rng(seed).spawn(2)[0].standard_normal((2, 10))
    return (draws[:, :2] > 0).all()
