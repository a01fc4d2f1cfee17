"""The text is read again by a small parser and computed: signs, brackets and marks are right.

Vectors are columns, as on paper; a bare 1 among factors is the vector of ones.
"""

import re
from functools import reduce

import cvxpy as cp
import numpy as np
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from convexfs import show
from tests.inspection.test_formulas import EXPECTED
from tests.inspection.zoo import EXPRESSIONS, expression, place

TOKEN = re.compile(r"\s*(\d+(?:\.\d+)?(?:e[-+]\d+)?|[A-Za-z]\w*|\.\*|\./|\.\^|[-+()'^/,])")
FUNCTIONS = {
    "exp": np.exp, "log": np.log, "sqrt": np.sqrt, "abs": np.abs, "tr": np.trace,
    "max": lambda *args: np.max(args[0]) if len(args) == 1 else reduce(np.maximum, args),
    "min": lambda *args: np.min(args[0]) if len(args) == 1 else reduce(np.minimum, args),
    "norm1": lambda x: np.sum(np.abs(x)), "norm2": np.linalg.norm, "normF": np.linalg.norm,
    "norminf": lambda x: np.max(np.abs(x)), "lambda_max": lambda x: np.linalg.eigvalsh(x)[-1],
}  # fmt: skip
ONES, ONES_ROW = "ones", "row of ones"


class NotUnderstood(Exception):
    """Notation this parser does not know."""


class Parser:
    def __init__(self, text, values):
        found = TOKEN.findall(text)
        if "".join(found) != text.replace(" ", ""):
            raise NotUnderstood(text)
        self.tokens, self.values = [*found, ""], values

    def take(self):
        return self.tokens.pop(0)

    def sum(self):
        sign = -1 if self.tokens[0] == "-" and self.take() else 1
        total = sign * self.entrywise()
        while self.tokens[0] in ("+", "-"):
            total = total + (1 if self.take() == "+" else -1) * self.entrywise()
        return total

    def entrywise(self):
        left = self.product()
        while self.tokens[0] in (".*", "./"):
            left = left * self.product() if self.take() == ".*" else left / self.product()
        return left

    def product(self):
        factors = [self.power()]
        while re.match(r"[\w(]", self.tokens[0]):
            factors.append(self.power())
        value = multiplied(factors)
        if self.tokens[0] == "/" and self.take():
            value = value / multiplied([self.power()])
        return value

    def power(self):
        value = self.unit()
        while self.tokens[0] in ("'", "^", ".^"):
            if self.take() == "'":
                value = ONES_ROW if isinstance(value, str) else np.transpose(value)
            else:
                value = number(value) ** number(self.unit())
        return value

    def unit(self):
        token = self.take()
        if token == "(":
            value = self.sum()
            assert self.take() == ")"
            return value
        if re.match(r"\d", token):
            return ONES if token == "1" else float(token)
        if self.tokens[0] == "(" and token in FUNCTIONS:
            args = [self.argument()]
            while self.tokens[0] == ",":
                args.append(self.argument())
            assert self.take() == ")"
            return FUNCTIONS[token](*args)
        if token not in self.values:
            raise NotUnderstood(token)
        return self.values[token]

    def argument(self):
        self.take()
        return number(self.sum())


def number(value):
    return 1.0 if isinstance(value, str) else value


def multiplied(factors):
    if len(factors) == 1:
        return 1.0 if isinstance(factors[0], str) else factors[0]
    arrays = [f for f in factors if isinstance(f, str) or np.ndim(f)]
    result = np.prod([f for f in factors if not isinstance(f, str) and not np.ndim(f)])
    for position, factor in enumerate(arrays):
        if isinstance(factor, str):
            beside = arrays[position + 1 :][:1] if factor == ONES_ROW else arrays[:position][-1:]
            if not beside or isinstance(beside[0], str):
                raise NotUnderstood("ones of unknown length")
            factor = np.ones((1, len(beside[0])) if factor == ONES_ROW else (beside[0].shape[1], 1))
        result = result * factor if not np.ndim(result) else result @ factor
        if np.shape(result) == (1, 1):
            result = result.item()
    return result


def column(value):
    if np.iscomplexobj(value):
        raise NotUnderstood("complex numbers")
    value = np.asarray(value.toarray() if hasattr(value, "toarray") else value, dtype=float)
    return value.reshape(-1, 1) if value.ndim == 1 else value if value.ndim else value.item()


def assert_reads_back(objective):
    problem = cp.Problem(cp.Minimize(objective))
    place(problem, 0)
    seen = show(problem)
    declared = seen.formula.symbols.declared.values()
    values = {
        symbol.name: column(getattr(symbol.stands_for, "value", symbol.stands_for))
        for symbol in declared
    }
    line = seen.text.splitlines()[0].removeprefix("minimize").strip()
    parser = Parser(line, values | {"I": np.eye(3)})
    found = number(parser.sum())
    assert parser.tokens == [""]
    np.testing.assert_allclose(np.squeeze(found), objective.value, rtol=1e-5, atol=1e-6)


def test_known_expressions_read_back():
    understood = 0
    for source in {*EXPRESSIONS, *EXPECTED}:
        try:
            assert_reads_back(expression(source))
            understood += 1
        except NotUnderstood:
            continue
    assert understood >= 45


UNARY = (
    lambda e: -e, lambda e: 2.5 * e, lambda e: e / 4, lambda e: e - 1, lambda e: 1 - e, cp.sum,
    lambda e: cp.exp(0.1 * e), cp.square, cp.norm1, lambda e: e.T, lambda e: cp.multiply(e, e),
    lambda e: cp.power(cp.abs(e) + 1, -1), lambda e: -3 * e, lambda e: e / (1 + cp.norm1(e)),
)  # fmt: skip
BINARY = (
    lambda a, b: a + b, lambda a, b: a - b, cp.multiply, lambda a, b: a @ b, lambda a, b: b.T @ a,
    lambda a, b: a * cp.sum(b), lambda a, b: cp.sum(b) - a, lambda a, b: a / (2 + cp.exp(-b)),
)  # fmt: skip


@st.composite
def trees(draw):
    pool = [cp.Variable(3, name="x"), cp.Variable((3, 3), name="X"), cp.Variable(name="t"),
            cp.Constant([1.0, -2.0, 3.0]), cp.Constant(np.eye(3)), cp.Constant(-2.0),
            cp.Constant(np.array([[1.0, 2.0, 0.0], [0.5, -1.0, 4.0]]))]  # fmt: skip
    for _ in range(draw(st.integers(2, 7))):
        first, second = (pool[draw(st.integers(0, len(pool) - 1))] for _ in range(2))
        rule = draw(st.sampled_from([*UNARY, *BINARY]))
        try:
            pool.append(rule(first, second) if rule in BINARY else rule(first))
        except ValueError:
            continue  # shapes that do not fit
    made = pool[-1]
    return cp.sum(made) if made.shape else made


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(trees())
def test_random_expressions_read_back(tree):
    try:
        assert_reads_back(tree)
    except NotUnderstood:
        assume(False)
