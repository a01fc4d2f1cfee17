"""Whoever waits for a compiler is told so, once; and kernels run where no cache can be written."""

import gc
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from numba import float64, njit
from numba.core.errors import TypingError
from numba.experimental import jitclass

from convexfs import Relief, kernels
from convexfs.kernels import MESSAGE, announced, compiled


def kernel_of(module):
    """A kernel that is not compiled yet, as if written in some module."""

    def double(x):
        return 2 * x

    double.__module__ = module
    return njit(double)


def test_the_first_kernel_of_this_package_is_announced():
    said = []
    with announced(said.append):
        first, second = kernel_of("convexfs.first"), kernel_of("convexfs.second")
        assert first(2) == 4
        assert said == [MESSAGE]
        assert second(3) == 6
    assert said == [MESSAGE]


def test_nothing_is_said_of_others_kernels_nor_of_compiled_ones_nor_afterwards():
    said = []
    compiled, later = kernel_of("convexfs.compiled"), kernel_of("convexfs.later")
    compiled(1)
    with announced(said.append):
        compiled(2)
        kernel_of("elsewhere")(1)
    later(1)
    assert said == []


FIT = """
import logging, os
logging.basicConfig(format="%(message)s")
from convexfs import Simba
print(Simba(random_state=0).fit([[0, 1], [1, 5], [7, 2], [8, 4]], [0, 0, 1, 1]).weights_)
print(os.environ["NUMBA_CACHE_DIR"])
"""


@pytest.mark.slow
def test_an_estimator_fits_where_no_cache_can_be_written(tmp_path):
    file = tmp_path / "file"
    file.touch()
    # The one place numba may look for a cache would have to be a folder in a file.
    variables = {
        "NUMBA_CACHE_DIR": str(file / "cache"),
        "NUMBA_CACHE_LOCATOR_CLASSES": "UserProvidedCacheLocator",
        "TMPDIR": str(tmp_path),
    }
    ran = subprocess.run(
        [sys.executable, "-c", FIT], env=os.environ | variables, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr.count("no cache can be written: set NUMBA_CACHE_DIR") == 1
    assert str(tmp_path / "convexfs-numba-") in ran.stdout
    assert list(tmp_path.iterdir()) == [file]


def test_without_any_folder_kernels_are_compiled_uncached(monkeypatch):
    def no_folder(**options):
        if options.get("cache"):
            raise RuntimeError("cannot cache function: no locator available")
        return njit(**options)

    def disk_full(**options):
        raise OSError("No space left on device")

    monkeypatch.setattr(kernels, "njit", no_folder)
    monkeypatch.setattr(kernels.tempfile, "mkdtemp", disk_full)
    assert compiled()(lambda x: 2 * x)(3) == 6


def test_garbage_is_collected_again_after_a_kernel_is_compiled_or_fails():
    def observed(x):
        return len(x)

    observed.__module__ = "convexfs.observed"
    kernel = njit(observed)
    assert gc.isenabled()
    assert kernel((1, 2)) == 2
    assert gc.isenabled()
    with pytest.raises(TypingError):
        kernel(1)
    assert gc.isenabled()


class Box:
    def __init__(self, a):
        self.a = a


def test_classes_of_other_packages_are_compiled_after_a_fit():
    Relief().fit(np.random.default_rng(0).normal(size=(20, 3)), np.arange(20) % 2)
    assert jitclass([("a", float64)])(Box)(1.5).a == 1.5


SELECT = [sys.executable, "-m", "convexfs", "select", "iris", "--top", "2"]


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """The kernels of a short command, compiled into a new cache."""
    folder = tmp_path_factory.mktemp("cache")
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder)}
    subprocess.run(SELECT, env=environment, capture_output=True, check=True)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["nbi", "nbc"])
def test_a_damaged_cache_of_kernels_is_one_line_that_names_it(cache, tmp_path, ending):
    shutil.copytree(cache, tmp_path, dirs_exist_ok=True)
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    damaged = [*tmp_path.rglob(f"*.{ending}")]
    assert damaged
    for file in damaged:
        file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    ran = subprocess.run(SELECT, env=environment, capture_output=True, text=True)
    assert ran.returncode == 2
    assert ran.stderr.count("\n") == 1, ran.stderr
    assert "are damaged; delete that folder" in ran.stderr
    assert str(tmp_path) in ran.stderr
