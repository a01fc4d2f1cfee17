"""Public sets by name: which files are taken, samples of all sizes, errors that help."""

import pytest

from convexfs.errors import InputError
from convexfs.study.public_sets import files_of


@pytest.fixture
def instances(tmp_path):
    """Two sets: twenty linear programs of growing size, three cone programs."""
    for folder, names in (
        ("netlib", [f"lp{i:02d}.mps.gz" for i in range(20)]),
        ("cblib_exp", ["a.cbf", "b.cbf.gz", "c.cbf"]),
    ):
        (tmp_path / folder).mkdir()
        for size, name in enumerate(names, start=1):
            (tmp_path / folder / name).write_bytes(b"x" * size)
    (tmp_path / "netlib" / "README").write_text("no problem")
    return tmp_path


def test_a_set_is_its_files_of_known_formats_smallest_first(instances):
    found = files_of(["netlib"], instances)
    assert [path.name for path in found] == [f"lp{i:02d}.mps.gz" for i in range(20)]
    assert len(files_of(["all"], instances)) == 23
    assert len(files_of(["netlib,cblib-exp"], instances)) == 23
    assert {path.parent.name for path in files_of(["cblib-exp"], instances)} == {"cblib_exp"}


def test_a_sample_has_all_sizes_and_follows_from_the_seed(instances):
    found = files_of(["all"], instances, sample=4, seed=3)
    assert found == files_of(["all"], instances, sample=4, seed=3)
    assert found != files_of(["all"], instances, sample=4, seed=4)
    sizes = [path.stat().st_size for path in found[:4]]
    assert [(size - 1) // 5 for size in sizes] == [0, 1, 2, 3]
    assert len(found) == 4 + 3


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["netlb"], "did you mean netlib"),
        (["sdplib"], "has no folder sdplib: get the files from"),
    ],
)
def test_a_set_that_is_not_there_says_what_to_do(instances, names, words):
    with pytest.raises(InputError, match=words):
        files_of(names, instances)


def test_the_folder_must_be_named(tmp_path):
    with pytest.raises(InputError, match="--instances"):
        files_of(["netlib"], None)
    with pytest.raises(InputError, match="no folder of any public set"):
        files_of(["all"], tmp_path)
