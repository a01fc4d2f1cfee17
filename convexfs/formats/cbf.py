"""CBF, the Conic Benchmark Format of CBLIB, versions 1 to 4, one problem a file.

::

    min or max  <F_obj, X> + a'x + b
    subject to  F_i(X) + Ax + b in K,   H(x) + D psd,   x in K,   X_j psd,   some x whole

Cones: F, L+, L-, L=, Q, QR, EXP, EXP*, POW and POW* of three entries, SVECPSD. What CBF lists
by name in another order (its exponential cone is z, y, x) is put into the order of
:mod:`convexfs.formats.instance` by a small matrix a cone.
"""

import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from convexfs.formats.instance import (
    EXPONENTIAL,
    NONNEGATIVE,
    POWER,
    SECOND_ORDER,
    SEMIDEFINITE,
    ZERO,
    Cone,
    Program,
    Variable,
)
from convexfs.formats.text import Lines

VERSIONS = (1, 4)
_ROOT = math.sqrt(0.5)
#: Cones of any size: kind in this package, and sign of the rows.
_PLAIN = {"L=": (ZERO, 1.0), "L+": (NONNEGATIVE, 1.0), "L-": (NONNEGATIVE, -1.0),
          "Q": (SECOND_ORDER, 1.0)}  # fmt: skip
#: Three-dimensional cones, as matrices from CBF's order to ours.
_THREE = {"EXP": [[0, 0, 1], [0, 1, 0], [1, 0, 0]], "EXP*": [[0, -1, 1], [0, 0, -1], [1, 0, 0]]}
_BOUNDS = {"F": (-np.inf, np.inf), "L+": (0.0, np.inf), "L-": (-np.inf, 0.0), "L=": (0.0, 0.0)}
_SENSES = {"MIN": False, "MAX": True}


def read(path: Path) -> Program:
    """Read a CBF file into a Program."""
    return _Reader(path).program()


class _Reader:
    """Parser of the sections of a CBF file."""

    def __init__(self, path: Path):
        self.lines = Lines(path, "#")
        self.maximise = False
        self.alphas: dict[str, list[float]] = {"POW": [], "POW*": []}
        self.sizes: dict[str, list[int]] = {"PSDVAR": [], "PSDCON": []}
        self.cones: dict[str, list[tuple[str, int]]] = {"VAR": [], "CON": []}
        self.counts = {"VAR": 0, "CON": 0}
        self.integer: list[int] = []
        self.entries: dict[str, dict[tuple[int, ...], float]] = {}
        self._read()

    def _read(self) -> None:
        sections: dict[str, Callable[[str], None]] = {
            "VER": self._version, "OBJSENSE": self._sense, "INT": self._whole,
            "POWCONES": self._powers, "POW*CONES": self._powers,
            "PSDVAR": self._matrices, "PSDCON": self._matrices,
            "VAR": self._domains, "CON": self._domains, "OBJBCOORD": self._constant,
        }  # fmt: skip
        sections |= dict.fromkeys(_LIMITS, self._coordinates)
        seen: set[str] = set()
        for line in self.lines:
            keyword = line.strip()
            if keyword == "CHANGE":
                self.lines.fail("CHANGE begins another problem: a file may hold one")
            if keyword not in sections:
                self.lines.fail(f"{keyword[:40]!r} is no keyword of CBF that is read here")
            if keyword in seen:
                self.lines.fail(f"{keyword} stands here a second time")
            if not seen and keyword != "VER":
                self.lines.fail("a CBF file begins with VER")
            seen.add(keyword)
            sections[keyword](keyword)
        for needed in ("VER", "OBJSENSE"):
            if needed not in seen:
                self.lines.fail(f"the file ends without {needed}")

    def _words(self, count: int, what: str) -> list[str]:
        words = self.lines.next(what).split()
        if len(words) != count:
            self.lines.fail(f"{what} must be {count} on a line, not {len(words)}")
        return words

    def _count(self, what: str) -> int:
        return self.lines.whole(self._words(1, what)[0], what)

    def _version(self, _: str) -> None:
        first, last = VERSIONS
        found = self._count("the version")
        if not first <= found <= last:
            self.lines.fail(f"version {found} of CBF is not read here: {first} to {last} are")

    def _sense(self, _: str) -> None:
        word = self.lines.next("MIN or MAX").strip()
        if word not in _SENSES:
            self.lines.fail(f"OBJSENSE must be MIN or MAX, not {word[:40]!r}")
        self.maximise = _SENSES[word]

    def _powers(self, keyword: str) -> None:
        words = self._words(2, "the numbers of power cones and of their exponents")
        chains, total = (self.lines.whole(word, "a number of exponents") for word in words)
        if total != 2 * chains:
            self.lines.fail("power cones of two exponents and three entries are read here")
        for _ in range(chains):
            if self._count("the exponents of a power cone") != 2:
                self.lines.fail("power cones of two exponents and three entries are read here")
            first, second = (
                self.lines.real(self._words(1, "an exponent")[0], "an exponent") for _ in "xy"
            )
            if first <= 0 or second <= 0:
                self.lines.fail("exponents of a power cone must be above 0")
            self.alphas[keyword.removesuffix("CONES")].append(first / (first + second))

    def _matrices(self, keyword: str) -> None:
        for _ in range(self._count(f"the number of matrices of {keyword}")):
            self.sizes[keyword].append(self._count("the side of a matrix"))
            self.lines.check_size(sum(side * side for side in self.sizes[keyword]))

    def _domains(self, keyword: str) -> None:
        words = self._words(2, f"the numbers of entries and of cones of {keyword}")
        total, chunks = (self.lines.whole(word, "a number of entries") for word in words)
        self.lines.check_size(total)
        for _ in range(chunks):
            name, word = self._words(2, "a cone and its size")
            entries = self.lines.whole(word, "the size of a cone")
            self._check_cone(name, entries)
            self.cones[keyword].append((name, entries))
        if sum(count for _, count in self.cones[keyword]) != total:
            self.lines.fail(f"the cones of {keyword} do not have {total} entries together")
        self.counts[keyword] = total

    def _check_cone(self, name: str, size: int) -> None:
        kind = name.partition(":")[2] if name.startswith("@") else name
        if kind in self.alphas and name.startswith("@"):
            place = name[1:].partition(":")[0]
            self.lines.whole(place, "a power cone's number", 0, len(self.alphas[kind]) - 1)
        elif kind not in _PLAIN and kind not in (*_THREE, "F", "QR", "SVECPSD"):
            self.lines.fail(f"there is no cone {name[:40]!r} here")
        side = (math.isqrt(8 * size + 1) - 1) // 2
        if (kind in _THREE or kind in self.alphas) and size != 3:
            self.lines.fail(f"{name} has three entries, not {size}")
        if (kind == "QR" and size < 2) or (kind == "Q" and size < 1):
            self.lines.fail(f"{name} cannot have {size} entries")
        if kind == "SVECPSD" and side * (side + 1) // 2 != size:
            self.lines.fail(f"{size} entries are not the triangle of a matrix")

    def _whole(self, _: str) -> None:
        for _each in range(self._count("the number of whole variables")):
            word = self._words(1, "a variable")[0]
            self.integer.append(self.lines.whole(word, "a variable", 0, self.counts["VAR"] - 1))

    def _constant(self, _: str) -> None:
        word = self._words(1, "the objective's constant")[0]
        self.entries["OBJBCOORD"] = {(): self.lines.real(word, "the objective's constant")}

    def _coordinates(self, keyword: str) -> None:
        whats = _LIMITS[keyword]
        found: dict[tuple[int, ...], float] = {}
        for _ in range(self._count(f"the number of entries of {keyword}")):
            *place, value = self._words(len(whats) + 1, f"an entry of {keyword}")
            at = self._place(keyword, [self.lines.whole(word, what) for word, what
                                       in zip(place, whats, strict=True)])  # fmt: skip
            if at in found:
                self.lines.fail(f"{keyword} has this entry already")
            found[at] = self.lines.real(value, "a coefficient")
        self.entries[keyword] = found

    def _place(self, keyword: str, at: list[int]) -> tuple[int, ...]:
        """Check that the indices exist; return matrix indices in the lower triangle."""
        for what, index in zip(_LIMITS[keyword], at, strict=True):
            if what in ("row", "column"):
                continue
            known = self.counts.get(what, len(self.sizes.get(what, ())))
            if index >= known:
                self.lines.fail(f"there is no entry {index} of {what}: it has {known}")
        if _LIMITS[keyword][-1] == "column":
            owner = next(position for position, what in enumerate(_LIMITS[keyword])
                         if what in self.sizes)  # fmt: skip
            side = self.sizes[_LIMITS[keyword][owner]][at[owner]]
            if max(at[-2:]) >= side:
                self.lines.fail(f"the matrix has {side} rows and columns, counted from 0")
            at[-2:] = sorted(at[-2:], reverse=True)
        return tuple(at)

    def program(self) -> Program:
        variables = [Variable("x", self.counts["VAR"])] * bool(self.counts["VAR"])
        variables += [
            Variable(f"X_{number}", side * side, semidefinite=True)
            for number, side in enumerate(self.sizes["PSDVAR"], 1)
        ]
        size = sum(variable.size for variable in variables)
        if size == 0:
            self.lines.fail("the problem has no variables")
        lower, upper = np.full(size, -np.inf), np.full(size, np.inf)
        self._bound(lower, upper)
        rows = [self._constraints(size), self._conic_variables(size), self._semidefinite(size)]
        integer = np.zeros(size, dtype=bool)
        integer[self.integer] = True
        return Program(
            c=self._matrix("OBJ", 1, size).toarray().ravel(),
            A=sparse.csr_array(sparse.vstack([A for A, _, _ in rows])),
            b=np.concatenate([b for _, b, _ in rows]),
            cones=tuple(cone for _, _, cones in rows for cone in cones),
            lower=lower,
            upper=upper,
            integer=integer,
            d=self.entries.get("OBJBCOORD", {}).get((), 0.0),
            maximise=self.maximise,
            variables=tuple(variables),
        )

    def _bound(self, lower: np.ndarray, upper: np.ndarray) -> None:
        start = 0
        for name, size in self.cones["VAR"]:
            if name in _BOUNDS:
                lower[start : start + size], upper[start : start + size] = _BOUNDS[name]
            start += size

    def _matrix(self, prefix: str, n_rows: int, size: int) -> Any:
        """Return coefficients of rows: of scalar variables (ACOORD), then matrices (FCOORD)."""
        scalars = self.entries.get(f"{prefix}ACOORD", {})
        where = [((0, *at) if prefix else at) for at in scalars]
        cells = list(zip(where, scalars.values(), strict=True))
        starts = self.counts["VAR"] + np.cumsum([0, *(side**2 for side in self.sizes["PSDVAR"])])
        for at, value in self.entries.get(f"{prefix}FCOORD", {}).items():
            row, which, i, j = (0, *at) if prefix else at
            side, start = self.sizes["PSDVAR"][which], int(starts[which])
            cells += [((row, start + p * side + q), value) for p, q in {(i, j), (j, i)}]
        return _sparse(cells, (n_rows, size))

    def _constraints(self, size: int) -> tuple[Any, np.ndarray, list[Cone]]:
        A = self._matrix("", self.counts["CON"], size)
        b = np.zeros(self.counts["CON"])
        for (row,), value in self.entries.get("BCOORD", {}).items():
            b[row] = value
        return self._in_cones(A, b, self.cones["CON"])

    def _conic_variables(self, size: int) -> tuple[Any, np.ndarray, list[Cone]]:
        """Return rows, constants and cones for variables in cones that are more than a bound."""
        said = [("F" if name in _BOUNDS else name, count) for name, count in self.cones["VAR"]]
        A = sparse.eye_array(self.counts["VAR"], size, format="csr")
        return self._in_cones(A, np.zeros(self.counts["VAR"]), said)

    def _in_cones(
        self, A: Any, b: np.ndarray, said: Iterable[tuple[str, int]]
    ) -> tuple[Any, np.ndarray, list[Cone]]:
        maps, cones = [sparse.csr_array((0, 0))], []
        for name, size in said:
            turned, own = self._standard(name, size)
            maps.append(sparse.csr_array(turned))
            cones += own
        to_rows = sparse.csr_array(sparse.block_diag(maps))
        return to_rows @ A, to_rows @ b, cones

    def _standard(self, name: str, size: int) -> tuple[Any, list[Cone]]:
        """Return the matrix from a CBF cone's entries to rows, and the cone of these rows."""
        if name in _PLAIN:
            kind, sign = _PLAIN[name]
            return sign * sparse.eye_array(size), [Cone(kind, size)] * bool(size)
        if name in _THREE:
            return np.array(_THREE[name], dtype=float), [Cone(EXPONENTIAL, 3)]
        if name == "QR":
            turn = np.eye(size)
            turn[:2, :2] = [[_ROOT, _ROOT], [_ROOT, -_ROOT]]
            return turn, [Cone(SECOND_ORDER, size)]
        if name == "SVECPSD":
            return _from_triangle(size)
        if name == "F":
            return sparse.csr_array((0, size)), []
        place, _, kind = name[1:].partition(":")
        alpha = self.alphas[kind][int(place)]
        scale = [1.0, 1.0, 1.0] if kind == "POW" else [1.0 / alpha, 1.0 / (1.0 - alpha), 1.0]
        return np.diag(scale), [Cone(POWER, 3, alpha)]

    def _semidefinite(self, size: int) -> tuple[Any, np.ndarray, list[Cone]]:
        """Return rows, constants and cones of ``H(x) + D psd``, each matrix column by column."""
        sides = self.sizes["PSDCON"]
        starts = np.cumsum([0, *(side * side for side in sides)])
        cells, b = [], np.zeros(int(starts[-1]))
        for (which, column, i, j), value in self.entries.get("HCOORD", {}).items():
            side, start = sides[which], int(starts[which])
            cells += [((start + p * side + q, column), value) for p, q in {(i, j), (j, i)}]
        for (which, i, j), value in self.entries.get("DCOORD", {}).items():
            side, start = sides[which], int(starts[which])
            b[[start + i * side + j, start + j * side + i]] = value
        cones = [Cone(SEMIDEFINITE, side * side) for side in sides if side]
        return _sparse(cells, (b.size, size)), b, cones


#: Meaning of the indices of each section.
_LIMITS = {
    "OBJACOORD": ("VAR",), "ACOORD": ("CON", "VAR"), "BCOORD": ("CON",),
    "OBJFCOORD": ("PSDVAR", "row", "column"), "FCOORD": ("CON", "PSDVAR", "row", "column"),
    "HCOORD": ("PSDCON", "VAR", "row", "column"), "DCOORD": ("PSDCON", "row", "column"),
}  # fmt: skip


def _sparse(cells: list[tuple[Any, float]], shape: tuple[int, int]) -> Any:
    at = np.array([place for place, _ in cells], dtype=int).reshape(-1, 2)
    values = np.array([value for _, value in cells], dtype=float)
    return sparse.csr_array((values, (at[:, 0], at[:, 1])), shape)


def _from_triangle(size: int) -> tuple[Any, list[Cone]]:
    """Return the matrix from a scaled lower triangle to the full matrix, and the psd cone."""
    side = (math.isqrt(8 * size + 1) - 1) // 2
    j, i = np.triu_indices(side)
    values = np.where(i == j, 1.0, _ROOT)
    at = np.arange(size)
    whole = np.zeros((side * side, size))
    whole[i + j * side, at] = whole[j + i * side, at] = values
    return whole, [Cone(SEMIDEFINITE, side * side)]
