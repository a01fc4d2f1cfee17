"""The rest of an inspection: sizes, solvers, duals, notebooks."""

import cvxpy as cp
import pytest
from cvxpy.atoms.affine.index import index, special_index
from cvxpy.atoms.affine.wraps import Wrap
from cvxpy.atoms.atom import Atom
from cvxpy.atoms.quad_form import SymbolicQuadForm
from cvxpy.atoms.suppfunc import SuppFuncAtom

from convexfs import show
from convexfs.errors import InputError
from convexfs.inspection.atoms import FUNCTIONS, READERS
from convexfs.inspection.document import MEANINGS
from tests.inspection.numpy_code import numpy_code
from tests.inspection.zoo import ZOO
from tests.solvers import installed
from tests.solving import problems
from tests.typed import constraints

#: Functions that need no words, and wraps, which are not written.
KNOWN = """abs asinh atanh ceil cos exp floor imag log logistic max maximum min minimum real sign
sin sinh tan tanh trace And Not Or Xor"""


def labelled():
    problem = problems.second_order()
    problem.constraints[0].set_label("norm")
    return problem


def test_the_text_has_formula_sizes_cones_and_solvers():
    text = str(show(labelled()))
    for words in (
        "maximize    w'c_1",
        "norm: norm2(w) <= 1",
        "w (8,)",
        "constraints  norm (inequality, 1 row, convex <= constant)\n",
        "             1 (inequality, 8 rows, constant <= affine)\n",
        "curvature    affine; DCP yes, DPP yes, DQCP yes",
        "stated       8 columns, 9 rows (1 of <=, 8 of >=), ",
        "9 second-order cone",
        "needs        SOC",
        ", ".join(installed("CLARABEL", "ECOS", "SCS")),
        "cannot take SOC",
        "duals        norm: multiplier of norm2(w) <= 1, one number >= 0",
        "1: multiplier of w >= 0, 8 numbers >= 0, one per row",
    ):
        assert words in text
    assert repr(show(labelled())) == text


def test_every_solver_is_ready_or_told_why_not():
    verdicts = show(problems.second_order()).solvers
    assert verdicts["CLARABEL"] == "ready"
    assert verdicts["HIGHS"] == "cannot take SOC"
    assert verdicts["MOSEK"] == "pip install mosek"


def test_solvers_without_integer_variables_are_told_so():
    x = cp.Variable(2, name="x", integer=True)
    verdicts = show(cp.Problem(cp.Minimize(cp.norm(x)), [x >= 0.5])).solvers
    assert verdicts["CLARABEL"] == "cannot take integer variables"
    assert verdicts["HIGHS"] == "cannot take integer variables with SOC"


def test_a_problem_that_is_not_convex_is_shown_too():
    seen = show(cp.Problem(cp.Minimize(cp.sqrt(cp.Variable(name="x")))))
    text = str(seen)
    assert "concave; DCP no" in text
    assert "cone program none" in text
    assert "needs        bisection (quasiconvex)" in text
    assert "ready" not in seen.solvers.values()


def test_a_parameter_without_a_value_is_no_obstacle():
    lam = cp.Parameter(nonneg=True, name="lam")
    text = str(show(cp.Problem(cp.Minimize(lam * cp.norm1(cp.Variable(2, name="x"))))))
    assert "minimize    lam norm1(x)" in text
    assert "lam in R_+, parameter" in text
    assert "not known before parameter lam has a value" in text


@pytest.mark.parametrize("name", problems.CONVEX)
def test_the_cone_program_has_the_size_solvers_see(name):
    problem = problems.CONVEX[name]()
    form = show(problem).canonical
    assert not isinstance(form, str)
    assert form.A.shape == (form.b.size, form.q.size)
    assert sum(cone.rows.stop - cone.rows.start for cone in form.cones) == form.b.size
    assert sum(size for _, size in form.columns.values()) == form.q.size
    assert {variable.name() for variable in problem.variables()} <= set(form.columns)


def test_multipliers_of_every_kind_have_a_meaning():
    meanings = list(show(ZOO["constraints"]()).duals.values())
    assert meanings[3] == "multiplier of C_1 x == c_1, 7 numbers, one per row, of either sign"
    assert meanings[4] == "multiplier of X >> 0, a psd matrix of side 3"
    assert meanings[6] == "multiplier of norm2(x) <= t, 4 numbers in the second-order cone"
    assert meanings[7].endswith("3 numbers in the dual cone")
    x, y, z = (cp.Variable(2, name=name) for name in "xyz")
    entropy = cp.Problem(cp.Minimize(0), [cp.RelEntrConeQuad(x, y, z, 3, 3)])
    assert show(entropy).duals["0"].endswith("numbers in the dual cone")
    assert "integer problems have no dual values" in str(show(problems.integer()))


def test_constraints_of_one_label_are_kept_apart():
    x = cp.Variable(name="x")
    rows = [(x >= 0).set_label("bound"), (x <= 1).set_label("bound")]
    seen = show(cp.Problem(cp.Minimize(x), constraints(*rows)))
    assert list(seen.duals) == ["bound", "bound 1"]
    code = numpy_code(seen.formula, rows)
    assert code.residuals({"x": 3.0}) == {"bound": [-3.0], "bound 1": [2.0]}


def test_every_part_has_its_rules():
    x = cp.Variable(name="x", pos=True)
    rules = show(cp.Problem(cp.Minimize(cp.sqrt(x)), [x >= 1])).part_rules
    assert rules["objective"] == {"DCP": False, "DPP": False, "DQCP": True, "DGP": True}
    assert rules["0"] == {"DCP": True, "DPP": True, "DQCP": True, "DGP": True}


def test_a_notebook_gets_mathematics():
    """Notebooks call these methods, and ``repr`` for plain text."""
    seen = show(labelled())
    assert seen._repr_latex_() == f"$\\displaystyle {seen.latex}$"
    assert "<math" in seen._repr_html_()
    assert "norm2(w) &lt;= 1" in seen._repr_html_()


def test_functions_that_need_words_get_them_in_every_notation():
    seen = show(ZOO["cp.sum(cp.entr(x))"]())
    for written in (str(seen), seen.latex, seen.optidef, seen.mathml):
        assert "entr(x) = -x log x" in written


def atoms(kind=Atom):
    for atom in kind.__subclasses__():
        yield from atoms(atom)
        if atom.__module__.startswith("cvxpy.") and not atom.__subclasses__():
            yield atom


def test_every_atom_of_cvxpy_is_defined_or_known_to_all():
    written_otherwise = (*READERS, Wrap, index, special_index, SuppFuncAtom, SymbolicQuadForm)
    by_name = [atom for atom in atoms() if not issubclass(atom, written_otherwise)]
    assert len(by_name) > 40
    for atom in by_name:
        name = atom.__name__.removesuffix("Approx")
        assert FUNCTIONS.get(name, name) in {*KNOWN.split(), *MEANINGS}, atom


def test_a_geometric_program_is_convex_in_logarithms():
    x, y = cp.Variable(name="x", pos=True), cp.Variable(name="y", pos=True)
    seen = show(cp.Problem(cp.Minimize(x / y), [x * y >= 3, x + y <= 5]))
    assert seen.rules["DGP"]
    assert seen.reasons == []
    assert seen.solvers["CLARABEL"] == "ready"
    assert seen.solvers["OSQP"] == "cannot take EXP"
    text = str(seen)
    for words in (
        "log-log affine; DCP no",
        "needs        EXP, for the logarithms of its variables (a geometric program, DGP)",
        "6 exponential cone",
    ):
        assert words in text
    assert "not convex" not in text
    broken = show(cp.Problem(cp.Minimize(x / y), [x * y >= 3, x + y >= 5]))
    assert broken.reasons[-1] == (
        "as a geometric program, constraint 1: x + y is no log-log concave expression, but the "
        "larger side of an inequality must be one"
    )


@pytest.mark.parametrize("name", ZOO)
def test_every_problem_prints(name):
    assert str(show(ZOO[name]()))


def test_what_is_not_a_problem_is_refused():
    with pytest.raises(InputError, match=r"show takes a cvxpy.Problem, not int"):
        show(3)  # type: ignore[arg-type]
