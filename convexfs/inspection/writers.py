r"""Pieces of notation as plain text, LaTeX and MathML.

A style is a table of forms, and a method where a form alone will not do. Text is one line in
the manner of ``max w'z  s.t. norm2(w) <= 1``, with positions counted from 0 as in Python. LaTeX
is what KaTeX, MathJax and amsmath accept, MathML what browsers show without a script; both
count positions from 1, as formulas do.
"""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, ClassVar
from xml.sax.saxutils import escape

#: Binding strengths of a piece of notation, weakest first.
SUM, TERM, ENTRYWISE, PRODUCT, CALL, UNIT = range(6)
GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "zeta": "ζ",
    "eta": "η", "theta": "θ", "iota": "ι", "kappa": "κ", "lambda": "λ", "mu": "μ", "nu": "ν",
    "xi": "ξ", "pi": "π", "rho": "ρ", "sigma": "σ", "tau": "τ", "upsilon": "υ", "phi": "φ",
    "chi": "χ", "psi": "ψ", "omega": "ω", "Gamma": "Γ", "Delta": "Δ", "Theta": "Θ",
    "Lambda": "Λ", "Xi": "Ξ", "Pi": "Π", "Sigma": "Σ", "Phi": "Φ", "Psi": "Ψ", "Omega": "Ω",
}  # fmt: skip
#: Symbols whose Python names are keywords or abbreviations.
SPELLED = {"lam": "lambda", "eps": "epsilon"}
_SPELLINGS = SPELLED | {letter: name for name, letter in GREEK.items()}
_SPECIAL = {letter: rf"$\{name}$" for name, letter in GREEK.items()} | {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#",
    "%": r"\%", "_": r"\_", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}",
}  # fmt: skip


class Piece(str):
    """A piece of notation: its text, its binding strength and its kind."""

    level: int
    kind: str
    parts: tuple["Piece", ...]

    def __new__(
        cls, written: str, level: int = UNIT, kind: str = "", parts: tuple["Piece", ...] = ()
    ) -> "Piece":
        piece = super().__new__(cls, written)
        piece.level, piece.kind, piece.parts = level, kind, parts
        return piece


class Text:
    """The style of plain text, with the methods that all styles share."""

    forms: ClassVar[dict[str, str]] = {
        "()": "({})", "{}": "{{{}}}", "||": "abs({})", "[]": "[{}]", "root": "sqrt({})",
        "fraction": "{} / {}", "exponential": "exp({})", "transposed": "{}'", "call": "{}({})",
        "power": "{}^{}", "entrywise power": "{}.^{}", "index": "{}[{}]", "entries": "({})_i",
        "infix": "{} {} {}", "norm": "norm{1}({0})", "sum over": "sum_{1} {0}", "letter": "{}",
        "set": "{}{}{}", "sign": "_{}", "size": "^{}",
    }  # fmt: skip
    levels: ClassVar[dict[str, int]] = {
        "fraction": TERM, "transposed": CALL, "power": CALL, "entrywise power": CALL,
        "infix": ENTRYWISE, "sum over": ENTRYWISE,
    }  # fmt: skip
    #: Names of functions and signs as books print them.
    functions: ClassVar[dict[str, str]] = {"trace": "tr", "maximum": "max", "minimum": "min"}
    signs: ClassVar[dict[str, str]] = {"*": "nuc"}
    ones: ClassVar[dict[str, str]] = {"column": "1", "row": "1'", "matrix": "1 1'"}
    comma, times, cell, end = ", ", "x", ", ", "; "

    def put(self, form: str, *parts: str, kind: str = "") -> Piece:
        """Return the form of this name, such as "fraction", filled with the parts."""
        return Piece(self.forms[form].format(*parts), self.levels.get(form, UNIT), kind or form)

    def name(self, name: str) -> Piece:
        return Piece(name)

    def word(self, word: str) -> Piece:
        return Piece(word)

    def number(self, digits: str) -> Piece:
        return Piece(digits, kind="number")

    def function(self, name: str) -> str:
        return self.functions.get(name, name)

    def call(self, function: str, args: Sequence[Piece]) -> Piece:
        return self.put("call", self.function(function), self.listed(args))

    def infix(self, left: Piece, operator: str, right: Piece) -> Piece:
        """Return two sides with a relation, ``.*`` or ``./`` between them."""
        return self.put("infix", left, self.signs.get(operator, operator), right)

    def norm(self, body: Piece, kind: str) -> Piece:
        return self.put("norm", body, self.signs.get(kind, kind))

    def repeated(self, body: Piece | None, form: str) -> Piece:
        """Return ones times `body`, or ones if None; plain text shows only the `body`."""
        level = {"column": UNIT, "row": CALL, "matrix": PRODUCT}[form]
        return Piece(self.ones[form], level) if body is None else body

    def signed(self, terms: Sequence[tuple[int, Piece]], first: bool = True) -> Piece:
        """Return terms with signs, without a leading plus."""
        written = " ".join(f"{'-' if sign < 0 else '+'} {term}" for sign, term in terms)
        if first:  # A leading plus is left out, and the blank after a leading minus.
            written = written[0].strip("+") + written[2:]
        return Piece(written, SUM)

    def row(self, parts: Sequence[Piece]) -> Piece:
        """Return factors side by side; nested rows are flattened."""
        opened = [each for part in parts for each in (part.parts or (part,))]
        factors = [
            part if part.kind == "sum over" else self.bracketed(part, CALL) for part in opened
        ]
        written = str(factors[0])
        for before, part in pairwise(factors):
            written += self.gap(before, part) + part
        return factors[0] if len(factors) == 1 else Piece(written, PRODUCT, "row", tuple(factors))

    def gap(self, before: Piece, part: Piece) -> str:
        return "" if before.endswith("'") and part.kind not in ("call", "exponential") else " "

    def bracketed(self, piece: Piece, level: int) -> Piece:
        """Return a piece, in brackets if it binds less tightly than `level` on one line."""
        return piece if piece.level >= level else self.put("()", piece)

    def raised(self, form: str, base: Piece, *exponent: Piece) -> Piece:
        """Return a power or a transpose."""
        return self.put(form, base, *exponent)

    def indexed(self, body: Piece, entries: Sequence[Any]) -> Piece:
        return self.put("index", body, ", ".join(map(self.entry, entries)))

    def entry(self, entry: Any) -> str:
        """Return one index: a position, a range, some positions, ``:`` or a symbol."""
        if isinstance(entry, range):
            step = "" if entry.step == 1 else f":{entry.step}"
            return f"{entry.start}:{entry.stop if entry.stop >= 0 else ''}{step}"
        return f"[{', '.join(map(str, entry))}]" if isinstance(entry, tuple) else str(entry)

    def blocks(self, rows: Sequence[Sequence[Piece]]) -> Piece:
        """Return a matrix of blocks."""
        return self.put("[]", self.end.join(map(self.cell.join, rows)))

    def sizes(self, sizes: Sequence[int]) -> Piece:
        return Piece(self.times.join(map(str, sizes)))

    def listed(self, items: Sequence[Piece]) -> Piece:
        return Piece(self.comma.join(items))

    def subset(self, letter: Piece, sign: str, sizes: Sequence[int]) -> Piece:
        """Return a set with sign and shape, such as R_+^30."""
        sign, shape = (self.put("sign", sign) if sign else ""), self.sizes(sizes)
        return self.put("set", letter, sign, self.put("size", shape) if sizes else "")


class Latex(Text):
    """The style of LaTeX."""

    forms: ClassVar[dict[str, str]] = {
        "()": r"\left({}\right)", "{}": r"\left\{{{}\right\}}", "||": r"\left|{}\right|",
        "[]": r"\begin{{bmatrix}}{}\end{{bmatrix}}", "root": r"\sqrt{{{}}}",
        "fraction": r"\frac{{{}}}{{{}}}", "exponential": "e^{{{}}}", "transposed": r"{}^\top",
        "call": r"{}\left({}\right)", "power": "{}^{{{}}}", "entrywise power": r"{}^{{\circ {}}}",
        "index": "{}_{{{}}}", "entries": r"\left({}\right)_i", "infix": "{} {} {}",
        "norm": r"\left\|{}\right\|_{{{}}}", "sum over": r"\sum_{1} {0}", "set": "{}{}{}",
        "letter": r"\mathbb{{{}}}", "sign": "_{{{}}}", "size": "^{{{}}}",
    }  # fmt: skip
    levels: ClassVar[dict[str, int]] = Text.levels | {
        "fraction": CALL, "exponential": CALL, "call": CALL
    }  # fmt: skip
    functions: ClassVar[dict[str, str]] = {
        "log": r"\log", "max": r"\max", "min": r"\min", "maximum": r"\max", "minimum": r"\min",
        "trace": r"\operatorname{tr}", "lambda_max": r"\lambda_{\max}", "log_det": r"\log\det",
        "sin": r"\sin", "cos": r"\cos", "tan": r"\tan", "sinh": r"\sinh", "tanh": r"\tanh",
        "real": r"\operatorname{Re}", "imag": r"\operatorname{Im}",
    }  # fmt: skip
    signs: ClassVar[dict[str, str]] = {
        "<=": r"\le", ">=": r"\ge", "==": "=", ">>": r"\succeq", "in": r"\in", ".*": r"\circ",
        "./": r"\oslash", "inf": r"\infty",
    }  # fmt: skip
    ones: ClassVar[dict[str, str]] = {
        "column": r"\mathbf{1}", "row": r"\mathbf{1}^\top", "matrix": r"\mathbf{1} \mathbf{1}^\top"
    }  # fmt: skip
    times, cell, end, by = r" \times ", " & ", r" \\ ", r" \, "

    def name(self, name: str) -> Piece:
        r"""Return a symbol: ``lam_1`` is ``\lambda_{1}``, ``budget`` is upright."""
        stem, _, index = name.partition("_")
        return self.put("index", self.letters(stem), self.letters(index)) if index else Piece(
            self.letters(stem)
        )  # fmt: skip

    def letters(self, word: str) -> str:
        spelled = _SPELLINGS.get(word, word)
        if spelled in GREEK:
            return f"\\{spelled}"
        if re.fullmatch("[A-Za-z]|[0-9]+", word):
            return word
        return rf"\mathrm{{{word}}}" if re.fullmatch("[A-Za-z0-9]+", word) else self.word(word)

    def word(self, word: str) -> Piece:
        return Piece(rf"\text{{{''.join(_SPECIAL.get(letter, letter) for letter in word)}}}")

    def number(self, digits: str) -> Piece:
        """Return a number; ``2e5`` is written with a power of ten."""
        mantissa, exponential, exponent = digits.partition("e")
        if not exponential or "j" in digits:
            return Piece(self.word("nan") if digits == "nan" else self.plain(digits), kind="number")
        power = self.put("power", self.plain("10"), self.plain(str(int(exponent))))
        if mantissa == "1":
            return Piece(power, kind="number")
        return Piece(
            self.put("infix", self.plain(mantissa), self.times.strip(), power), kind="number"
        )

    def plain(self, digits: str) -> str:
        return self.signs.get(digits, digits)

    def function(self, name: str) -> str:
        plain = re.fullmatch("[A-Za-z0-9]+", name)
        return self.functions.get(name) or (
            rf"\operatorname{{{name}}}" if plain else self.word(name)
        )  # fmt: skip

    def repeated(self, body: Piece | None, form: str) -> Piece:
        one = super().repeated(None, form)
        if body is None:
            return one
        factor = body if body.level >= PRODUCT else self.put("()", body)
        return Piece(f"{factor}{self.by}{one}", PRODUCT)

    def gap(self, before: Piece, part: Piece) -> str:
        """Return the space between two factors: wider beside numbers and words."""
        if before.kind == part.kind == "number":
            return r" \cdot "
        words = any(word in box for word in (r"\mathrm", r"\text") for box in (before, part))
        return r" \, " if before.kind == "number" or words else " "

    def bracketed(self, piece: Piece, level: int) -> Piece:
        return piece

    def indexed(self, body: Piece, entries: Sequence[Any]) -> Piece:
        # Put braces around a name that already has an index.
        base = f"{{{body}}}" if "_" in body else body
        return self.put("index", base, ",".join(map(self.entry, entries)))

    def entry(self, entry: Any) -> str:
        if isinstance(entry, range):
            step = "" if entry.step == 1 else f":{entry.step}"
            last = entry[-1] + 1 if len(entry) else entry.start
            return f"{entry.start + 1}{step}:{last}"
        if isinstance(entry, tuple):
            return rf"\{{{','.join(str(position + 1) for position in entry)}\}}"
        if isinstance(entry, int):
            return str(entry + 1)
        return self.word(entry) if entry == "new" else entry


class MathML(Latex):
    """The style of MathML: every piece is one element, brackets and positions are as in LaTeX."""

    forms: ClassVar[dict[str, str]] = {
        **{fence: f"<mrow><mo>{fence[0]}</mo>{{}}<mo>{fence[1]}</mo></mrow>"
           for fence in ("()", "||", "[]")},
        "{}": "<mrow><mo>{{</mo>{}<mo>}}</mo></mrow>", "root": "<msqrt>{}</msqrt>",
        "fraction": "<mfrac>{}{}</mfrac>", "exponential": "<msup><mi>e</mi>{}</msup>",
        "transposed": "{}<mo>⊤</mo>", "power": "{}{}",
        "entrywise power": "{}<mrow><mo>∘</mo>{}</mrow>", "index": "<msub>{}{}</msub>",
        "call": "<mrow>{}<mo>\u2061</mo><mrow><mo>(</mo>{}<mo>)</mo></mrow></mrow>",
        "entries": "<msub><mrow><mo>(</mo>{}<mo>)</mo></mrow><mi>i</mi></msub>",
        "infix": "<mrow>{}<mo>{}</mo>{}</mrow>", "letter": "<mi>{}</mi>",
        "norm": "<msub><mrow><mo>‖</mo>{}<mo>‖</mo></mrow><mi>{}</mi></msub>",
        "sum over": "<mrow><munder><mo>∑</mo><mi>{1}</mi></munder>{0}</mrow>",
        "sign": "<mo>{}</mo>", "size": "{}",
    }  # fmt: skip
    functions: ClassVar[dict[str, str]] = Text.functions | {
        "log_det": "log det", "real": "Re", "imag": "Im"
    }  # fmt: skip
    signs: ClassVar[dict[str, str]] = {
        "<=": "≤", ">=": "≥", "==": "=", ">>": "⪰", "in": "∈", ".*": "∘", "./": "⊘", "*": "∗",
        "inf": "∞", "R": "ℝ", "Z": "ℤ", "S": "𝕊", "C": "ℂ",
    }  # fmt: skip
    ones: ClassVar[dict[str, str]] = {
        "column": "<mn>𝟏</mn>", "row": "<msup><mn>𝟏</mn><mo>⊤</mo></msup>",
        "matrix": "<mrow><mn>𝟏</mn><msup><mn>𝟏</mn><mo>⊤</mo></msup></mrow>",
    }  # fmt: skip
    #: The sign of a product is invisible, but read aloud and allowed as a line break.
    by, times, comma = "<mo>\u2062</mo>", "×", "<mo>,</mo>"

    def put(self, form: str, *parts: str, kind: str = "") -> Piece:
        if form == "letter":
            parts = (self.signs[parts[0]],)
        return super().put(form, *parts, kind=kind)

    def letters(self, word: str) -> str:
        return f"<mi>{escape(GREEK.get(SPELLED.get(word, word), word))}</mi>"

    def word(self, word: str) -> Piece:
        return Piece(f"<mtext>{escape(word)}</mtext>")

    def plain(self, digits: str) -> str:
        return f"<mn>{super().plain(digits).replace('-', '−')}</mn>"

    def function(self, name: str) -> str:
        if name == "lambda_max":
            return "<msub><mi>λ</mi><mi>max</mi></msub>"
        return f"<mi>{escape(self.functions.get(name, name))}</mi>"

    def repeated(self, body: Piece | None, form: str) -> Piece:
        one = super().repeated(body, form)
        return one if body is None else Piece(f"<mrow>{one}</mrow>", PRODUCT)

    def signed(self, terms: Sequence[tuple[int, Piece]], first: bool = True) -> Piece:
        written = "".join(f"<mo>{'−' if sign < 0 else '+'}</mo>{term}" for sign, term in terms)
        written = written.removeprefix("<mo>+</mo>") if first else written
        return Piece(f"<mrow>{written}</mrow>", SUM)

    def infix(self, left: Piece, operator: str, right: Piece) -> Piece:
        return self.put("infix", left, self.signs.get(operator, escape(operator)), right)

    def row(self, parts: Sequence[Piece]) -> Piece:
        joined = Piece(f"<mrow>{self.by.join(parts)}</mrow>", PRODUCT)
        return parts[0] if len(parts) == 1 else joined

    def raised(self, form: str, base: Piece, *exponent: Piece) -> Piece:
        """Return a power, with the exponent above the index of the base."""
        tag, inside = "msup", str(base)
        if base.startswith("<msub>"):
            tag, inside = "msubsup", base.removeprefix("<msub>").removesuffix("</msub>")
        return Piece(f"<{tag}>{self.put(form, inside, *exponent)}</{tag}>", CALL)

    def indexed(self, body: Piece, entries: Sequence[Any]) -> Piece:
        return self.put("index", body, f"<mrow>{self.comma.join(map(self.entry, entries))}</mrow>")

    def entry(self, entry: Any) -> str:
        if isinstance(entry, Piece) or entry == "new":
            return entry if isinstance(entry, Piece) else self.word(entry)
        tag = "mi" if entry == "i" else "mn"
        written = super().entry(entry).replace("\\", "")
        return f"<{tag}>{written}</{tag}>"

    def blocks(self, rows: Sequence[Sequence[Piece]]) -> Piece:
        cells = ("".join(f"<mtd>{piece}</mtd>" for piece in row) for row in rows)
        lines = "".join(f"<mtr>{row}</mtr>" for row in cells)
        return self.put("[]", f"<mtable>{lines}</mtable>")

    def sizes(self, sizes: Sequence[int]) -> Piece:
        joined = f"<mo>{self.times}</mo>".join(map(self.plain, map(str, sizes)))
        return Piece(f"<mrow>{joined}</mrow>")

    def listed(self, items: Sequence[Piece]) -> Piece:
        return Piece(f"<mrow>{super().listed(items)}</mrow>")

    def subset(self, letter: Piece, sign: str, sizes: Sequence[int]) -> Piece:
        tag = ["mrow", "msub", "msup", "msubsup"][bool(sign) + 2 * bool(sizes)]
        scripts = [self.put("sign", sign)] * bool(sign) + [self.sizes(sizes)] * bool(sizes)
        return Piece(f"<{tag}>{letter}{''.join(scripts)}</{tag}>")
