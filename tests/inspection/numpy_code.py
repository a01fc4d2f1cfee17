"""A formula as numpy code, so that what is shown can be computed and compared."""

import keyword
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import count
from typing import Any

import numpy as np
from cvxpy.atoms.suppfunc import SuppFuncAtom
from cvxpy.constraints import Equality, Inequality
from cvxpy.transforms.indicator import indicator
from cvxpy.transforms.partial_optimize import PartialProblem
from scipy import sparse

from convexfs.inspection import parse, tree
from convexfs.inspection.parse import Formula
from convexfs.inspection.symbols import CONSTANT, POSITIONS, SymbolTable
from convexfs.inspection.tree import Node, deep, number
from convexfs.records import values_kept

#: How tightly Python reads an expression.
_SUM, _PRODUCT, _POWER, _UNIT = range(4)
_CALLS = {
    "exp": "np.exp({})", "log": "np.log({})", "log1p": "np.log1p({})", "abs": "np.abs({})",
    "logistic": "np.logaddexp(0.0, {})", "entr": "special.entr({})",
    "kl_div": "special.kl_div({}, {})", "rel_entr": "special.rel_entr({}, {})",
    "trace": "np.trace({})", "kron": "np.kron({}, {})", "xexp": "(({0}) * np.exp({0}))",
    "lambda_max": "np.linalg.eigvalsh({})[-1]", "log_det": "np.linalg.slogdet({})[1]",
    "sin": "np.sin({})", "cos": "np.cos({})", "tan": "np.tan({})", "sinh": "np.sinh({})",
    "tanh": "np.tanh({})", "asinh": "np.arcsinh({})", "atanh": "np.arctanh({})",
    "real": "np.real({})", "imag": "np.imag({})", "conj": "np.conj({})",
    "tr_inv": "np.trace(np.linalg.inv({}))", "matmul": "np.matmul({}, {})",
    "huber": "(2.0 * special.huber({1}, {0}))", "max": "np.max({}{axis})",
    "upper_tri": "({0})[np.triu_indices(len({0}), 1)]", "min": "np.min({}{axis})",
    "prod": "np.prod({}{axis})", "log_sum_exp": "special.logsumexp({}{axis})",
}  # fmt: skip
_FOLDED = {"maximum": "np.maximum({}, {})", "minimum": "np.minimum({}, {})"}
_NORMS = {
    1: "np.sum(np.abs({}){axis})", 2: "np.sqrt(np.sum(np.abs({}) ** 2{axis}))",
    np.inf: "np.max(np.abs({}){axis})", "nuc": "np.linalg.norm({}, 'nuc')",
    "spectral": "np.linalg.norm({}, 2)",
}  # fmt: skip
_KINDS = {
    "identity": "np.eye({shape[0]})", "total": "np.sum({}{axis})",
    "broadcast": "np.broadcast_to({}, {shape})", "stack": "np.concatenate([{all}]{axis})",
    "reshape": "np.reshape({}, {shape}, order={node.order!r})",
}  # fmt: skip
_PREAMBLE = "import numpy as np\nfrom scipy import special\n"


@dataclass(frozen=True)
class NumpyCode:
    """Two functions as text, and the constants and atoms they use.

    Attributes
    ----------
    text : str
        ``objective`` and ``residuals``, which take the symbols of the formula.
    data : dict
        Values of its constants; functions numpy cannot spell are cvxpy's own.
    variables : dict
        Name in the code of every variable and parameter, by its shown name.
    """

    text: str
    data: Mapping[str, Any]
    variables: Mapping[str, str]

    def __str__(self) -> str:
        return self.text

    def objective(self, values: Mapping[str, Any]) -> Any:
        """Value of the objective where the variables and parameters have `values`."""
        return self._run("objective", values)

    def residuals(self, values: Mapping[str, Any]) -> dict[str, list[Any]]:
        """Values of every constraint's expressions, by label or position."""
        return self._run("residuals", values)

    def _run(self, function: str, values: Mapping[str, Any]) -> Any:
        names: dict[str, Any] = {}
        exec(self.text, names)
        arguments = {self.variables[name]: value for name, value in values.items()}
        dense = {
            name: value.toarray() if sparse.issparse(value) else value
            for name, value in self.data.items()
        }
        return names[function](**arguments, **dense)


@deep()
def numpy_code(formula: Formula, constraints: Sequence[Any] = ()) -> NumpyCode:
    """Code of a formula's objective, and of its constraints, which are given by cvxpy."""
    writer = _Writer(formula)
    objective = writer.write(formula.objective)
    residuals = [
        f"        {clause.key!r}: [{', '.join(map(writer.write, residual(row, formula.symbols)))}],"
        for clause, row in zip(formula.clauses, constraints, strict=True)
    ]
    arguments = ", ".join([*writer.names.values(), *writer.atoms])
    lines = [
        _PREAMBLE,
        f"\ndef objective({arguments}):",
        f"    return {objective}",
        f"\n\ndef residuals({arguments}):",
        "    return {",
        *residuals,
        "    }",
    ]
    data: dict[str, Any] = dict(writer.atoms)
    names = {}
    for symbol in formula.symbols.declared.values():
        code = writer.names[symbol.name]
        if symbol.kind in (CONSTANT, POSITIONS):
            data[code] = symbol.stands_for
        else:
            names[symbol.name] = code
    return NumpyCode("\n".join(lines) + "\n", data, names)


def residual(constraint: Any, symbols: SymbolTable) -> list[Node]:
    """What cvxpy compares with 0 in an equality or inequality, else the constraint's arguments."""
    args = [parse.read(arg, symbols) for arg in constraint.args]
    if isinstance(constraint, Inequality | Equality):
        return [tree.add(constraint.expr.shape, (args[0], tree.negate(args[1])))]
    return args


#: By the id of a call's info, which folding keeps: the info, and the expression it was read from.
_ORIGINS: dict[int, tuple[Any, Any]] = {}
_plain_read = parse.read


def _recording_read(expression: Any, symbols: SymbolTable) -> Node:
    node = _plain_read(expression, symbols)
    _ORIGINS[id(node.info)] = node.info, expression
    return node


parse.read = _recording_read


def _cvxpys_own(node: Node) -> Callable[[Sequence[Any]], Any]:
    """Return the function of an expression's arguments, or of its free leaves, by cvxpy itself."""
    _, expression = _ORIGINS[id(node.info)]
    if not isinstance(expression, indicator | PartialProblem | SuppFuncAtom):
        return expression.numeric
    inner = isinstance(expression, PartialProblem)
    variables = expression.dont_opt_vars if inner else expression.variables()
    leaves = [*variables, *expression.parameters()]

    def evaluate(values: Sequence[Any]) -> Any:
        with values_kept(leaves):
            for leaf, value in zip(leaves, values, strict=True):
                leaf.save_value(np.asarray(value))
            return expression.value

    return evaluate


class _Writer:
    """Writes nodes as expressions, keeping names apart and atoms at hand."""

    def __init__(self, formula: Formula):
        self.atoms: dict[str, Callable[..., Any]] = {}
        self.names: dict[str, str] = {}
        for name in formula.symbols.declared:
            self.names[name] = self._identifier(name)

    def write(self, node: Node) -> str:
        return self._code(node)[0]

    def _identifier(self, name: str) -> str:
        plain = re.sub(r"\W", "_", name, flags=re.ASCII)
        if not plain.isidentifier():
            plain = f"_{plain}"
        while keyword.iskeyword(plain) or plain in {"np", "special", *self.names.values()}:
            plain += "_"
        return plain

    def _held(self, node: Node, level: int) -> str:
        code, own = self._code(node)
        return code if own >= level else f"({code})"

    def _code(self, node: Node) -> tuple[str, int]:
        match node.kind:
            case "number":
                return _literal(node.value)
            case "sum":
                return self._sum(node), _SUM
            case "product":
                return self._product(node), _PRODUCT
            case "chain":
                return " @ ".join(self._held(part, _POWER) for part in node.parts), _PRODUCT
            case "entrywise" | "quotient":
                left, right = self._held(node.parts[0], _PRODUCT), self._held(node.parts[1], _POWER)
                operator = node.operator if node.kind == "entrywise" else "/"
                return f"{left} {operator} {right}", _PRODUCT
            case "power":
                base, exponent = (self._held(part, _UNIT) for part in node.parts)
                return f"{base} ** {exponent}", _POWER
        return self._unit(node), _UNIT

    def _unit(self, node: Node) -> str:
        if node.kind == "symbol":
            return self.names[node.name]
        if node.kind == "index":
            key = ", ".join(map(self._key, node.key)) + ("," if len(node.key) == 1 else "")
            return f"{self._held(node.body, _UNIT)}[{key}]"
        if node.kind == "transpose":
            return f"{self._held(node.body, _UNIT)}.T"
        args = [self.write(part) for part in node.parts]
        if node.kind == "norm":
            form = _NORMS.get(node.p, "(np.sum(np.abs({}) ** {node.p}{axis}) ** (1 / {node.p}))")
        elif node.kind == "call" and node.function in _FOLDED:
            return reduce(_FOLDED[node.function].format, args)
        else:
            form = _CALLS.get(node.function) if node.kind == "call" else _KINDS[node.kind]
        if form is None:
            return self._atom(node, args)
        axis = _axis(node.info.get("options", node.info))
        return form.format(*args, all=", ".join(args), shape=node.shape, axis=axis, node=node)

    def _key(self, part: Any) -> str:
        if isinstance(part, Node):
            return self.names[part.name]
        if isinstance(part, slice):
            bounds = ["" if end is None else str(int(end)) for end in (part.start, part.stop)]
            step = "" if part.step is None else f":{int(part.step)}"
            return ":".join(bounds) + step
        if part is None or part is Ellipsis:
            return "None" if part is None else "..."
        return repr(np.asarray(part).tolist())

    def _sum(self, node: Node) -> str:
        # numpy repeats a scalar itself, if another term has the shape.
        full = any(term.shape == node.shape and term.kind != "broadcast" for term in node.parts)
        written = ""
        for sign, term in zip(node.signs, node.parts, strict=True):
            bare = term.body if full and term.kind == "broadcast" else term
            mark = "-" if sign < 0 else "+" if written else ""
            written += f" {mark} " if written else mark
            written += self._held(bare, _PRODUCT)
        return written

    def _product(self, node: Node) -> str:
        factors = [self._held(factor, _POWER) for factor in node.parts]
        if node.number != 1:
            factors.insert(0, self._held(number(node.number), _UNIT))
        return " * ".join(factors)

    def _atom(self, node: Node, args: list[str]) -> str:
        """Return a call of cvxpy's own function, for what numpy has no short word for."""
        taken = {*self.atoms, *self.names.values()}
        stem = re.sub(r"\W", "_", node.function)
        name = next(n for k in count(1) if (n := f"{stem}_{k}") not in taken)
        shapes = [arg.shape for arg in node.parts]
        evaluate, shape = _cvxpys_own(node), node.shape

        def atom(*values: Any) -> Any:
            result = evaluate([np.broadcast_to(v, s) for v, s in zip(values, shapes, strict=True)])
            return np.reshape(result.toarray() if sparse.issparse(result) else result, shape)

        self.atoms[name] = atom
        return f"{name}({', '.join(args)})"


def _literal(value: complex) -> tuple[str, int]:
    code = repr(value)
    if "inf" in code or "nan" in code:
        return f"np.{code}".replace("np.-", "-np."), _SUM
    return code, _UNIT if isinstance(value, float) and value >= 0 else _SUM


def _axis(options: Mapping[str, Any]) -> str:
    axis, keepdims = options.get("axis"), options.get("keepdims")
    return ("" if axis is None else f", axis={axis}") + (", keepdims=True" if keepdims else "")
