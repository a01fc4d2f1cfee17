"""``convexfs select`` on files that store a sparse matrix."""

import json
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.io import mmwrite
from sklearn.datasets import dump_svmlight_file

Y = np.arange(40) % 2
WIDTH = 6000
# Most features of few cells have no value at all, which is warned of.
pytestmark = pytest.mark.filterwarnings("ignore::convexfs.errors.ConvexfsWarning")


@pytest.fixture
def run(run):
    return partial(run, "select")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Samples of 6000 features, 1 % of them filled, the first three telling the classes apart."""
    rng = np.random.default_rng(0)
    X = np.where(rng.random((40, WIDTH)) < 0.01, rng.poisson(3.0, (40, WIDTH)) + 1.0, 0.0)
    X[:, :3] = rng.poisson(np.where(Y, 9.0, 1.0)[:, None], (40, 3))
    X[0, WIDTH - 1] = 1.0
    folder = tmp_path_factory.mktemp("sparse")
    dump_svmlight_file(sparse.csr_matrix(X), Y, str(folder / "d.svm"))
    mmwrite(folder / "d.mtx", sparse.coo_array(X))
    pd.DataFrame({"kind": Y}).to_csv(folder / "kinds.csv", index=False)
    return folder


#: Less than the 1.9 MB of the dense matrix.
LIMIT = ["--read-limit", "1.5MB"]


@pytest.mark.parametrize(
    "method", [["relief"], ["irelief", "--set", "sigma=50"], ["logo", "--set", "lam=5.0"]]
)
@pytest.mark.parametrize("source", [["d.svm"], ["d.mtx", "--labels", "kinds.csv"]])
def test_what_never_becomes_dense_is_selected_from(run, folder, monkeypatch, method, source):
    monkeypatch.chdir(folder)
    code, printed, said = run(*source, "--method", *method, "--top", 3, *LIMIT, "--json")
    assert code == 0
    told = json.loads(printed)
    assert told["selected"] == ["x1", "x2", "x3"]
    assert told["certificate"]["ok"]
    assert "divided by their standard deviation and not shifted" in said


def test_sparse_and_dense_reading_give_one_answer(run, folder, monkeypatch):
    from convexfs.selection import fit_by_name

    words = [folder / "d.svm", "--scale", "none", "--json", "--out", folder / "few.csv"]
    code, printed, _ = run(*words)
    assert code == 0
    monkeypatch.setattr(fit_by_name, "takes_sparse", lambda *_: False)
    _, dense, _ = run(*words)
    found, expected = json.loads(printed), json.loads(dense)
    assert found["selected"] == expected["selected"]
    one, other = (list(told["weights"].values()) for told in (found, expected))
    np.testing.assert_allclose(one, other, atol=1e-12)
    kept = pd.read_csv(folder / "few.csv")
    assert list(kept.columns) == [*found["selected"], "y"]


@pytest.mark.parametrize("more", [["--method", "lmba"], ["--knockoffs"], ["--method", "simba"]])
def test_what_must_be_dense_says_what_takes_it_sparse(run, folder, more):
    code, _, said = run(folder / "d.svm", *more, *LIMIT)
    assert code == 2
    assert "as a dense matrix of 40 x 6000, would need 1.92 MB" in said
    assert "or use relief, irelief, logo, rrelief, rlogo, which take it sparse" in said
    assert said.count("\n") == 1


@pytest.mark.parametrize("rule", [["--curve"], ["--stability", "--top", 2]])
def test_folds_and_halves_are_sparse_too(run, folder, rule):
    code, printed, _ = run(folder / "d.svm", *rule, *LIMIT, "--json")
    assert code == 0
    found = json.loads(printed)["selected"]
    assert found
    assert set(found) <= {"x1", "x2", "x3"}
