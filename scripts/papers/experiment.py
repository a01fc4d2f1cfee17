"""What an experiment declares, and what it is told when it measures."""

import ast
import hashlib
import sys
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from convexfs.data.dataset import Dataset
from papers.measurements import Numbers

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Case:
    """One run of one method on one data set."""

    data: Dataset
    row: str
    method: str
    run: int
    settings: Mapping[str, Any]

    def random(self, purpose: str) -> np.random.Generator:
        """Return draws that all methods of a run share, and no other purpose does."""
        words = (zlib.crc32(word.encode()) for word in (self.row, purpose))
        return np.random.default_rng([self.run, *words])


@dataclass(frozen=True)
class Column:
    """A number of a table: what it is called, where it is measured, what was printed.

    Attributes
    ----------
    heading : str
    method, measure : str
        Whose number, and which.
    printed : str
        Column of the printed file; its deviation is the one that ends in ``_sd``. Empty: the
        paper has no such number.
    reading : str
        How the paper was read, where there are several ways; ``default`` marks the one that
        is held against the paper.
    honest : str
        The measure of the same method that chooses nothing on test rows; empty if this one
        does not either.
    contends : bool
        Whether it is a method among others, and no yardstick such as data without noise.
    """

    heading: str
    method: str
    measure: str = "error"
    printed: str = ""
    reading: str = ""
    default: bool = True
    honest: str = ""
    contends: bool = True


@dataclass(frozen=True)
class Table:
    """A table of a paper; ``printed`` is its file, without one there is nothing to judge by.

    ``reference`` is the heading that others are tested against, run by run; ``rows`` are the
    data sets it is about, by default all; ``averaged`` tells means over them, as some papers do.
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    printed: str = ""
    unit: str = "error, %"
    reference: str = ""
    higher_is_better: bool = False
    rows: tuple[str, ...] = ()
    averaged: bool = False


@dataclass(frozen=True)
class Figure:
    """A figure: ``points`` makes series, x and y of the measured numbers."""

    name: str
    title: str
    points: Callable[[pd.DataFrame], pd.DataFrame]
    x: str
    y: str
    log_x: bool = False
    log_y: bool = False


@dataclass(frozen=True)
class Variant:
    """How large an experiment is: its data by the name printed, runs, settings.

    ``seconds`` are processor seconds of one run of all methods on each data set, as measured.
    """

    sources: Mapping[str, str]
    runs: int
    settings: Mapping[str, Any]
    seconds: Mapping[str, float]


@dataclass(frozen=True)
class Experiment:
    """A protocol.

    Attributes
    ----------
    name, title, reference : str
    methods : tuple of str
        Each is measured on every data set in every run; ``left_out`` says where not and why,
        by data set and method, either of them ``*`` for all.
    measure : callable
        From a case to its numbers.
    full, quick : Variant
        As printed, and with generated data in a minute or so.
    tables, figures
        What is made of the numbers.
    derived : callable, optional
        Makes further numbers of those of all runs, such as what a paper chose by their mean.
    notes : tuple of str
        What a reader must know.
    """

    name: str
    title: str
    reference: str
    methods: tuple[str, ...]
    measure: Callable[[Case], Numbers]
    full: Variant
    quick: Variant
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()
    derived: Callable[[pd.DataFrame], pd.DataFrame] | None = None
    left_out: Mapping[tuple[str, str], str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def why_left_out(self, row: str, method: str) -> str:
        """Return why a method is not measured on a data set, or nothing."""
        return self.left_out.get((row, method)) or self.left_out.get(("*", method), "")

    @property
    def code(self) -> str:
        """Return the hash of what measures, in this room."""
        modules = sorted(_modules_from(self.measure.__module__))
        files = [Path(str(sys.modules[name].__file__)) for name in modules]
        # The comparators are no part of other results, whose hash has the rest of the package.
        files += sorted((HERE / "baselines").glob("*.py"))
        text = "\n".join(_what_measures(file.read_text(encoding="utf-8")) for file in files)
        return hashlib.sha256(text.encode()).hexdigest()


def _what_measures(source: str) -> str:
    """Return the statements of a module without those that only declare what is shown."""
    kept = [node for node in ast.parse(source).body if not _declares(node)]
    return ast.unparse(ast.Module(kept, type_ignores=[]))


def _declares(node: ast.stmt) -> bool:
    called = (
        node.value.func
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
        else None
    )
    shown = {own.__name__ for own in (Experiment, Table, Figure)}
    return isinstance(called, ast.Name) and called.id in shown


def _modules_from(name: str, known: frozenset[str] = frozenset()) -> frozenset[str]:
    """Return a protocol's module and those of this room whose functions it uses in turn."""
    known |= {name}
    room = __name__.rpartition(".")[0]
    for thing in vars(sys.modules[name]).values():
        used = str(getattr(thing, "__module__", ""))
        if used.startswith(f"{room}.") and used not in {*known, __name__}:
            known = _modules_from(used, known)
    return known


def printed(name: str) -> pd.DataFrame:
    """Return what a paper printed, by data set."""
    return pd.read_csv(HERE / "printed" / f"{name}.csv", index_col=0)
