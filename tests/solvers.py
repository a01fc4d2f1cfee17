"""Solvers a test can use here: ECOS has no wheels for Python 3.13 and later."""

from importlib.metadata import requires

import pytest
from packaging.requirements import Requirement

from convexfs.solving.backends import BACKENDS


def installed(*names: str) -> list[str]:
    return [name for name in names if BACKENDS[name].installed]


def needs(*names: str) -> pytest.MarkDecorator:
    """Skip a test where not all of these solvers are there."""
    missing = [name for name in names if not BACKENDS[name].installed]
    return pytest.mark.skipif(bool(missing), reason=f"{', '.join(missing)} is missing")


def packages(extra: str) -> set[str]:
    """What is to be installed on this system with an extra, or with none (\"\")."""
    asked = map(Requirement, requires("convexfs") or ())
    return {
        need.name for need in asked if need.marker is None or need.marker.evaluate({"extra": extra})
    }
