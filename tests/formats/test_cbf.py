"""CBF as its manual has it: every cone with a known optimum, and wrong files with the line."""

import math

import numpy as np
import pytest

from convexfs import read_problem
from convexfs.errors import InputError
from tests.typed import known

#: min x_1 + x_2, a point of a cone whose other entries are said by equations.
CONE = """\
# a comment
VER
{version}

{powers}
OBJSENSE
MIN

VAR
3 1
{cone} 3

CON
{count} 1
L= {count}

OBJACOORD
{cost}
ACOORD
{rows}
BCOORD
{sides}
"""


def fixed(cone, cost, equal, *, version=3, powers=""):
    """A cone in three variables, of which some are equal to numbers."""
    rows = "\n".join(f"{i} {j} 1" for i, (j, _) in enumerate(equal))
    sides = "\n".join(f"{i} {-value!r}" for i, (_, value) in enumerate(equal))
    costs = "\n".join(f"{j} {value!r}" for j, value in cost)
    return CONE.format(
        version=version, powers=powers, cone=cone, count=len(equal),
        cost=f"{len(cost)}\n{costs}", rows=f"{len(equal)}\n{rows}", sides=f"{len(equal)}\n{sides}",
    )  # fmt: skip


POWERS = "POWCONES\n1 2\n2\n1.0\n3.0\n"
DUAL_POWERS = "POW*CONES\n1 2\n2\n1.0\n3.0\n"


@pytest.mark.parametrize(
    ("text", "optimum"),
    [
        # x0 >= |(x1, x2)|
        (fixed("Q", [(0, 1.0)], [(1, 3.0), (2, 4.0)], version=1), 5),
        # 2 x0 x1 >= x2^2
        (fixed("QR", [(0, 1.0)], [(1, 2.0), (2, 4.0)], version=1), 4),
        # x0 >= x1 exp(x2 / x1)
        (fixed("EXP", [(0, 1.0)], [(1, 2.0), (2, 1.0)], version=2), 2 * math.exp(0.5)),
        # x0 >= -x2 exp(x1 / x2 - 1), x2 <= 0
        (fixed("EXP*", [(0, 1.0)], [(1, 3.0), (2, -2.0)]), 2 * math.exp(3 / -2 - 1)),
        # x0^(1/4) x1^(3/4) >= |x2|
        (fixed("@0:POW", [(0, 1.0)], [(1, 2.0), (2, 4.0)], powers=POWERS), 4**4 / 2**3),
        # (4 x0)^(1/4) (4/3 x1)^(3/4) >= |x2|
        (
            fixed("@0:POW*", [(0, 1.0)], [(1, 3.0), (2, 4.0)], powers=DUAL_POWERS),
            4**4 / 4**3 / 4,
        ),
        # [x0, x1/r; x1/r, x2], r = sqrt(2), semidefinite
        (fixed("SVECPSD", [(0, 1.0)], [(1, 2.0), (2, 1.0)], version=4), 2),
        (fixed("L+", [(0, 1.0)], [(1, 2.0), (2, 1.0)]), 0),
        (fixed("L-", [(0, -1.0)], [(1, -2.0), (2, -1.0)]), 0),
    ],
    ids=["Q", "QR", "EXP", "EXP*", "POW", "POW*", "SVECPSD", "L+", "L-"],
)
def test_each_cone_means_what_the_manual_says(tmp_path, text, optimum):
    (tmp_path / "a.cbf").write_text(text)
    problem = read_problem(tmp_path / "a.cbf")
    assert problem.solve(solver="CLARABEL") == pytest.approx(optimum, abs=1e-5)


SEMIDEFINITE = """\
VER
1
OBJSENSE
MAX
PSDVAR
1
2
VAR
2 2
F 1
L+ 1
PSDCON
1
2
CON
2 2
L= 1
L- 1
OBJFCOORD
2
0 0 0 1.0
0 1 0 0.5
OBJACOORD
1
1 -1.0
OBJBCOORD
10.0
FCOORD
2
0 0 0 0 1.0
0 0 1 1 1.0
ACOORD
1
1 0 1.0
BCOORD
2
0 -2.0
1 -3.0
HCOORD
2
0 0 0 0 1.0
0 1 1 1 1.0
DCOORD
1
0 1 0 2.0
"""


def test_matrices_as_variables_and_as_constraints(tmp_path):
    """Max <F, X> - x1 + 10, tr X = 2, x0 <= 3, [x0, 2; 2, x1] psd: X = 2 vv', x0 x1 = 4."""
    (tmp_path / "a.cbf").write_text(SEMIDEFINITE)
    problem = read_problem(tmp_path / "a.cbf")
    F = np.array([[1.0, 0.5], [0.5, 0.0]])
    expected = 2 * np.linalg.eigvalsh(F)[-1] - 4 / 3 + 10
    assert problem.solve(solver="CLARABEL") == pytest.approx(expected, abs=1e-5)
    assert sorted(variable.name() for variable in problem.variables()) == ["X_1", "x"]
    assert np.trace(known(problem.var_dict["X_1"].value)) == pytest.approx(2)


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("VER\n1\n", "VER\n9\n", 2, "version 9 of CBF is not read here"),
        ("VER\n1\n", "", 1, "a CBF file begins with VER"),
        ("MAX", "LARGEST", 4, "OBJSENSE must be MIN or MAX"),
        ("F 1\nL+ 1", "F 1\nQQ 1", 11, "there is no cone 'QQ'"),
        ("F 1\nL+ 1", "F 1\nEXP 1", 11, "EXP has three entries, not 1"),
        ("F 1\nL+ 1", "F 1\n@0:POW 1", 11, "a power cone's number"),
        ("F 1\nL+ 1", "F 1\nL+ 5", 11, "do not have 2 entries together"),
        ("F 1\nL+ 1", "F 1\nL+ x", 11, "must be an integer, not 'x'"),
        ("PSDVAR\n1\n2\n", "PSDVAR\n1\n99999\n", 7, "more than 50,000,000, the most read here"),
        ("VAR\n2 2", "VAR\n999999999 2", 9, "more than 50,000,000, the most read here"),
        ("0 1 0 0.5", "0 2 0 0.5", 22, "the matrix has 2 rows and columns"),
        ("0 1 0 0.5", "0 0 0 0.5", 22, "OBJFCOORD has this entry already"),
        ("0 1 0 0.5", "4 1 0 0.5", 22, "there is no entry 4 of PSDVAR"),
        ("1 0 1.0\nBCOORD", "1 7 1.0\nBCOORD", 34, "there is no entry 7 of VAR"),
        ("1 0 1.0\nBCOORD", "1 0 inf\nBCOORD", 34, "must be a number, not 'inf'"),
        ("1 0 1.0\nBCOORD", "1 0\nBCOORD", 34, "must be 3 on a line, not 2"),
        ("DCOORD\n1\n0 1 0 2.0\n", "DCOORD\n2\n0 1 0 2.0\n", 45, "the file ends where an entry"),
        ("DCOORD", "CHANGE", 43, "CHANGE begins another problem"),
        ("DCOORD", "ECOORD", 43, "'ECOORD' is no keyword"),
        ("DCOORD", "HCOORD", 43, "HCOORD stands here a second time"),
    ],
)
def test_a_wrong_file_is_refused_with_its_line(tmp_path, old, new, line, message):
    assert old in SEMIDEFINITE
    (tmp_path / "a.cbf").write_text(SEMIDEFINITE.replace(old, new, 1))
    with pytest.raises(InputError, match=rf"a\.cbf, line {line}: .*{message}"):
        read_problem(tmp_path / "a.cbf")


def test_whole_variables_and_the_constant(tmp_path):
    text = (
        "VER\n3\nOBJSENSE\nMAX\nVAR\n2 1\nL+ 2\nINT\n1\n0\nCON\n1 1\nL- 1\nOBJACOORD\n2\n0 2\n1 1\n"
    )
    text += "OBJBCOORD\n0.5\nACOORD\n2\n0 0 2\n0 1 1\nBCOORD\n1\n0 -5\n"
    (tmp_path / "a.cbf").write_text(text)
    problem = read_problem(tmp_path / "a.cbf")
    assert problem.is_mixed_integer()
    assert problem.solve(solver="HIGHS") == pytest.approx(5.5)
    whole = known(problem.var_dict["x"].value)[0]
    assert whole == pytest.approx(round(whole))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "the file ends without VER"),
        ("VER\n3\nOBJSENSE\nMIN\n", "has no variables"),
        ("VER\n3\n", "ends without OBJSENSE"),
        ("VER\n3\nPOWCONES\n1 3\n3\n1\n1\n1\n", "two exponents and three entries"),
        ("VER\n3\nPOWCONES\n1 2\n2\n1\n-1\n", "exponents of a power cone must be above 0"),
    ],
)
def test_other_hostile_files(tmp_path, content, message):
    (tmp_path / "a.cbf").write_text(content)
    with pytest.raises(InputError, match=message):
        read_problem(tmp_path / "a.cbf")
