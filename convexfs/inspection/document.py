"""Print a full problem: objective, constraints, and the meaning of symbols."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from convexfs.inspection.layout import Notation
from convexfs.inspection.parse import Clause, Folded, Formula, fold
from convexfs.inspection.symbols import CONSTANT, PARAMETER, POSITIONS, VARIABLE, Declaration
from convexfs.inspection.tree import deep, number
from convexfs.inspection.writers import Latex, MathML, Piece, Text

#: The entries of constant vectors up to this length are printed; of others only the set.
LISTED_ENTRIES = 6
#: Definitions of functions whose names alone are unclear.
MEANINGS = {
    "entr": "entr(x) = -x log x",
    "kl_div": "kl_div(x, y) = x log(x/y) - x + y",
    "rel_entr": "rel_entr(x, y) = x log(x/y)",
    "huber": "huber(x, M) = x^2 if abs(x) <= M, else 2 M abs(x) - M^2",
    "xexp": "xexp(x) = x exp(x)",
    "log_sum_exp": "log_sum_exp(x) = log(sum_i exp(x_i))",
    "sum_largest": "sum_largest(x, k) = sum of the k largest entries",
    "lambda_max": "lambda_max(X) = largest eigenvalue",
    "matrix_frac": "matrix_frac(X, P) = tr(X' P^-1 X)",
    "tr_inv": "tr_inv(X) = tr(X^-1)",
    "condition_number": "condition_number(X) = largest over smallest eigenvalue",
    "dist_ratio": "dist_ratio(x, a, b) = norm2(x - a) / norm2(x - b)",
    "dotsort": "dotsort(x, w) = x'w with the entries of both in order of size",
    "eye_minus_inv": "eye_minus_inv(X) = (I - X)^-1",
    "gen_lambda_max": "gen_lambda_max(A, B) = largest lam with det(A - lam B) = 0",
    "gmatmul": "gmatmul(A, x) = products over j of x_j^A_ij",
    "lambda_sum_largest": "lambda_sum_largest(X, k) = sum of the k largest eigenvalues",
    "length": "length(x) = how many entries there are up to the last that is not 0",
    "log1p": "log1p(x) = log(1 + x)",
    "one_minus_pos": "one_minus_pos(x) = 1 - x",
    "perspective": "perspective(f(x), s) = s f(x/s)",
    "pf_eigenvalue": "pf_eigenvalue(X) = spectral radius",
    "pnorm": "pnorm(x, p) = (sum_i x_i^p)^(1/p)",
    "quantum_rel_entr": "quantum_rel_entr(X, Y) = tr(X (log X - log Y))",
    "von_neumann_entr": "von_neumann_entr(X) = -tr(X log X)",
    "geo_mean": "geo_mean(x, p) = (product over i of x_i^p_i)^(1 / sum_i p_i), all p_i = 1 if none",
    "log_det": "log_det(X) = log of the determinant",
    "log_normcdf": "log_normcdf(x) = log of the standard normal distribution function",
    "normcdf": "normcdf(x) = the standard normal distribution function",
    "prod": "prod(x) = product of the entries",
    "cumsum": "cumsum(x) = sums of the first 1, 2, ... entries",
    "cumprod": "cumprod(x) = products of the first 1, 2, ... entries",
    "cummax": "cummax(x) = the largest of the first 1, 2, ... entries",
    "convolve": "convolve(a, x) = sums over j of a_j x_(i - j), for all i",
    "conv": "conv(a, x) = sums over j of a_j x_(i - j), for all i",
    "kron": "kron(A, B) = the blocks a_ij B",
    "diag": "diag(x) = diagonal matrix of a vector, or diagonal of a matrix",
    "upper_tri": "upper_tri(X) = the entries above the diagonal, row by row",
    "PowConeND": "PowConeND(x, z, a): product over i of x_i^a_i >= abs(z)",
    "PowCone3D": "PowCone3D(x, y, z, a): x^a y^(1 - a) >= abs(z)",
}
_ORDER = {VARIABLE: 0, PARAMETER: 1, CONSTANT: 2, POSITIONS: 3}
_ATTRIBUTES = {"nonneg": "+", "pos": "++", "nonpos": "-", "neg": "--"}
_WORDS = ("diag", "hermitian", "imag")
#: Fonts with tables for mathematics, if the machine has them.
FONTS = (
    "STIX Two Math, Cambria Math, Latin Modern Math, Libertinus Math, DejaVu Math TeX Gyre, math"
)
_CELL = '<mtd style="text-align: left; white-space: nowrap">'
_INDENT = r"\quad {}"


@dataclass(frozen=True)
class Line:
    """A printed line: its label, its pieces (several if it is long), and a remark."""

    label: str
    pieces: Sequence[str]
    remark: str = ""

    def as_text(self) -> list[str]:
        label, remark = f"{self.label}: " * bool(self.label), f", {self.remark}" * bool(self.remark)
        goes_on = "\n    ".join(self.pieces)
        return f"{label}{goes_on}{remark}".split("\n")


@dataclass(frozen=True)
class Page:
    """The lines of a problem, ready to print in several notations."""

    formula: Formula

    @cached_property
    @deep()
    def folded(self) -> Folded:
        """Return the formula with each family of similar constraints written once."""
        return fold(self.formula)

    @deep()
    def as_text(self) -> str:
        return "\n".join(
            f"{'' if k else head:<12}{line}"
            for head, rows in self._lines(Notation(Text()))
            for k, line in enumerate(line for row in rows for line in row.as_text())
        )

    @deep()
    def as_latex(self) -> str:
        """Return LaTeX: an array, or aligned lines if some are broken."""
        word = Latex().word
        rows = [
            (word(head) * bool(head), rf"\displaystyle {body}", word(note) * bool(note))
            for head, body, note in self._cells(Notation(Latex()), _INDENT)
        ]
        kind, columns, lines = "{array}", "{lll}", [" & ".join(row) for row in rows]
        if any(_INDENT in body for _, body, _ in rows):
            kind, columns = "{aligned}", ""
            lines = [rf"{row[0]} \quad & {row[1]} && {row[2]}" for row in rows]
        return rf"\begin{kind}{columns}" + "\n" + " \\\\\n".join(lines) + "\n" + rf"\end{kind}"

    @deep()
    def as_optidef(self) -> str:
        """Return LaTeX for the package optidef, and a sentence on the symbols."""
        (sense, (objective,)), (_, rows), (_, symbols) = self._lines(Notation(Latex()))
        declared = self.formula.symbols.declared.values()
        over = ", ".join(Latex().name(each.name) for each in declared if each.kind == VARIABLE)
        kind = f"{{{sense[:4]}*}}"
        first, *others = objective.pieces
        lines = [rf"\begin{kind}{{{over}}}{{{first}}}{{}}{{}}"]
        lines += [rf"\breakObjective{{{piece}}}" for piece in others]
        for row in rows:
            note = rf"\quad {Latex().word(row.label)}" if row.label else ""
            lines.append(rf"\addConstraint{{{' '.join(row.pieces)}}}{{}}{{{note}}}")
        where = [f"${row.pieces[0]}$" + f" ({row.remark})" * bool(row.remark) for row in symbols]
        return "\n".join([*lines, rf"\end{kind}", f"where {', '.join(where)}."])

    @deep()
    def as_mathml(self) -> str:
        word = MathML().word
        lines = "".join(
            f"<mtr>{_CELL}{word(head)}</mtd>{_CELL}{body}</mtd>{_CELL}{word(note)}</mtd></mtr>\n"
            for head, body, note in self._cells(Notation(MathML()), '<mspace width="2em"/>')
        )
        return (
            '<math xmlns="http://www.w3.org/1998/Math/MathML" display="block" '
            f'style="font-family: {FONTS}">'
            f'<mtable columnalign="left" displaystyle="true">\n{lines}</mtable></math>'
        )

    def _cells(self, notation: Notation, indent: str) -> Iterator[tuple[str, str, str]]:
        """Yield every line as heading, formula and note; continuation lines are indented."""
        for head, rows in self._lines(notation):
            heads = [head]
            for row in rows:
                notes = [""] * (len(row.pieces) - 1) + [row.label or row.remark]
                for k, (piece, note) in enumerate(zip(row.pieces, notes, strict=True)):
                    start = f"{indent} " if k else ""
                    yield heads.pop() if heads else "", f"{start}{piece}", note

    def _lines(self, notation: Notation) -> Iterator[tuple[str, list[Line]]]:
        """Yield the headings (sense, subject to, where), each with its list of lines."""
        folded = self.folded
        yield self.formula.sense, [Line("", notation.lines(folded.objective))]
        rows = []
        for node, run in folded.clauses:
            named = [clause for clause in run if clause.labelled]
            pieces = self._for_all(notation, notation.lines(node), len(run))
            rows.append(Line(span(named), pieces))
        yield "subject to", rows
        words = [Line("", [notation.style.word(meaning)]) for meaning in self.meanings]
        yield "where", [*symbol_lines(folded.symbols, notation, folded.letter), *words]

    def _for_all(self, notation: Notation, pieces: list[Piece], count: int) -> list[Piece]:
        """Return a line's pieces; for a family of `count` constraints, with its index range."""
        if count == 1:
            return pieces
        style = notation.style
        index = style.infix(style.name(self.folded.letter), "=", style.word(f"1..{count}"))
        return [*pieces[:-1], style.listed([pieces[-1], index])]

    @property
    def meanings(self) -> list[str]:
        """Return definitions of the less known functions that the formula uses."""
        roots = [self.folded.objective, *(node for node, _ in self.folded.clauses)]
        called = {node.function for root in roots for node in root.all() if node.kind == "call"}
        return [MEANINGS[name] for name in sorted(called & set(MEANINGS))]


def span(run: Sequence[Clause]) -> str:
    """Return the key of a constraint, or the first and last key of a family."""
    return " .. ".join(dict.fromkeys((run[0].key, run[-1].key))) if run else ""


def symbol_lines(
    symbols: list[Declaration], notation: Notation, letter: str = "", grouped: bool = True
) -> list[Line]:
    """Return lines that declare symbols, variables first; `grouped` joins similar constants."""
    groups: dict[Any, list[Piece]] = {}
    for symbol in sorted(symbols, key=lambda each: _ORDER[each.kind]):
        value = _value(symbol, notation)
        right = _set(symbol, notation) if value is None else value
        own = "in" if value is None else "=", right, _remark(symbol, notation, letter)
        alone = not grouped or own[2] != CONSTANT
        groups.setdefault((*own, symbol.name if alone else ""), []).append(
            notation.style.name(symbol.name)
        )
    style, lines = notation.style, []
    for (operator, right, remark, _), names in groups.items():
        left = names[0] if len(names) == 1 else style.listed(names)
        written = style.infix(left, operator, right)
        lines.append(Line("", [written], "constants" if len(names) > 1 else remark))
    return lines


def _value(symbol: Declaration, notation: Notation) -> Piece | None:
    """Return a short constant vector or a scalar parameter's value in notation, else None."""
    if symbol.kind == PARAMETER and symbol.shape == () and symbol.stands_for.value is not None:
        return notation.write(number(np.asarray(symbol.stands_for.value).item()))
    is_family_of_arrays = symbol.count and symbol.shape
    if symbol.kind != CONSTANT or sparse.issparse(symbol.stands_for) or is_family_of_arrays:
        return None
    array = np.asarray(symbol.stands_for)
    if array.ndim != 1 or array.size > LISTED_ENTRIES or np.iscomplexobj(array):
        return None
    entries = [notation.number(float(entry)) for entry in array]
    return notation.style.put("()", notation.style.listed(entries))


def _set(symbol: Declaration, notation: Notation) -> Piece:
    style, leaf = notation.style, symbol.stands_for
    attributes = getattr(leaf, "attributes", {})
    if attributes.get("boolean") is True:
        pair = style.put("{}", style.listed([style.number("0"), style.number("1")]))
        return style.subset(pair, "", symbol.shape)
    if attributes.get("integer") is True or symbol.kind == POSITIONS:
        return style.subset(style.put("letter", "Z"), _sign(attributes), symbol.shape)
    for attribute, sign in (("PSD", "+"), ("NSD", "-"), ("symmetric", "")):
        if attributes.get(attribute):
            return style.subset(style.put("letter", "S"), sign, symbol.shape[:1])
    one = leaf[0] if symbol.count else leaf
    is_complex = leaf.is_complex() if attributes else np.iscomplexobj(one)
    return style.subset(
        style.put("letter", "C" if is_complex else "R"), _sign(attributes), symbol.shape
    )


def _sign(attributes: dict[str, Any]) -> str:
    return next((sign for name, sign in _ATTRIBUTES.items() if attributes.get(name)), "")


def _remark(symbol: Declaration, notation: Notation, letter: str) -> str:
    if symbol.count:
        return f"{symbol.kind.removesuffix('s')}s, {letter} = 1..{symbol.count}"
    attributes = getattr(symbol.stands_for, "attributes", {})
    words = [name for name in _WORDS if attributes.get(name)]
    words += [f"{name} in part" for name in ("boolean", "integer")
              if not isinstance(attributes.get(name, False), bool)]  # fmt: skip
    pattern = getattr(symbol.stands_for, "sparse_idx", None)
    if pattern is not None:
        words.append(f"{len(pattern[0])} of {math.prod(symbol.shape)} entries not 0")
    if attributes.get("bounds") is not None:
        words.append(_bounds(symbol.stands_for.get_bounds(), notation))
    return ", ".join([*words, *([] if symbol.kind == VARIABLE else [symbol.kind])])


def _bounds(bounds: Any, notation: Notation) -> str:
    ends = [np.unique(np.asarray(end)) for end in bounds]
    if any(end.size != 1 for end in ends):
        return "between bounds that differ by entry"
    low, high = (float(end[0]) for end in ends)
    written = [f"{'-' * (end < 0)}{notation.digits(abs(end))}" for end in (low, high)]
    if np.isinf(low):
        return f"at most {written[1]}"
    return f"at least {written[0]}" if np.isinf(high) else f"between {written[0]} and {written[1]}"
