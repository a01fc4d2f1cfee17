"""Whoever waits for a compiler is told so, once, and nobody else is."""

from numba import njit

from convexfs.compiling import MESSAGE, announced


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
