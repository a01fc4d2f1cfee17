import pytest

from convexfs.data.readers import memory_limit
from convexfs.data.readers.memory_limit import ReadLimit, machine_memory, read_limit, size_text
from convexfs.errors import InputError


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("4GB", 4e9),
        ("500 mb", 5e8),
        ("1.5G", 1.5e9),
        ("2GiB", 2 * 2**30),
        ("1024", 1024),
        ("10b", 10),
        ("1T", 1e12),
        (123, 123),
        (1e6, 1e6),
    ],
)
def test_sizes_as_people_write_them(asked, expected):
    assert read_limit(asked).bytes == expected


@pytest.mark.parametrize(
    "asked",
    [
        "",
        "GB",
        "-1GB",
        "2XB",
        "1iB",
        "four",
        "inf",
        "1e9",
        "9" * 400,
        "4 GB of it",
        "0",
        0,
        -5,
        True,
    ],
)
def test_sizes_that_are_none(asked):
    with pytest.raises(InputError, match=r"a read limit is a size such as 4GB|at least 1"):
        read_limit(asked)


def test_half_of_the_memory_unless_asked():
    assert read_limit().bytes == machine_memory() / 2
    assert machine_memory() > 10**8


def test_a_container_has_less(monkeypatch, tmp_path):
    monkeypatch.setattr(memory_limit, "_CONTAINER_LIMITS", (tmp_path / "none", tmp_path / "max"))
    whole = machine_memory()
    (tmp_path / "max").write_text("max\n")
    assert machine_memory() == whole
    (tmp_path / "max").write_text("1000000\n")
    assert machine_memory() == 1_000_000


def test_what_is_too_much_is_told_in_full():
    limit = ReadLimit(4e9, "half of this machine's memory")
    limit.check(4e9, "just this")
    with pytest.raises(InputError) as refused:
        limit.check(10**12, "x.npz")
    assert str(refused.value) == (
        "x.npz would need 1 TB of memory, more than the 4 GB that reading may take (half of this "
        "machine's memory); keep fewer rows or columns, or allow more by --read-limit (from "
        "Python read_limit=)"
    )


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1500, "1.5 kB"),
        (2e13, "20 TB"),
        (10**400, "over 1000 TB"),
    ],
)
def test_size_text(count, text):
    assert size_text(count) == text
