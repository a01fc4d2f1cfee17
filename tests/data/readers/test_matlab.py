"""MATLAB files: what they hold, and that a reader which crashes costs a line of error only."""

import sys

import numpy as np
import pytest
from scipy import sparse
from scipy.io import savemat

from convexfs import load
from convexfs.cli import main
from convexfs.data.readers import matlab
from convexfs.errors import InputError

X, Y = np.arange(12.0).reshape(6, 2), np.arange(6) % 2


@pytest.fixture
def saved(tmp_path):
    def save(**variables):
        savemat(tmp_path / "d.mat", variables)
        return tmp_path / "d.mat"

    return save


def test_what_is_no_array_may_stand_beside_the_data(saved):
    ragged = np.array([[1.0], [1.0, 2.0]], dtype=object)
    path = saved(X=X, y=Y, about={"when": 1}, S=sparse.eye(3, format="csc"), ragged=ragged)
    np.testing.assert_array_equal(load(path).X, X)


@pytest.mark.parametrize(
    ("samples", "kind"),
    [
        (sparse.csc_matrix(X), "sparse matrix"),
        ({"a": 1.0}, "structure"),
        (np.array([X, X[:2]], dtype=object), "cell array"),
    ],
)
def test_samples_that_are_no_array_are_named(saved, samples, kind):
    with pytest.raises(InputError, match=rf"d\.mat holds X as a {kind}; .*X\.toarray\(\)"):
        load(saved(X=samples, y=Y))


def test_a_file_that_crashes_the_reader_costs_one_line(saved, monkeypatch, capsys):
    path = saved(X=X, y=Y)
    monkeypatch.setattr(matlab, "_CHILD", "import os; os.abort()")
    assert main(["select", str(path)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "d.mat cannot be read as .mat (it ends the process that reads it" in line


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is held on Linux only")
def test_cells_that_take_more_than_they_declare_are_ended_at_the_limit(saved, monkeypatch):
    # a cell is declared as one number, and is an array with some text
    cells = np.array(["class"] * 50_000, dtype=object)
    without_overhead = (
        "from convexfs.data.readers import matlab; matlab._OVERHEAD = 0; matlab.send()"
    )
    monkeypatch.setattr(matlab, "_CHILD", without_overhead)
    with pytest.raises(InputError, match=r"takes more memory than the 3\.5 MB that reading may"):
        load(saved(X=X, y=cells), read_limit="3.5MB")
