import numpy as np
from scipy.spatial.distance import cdist

from convexfs.methods.logo import estimator
from convexfs.methods.logo.estimator import class_distances


def test_a_narrow_kernel_is_the_nearest_neighbour():
    rng = np.random.default_rng(0)
    known, new, codes = rng.random((30, 4)), rng.random((7, 4)), np.repeat([0, 1, 2], 10)
    weights = np.array([1.0, 0.0, 2.0, 0.5])
    far = cdist(new * weights, known * weights, "cityblock")
    expected = np.column_stack([far[:, codes == c].min(axis=1) for c in range(3)])
    np.testing.assert_allclose(class_distances(new, known, codes, weights, 1e-6), expected)


def test_blocks_of_new_samples_change_nothing(monkeypatch):
    rng = np.random.default_rng(1)
    known, new, codes = rng.random((20, 3)), rng.random((50, 3)), np.repeat([0, 1], 10)
    whole = class_distances(new, known, codes, np.ones(3), 0.5)
    monkeypatch.setattr(estimator, "_BLOCK_CELLS", 60)
    np.testing.assert_array_equal(class_distances(new, known, codes, np.ones(3), 0.5), whole)


def test_integers_and_no_weight_at_all_are_fine():
    known, codes = np.arange(12, dtype=np.int8).reshape(6, 2), np.repeat([0, 1], 3)
    assert not class_distances(known, known, codes, np.zeros(2), 1.0).any()
    assert class_distances(known, known, codes, np.ones(2), 1e-9)[0, 0] == 0
