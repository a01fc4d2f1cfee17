"""A whole problem written out: objective, constraints, and what the symbols are."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from convexfs.inspection import boxes, latex, mathml, text
from convexfs.inspection.boxes import Box
from convexfs.inspection.depth import deep
from convexfs.inspection.nodes import Number, calls_in
from convexfs.inspection.notation import digits, notation, statement, terms
from convexfs.inspection.reading import Formula
from convexfs.inspection.symbols import CONSTANT, PARAMETER, POSITIONS, VARIABLE, Declaration

#: Entries of a constant that are listed instead of only counted.
LISTED_ENTRIES = 6
#: Functions whose names alone do not say what they are.
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
}
_ATTRIBUTES = {"nonneg": "+", "pos": "++", "nonpos": "-", "neg": "--"}
_WORDS = ("diag", "hermitian", "imag")
#: Fonts with tables for the heights of mathematics, whichever the machine has.
FONTS = (
    "STIX Two Math, Cambria Math, Latin Modern Math, Libertinus Math, DejaVu Math TeX Gyre, math"
)
_CELL = '<mtd style="text-align: left; white-space: nowrap">'


@dataclass(frozen=True)
class Page:
    """The lines of a problem in notation, ready to be written in three ways."""

    formula: Formula

    @property
    def objective(self) -> Box:
        return notation(self.formula.objective)

    @property
    def constraints(self) -> list[tuple[str, Box]]:
        """Statements with their labels, empty where there are none."""
        return [
            (clause.key if clause.labelled else "", statement(clause.statement))
            for clause in self.formula.clauses
        ]

    @property
    def symbols(self) -> list["SymbolLine"]:
        """A line for every symbol, variables first."""
        declared = sorted(self.formula.symbols.declared.values(), key=lambda d: _ORDER[d.kind])
        return [_symbol_line(symbol) for symbol in declared]

    @property
    def grouped_symbols(self) -> list["SymbolLine"]:
        """The same, with the constants of one set on one line."""
        groups: dict[Any, list[SymbolLine]] = {}
        for line in self.symbols:
            own = line if line.remark != CONSTANT else (line.operator, line.value)
            groups.setdefault(own, []).append(line)
        return [
            lines[0] if len(lines) == 1 else SymbolLine(
                boxes.Listed(tuple(line.name for line in lines)), "in", lines[0].value, "constants"
            )
            for lines in groups.values()
        ]  # fmt: skip

    @property
    def meanings(self) -> list[str]:
        """Definitions of the less known functions."""
        parts = [self.formula.objective]
        for clause in self.formula.clauses:
            parts += [clause.statement.left, clause.statement.right]
        return [MEANINGS[name] for name in sorted(calls_in(parts) & set(MEANINGS))]

    @deep()
    def as_text(self) -> str:
        return "\n".join(
            f"{'' if k else head:<12}{line}"
            for head, lines in self._text_lines()
            for k, line in enumerate(lines)
        )

    def _text_lines(self) -> Iterator[tuple[str, list[str]]]:
        yield self.formula.sense, [text.write(self.objective)]
        labelled = [
            (f"{label}: " if label else "") + text.write(box) for label, box in self.constraints
        ]
        yield "subject to", labelled
        yield "where", [*(line.as_text() for line in self.grouped_symbols), *self.meanings]

    @deep()
    def text_terms(self) -> list[str]:
        """The objective term by term."""
        written = terms(self.formula.objective)
        return [("-" if sign < 0 else "") + text.write(box) for sign, box in written]

    @deep()
    def as_latex(self) -> str:
        lines = [
            " & ".join((latex.text(head) if head else "", rf"\displaystyle {latex.write(body)}",
                        latex.text(note) if note else ""))
            for head, body, note in self._rows()
        ]  # fmt: skip
        return "\\begin{array}{lll}\n" + " \\\\\n".join(lines) + "\n\\end{array}"

    @deep()
    def as_mathml(self) -> str:
        lines = "".join(
            f"<mtr>{_CELL}{mathml.write(boxes.Word(head))}</mtd>{_CELL}{mathml.write(body)}</mtd>"
            f"{_CELL}{mathml.write(boxes.Word(note))}</mtd></mtr>\n"
            for head, body, note in self._rows()
        )
        return (
            '<math xmlns="http://www.w3.org/1998/Math/MathML" display="block" '
            f'style="font-family: {FONTS}">'
            f'<mtable columnalign="left" displaystyle="true">\n{lines}</mtable></math>'
        )

    def _rows(self) -> Iterator[tuple[str, Box, str]]:
        """Every line as a heading, a formula and a note."""
        yield self.formula.sense, self.objective, ""
        for k, (label, box) in enumerate(self.constraints):
            yield "" if k else "subject to", box, label
        for k, line in enumerate(self.grouped_symbols):
            yield "" if k else "where", line.box, line.remark


@dataclass(frozen=True)
class SymbolLine:
    """A symbol, the set it lies in or what it equals, and a word on what it is."""

    name: Box
    operator: str
    value: Box
    remark: str

    @property
    def box(self) -> Box:
        return boxes.Infix(self.name, self.operator, self.value)

    def as_text(self) -> str:
        return text.write(self.box) + (f", {self.remark}" if self.remark else "")


_ORDER = {VARIABLE: 0, PARAMETER: 1, CONSTANT: 2, POSITIONS: 3}


def _symbol_line(symbol: Declaration) -> SymbolLine:
    name, listed = boxes.Name(symbol.name), _listed(symbol)
    if listed is not None:
        return SymbolLine(name, "=", listed, _remark(symbol))
    return SymbolLine(name, "in", _set(symbol), _remark(symbol))


def _listed(symbol: Declaration) -> Box | None:
    """The entries of a short constant vector, or the value of a scalar parameter."""
    if symbol.kind == PARAMETER and symbol.shape == () and symbol.stands_for.value is not None:
        value = np.asarray(symbol.stands_for.value).item()
        return notation(Number((), value))
    if symbol.kind != CONSTANT or sparse.issparse(symbol.stands_for):
        return None
    array = np.asarray(symbol.stands_for)
    if array.ndim != 1 or array.size > LISTED_ENTRIES or np.iscomplexobj(array):
        return None
    entries = tuple(notation(Number((), float(entry))) for entry in array)
    return boxes.Fenced(boxes.Listed(entries))


def _set(symbol: Declaration) -> Box:
    attributes = getattr(symbol.stands_for, "attributes", {})
    if attributes.get("boolean") is True:
        pair = boxes.Fenced(boxes.Listed((boxes.Numeral("0"), boxes.Numeral("1"))), "{}")
        return boxes.Subset(pair, "", symbol.shape)
    if attributes.get("integer") is True or symbol.kind == POSITIONS:
        return boxes.Subset(boxes.Letter("Z"), _sign(attributes), symbol.shape)
    for attribute, sign in (("PSD", "+"), ("NSD", "-"), ("symmetric", "")):
        if attributes.get(attribute):
            return boxes.Subset(boxes.Letter("S"), sign, symbol.shape[:1])
    leaf = symbol.stands_for
    is_complex = leaf.is_complex() if attributes else np.iscomplexobj(leaf)
    letter = boxes.Letter("C" if is_complex else "R")
    return boxes.Subset(letter, _sign(attributes), symbol.shape)


def _sign(attributes: dict[str, Any]) -> str:
    return next((sign for name, sign in _ATTRIBUTES.items() if attributes.get(name)), "")


def _remark(symbol: Declaration) -> str:
    attributes = getattr(symbol.stands_for, "attributes", {})
    words = [name for name in _WORDS if attributes.get(name)]
    words += [f"{name} in part" for name in ("boolean", "integer")
              if not isinstance(attributes.get(name, False), bool)]  # fmt: skip
    pattern = getattr(symbol.stands_for, "sparse_idx", None)
    if pattern is not None:
        words.append(f"{len(pattern[0])} of {math.prod(symbol.shape)} entries not 0")
    if attributes.get("bounds") is not None:
        words.append(_bounds(symbol.stands_for.get_bounds()))
    return ", ".join([*words, *([] if symbol.kind == VARIABLE else [symbol.kind])])


def _bounds(bounds: Any) -> str:
    ends = [np.unique(np.asarray(end)) for end in bounds]
    if any(end.size != 1 for end in ends):
        return "between bounds that differ by entry"
    low, high = (float(end[0]) for end in ends)
    written = [f"{'-' * (end < 0)}{digits(abs(end))}" for end in (low, high)]
    if np.isinf(low):
        return f"at most {written[1]}"
    return f"at least {written[0]}" if np.isinf(high) else f"between {written[0]} and {written[1]}"
