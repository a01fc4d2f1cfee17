import sys

import numpy as np
import pytest

from convexfs import load
from convexfs.data.build import make_dataset
from convexfs.data.writers import WRITERS, check_target, write_file
from convexfs.errors import InputError
from tests.data.kinds import skip_without_packages


def data(**options):
    rng = np.random.default_rng(0)
    labels = np.array(["no", "yes, or so"])[np.arange(12) % 2]
    return make_dataset(rng.standard_normal((12, 2)), labels, ["height, cm", "y"], **options)


@pytest.mark.parametrize("suffix", WRITERS)
def test_what_is_written_is_read_back(tmp_path, suffix):
    skip_without_packages(path := tmp_path / f"some{suffix}")
    written = data(target="kind")
    write_file(written, path)
    read = load(path, target=None if suffix == ".npz" else "kind")
    # workbooks hold sixteen digits
    np.testing.assert_allclose(read.X, written.X, rtol=1e-15 if suffix == ".xlsx" else 0)
    np.testing.assert_array_equal(read.labels, written.labels)
    assert read.feature_names == written.feature_names


@pytest.mark.parametrize("suffix", WRITERS)
def test_ids_are_written_too(tmp_path, suffix):
    skip_without_packages(path := tmp_path / f"some{suffix}")
    write_file(data(target="kind", ids=[f"p{i}" for i in range(12)], id_name="patient"), path)
    read = load(path, target=None if suffix == ".npz" else "kind")
    assert read.ids == tuple(f"p{i}" for i in range(12))
    assert read.feature_names == ("height, cm", "y")


@pytest.mark.parametrize(("suffix", "package"), [(".xlsx", "openpyxl"), (".parquet", "pyarrow")])
def test_a_file_that_no_package_writes_is_refused_before_any_work(
    tmp_path, monkeypatch, suffix, package
):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(InputError, match=rf"some\{suffix} needs .* pip install '{package}'"):
        check_target(tmp_path / f"some{suffix}", WRITERS)


def test_a_sheet_has_only_so_many_columns(tmp_path):
    skip_without_packages("some.xlsx")
    wide = make_dataset(np.eye(4, 17_000), [0, 1, 0, 1])
    with pytest.raises(InputError, match=r"17000 features: a sheet has 16384 columns; write \.csv"):
        write_file(wide, tmp_path / "some.xlsx")


def test_a_feature_may_be_called_like_the_target(tmp_path):
    write_file(data(target="y"), tmp_path / "some.csv")
    assert load(tmp_path / "some.csv", target="y_").feature_names == ("height, cm", "y")


def test_a_split_survives_in_npz(tmp_path):
    write_file(data(split=np.arange(12) // 9), tmp_path / "some.npz")
    assert load(tmp_path / "some.npz").split.tolist() == [0] * 9 + [1] * 3  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("some.doc", r"no known format; name it by one of \.csv, \.tsv, \.parquet, \.xlsx"),
        ("nowhere/some.csv", "there is no folder .*nowhere to write some.csv in"),
        ("folder.csv", "is a folder; name a file in it"),
    ],
)
def test_a_bad_place_is_refused_before_any_work(tmp_path, name, message):
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InputError, match=message):
        check_target(tmp_path / name, WRITERS)


def test_a_disk_that_refuses_is_one_sentence(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setitem(WRITERS, ".csv", refuse)
    with pytest.raises(InputError, match=r"cannot be written \(No space left on device\)"):
        write_file(data(), tmp_path / "some.csv")
