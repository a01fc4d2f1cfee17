"""What differs is shown, and nothing else; ``convexfs show`` from the outside."""

import cvxpy as cp
import numpy as np
import pytest

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
    assert "the two problems are the same" in run("a.py", "relief")[1]


def test_only_latex_or_only_mathml(run):
    assert run("relief", "--latex")[1].startswith("\\begin{array}")
    assert run("relief", "--mathml")[1].startswith("<math")


def test_saving(run, tmp_path):
    assert "written: form.npz" in run("relief", "--save", "form.npz")[1]
    assert (tmp_path / "form.npz").is_file()
    code, out, err = run("relief", "--save", "form.lp")
    assert (code, out) == (2, "")
    assert ".lp files hold linear problems and this one needs SOC: save it as .npz" in err


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
