"""What is written and read again is the same problem: optimum, answer, integers, sense."""

import warnings
from typing import Any

import cvxpy as cp
import highspy
import numpy as np
import pytest

from convexfs import read_problem, write_problem
from convexfs.errors import InputError
from convexfs.formats import FORMATS, ending
from tests.solving import problems
from tests.typed import constraints, known, number

LINEAR = (".mps", ".qps", ".lp")
CONIC = (".cbf", ".npz")
EVERY = (*LINEAR, ".dat-s", *CONIC)


def range_of_rows():
    x = cp.Variable(3, name="x")
    rows = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, -1.0]])
    return cp.Problem(cp.Minimize(x[0] - x[1]), [rows @ x <= [4, 2], rows @ x >= [-4, -1], x <= 3])


def one_sided_bounds():
    x, y = cp.Variable(2, name="up"), cp.Variable(2, name="down")
    cost = cp.sum(x) - cp.sum(y) + 7.5
    limits = constraints(x >= -1e3, y <= 2.5, cp.sum(x) >= cp.sum(y) - 10)
    return cp.Problem(cp.Minimize(cost), limits)


def empty_row():
    x = cp.Variable(2, name="x")
    nothing = np.array([[0.0, 0.0], [1.0, 1.0]])
    return cp.Problem(cp.Maximize(x[0] + 2 * x[1] - 3), [nothing @ x <= [5.0, 4.0], x >= 0])


def whole_and_not():
    x = cp.Variable(3, name="x", integer=True)
    y, z = cp.Variable(2, name="y", boolean=True), cp.Variable(name="z")
    whole = 7 * x[0] + 5 * x[1] + 3 * x[2] + 2.5 * cp.sum(y) + z <= 23.3
    limits = constraints(whole, x >= 0, z >= 0.1)
    return cp.Problem(cp.Maximize(4 * x[0] + 3 * x[1] + x[2] + 2 * y[0] + 0.1 * z), limits)


def concave_square():
    x = cp.Variable(3, name="x")
    return cp.Problem(
        cp.Maximize(-cp.quad_form(x, np.diag([2.0, 1, 1]) + 0.5) + x[0] + 4), [x >= 1]
    )


def powers():
    x, y, z = (cp.Variable(4, name=name) for name in "xyz")
    cone = cp.PowCone3D(x, y, z, np.array([0.2, 0.5, 0.6, 0.9]))
    return cp.Problem(cp.Maximize(cp.sum(z)), constraints(cone, cp.sum(x) <= 2, cp.sum(y) <= 3))


def matrix_inequality():
    X = cp.Variable((3, 3), symmetric=True, name="X")
    return cp.Problem(cp.Minimize(cp.trace(X) + 3), [X >> np.eye(3), X[0, 1] == 1, X[0, 2] >= 2])


def two_matrices():
    x = cp.Variable(2, name="x")
    one, two = np.array([[2.0, 1], [1, 0]]), np.array([[0.0, 1], [1, 3]])
    first = one * x[0] + two * x[1] - np.eye(2)
    second = np.eye(3) * (4 - x[0]) + np.ones((3, 3)) * x[1]
    return cp.Problem(cp.Minimize(x[0] + x[1]), [first >> 0, second >> 0])


CASES = [
    (problems.linear, EVERY),
    (problems.linear_with_bounds, EVERY),
    (range_of_rows, EVERY),
    (one_sided_bounds, EVERY),
    (empty_row, EVERY),
    (problems.integer, EVERY),
    (whole_and_not, EVERY),
    (problems.quadratic, (*LINEAR, *CONIC)),
    (concave_square, (*LINEAR, *CONIC)),
    (problems.second_order, CONIC),
    (problems.many_second_order, CONIC),
    (problems.logistic, CONIC),
    (problems.entropy, CONIC),
    (powers, CONIC),
    (problems.semidefinite, (".dat-s", *CONIC)),
    (matrix_inequality, (".dat-s", *CONIC)),
    (two_matrices, (".dat-s", *CONIC)),
    (problems.semidefinite_in_a_ball, CONIC),
    (problems.quadratic_in_a_ball, CONIC),
]


def optimum(problem):
    solver = "HIGHS" if problem.is_mixed_integer() else "CLARABEL"
    return number(problem.solve(solver=solver))


@pytest.mark.parametrize("compressed", ["", ".gz"])
@pytest.mark.parametrize(
    ("build", "suffix"),
    [(build, suffix) for build, suffixes in CASES for suffix in suffixes],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_the_optimum_is_the_same(tmp_path, build, suffix, compressed):
    problem, path = build(), tmp_path / f"file{suffix}{compressed}"
    write_problem(problem, path)
    again = read_problem(path)
    assert type(again.objective) is type(problem.objective)
    assert again.is_mixed_integer() == problem.is_mixed_integer()
    assert optimum(again) == pytest.approx(optimum(problem), rel=1e-6, abs=1e-6)


def of_atoms():
    """Problems by what they are made of: each atom becomes cones of its own."""
    draw = np.random.default_rng(0)
    x, X = cp.Variable(4, name="x"), cp.Variable((3, 3), symmetric=True, name="X")
    Y, H = cp.Variable((3, 2), name="Y"), cp.Variable((2, 2), hermitian=True, name="H")
    z, D = cp.Variable(3, name="z", bounds=[-2, 5]), cp.Variable((3, 3), diag=True, name="D")
    r = draw.standard_normal((6, 4)) @ x - draw.standard_normal(6)
    M, S = draw.standard_normal((3, 2)), 2 * np.eye(3) + 0.3
    least, most, small = cp.Minimize, cp.Maximize, [cp.trace(X) <= 2]
    cone = cp.PowConeND(x[:3], x[3], np.array([0.2, 0.3, 0.5]))
    return {
        "geo_mean": (most(cp.geo_mean(x)), [cp.sum(x) <= 3]),
        "power cone of four": (most(x[3]), [cone, cp.sum(x[:3]) <= 3]),
        "p-norm": (least(cp.pnorm(r, 3)), []),
        "power": (least(cp.sum(cp.power(cp.abs(r), 1.5))), []),
        "huber": (least(cp.sum(cp.huber(r))), []),
        "log_det": (most(cp.log_det(X) + 1), small),
        "nuclear norm": (least(cp.normNuc(Y - M) + cp.sum_squares(Y)), []),
        "largest singular value": (least(cp.sigma_max(Y - M) + cp.norm1(Y)), []),
        "matrix_frac": (least(cp.matrix_frac(np.ones(3), X)), small),
        "trace of inverse": (least(cp.tr_inv(X)), small),
        "eigenvalues": (least(cp.lambda_sum_largest(X - S, 2)), [cp.norm(X, "fro") <= 5]),
        "kl_div": (least(cp.sum(cp.kl_div(x, np.arange(1, 5)))), [cp.sum(x) == 4]),
        "bounds": (least(cp.sum(z) + cp.norm1(x - 1)), []),
        "diagonal": (least(cp.sum_squares(D - S)), []),
        "hermitian": (least(cp.real(cp.trace(H))), [H >> np.array([[2, 1j], [-1j, 3]])]),
        "cones by columns": (least(cp.sum(Y)), [cp.SOC(np.array([1.0, 2.0]), Y)]),
    }


@pytest.mark.parametrize("suffix", [".cbf", ".npz"])
@pytest.mark.parametrize("name", of_atoms())
def test_atoms_keep_their_meaning(tmp_path, name, suffix):
    problem = cp.Problem(*of_atoms()[name])
    write_problem(problem, tmp_path / f"file{suffix}")
    again = optimum(read_problem(tmp_path / f"file{suffix}"))
    assert again == pytest.approx(optimum(problem), rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("suffix", [".mps", ".lp", ".npz"])
@pytest.mark.parametrize("build", [range_of_rows, whole_and_not, problems.quadratic])
def test_the_answer_is_the_same_by_the_names_of_the_variables(tmp_path, build, suffix):
    problem, path = build(), tmp_path / f"file{suffix}"
    write_problem(problem, path)
    again = read_problem(path)
    for one in (problem, again):
        optimum(one)
    for variable in problem.variables():
        found, expected = known(again.var_dict[variable.name()].value), known(variable.value)
        np.testing.assert_allclose(np.ravel(found), np.ravel(expected), atol=1e-4)


@pytest.mark.parametrize("build", [problems.linear, range_of_rows, whole_and_not, concave_square])
def test_another_program_reads_the_same_from_mps(tmp_path, build):
    problem, path = build(), tmp_path / "file.mps"
    write_problem(problem, path)
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    assert solver.readModel(str(path)) == highspy.HighsStatus.kOk
    solver.run()
    value = solver.getInfo().objective_function_value
    assert value == pytest.approx(optimum(problem), abs=1e-5)


def test_sdpa_reads_the_same_from_its_own_format(tmp_path):
    sdpap = pytest.importorskip("sdpap")
    problem, path = two_matrices(), tmp_path / "file.dat-s"
    write_problem(problem, path)
    A, b, c, K, J = sdpap.importsdpa(str(path))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _, _, info, *_ = sdpap.solve(A, b, c, K, J, {"print": "no"})
    # It takes the program for the dual of one, whose objective has the other sign.
    assert -info["primalObj"] == pytest.approx(optimum(problem), rel=1e-5)


def test_every_digit_is_kept(tmp_path):
    x = cp.Variable(2, name="x")
    row = np.array([1 / 3, 1e-13])
    problem = cp.Problem(cp.Minimize(row @ x), [x >= np.pi])
    for suffix in (".mps", ".cbf", ".npz", ".dat-s"):
        write_problem(problem, tmp_path / f"file{suffix}")
        held = FORMATS[suffix].read(tmp_path / f"file{suffix}")
        assert held.c.tolist() == row.tolist()
        bounds = held.with_bounds_apart().lower
        assert bounds.tolist() == [np.pi, np.pi]


def test_names_of_foreign_columns_are_kept_and_written_again(tmp_path):
    names = ("steel", "coal", "BREAD[3]", "x1")
    text = "NAME\nROWS\n N cost\n G r\nCOLUMNS\n"
    text += "".join(f"    {name} cost {i + 1} r 1\n" for i, name in enumerate(names))
    (tmp_path / "a.mps").write_text(text + "RHS\n    RHS r 2\nENDATA\n")
    problem: Any = read_problem(tmp_path / "a.mps")  # typed without the columns
    assert problem.columns == names
    assert [variable.name() for variable in problem.variables()] == ["x"]


def test_the_same_problem_makes_the_same_bytes(tmp_path):
    for suffix in (".mps.gz", ".cbf", ".dat-s"):
        write_problem(problems.linear(), tmp_path / f"a{suffix}")
        write_problem(problems.linear(), tmp_path / f"b{suffix}")
        assert (tmp_path / f"a{suffix}").read_bytes() == (tmp_path / f"b{suffix}").read_bytes()


def test_parameters_are_written_as_the_numbers_they_have(tmp_path):
    x, a = cp.Variable(2, name="x"), cp.Parameter(nonneg=True, name="a", value=3.0)
    write_problem(cp.Problem(cp.Minimize(a * cp.sum(x)), [x >= a]), tmp_path / "a.mps")
    assert optimum(read_problem(tmp_path / "a.mps")) == pytest.approx(18)


@pytest.mark.parametrize(
    ("build", "file", "message"),
    [
        (problems.second_order, "x.lp", r"has another \(second-order cone\): save it as .cbf"),
        (problems.logistic, "x.dat-s", r"has another \(exponential cone\): save it as .cbf"),
        (problems.linear, "x.txt", "the ending must be .mps"),
        (problems.linear, "x.mat.gz", r"\.mat files are only read; save as \.npz"),
        (problems.linear, ".mps", "the ending must be .mps"),
        (lambda: cp.Problem(cp.Minimize(cp.Constant(3))), "x.npz", "without variables"),
        (problems.linear, "nowhere/x.npz", "there is no folder"),
        (lambda: cp.Problem(cp.Minimize(cp.sqrt(cp.Variable()))), "x.npz", "not convex"),
        (lambda: "no problem", "x.mps", "a cvxpy.Problem is written, not str"),
        (
            lambda: cp.Problem(cp.Minimize(cp.Parameter(name="a") * cp.Variable())),
            "x.lp",
            "give parameter a a value",
        ),
    ],
)
def test_what_cannot_be_written_is_refused(tmp_path, build, file, message):
    with pytest.raises(InputError, match=message):
        write_problem(build(), tmp_path / file)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "known"),
    [("a.mps", ".mps"), ("b/A.MPS.GZ", ".mps"), ("x.dat-s", ".dat-s"), ("x.py", None), ("x", None)],
)
def test_the_ending_tells_the_format(name, known):
    assert ending(name) == known
