"""Kinds of files that need packages of the extra ``tables``."""

from pathlib import Path
from typing import Any

import pytest

PACKAGES = {
    ".xlsx": ("openpyxl", "python_calamine"),
    ".zst": ("zstandard",),
    ".h5ad": ("h5py",),
    ".bed": ("bed_reader",),
}


def skip_without_packages(path: str | Path) -> None:
    """Skip a test of a file where the packages for its kind are not installed."""
    for package in PACKAGES.get(Path(path).suffix, ()):
        package_of_tables(package)


def package_of_tables(name: str) -> Any:
    """Return a package, or skip the test that uses it."""
    return pytest.importorskip(name, reason=f"{name}, of the extra tables, is missing")
