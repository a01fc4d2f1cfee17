"""Random programs, written and read again, say the same of random points."""

import math
import tempfile
from pathlib import Path

import highspy
import numpy as np
import pytest
from scipy import sparse

from convexfs.formats import FORMATS
from convexfs.formats.instance import (
    EXPONENTIAL,
    NONNEGATIVE,
    POWER,
    SECOND_ORDER,
    SEMIDEFINITE,
    ZERO,
    Cone,
    Program,
    Variable,
)

SEEDS = range(25)
HELD = {
    ".mps": (),
    ".lp": (),
    ".cbf": (SECOND_ORDER, EXPONENTIAL, POWER, SEMIDEFINITE),
    ".dat-s": (SEMIDEFINITE,),
    ".npz": (SECOND_ORDER, EXPONENTIAL, POWER, SEMIDEFINITE),
}


def random_program(seed, suffix):
    draw = np.random.default_rng(seed)
    n = int(draw.integers(2, 7))
    cones = [Cone(ZERO, int(draw.integers(1, 3))), Cone(NONNEGATIVE, int(draw.integers(1, 5)))]
    for kind in HELD[suffix]:
        size = {SECOND_ORDER: int(draw.integers(1, 5)), SEMIDEFINITE: 4}.get(kind, 3)
        cones += [Cone(kind, size, 0.25 if kind == POWER else math.nan)] * int(draw.integers(0, 3))
    m = sum(cone.size for cone in cones)
    A = draw.standard_normal((m, n)) * (draw.random((m, n)) < 0.7)
    A[:, :2] += draw.choice([0.5, -2.0], (m, 2))  # no row of a single entry: that is a bound
    b = draw.standard_normal(m)
    if draw.random() < 0.3:
        A[cones[0].size], b[cones[0].size] = 0.0, 1.0  # an empty row
    start = 0
    for cone in cones:
        if cone.kind == SEMIDEFINITE:  # column by column, symmetric
            A[start + 2], b[start + 2] = A[start + 1], b[start + 1]
        start += cone.size
    lower = draw.choice([-np.inf, 0.0, -1.5, 0.25], n)
    upper = draw.choice([np.inf, 0.0, 2.5, 7.0], n)
    upper = np.where(upper < lower, lower, upper)
    return Program(
        c=draw.standard_normal(n),
        A=sparse.csr_array(A),
        b=b,
        cones=tuple(cones),
        lower=lower,
        upper=upper,
        integer=draw.random(n) < 0.3,
        d=float(draw.choice([0.0, 3.25])),
        P=_square(draw, n) if FORMATS[suffix].quadratic else None,
        maximise=bool(draw.random() < 0.5),
        variables=(Variable("w", n - 1), Variable("t", 1)),
    )


def _square(draw, n):
    if draw.random() < 0.5:
        return None
    half = draw.standard_normal((n, n)).round(2)
    return sparse.csc_array(half @ half.T)


def read_again(program, suffix):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"a{suffix}"
        written = FORMATS[suffix].dumps(program)
        path.write_bytes(written.encode() if isinstance(written, str) else written)
        return FORMATS[suffix].read(path)


def said_of(program, x):
    """Objective, and what every row is at a point: equations, inequalities, cones, each sorted."""
    whole = program.with_bounds_as_rows()
    rows = whole.A @ x + whole.b
    square = 0.0 if program.P is None else 0.5 * x @ (program.P @ x)
    found = {kind: np.sort(rows[whole.rows(kind)]) for kind in (ZERO, NONNEGATIVE)}
    blocks = [(cone.kind, tuple(rows[at].round(9))) for cone, at in whole.blocks
              if cone.kind not in found]  # fmt: skip
    return square + program.c @ x + program.d, found, sorted(blocks)


@pytest.mark.parametrize("suffix", HELD)
def test_what_is_read_says_the_same_of_every_point(suffix):
    for seed in SEEDS:
        program = random_program(seed, suffix)
        again = read_again(program, suffix)
        x = np.random.default_rng([seed, 1]).uniform(-2, 2, program.c.size)
        added = again.c.size - x.size  # SDPA's constant is a variable that is 1
        objective, linear, conic = said_of(program, x)
        objective_again, linear_again, conic_again = said_of(again, np.append(x, [1.0] * added))
        assert objective_again == pytest.approx(objective, rel=1e-12)
        assert conic_again == conic
        assert again.integer[: x.size].tolist() == program.integer.tolist()
        assert again.maximise == program.maximise
        if suffix == ".dat-s":
            both = [linear[NONNEGATIVE], linear[ZERO], -linear[ZERO], [0.0] * 2 * added]
            expected = np.sort(np.concatenate(both))
            np.testing.assert_allclose(linear_again[NONNEGATIVE], expected, atol=1e-12)
        else:
            for kind in linear:
                np.testing.assert_allclose(
                    np.sort(np.abs(linear_again[kind])), np.sort(np.abs(linear[kind])), atol=1e-12
                )


def test_another_program_reads_the_same_from_mps(tmp_path):
    for seed in SEEDS:
        program = random_program(seed, ".mps")
        path = tmp_path / "a.mps"
        path.write_text(FORMATS[".mps"].dumps(program))
        solver = highspy.Highs()
        solver.setOptionValue("output_flag", False)
        assert solver.readModel(str(path)) == highspy.HighsStatus.kOk
        held = solver.getLp()
        np.testing.assert_allclose(held.col_cost_, program.c)
        np.testing.assert_allclose(held.col_lower_, program.lower)
        np.testing.assert_allclose(held.col_upper_, program.upper)
        assert held.offset_ == pytest.approx(program.d)
        assert (held.sense_ == highspy.ObjSense.kMaximize) == program.maximise
        whole = [kind == highspy.HighsVarType.kInteger for kind in held.integrality_]
        assert (whole or [False] * program.c.size) == program.integer.tolist()
        parts = (np.array(held.a_matrix_.value_), np.array(held.a_matrix_.index_),
                 np.array(held.a_matrix_.start_))  # fmt: skip
        A = sparse.csc_array(parts, shape=program.A.shape)
        np.testing.assert_allclose(A.toarray(), program.A.toarray())
        np.testing.assert_allclose(held.row_lower_, -program.b)
