"""MPS and QPS as others write them: read as HiGHS reads them, or refused with the line."""

from typing import Any

import highspy
import numpy as np
import pytest

from convexfs import read_problem, solve
from convexfs.errors import InputError
from convexfs.formats.mps import read

FIXED = """\
* a comment
NAME          TESTPROB
ROWS
 N  COST
 L  LIM1
 G  LIM2
 E  MYEQN
 N  FREEROW
COLUMNS
    XONE      COST                 1   LIM1                 1
    XONE      LIM2                 1   FREEROW              5
    YTWO      COST                 4   LIM1                 1
    YTWO      MYEQN               -1
    ZTHREE    COST                 9   LIM2                 1
    ZTHREE    MYEQN                1
RHS
    RHS1      COST               -12   LIM1                 4
    RHS1      LIM2                 1   MYEQN                7
RANGES
    RNG1      LIM1               2.5   MYEQN               -3
BOUNDS
 UP BND1      XONE                 4
 LO BND1      YTWO                -1
 UP BND1      YTWO                 1
ENDATA
"""
INTEGERS = """\
NAME
OBJSENSE
    MAX
ROWS
 N obj
 L c1
COLUMNS
    M1 'MARKER' 'INTORG'
    a obj 3 c1 2
    b obj 2 c1 1.5
    M2 'MARKER' 'INTEND'
    c obj 1 c1 1
    d obj 0.5 c1 1
    e obj 1
    f obj 1 c1 3
RHS
    c1 7.3
BOUNDS
 UP BND b 5
 UP BND c 2
 MI BND d
 UP BND d -1
 BV BND e
 UI BND f 3
ENDATA
"""
SQUARES = """\
NAME
ROWS
 N obj
 G c1
COLUMNS
    x obj -1 c1 1
    y obj -2 c1 1
RHS
    RHS c1 -5
BOUNDS
 FR BND x
 FX BND y 0.25
QUADOBJ
    x x 4
    x y 1
    y y 2
ENDATA
"""


@pytest.fixture
def write(tmp_path):
    def write(text, name="a.mps"):
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return write


def by_highs(path):
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    assert solver.readModel(str(path)) != highspy.HighsStatus.kError
    solver.run()
    return solver.getInfo().objective_function_value


@pytest.mark.parametrize("text", [FIXED, INTEGERS, SQUARES], ids=["fixed", "integers", "squares"])
def test_the_optimum_is_what_another_program_finds(write, text):
    path = write(text)
    problem = read_problem(path)
    solver = "HIGHS" if problem.is_mixed_integer() else "CLARABEL"
    assert problem.solve(solver=solver) == pytest.approx(by_highs(path), abs=1e-6)


def test_ranges_and_the_objective_s_constant(write):
    held = read(write(FIXED))
    assert held.d == 12
    # MYEQN in [4, 7], LIM1 in [1.5, 4], LIM2 >= 1, and the other free row is no row.
    at = held.A @ [1.0, 10.0, 100.0] + held.b
    assert sorted(at.tolist()) == sorted([90 - 4, 7 - 90, 11 - 1.5, 4 - 11, 101 - 1])


def test_names_with_blanks_stand_in_their_columns(write):
    text = FIXED.replace("XONE  ", "X ONE ").replace("LIM1", "LM 1").replace("YTWO  ", "Y  TWO")
    problem: Any = read_problem(write(text))  # typed without the columns
    assert problem.columns == ("X ONE", "Y  TWO", "ZTHREE")
    assert problem.solve(solver="HIGHS") == pytest.approx(by_highs(write(FIXED, "b.mps")))


def test_both_halves_of_a_matrix_are_the_same_as_one(write):
    both = SQUARES.replace("QUADOBJ", "QMATRIX").replace("    x y 1\n", "    x y 1\n    y x 1\n")
    one, other = read(write(SQUARES)), read(write(both, "b.mps"))
    np.testing.assert_array_equal(one.P.toarray(), other.P.toarray())
    np.testing.assert_array_equal(one.P.toarray(), [[4, 1], [1, 2]])


def test_bounds_mean_what_they_say(write):
    held = read(write(INTEGERS))
    assert held.lower.tolist() == [0, 0, 0, -np.inf, 0, 0]
    assert held.upper.tolist() == [1, 5, 2, -1, 1, 3]
    assert held.integer.tolist() == [True, True, False, False, True, True]
    assert held.maximise


def test_sets_of_bounds_may_be_nameless_or_called_like_a_column(write):
    held = read(write(INTEGERS.replace(" BND ", " ")))
    assert held.upper.tolist() == [1, 5, 2, -1, 1, 3]
    held = read(write(INTEGERS.replace(" BND ", " a ")))
    assert held.upper.tolist() == [1, 5, 2, -1, 1, 3]


def test_huge_numbers_are_no_bounds(write):
    text = FIXED.replace(
        " UP BND1      XONE                 4", " UP BND1      XONE              1e30"
    )
    assert read(write(text)).upper[0] == np.inf


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        (
            "LIM2                 1   FREEROW",
            "LIM9                 1   FREEROW",
            11,
            "no row 'LIM9'",
        ),
        ("COST                 4", "COST               abc", 12, "must be a number, not 'abc'"),
        ("COST                 4", "COST               nan", 12, "must be a number, not 'nan'"),
        (" UP BND1      XONE", " UP BND1      XTWO", 22, "there is no column 'XTWO'"),
        (" UP BND1      XONE", " XX BND1      XONE", 22, "there is no bound 'XX'"),
        (" UP BND1      XONE                 4", " UP BND1      XONE", 22, "needs one number"),
        (" UP BND1      XONE", " SC BND1      XONE", 22, "semi-continuous"),
        ("BOUNDS\n", "BOUNCE\n", 21, "'BOUNCE' is no section"),
        ("BOUNDS\n", "SOS\n", 21, "special ordered sets are not read"),
        ("BOUNDS\n", "RHS\n", 21, "RHS stands here a second time"),
        ("ENDATA\n", "", 24, "ends without ENDATA"),
        (" G  LIM2", " Q  LIM2", 6, "a row is N, L, G or E and a name"),
        (" G  LIM2", " G  LIM1", 6, "there is a row 'LIM1' already"),
        ("    ZTHREE    MYEQN ", "    XONE      MYEQN ", 15, "must stand together"),
        ("    ZTHREE    MYEQN ", "    ZTHREE    COST  ", 15, "an entry in row 'COST' already"),
        ("MYEQN               -3", "COST                -3", 20, "is free: it has no range"),
    ],
)
def test_a_wrong_file_is_refused_with_its_line(write, old, new, line, message):
    assert old in FIXED
    path = write(FIXED.replace(old, new, 1))
    with pytest.raises(InputError, match=rf"a\.mps, line {line}: .*{message}"):
        read_problem(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "line 0: the file ends without ENDATA"),
        (b"garbage\n", "line 1: 'garbage' is no section"),
        (b"    x y\n", "line 1: an MPS file begins with the name of a section"),
        (b"NAME\nENDATA\n", "line 2: the file has no ROWS"),
        (b"NAME\nROWS\n N c\nCOLUMNS\nENDATA\n", "line 5: the problem has no variables"),
        (b"\x00\x01\x02", "line 1: this is no text file"),
        (SQUARES.replace("    x y 1\n", "    x y 1\n    y x 1\n").encode(), "one triangle"),
        (SQUARES.replace("QUADOBJ", "QMATRIX").encode(), "not symmetric"),
    ],
)
def test_other_hostile_files(write, tmp_path, content, message):
    (tmp_path / "a.mps").write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_problem(tmp_path / "a.mps")


def test_a_compressed_file_that_is_none(tmp_path):
    (tmp_path / "a.mps.gz").write_text(FIXED)
    with pytest.raises(InputError, match=r"a\.mps\.gz cannot be read"):
        read_problem(tmp_path / "a.mps.gz")
    with pytest.raises(InputError, match=r"none\.mps cannot be read \(No such file"):
        read_problem(tmp_path / "none.mps")


def test_a_quadratic_form_that_is_not_convex_is_refused_when_solved(write):
    from convexfs import solve

    problem = read_problem(write(SQUARES.replace("    x x 4", "    x x -4")))
    with pytest.raises(InputError, match="not convex"):
        solve(problem)


def test_rows_keep_their_names_and_which_of_them_are_lower_limits(tmp_path):
    path = tmp_path / "rows.mps"
    path.write_text(
        "NAME          ROWS\nROWS\n N  COST\n G  LEAST\n E  SAME\n L  MOST\nCOLUMNS\n"
        "    A         COST                 1   LEAST                1\n"
        "    A         SAME                 1   MOST                 1\n"
        "    B         LEAST                1   SAME                 2\n"
        "RHS\n    RHS       LEAST                1   MOST                 9\n"
        "RANGES\n    RNG       LEAST                5\nENDATA\n"
    )
    problem: Any = read_problem(path)
    names = problem.row_names
    assert names[0] == (("SAME", True),)
    assert names[1] == (("LEAST", True), ("LEAST", False), ("MOST", False))


def test_columns_without_numbers_make_one_vector(write):
    names = [f"C{chr(65 + k)}" for k in range(15)]
    columns = "".join(f"    {name}  COST  1.0  R  1.0\n" for name in names)
    text = f"NAME T\nROWS\n N COST\n G R\nCOLUMNS\n{columns}RHS\n    RHS  R  3.0\nENDATA\n"
    problem: Any = read_problem(write(text))
    assert [(each.name(), each.shape) for each in problem.variables()] == [("x", (15,))]
    assert problem.columns == tuple(names)
    assert solve(problem).objective == pytest.approx(3)
