"""Estimators on columns that lie elsewhere: the answer of arrays, without a copy."""

import numpy as np
import pytest
import scipy.sparse as sp

from convexfs import IRelief, Logo, Relief
from convexfs.errors import InputError
from convexfs.neighbors import feature_blocks
from tests.data.columns import Slices, genotypes, two_classes
from tests.data.kinds import package_of_tables
from tests.typed import known

#: Estimators, and how near to those of an array their weights are.
ESTIMATORS = [
    Relief(n_neighbors=5, n_features_to_select=5),
    IRelief(n_features_to_select=5, max_iter=5, tol=1.0),
    Logo(),
]


def same(one, other, tol=1e-12):
    np.testing.assert_allclose(one.weights_, other.weights_, atol=tol, rtol=0)
    np.testing.assert_array_equal(one.get_support(), other.get_support())
    assert one.certificate_.ok
    assert other.certificate_.ok


def fitted(estimator, X, y):
    return type(estimator)(**estimator.get_params()).fit(X, y)


@pytest.fixture(params=["slices", "h5", "memmap"])
def elsewhere(request, tmp_path):
    """A function that puts an array somewhere else."""
    files = []

    def put(X):
        if request.param == "slices":
            return Slices(X)
        if request.param == "h5":
            h5py = package_of_tables("h5py")
            files.append(h5py.File(tmp_path / "x.h5", "w"))
            return files[0].create_dataset("X", data=X, chunks=(len(X), 100))
        np.save(tmp_path / "x.npy", X)
        return np.load(tmp_path / "x.npy", mmap_mode="r")

    yield put
    for file in files:
        file.close()


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda own: type(own).__name__)
def test_the_answer_is_that_of_an_array(estimator, elsewhere):
    X, y = two_classes()
    there = elsewhere(X)
    ours = fitted(estimator, there, y)
    same(ours, fitted(estimator, X, y))
    assert ours.n_features_in_ == 2500
    np.testing.assert_array_equal(ours.transform(there), X[:, ours.get_support()])


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda own: type(own).__name__)
def test_genotypes_are_the_numbers_they_are(estimator, elsewhere):
    X, y = genotypes()
    same(fitted(estimator, elsewhere(X), y), fitted(estimator, X.astype(float), y))


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda own: type(own).__name__)
def test_a_bed_file(estimator, tmp_path):
    bed_reader = package_of_tables("bed_reader")
    X, y = genotypes(j=1200)
    bed_reader.to_bed(tmp_path / "x.bed", X)
    with bed_reader.open_bed(tmp_path / "x.bed") as file:
        same(fitted(estimator, file, y), fitted(estimator, X.astype(float), y))


def test_a_zarr_array(tmp_path):
    zarr = pytest.importorskip("zarr")
    X, y = two_classes()
    array = zarr.create_array(tmp_path / "x.zarr", data=X, chunks=(17, 300))
    for estimator in ESTIMATORS:
        ours = fitted(estimator, array, y)
        same(ours, fitted(estimator, X, y))
        np.testing.assert_array_equal(ours.transform(array), X[:, ours.get_support()])


@pytest.mark.parametrize("stored", [np.asarray, sp.csr_matrix, sp.csc_matrix])
def test_a_backed_anndata(stored, tmp_path):
    anndata = pytest.importorskip("anndata")
    X, y = two_classes()
    X[np.abs(X) < 1.0] = 0.0
    anndata.AnnData(stored(X)).write_h5ad(tmp_path / "x.h5ad")
    backed = anndata.read_h5ad(tmp_path / "x.h5ad", backed="r")
    for estimator in ESTIMATORS:
        ours = fitted(estimator, backed.X, y)
        same(ours, fitted(estimator, X, y))
        np.testing.assert_array_equal(ours.transform(backed.X), X[:, ours.get_support()])


@pytest.mark.parametrize("dtype", [np.float16, np.int8, np.bool_, np.uint8])
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda own: type(own).__name__)
def test_narrow_numbers_are_never_converted_all_at_once(estimator, dtype, monkeypatch):
    X, y = two_classes(j=3000)
    X = (X > 0.5).astype(dtype) if dtype != np.float16 else X.astype(dtype)
    widest, centred = [], feature_blocks.centred
    for module in (feature_blocks, "convexfs.neighbors.out_of_core"):
        target = f"{getattr(module, '__name__', module)}.centred"
        monkeypatch.setattr(
            target, lambda part, dtype: widest.append(part.shape[1]) or centred(part, dtype)
        )
    before = X.copy()
    ours = fitted(estimator, X, y)
    assert max(widest) <= 1024
    np.testing.assert_array_equal(X, before)
    assert X.dtype == dtype
    same(ours, fitted(estimator, X.astype(float), y), tol=1e-8)


def test_an_array_in_memory_is_still_tested_by_permuted_labels():
    X, y = genotypes(n=60, j=300)
    narrow, wide = Relief(n_neighbors=5).fit(X, y), Relief(n_neighbors=5).fit(X.astype(float), y)
    np.testing.assert_array_equal(narrow.get_support(), wide.get_support())
    assert known(narrow.get_support())[:5].sum() >= 3


@pytest.mark.parametrize("wanted", [None, "auto"])
def test_what_needs_samples_in_memory_says_so(wanted):
    X, y = two_classes()
    selector = Relief(n_features_to_select=wanted).fit(Slices(X), y)
    assert selector.weights_.max() > 0
    with pytest.raises(InputError, match="pass n_features_to_select=k or 'relative'"):
        selector.get_support()
    assert known(Relief(n_features_to_select="relative").fit(Slices(X), y).get_support()).any()


@pytest.mark.parametrize(
    ("X", "y", "words"),
    [
        (Slices(two_classes()[0]), None, "Input y is missing"),
        (Slices(two_classes()[0]), np.arange(39) % 2, "40 samples and Input y 39"),
        (Slices(two_classes()[0]), np.zeros(40), "only one class"),
        (Slices(np.ones((1, 30))), [1], "at least 2 are needed"),
        (Slices(np.full((4, 30), np.nan)), [0, 1, 0, 1], "NaN or infinity at data row 1"),
    ],
)
def test_bad_columns_are_named(X, y, words):
    with pytest.raises(InputError, match=words):
        Logo().fit(X, y)


def test_transform_of_another_width_is_refused():
    X, y = two_classes()
    selector = Relief(n_features_to_select=3).fit(Slices(X), y)
    with pytest.raises(InputError, match="X has 9 features, but Relief is expecting 2500"):
        selector.transform(Slices(X[:, :9]))


def test_threads_give_the_same_answer():
    X, y = two_classes()
    one, two = Logo().fit(Slices(X), y), Logo(n_jobs=2).fit(Slices(X), y)
    np.testing.assert_array_equal(one.weights_, two.weights_)


def test_a_fit_to_columns_elsewhere_predicts_arrays():
    X, y = two_classes()
    there, here = (Logo(lam=1.0).fit(samples, y) for samples in (Slices(X), X))
    np.testing.assert_array_equal(there.predict(X), here.predict(X))
