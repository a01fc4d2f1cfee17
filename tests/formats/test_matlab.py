"""MATLAB files: quadratic programs of Maros and Meszaros, cone programs of SeDuMi."""

import gzip

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse
from scipy.io import savemat

from convexfs import read_problem, solve
from convexfs.cli import main
from convexfs.errors import InputError

HS21 = {
    "n": 2, "m": 3, "r": np.int16(-100), "q": np.zeros((2, 1), np.uint8),
    "P": sparse.csc_matrix(np.diag([0.02, 2.0])),
    "A": sparse.csc_matrix([[10.0, -1], [1, 0], [0, 1]]),
    "l": np.array([[10], [2], [-50]], np.int16), "u": np.array([[1e20], [50], [50]]),
}  # fmt: skip
#: min x_1 + 2 x_2 + x_4 + <C, X>, x_1 free, (x_3, x_4, x_5) and rotated (x_6, x_7, x_8), X of 2.
CONES = {
    "A": np.array([
        [1.0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0],
        [0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        [0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0],
        [0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0],
    ]),
    "b": np.array([3.0, 5, 3, 2, 6, 4, 2]),
    "c": np.array([1.0, 2, 0, 0, -1, 0, 1, 0, 0, 0, 0, 1]),
    "K": {"f": 1, "l": 1, "q": [3], "r": [3], "s": [2]},
}  # fmt: skip
#: x_1 = 1, x_2 = 0, x_5 = sqrt(25 - 9) = 4, x_7 = 36 / (2 * 2) = 9, X_22 = (4 / 2)^2 / 2 = 2.
CONES_OPTIMUM = 1 - 4 + 9 + 2


@pytest.fixture
def saved(tmp_path):
    def save(variables, name="problem.mat"):
        savemat(tmp_path / name, variables)
        return tmp_path / name

    return save


def test_a_quadratic_program_of_maros_and_meszaros(saved):
    problem = read_problem(saved(HS21))
    solution = solve(problem, tol=1e-8)
    assert solution.objective == pytest.approx(-99.96, rel=1e-7)
    np.testing.assert_allclose(solution.primal["x"], [2, 0], atol=1e-5)


def test_a_bound_of_1e20_with_rounding_errors_is_none(saved):
    """As POWELL20, PRIMALC1 and five others of the collection have them."""
    exact, rounded = (
        read_problem(saved(HS21 | {"u": np.array([[size], [50], [50]])}))
        for size in (1e20, 9.999999999999662e19)
    )
    sizes = [sum(own.size for own in problem.constraints) for problem in (exact, rounded)]
    assert sizes[0] == sizes[1]


@pytest.mark.parametrize("transposed", [{}, {"A": CONES["A"].T}, {"A": None, "At": CONES["A"].T}])
def test_a_cone_program_of_sedumi(saved, transposed):
    held = {name: value for name, value in (CONES | transposed).items() if value is not None}
    held["A" if "A" in held else "At"] = sparse.csc_matrix(held.get("A", held.get("At")))
    problem = read_problem(saved(held))
    assert [variable.name() for variable in problem.variables()] == ["x", "X_1"]
    solution = solve(problem, "CLARABEL", tol=1e-8)
    assert solution.objective == pytest.approx(CONES_OPTIMUM, rel=1e-6)
    np.testing.assert_allclose(solution.primal["X_1"], [[2, 2], [2, 2]], atol=1e-4)


def test_entries_above_and_below_the_diagonal_count_both(saved):
    A = np.array([[0.0, 2, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1]])
    held = {"A": A, "b": [1.0, 1, 1], "c": np.zeros(4), "K": {"s": 2}}
    solution = solve(read_problem(saved(held)), "CLARABEL")
    np.testing.assert_allclose(solution.primal["X_1"], [[1, 0.5], [0.5, 1]], atol=1e-6)


def test_a_matrix_of_one_entry_is_a_number_that_is_not_negative(saved):
    held = {"A": [[1.0, 1.0]], "b": [3.0], "c": [1.0, -1.0], "K": {"f": 1, "s": 1}}
    assert solve(read_problem(saved(held | {"c": [1.0, 2.0]})), "HIGHS").status == "optimal"
    assert solve(read_problem(saved(held | {"c": [2.0, 1.0]})), "HIGHS").status == "unbounded"


@pytest.mark.slow
def test_random_programs_are_read_as_they_are_stated(saved):
    rng = np.random.default_rng(0)
    for _ in range(20):
        B, A = rng.standard_normal((4, 4)), rng.standard_normal((3, 4))
        low = np.where(rng.random(3) < 0.3, -1e20, -1.0)
        high = np.where(rng.random(3) < 0.3, np.inf, 2.0)
        high[0] = low[0] = 0.5
        q = rng.standard_normal(4)
        held = {"P": B @ B.T, "q": q, "r": 3.0, "A": A, "l": low, "u": high}
        x = cp.Variable(4, name="x")
        cost = cp.Minimize(0.5 * cp.sum_squares(B.T @ x) + q @ x + 3)
        stated = cp.Problem(cost, [A @ x >= np.maximum(low, -1e6), A @ x <= np.minimum(high, 1e6)])
        found, expected = (solve(p, "CLARABEL") for p in (read_problem(saved(held)), stated))
        assert found.objective == pytest.approx(expected.objective, rel=1e-5, abs=1e-6)


@pytest.mark.slow(cases=4)
@pytest.mark.parametrize(
    ("held", "message"),
    [
        ({"X": np.eye(2)}, "it holds X; a quadratic program has P, q, A, l and u"),
        (HS21 | {"q": [1.0]}, "q must have 2 entries, not 1"),
        (HS21 | {"q": [1.0, np.inf]}, "q must hold finite numbers"),
        (HS21 | {"l": [np.nan, 0.0, 0.0]}, "l must hold numbers"),
        (HS21 | {"l": [0.0, 60.0, 0.0]}, "row 2: l = 60 is above u = 50"),
        (HS21 | {"A": np.eye(3)}, "A must have 2 columns as P has, not 3"),
        (HS21 | {"P": np.array([[1.0, 1], [0, 1]])}, "P must be symmetric: give all of it"),
        (HS21 | {"P": np.ones((1, 2))}, "P must be square, not 1 x 2"),
        (HS21 | {"P": np.eye(2) * 1j}, "P must hold real numbers"),
        ({name: HS21[name] for name in "Pqlu"}, "there is no A"),
        (CONES | {"K": np.ones(3)}, "K must be a structure of sizes"),
        (CONES | {"K": {"s": [2.5]}}, "K.s must be a list of sizes"),
        (CONES | {"K": {"l": 12, "scomplex": 1}}, "K.scomplex is not read here"),
        (CONES | {"K": {"l": 9}}, "K counts 9 entries of x, and A is 7 x 12"),
        (CONES | {"K": {"l": 11, "r": 1}}, "must have two entries at least"),
        (CONES | {"b": np.ones(2)}, "b must have 7 entries, not 2"),
    ],
)
def test_a_wrong_file_is_refused(saved, held, message):
    with pytest.raises(InputError, match=rf"problem\.mat: .*{message}"):
        read_problem(saved(held))


def test_damaged_and_missing_files_are_refused(saved, tmp_path):
    path = saved(HS21)
    path.write_bytes(path.read_bytes()[:200])
    for name in ("problem.mat", "nowhere.mat"):
        with pytest.raises(InputError, match=rf"{name} cannot be read"):
            read_problem(tmp_path / name)


@pytest.mark.slow
def test_commands_take_mat_files(saved, tmp_path, capsys):
    (tmp_path / "hs21.mat.gz").write_bytes(gzip.compress(saved(HS21).read_bytes()))
    file = str(tmp_path / "hs21.mat.gz")
    (tmp_path / "x.json").write_text('{"x": [2, 0]}')
    assert main(["show", file]) == 0
    assert "0.5 x'P x - 100" in capsys.readouterr().out
    assert main(["certify", file, "--solution", str(tmp_path / "x.json")]) == 0
    assert main(["solve", file, "--out", str(tmp_path / "run")]) == 0
    study = ["compare", file, "--solvers", "CLARABEL,OSQP", "--repeats", "1", "--no-default"]
    assert main([*study, "--out", str(tmp_path / "study")]) == 0
