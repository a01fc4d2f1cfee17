from dataclasses import replace

import pytest

from convexfs.methods.base.fixed_point import FixedPointCertificate
from convexfs.records import Certificate

GOOD = FixedPointCertificate(
    primal_residual=0.0,
    dual_residual=None,
    complementarity=None,
    gap=1e-11,
    tol=1e-9,
    basis="formula",
    residual=5e-4,
    residual_tol=1e-3,
    n_violated=0,
    n_features=100,
)


def test_all_parts_together_prove_a_fixed_point():
    assert GOOD.ok
    assert str(GOOD) == (
        "proven: a fixed point (gap 1e-11, residual 5e-04, 0 of 100 features violated)"
    )


@pytest.mark.parametrize(
    "damage",
    [
        {"gap": float("nan")},
        {"primal_residual": 1e-3},
        {"residual": 2e-3},
        {"residual": float("nan")},
        {"n_violated": 1},
    ],
)
def test_each_part_alone_refutes(damage):
    refuted = replace(GOOD, **damage)
    assert refuted.ok is False
    assert str(refuted).startswith("refuted: not a fixed point")


def test_a_gap_above_the_tolerance_leaves_a_fixed_point_undecided():
    left_open = replace(GOOD, gap=1e-8)
    assert left_open.ok is None
    assert str(left_open).startswith("undecided: perhaps a fixed point (gap 1e-08")


def test_tables_find_the_columns_of_every_certificate():
    plain = Certificate(0.0, None, None, 1e-11, 1e-9, "formula")
    assert set(GOOD.as_dict()) == set(plain.as_dict())
    assert GOOD.as_dict()["basis"] == (
        "formula; claims a fixed point: residual 5e-04, 0 of 100 features violated"
    )
