"""Columns on the workers of a dask cluster: the answer of an array, and little that travels."""

import os
import signal

import numpy as np
import pytest

from convexfs import IRelief, Logo, Relief
from convexfs.data import dask_columns
from convexfs.data.dask_columns import DaskColumns
from convexfs.data.out_of_core import SlicedColumns, column_source
from convexfs.errors import InputError, RunError
from tests.batch.processes import alive
from tests.data.columns import genotypes, two_classes
from tests.typed import known
from tests.waiting import until

pytestmark = pytest.mark.cluster
da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

#: Chunks of columns that are not cut where an array's own blocks are.
CHUNKS = (40, 370)


@pytest.fixture(scope="module")
def client():
    """A cluster of three workers in this process."""
    cluster = distributed.LocalCluster(
        n_workers=3, threads_per_worker=1, processes=False, dashboard_address=":0"
    )
    with cluster, distributed.Client(cluster) as client:
        yield client


def test_blocks_are_the_array(client):
    X, _ = two_classes()
    source = DaskColumns(da.from_array(X, chunks=CHUNKS), client)
    assert (source.shape, source.dtype) == (X.shape, X.dtype)
    found = source.gather(lambda block: np.hstack([*block.parts(100)]))
    assert [part.shape[1] for part in found] == [370] * 6 + [280]
    np.testing.assert_array_equal(np.hstack(found), X)
    total = source.reduce(lambda block: sum(part.sum(dtype=float) for part in block.parts(64)))
    assert total == pytest.approx(X.sum(dtype=float))
    index = np.array([2499, 0, 370, 369, 0])
    np.testing.assert_array_equal(source.take(index), X[:, index])
    assert source.take(np.empty(0, int)).shape == (40, 0)


@pytest.mark.parametrize("make", [two_classes, genotypes])
@pytest.mark.parametrize(
    "estimator", [
        Relief(n_neighbors=5, n_features_to_select=5),
        IRelief(n_features_to_select=5, max_iter=5, tol=1.0),
        Logo(),
    ],
    ids=lambda own: type(own).__name__,
)  # fmt: skip
def test_the_answer_is_that_of_an_array(client, estimator, make):
    X, y = make()
    there = da.from_array(X, chunks=CHUNKS)
    ours = type(estimator)(**estimator.get_params()).fit(there, y)
    theirs = type(estimator)(**estimator.get_params()).fit(X, y)
    np.testing.assert_allclose(ours.weights_, theirs.weights_, atol=1e-8, rtol=0)
    np.testing.assert_array_equal(ours.get_support(), theirs.get_support())
    assert ours.certificate_.ok
    np.testing.assert_array_equal(ours.transform(there), X[:, ours.get_support()])


def test_rows_that_were_parted_are_put_together(client):
    X, y = two_classes()
    ours = Relief(n_features_to_select=5).fit(da.from_array(X, chunks=(7, 500)), da.asarray(y))
    theirs = Relief(n_features_to_select=5).fit(X, y)
    np.testing.assert_allclose(ours.weights_, theirs.weights_, atol=1e-12)


def test_sums_travel_and_columns_do_not(client):
    X, _ = two_classes()
    source = DaskColumns(da.from_array(X, chunks=CHUNKS), client)
    source.reduce(pairwise)
    assert source.bytes_from == 3 * 40 * 40 * 8
    before = source.bytes_from
    source.take(np.arange(10))
    assert source.bytes_from - before == 10 * 40 * 4 + 10 * 8
    assert 0 < source.bytes_to < 1000


def test_many_sums_are_added_up_on_the_workers(client, monkeypatch):
    X, _ = two_classes()
    source = DaskColumns(da.from_array(X, chunks=CHUNKS), client)
    monkeypatch.setattr(dask_columns, "_FAN", 2)
    assert source.reduce(block_sum) == pytest.approx(X.sum(dtype=float))
    assert source.bytes_from == 2 * 8


def block_sum(block):
    return np.array(sum(part.sum(dtype=float) for part in block.parts(64)))


def pairwise(block):
    return np.zeros((block.n_samples, block.n_samples))


def test_without_a_client_dask_reads_where_we_are(monkeypatch):
    def none():
        raise ValueError("No clients found")

    monkeypatch.setattr(distributed, "default_client", none)
    X, y = two_classes()
    array = da.from_array(X, chunks=CHUNKS)
    assert isinstance(column_source(array), SlicedColumns)
    ours = Relief(n_features_to_select=5).fit(array, y)
    np.testing.assert_allclose(
        ours.weights_, Relief(n_features_to_select=5).fit(X, y).weights_, atol=1e-12
    )


def test_arrays_that_cannot_be_used(client):
    X = da.from_array(np.ones((6, 6)), chunks=3)
    with pytest.raises(InputError, match="compute_chunk_sizes"):
        DaskColumns(X[X[:, 0] > 0], client)
    with pytest.raises(InputError, match="not of numbers"):
        DaskColumns(da.from_array(np.full((3, 3), "a"), chunks=3), client)


def breaking(block):
    raise ArithmeticError("as asked")


def test_what_goes_wrong_on_a_worker_is_one_sentence(client):
    source = DaskColumns(da.from_array(np.ones((6, 6)), chunks=3), client)
    with pytest.raises(RunError, match=r"cannot be read .ArithmeticError: as asked"):
        source.gather(breaking)


def part(block_id=None, n=40):
    """A chunk that a worker makes, so that another can make it again."""
    X, _ = two_classes(n=n, j=500, seed=known(block_id)[1])
    return X


def test_a_worker_that_dies_midway_costs_nothing_but_time(monkeypatch):
    _, y = two_classes()
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        array = da.map_blocks(part, chunks=((40,), (500,) * 6), dtype=np.float32)
        expected = Logo().fit(np.hstack([part((0, i)) for i in range(6)]), y)
        calls, passes = [], DaskColumns._submitted

        def deadly(self, *arguments):
            """Kill a worker that has chunks before the fourth pass."""
            calls.append(1)
            if len(calls) == 4:
                home = next(iter(self._homes(self._chunks)))
                pid = client.run(os.getpid, workers=[home])[home]
                os.kill(pid, signal.SIGKILL)
                until(lambda: not alive(pid))
            return passes(self, *arguments)

        monkeypatch.setattr(DaskColumns, "_submitted", deadly)
        ours = Logo().fit(array, y)
    assert len(calls) > 4
    np.testing.assert_allclose(ours.weights_, expected.weights_, atol=1e-8, rtol=0)
    assert ours.certificate_.ok
