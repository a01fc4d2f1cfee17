import numpy as np
import pytest

from convexfs import load
from convexfs.methods.lfe.numbers import signed_laplacian, signed_scatter
from convexfs.neighbors.hits_misses import signed_neighbors
from convexfs.neighbors.margins import margin_vector


@pytest.mark.parametrize("miss", ["nearest", "prior"])
def test_scatter_is_the_sum_of_outer_products(miss):
    data = load("wine").scaled()
    neighbors = signed_neighbors(data.X, data.y, 3, "sqeuclidean", miss)
    expected = np.zeros((13, 13))
    for n, group, m in np.ndindex(neighbors.index.shape):
        difference = data.X[n] - data.X[neighbors.index[n, group, m]]
        expected += neighbors.coefficient[n, group, m] * np.outer(difference, difference)
    Sigma = signed_scatter(data.X + 1e3, neighbors)
    np.testing.assert_allclose(Sigma, expected, atol=1e-8)
    z = margin_vector(data.X, neighbors, "sqeuclidean")
    np.testing.assert_allclose(Sigma.diagonal(), z, atol=1e-8)


def test_rows_of_the_laplacian_sum_to_nothing():
    data = load("iris").scaled()
    L = signed_laplacian(signed_neighbors(data.X, data.y, 2, "sqeuclidean"))
    np.testing.assert_allclose(L.sum(axis=1), 0, atol=1e-12)
    np.testing.assert_allclose(L.toarray(), L.toarray().T)
