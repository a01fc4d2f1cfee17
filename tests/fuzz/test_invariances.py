"""What must not matter, for every estimator: the laws of the fuzzer, each on the same samples."""

import pytest

from convexfs.methods import estimator_homes
from tests.fuzz.invariances import LAWS, METHODS, Case, judge

CASES = [
    pytest.param(method, settings, law, id=f"{method}-{number}-{law}")
    for method, several in METHODS.items()
    for number, settings in enumerate(several)
    for law, row in LAWS.items()
    if method not in row.but
]


def test_every_estimator_is_held_to_the_laws():
    assert {home.class_name(name) for name, home in estimator_homes().items()} == set(METHODS)


@pytest.mark.slow(cases=60)
@pytest.mark.parametrize(("method", "settings", "law"), CASES)
def test_the_law_holds(method, settings, law):
    for seed in range(2):
        verdict = judge(Case(method, settings, law, seed))
        assert verdict.failures == ()
        assert verdict.outcome == "holds"
