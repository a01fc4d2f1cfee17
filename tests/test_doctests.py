"""The examples in docstrings print what they say."""

import doctest
import importlib
from pathlib import Path

import pytest

from convexfs.methods import estimator_homes

ROOT = Path(__file__).parents[1]
#: Modules with examples, by their dotted names.
WITH_EXAMPLES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for path in sorted((ROOT / "convexfs").rglob("*.py"))
    if ">>> " in path.read_text()
]


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_print_what_they_say(name):
    module = importlib.import_module(name)
    ran = doctest.testmod(module, optionflags=doctest.IGNORE_EXCEPTION_DETAIL)
    assert ran.attempted > 0
    assert ran.failed == 0


def test_every_estimator_has_an_example():
    homes = estimator_homes().items()
    assert {method.estimator(name).__module__ for name, method in homes} <= set(WITH_EXAMPLES)
