"""What differs is shown, and nothing else; ``convexfs show`` from the outside."""

import cvxpy as cp
import numpy as np
import pytest

from convexfs import show
from convexfs.cli import main
from convexfs.inspection import differences

Z = np.arange(12.0).reshape(4, 3)


def build(lam=0.5, bound=1.0, ridge=0.0, data=Z):
    w = cp.Variable(3, name="w")
    cost = cp.sum(cp.logistic(-(data @ w))) + lam * cp.sum(w)
    if ridge:
        cost += ridge * cp.sum_squares(w)
    return cp.Problem(cp.Minimize(cost), [(cp.norm(w) <= bound).set_label("norm"), w >= 0])


def test_equal_problems_do_not_differ():
    assert differences(build(), build()) == "the two problems are the same"


def test_a_term_a_number_and_a_bound():
    assert differences(build(), build(ridge=0.1)) == "objective\n  + 0.1 norm2(w)^2"
    assert differences(build(), build(lam=2.0)) == "objective\n  - 0.5 1'w\n  + 2 1'w"
    assert differences(build(), build(bound=3.0)) == (
        "constraints\n  - norm: norm2(w) <= 1\n  + norm: norm2(w) <= 3"
    )


def test_a_constant_with_other_values_is_another_symbol():
    assert differences(build(), build(data=Z + 1), {"Z": Z}, {"Z": Z + 1}) == (
        "objective\n  - 1' log(1 + exp(-Z w))\n  + 1' log(1 + exp(-Z_2 w))\n"
        "where\n  - Z in R^4x3, constant\n  + Z_2 in R^4x3, constant"
    )


def leaf_problem(cost, *rows, **attributes):
    x = cp.Variable(3, name="x", **attributes)
    return cp.Problem(cp.Minimize(cost(x)), [row(x) for row in rows])


def test_numbers_that_look_the_same_do_differ():
    first, second = (leaf_problem(cp.sum, lambda x, k=k: x >= k) for k in (1.23456789, 1.234567))
    assert differences(first, second) == ("constraints\n  - x >= 1.23456789\n  + x >= 1.234567")
    assert ">= 1.23457" in show(first).text  # only a comparison needs every digit


def test_what_no_line_spells_out_differs_too():
    ends = (np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 4.0]))
    first, second = (leaf_problem(cp.sum, bounds=[np.zeros(3), end]) for end in ends)
    assert differences(first, second) == "values\n  x: 1 of 6 numbers of its bounds differ"
    first, second = (
        leaf_problem(lambda x, end=end: cp.Parameter(3, name="g", value=end) @ x) for end in ends
    )
    assert differences(first, second) == "values\n  g: 1 of 3 numbers of its value differ"
    first, second = (
        leaf_problem(cp.sum, lambda x, alpha=alpha: cp.PowConeND(x, cp.Constant(0.1), alpha))
        for alpha in (np.array([0.2, 0.3, 0.5]), np.array([0.3, 0.2, 0.5]))
    )
    assert "  - PowConeND(x, 0.1, c_1)\n  + PowConeND(x, 0.1, c_2)" in differences(first, second)
    first = leaf_problem(lambda x: cp.reshape(cp.outer(x, x), (1, 9), order="C")[0, 1])
    second = leaf_problem(lambda x: cp.reshape(cp.outer(x, x), (1, 9), order="F")[0, 1])
    assert "order=C" in differences(first, second)


def test_a_renamed_leaf_is_said_to_be_one():
    def problem(name, bound=1):
        w, t = cp.Variable(3, name=name), cp.Variable(name="t")
        return cp.Problem(cp.Minimize(cp.sum(w) + t), [w >= t, cp.norm(w) <= bound])

    assert differences(problem("w"), problem("v")) == "renamed\n  w is v"
    assert differences(problem("w"), problem("v", 2)) == (
        "constraints\n  - norm2(w) <= 1\n  + norm2(w) <= 2\nrenamed\n  w is v"
    )


def test_another_hyper_parameter_is_no_new_name(run):
    assert run("logo-penalised", "logo-constrained")[1].endswith(
        "objective\n  - lam 1'w\nconstraints\n  + total: 1'w <= beta\n"
        "where\n  - lam = 1, parameter\n  + beta = 1, parameter\n"
    )


def test_leaves_that_could_be_either_are_not_renamed():
    def problem(*names):
        return cp.Problem(cp.Minimize(sum(cp.Variable(name=name) for name in names)))

    assert differences(problem("a", "b"), problem("c", "d")).startswith(
        "objective\n  - a\n  - b\n  + c\n  + d\n"
    )


def test_unnamed_constants_with_other_values_are_other_symbols():
    tables = (np.arange(30.0).reshape(10, 3), np.arange(1.0, 31.0).reshape(10, 3))
    first, second = (leaf_problem(lambda x, C=C: cp.norm(C @ x)) for C in tables)
    assert differences(first, second).startswith("objective\n  - norm2(C_1 x)\n  + norm2(C_2 x)\n")


def test_order_and_labels_make_no_difference():
    first, second = build(), build()
    second = cp.Problem(second.objective, second.constraints[::-1])
    second.constraints[1].set_label("other")
    assert differences(first, second) == "the two problems are the same"


FILE = '''"""RELIEF with a change."""
import cvxpy as cp
METHOD = "relief"
DATA = ["wine"]
GRID = {"n_neighbors": [3, 5]}
def build(z):
    w = cp.Variable(len(z), name="w")
    return cp.Problem(cp.Maximize(w @ z), [cp.norm(w, 2) <= 1, w >= 0])
'''


@pytest.fixture
def run(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(*words):
        code = main(["show", *map(str, words)])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        ("w >= 0]", "w >= 0, w <= 0.2]", "constraints\n  + w <= 0.2\n"),
        ("w @ z)", "w @ z - 0.3 * cp.sum(w))", "objective\n  + -0.3 1'w\n"),
        ("<= 1", "<= 2", "constraints\n  - norm2(w) <= 1\n  + norm2(w) <= 2\n"),
        ("w, 2", "w, 1", "constraints\n  - norm2(w) <= 1\n  + norm1(w) <= 1\n"),
        (", w >= 0]", "]", "constraints\n  - w >= 0\n"),
    ],
)
def test_a_modified_file_shows_exactly_the_modification(run, tmp_path, old, new, shown):
    (tmp_path / "a.py").write_text(FILE)
    (tmp_path / "b.py").write_text(FILE.replace(old, new))
    code, out, _ = run("a.py", "b.py")
    assert code == 0
    assert out.partition("):\n\n")[2] == shown
    one, other = (run(f"{name}.py")[1].splitlines() for name in "ab")
    assert one != other


def test_a_file_is_shown_on_its_first_data_and_grid_point(run, tmp_path):
    (tmp_path / "a.py").write_text(FILE)
    code, out, _ = run("a.py")
    assert code == 0
    for words in ("a.py: RELIEF with a change.", "On wine (178 x 13), n_neighbors=3:", "w'z\n"):
        assert words in out
    assert "the two problems are the same" in run("a.py", "a.py")[1]


def test_hyper_parameters_stay_symbols_and_their_values_are_listed(run, tmp_path):
    assert run("lfe", "lfe-trace")[1].endswith(
        "objective\n  + -lam tr(W)\nwhere\n  + lam = 0, parameter\n"
    )
    out = run("lfe-row-sparse")[1]
    assert "maximize    tr(W Sigma) - lam sum_i norm2(W[i, :])\n" in out
    assert "lam = 0, parameter\n" in out
    (tmp_path / "a.py").write_text(
        FILE.replace("build(z)", "build(z, cap=0.5)").replace("w >= 0]", "w >= 0, w <= cap]")
    )
    assert "w <= cap\n" in run("a.py")[1]


def test_a_number_that_must_be_one_stays_one(run, tmp_path):
    """numpy's product of two arrays is entry by entry, cvxpy's is not."""
    changed = FILE.replace("build(z)", "build(z, a=0.5, b=2.0, c=3.0)").replace(
        "w @ z", "w @ (a + z * (z + b))"
    )
    (tmp_path / "a.py").write_text(
        changed.replace("<= 1", "<= math.exp(c)").replace(
            "import cvxpy", "import math\nimport cvxpy"
        )
    )
    out = run("a.py", "--as", "text")[1]
    assert "a = 0.5, parameter" in out
    assert "b" not in out.replace("subject", "")
    assert "norm2(w) <= 20.0855\n" in out


def test_only_the_formula_in_a_notation(run):
    assert run("relief", "--latex")[1].startswith("\\begin{array}")
    assert run("relief", "--as", "latex")[1] == run("relief", "--latex")[1]
    assert run("relief", "--mathml")[1].startswith("<math")
    assert run("relief", "--as", "text")[1].startswith("maximize    w'z - lam 1'w\nsubject to")
    assert run("relief", "--as", "optidef")[1].startswith("\\begin{maxi*}{w}{w^\\top z - ")
    code, out, err = run("relief", "--as", "numpy")
    assert (code, out) == (2, "")
    assert "numpy was removed: evaluate the problem's expressions in cvxpy" in err


def test_saving(run, tmp_path):
    assert "written: form.npz" in run("relief", "--save", "form.npz")[1]
    assert (tmp_path / "form.npz").is_file()
    code, out, err = run("relief", "--save", "form.lp")
    assert (code, out) == (2, "")
    assert not (tmp_path / "form.lp").exists()
    assert ".lp files hold linear constraints and this problem has another (second-order" in err


@pytest.mark.parametrize("suffix", ["npz", "lp", "mps"])
def test_a_file_that_cannot_be_written_is_named(run, tmp_path, suffix):
    (tmp_path / "a.py").write_text(FILE.replace("cp.norm(w, 2)", "cp.sum(w)"))
    (tmp_path / f"taken.{suffix}").mkdir()
    code, out, err = run("a.py", "--save", f"taken.{suffix}")
    assert (code, out) == (2, "")
    assert err == f"convexfs: error: taken.{suffix} cannot be written (Is a directory)\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["relief", "relief", "--latex"], "take one problem, not two"),
        (["relief", "relief", "relief"], "one problem, or two to compare"),
        (["nothing.py"], "there is no problem file nothing.py"),
        (["releif"], "did you mean relief?"),
    ],
)
def test_bad_lines(run, words, message):
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert message in err
