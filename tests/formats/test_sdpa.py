"""SDPA's sparse format, with all the liberties its manual takes."""

import numpy as np
import pytest

from convexfs import read_problem
from convexfs.errors import InputError
from convexfs.formats.sdpa import read

PLAIN = """\
"Example 1: mDim = 3, nBLOCK = 1, {2}"
   3  =  mDIM
   1  =  nBLOCK
   2  = bLOCKsTRUCT
48, -8, 20
0 1 1 1 -11
0 1 2 2 23
1 1 1 1 10
1 1 1 2 4
2 1 2 2 -8
3 1 1 2 -8
3 1 2 2 -2
"""
BRACES = """\
* a comment
"another
2 =mdim
2 =nblocks
(2, -3)
{1.0,
 2.0}
0 1 1 1 1.0
0 1 2 2 2.0
1 1 1 1 1.0
2 1 2 2 1.0D+00
1 1 1 2 0.5
0 2 1 1 -9.0
1 2 1 1 -1.0
2,2,2,2,1.0
"""


def test_the_example_of_the_manual(tmp_path):
    (tmp_path / "a.dat-s").write_text(PLAIN)
    problem = read_problem(tmp_path / "a.dat-s")
    assert problem.solve(solver="CLARABEL") == pytest.approx(-41.9, abs=1e-4)


def test_braces_commas_remarks_and_diagonal_blocks(tmp_path):
    (tmp_path / "a.dat-s").write_text(BRACES)
    held = read(tmp_path / "a.dat-s")
    assert held.c.tolist() == [1, 2]
    at = held.A @ [3.0, 5.0] + held.b
    np.testing.assert_allclose(at[:4].reshape(2, 2), [[2, 1.5], [1.5, 3]])
    # x_1 <= 9 is written as -x_1 + 9 >= 0; the last row is empty.
    np.testing.assert_allclose(at[4:], [6, 5, 0])


def test_whole_variables_are_comments_at_the_end(tmp_path):
    (tmp_path / "a.dat-s").write_text(BRACES + "*INTEGER\n*2\n")
    assert read(tmp_path / "a.dat-s").integer.tolist() == [False, True]
    (tmp_path / "b.dat-s").write_text(BRACES + "*INTEGER\n*3\n")
    with pytest.raises(InputError, match=r"b\.dat-s, line 17: a whole variable must be at least 1"):
        read(tmp_path / "b.dat-s")


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("3  =  mDIM", "x  =  mDIM", 2, "the number of variables must stand here, not 'x'"),
        ("3  =  mDIM", "0  =  mDIM", 3, "there must be a variable and a block"),
        ("2  = bLOCKsTRUCT", "0  = bLOCKsTRUCT", 4, "a block cannot have size 0"),
        ("2  = bLOCKsTRUCT", "9999999", 4, "rows or columns are more than 50,000,000"),
        ("3  =  mDIM", "99999999999999999999", 3, "are more than 50,000,000, the most read here"),
        ("2  = bLOCKsTRUCT", "2.5  = bLOCKsTRUCT", 4, "must be whole, not 2.5"),
        ("48, -8, 20", "48, -8, x", 5, "must be a number, not 'x'"),
        ("48, -8, 20\n", "48, -8\n", 6, "must be 3 numbers, and before this line are 2"),
        ("0 1 2 2 23", "4 1 2 2 23", 7, "a matrix must be at least 0 and at most 3, not 4"),
        ("0 1 2 2 23", "0 2 2 2 23", 7, "a block must be at least 1 and at most 1"),
        ("0 1 2 2 23", "0 1 2 3 23", 7, "a row or column must be at least 1 and at most 2"),
        ("0 1 2 2 23", "0 1 2 2", 7, "matrix, block, row, column and value, not 4 words"),
        ("1 1 1 2 4\n", "1 1 1 2 4\n1 1 2 1 4\n", 10, "or its mirror image, was given before"),
    ],
)
def test_a_wrong_file_is_refused_with_its_line(tmp_path, old, new, line, message):
    assert old in PLAIN
    (tmp_path / "a.dat-s").write_text(PLAIN.replace(old, new, 1))
    with pytest.raises(InputError, match=rf"a\.dat-s, line {line}: .*{message}"):
        read_problem(tmp_path / "a.dat-s")


def test_a_diagonal_block_has_only_its_diagonal(tmp_path):
    (tmp_path / "a.dat-s").write_text(BRACES.replace("2,2,2,2,1.0", "2,2,1,2,1.0"))
    with pytest.raises(InputError, match="line 15: block 2 is diagonal: it has no entry 1, 2"):
        read_problem(tmp_path / "a.dat-s")
    (tmp_path / "b.dat-s").write_text("")
    with pytest.raises(InputError, match="ends where the number of variables should stand"):
        read_problem(tmp_path / "b.dat-s")
