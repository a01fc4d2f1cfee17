"""Solvers a test can use here: ECOS has no wheels for Python 3.13 and later."""

import sys

from convexfs.solving.backends import BACKENDS

HAS_ECOS = BACKENDS["ECOS"].installed
#: Whether a missing ECOS is to be expected.
ECOS_EXPECTED = sys.version_info < (3, 13)


def installed(*names: str) -> list[str]:
    return [name for name in names if BACKENDS[name].installed]
