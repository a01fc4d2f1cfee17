"""Everything there is to see of a problem, in one object that prints."""

import html
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import cvxpy as cp
from cvxpy import constraints
from cvxpy.constraints import SOC

from convexfs.errors import InputError
from convexfs.inspection.canonical import canonical, sizes
from convexfs.inspection.notation import Notation
from convexfs.inspection.numpy_code import NumpyCode, numpy_code
from convexfs.inspection.page import Page
from convexfs.inspection.reading import Formula, read, read_problem
from convexfs.inspection.symbols import SymbolTable
from convexfs.inspection.text import Text
from convexfs.inspection.tree import deep
from convexfs.solving.backends import BACKENDS, Needs, needs_of
from convexfs.solving.cone_program import ConeProgram
from convexfs.solving.rules import broken_rules, curvature

_TEXT = Notation(Text())
_SIGNS = {constraints.Inequality: " <= ", constraints.Equality: " == "}


@dataclass(frozen=True)
class Inspection:
    """What :func:`show` found; prints as text, and as mathematics in a notebook.

    Attributes
    ----------
    problem : cvxpy.Problem
    text, latex, mathml : str
        The formula in three notations. Positions are counted from 0 in text, as
        in Python, and from 1 in the others, as on paper.
    numpy : NumpyCode
        The formula as code that evaluates to cvxpy's own numbers.
    rules, reasons
        Which of cvxpy's disciplines the problem keeps, and what breaks the others.
    """

    problem: cp.Problem
    names: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @cached_property
    def formula(self) -> Formula:
        return read_problem(self.problem, SymbolTable(self.problem, self.names))

    @cached_property
    def page(self) -> Page:
        return Page(self.formula)

    @property
    def text(self) -> str:
        return self.page.as_text()

    @property
    def latex(self) -> str:
        return self.page.as_latex()

    @property
    def optidef(self) -> str:
        return self.page.as_optidef()

    @property
    def mathml(self) -> str:
        return self.page.as_mathml()

    @cached_property
    def numpy(self) -> NumpyCode:
        return numpy_code(self.formula)

    @cached_property
    def needs(self) -> Needs:
        return needs_of(self.problem)

    @property
    def rules(self) -> dict[str, bool]:
        """Which of cvxpy's disciplines the problem keeps."""
        return {
            "DCP": self.problem.is_dcp(),
            "DPP": self.problem.is_dpp(),
            "DQCP": self.problem.is_dqcp(),
        }

    @property
    def reasons(self) -> list[str]:
        """Which parts break which rule: of DCP, or of DPP if DCP is kept."""
        kept = self.problem.is_dcp()
        if kept and self.problem.is_dpp():
            return []
        return list(broken_rules(self.problem, self._describe, dpp=kept))

    @property
    def part_rules(self) -> dict[str, dict[str, bool]]:
        """Which disciplines the objective and each constraint keep."""
        parts = {"objective": self.problem.objective} | self._by_key()
        return {
            key: {"DCP": part.is_dcp(), "DPP": part.is_dcp(dpp=True), "DQCP": part.is_dqcp()}
            for key, part in parts.items()
        }

    @property
    def curvatures(self) -> dict[str, str]:
        """Curvature of the objective and of the sides of each constraint."""
        found = {"objective": curvature(self.problem.objective.expr)}
        for key, constraint in self._by_key().items():
            sign = _SIGNS.get(type(constraint), ", ")
            found[key] = sign.join(curvature(arg) for arg in constraint.args)
        return found

    def _by_key(self) -> dict[str, Any]:
        keys = (clause.key for clause in self.formula.clauses)
        return dict(zip(keys, self.problem.constraints, strict=True))

    @property
    def solvers(self) -> dict[str, str]:
        """Every solver of the table: ``ready``, or why it cannot be used."""
        if not self.problem.is_dcp():
            return dict.fromkeys(BACKENDS, "the problem is not convex by cvxpy's rules")
        verdicts = {}
        for name, row in BACKENDS.items():
            taken = row.integer_cones if self.needs.integer else row.cones
            lacking = sorted(self.needs.cones - taken)
            if lacking:
                verdicts[name] = f"cannot take {' + '.join(lacking)}"
            else:
                verdicts[name] = "ready" if row.installed else row.how_to_install
        return verdicts

    @property
    @deep()
    def duals(self) -> dict[str, str]:
        """What each constraint's multiplier says, by its name in ``Solution.dual``."""
        rows = zip(self.formula.clauses, self.problem.constraints, strict=True)
        return {
            clause.key: _meaning(constraint, _TEXT.write(clause.statement))
            for clause, constraint in rows
        }

    @cached_property
    def canonical(self) -> ConeProgram | str:
        """The cone program of the preferred solver, or why there is none."""
        if not self.problem.is_dcp():
            return "none: the problem is not convex by cvxpy's rules"
        unset = [self._name(p) for p in self.problem.parameters() if p.value is None]
        if unset:
            return f"not known before parameter {', '.join(unset)} has a value"
        try:
            return canonical(self.problem)
        # cvxpy refuses what it cannot rewrite with errors of many classes.
        except Exception as reason:
            return f"none: {reason}"

    def __str__(self) -> str:
        return f"{self.text}\n\n{self._facts()}"

    __repr__ = __str__

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex}$"

    def _repr_html_(self) -> str:
        return f"{self.mathml}\n<pre>{html.escape(self._facts())}</pre>"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {
            "text/plain": str(self),
            "text/latex": self._repr_latex_(),
            "text/html": self._repr_html_(),
        }

    def _facts(self) -> str:
        problem = self.problem
        rules = ", ".join(f"{rule} {'yes' if kept else 'no'}" for rule, kept in self.rules.items())
        ready = [name for name, verdict in self.solvers.items() if verdict == "ready"]
        lines = [
            ("variables", self._listing(problem.variables()) or "none"),
            ("parameters", self._listing(problem.parameters()) or "none"),
            *(("" if k else "constraints", line) for k, line in enumerate(self._constraints())),
            ("curvature", f"{self.curvatures['objective']}; {rules}"),
            *(("", reason) for reason in self.reasons),
            ("stated", self._stated()),
            ("cone program", self._cone_program()),
            ("needs", self._asked()),
            ("solvers", ", ".join(ready) or "none"),
            *(("" if k else "not these", line) for k, line in enumerate(self._unfit())),
            *self._dual_lines(),
        ]  # fmt: skip
        return "\n".join(f"{head:<13}{line}" for head, line in lines)

    def _cone_program(self) -> str:
        return self.canonical if isinstance(self.canonical, str) else sizes(self.canonical)

    def _listing(self, leaves: list[Any]) -> str:
        return ", ".join(f"{self._name(leaf)} {leaf.shape or 'scalar'}" for leaf in leaves)

    def _name(self, leaf: Any) -> str:
        return self.formula.symbols.leaf(leaf).name

    def _stated(self) -> str:
        """Sizes before canonicalisation."""
        rows: Counter[str] = Counter()
        for clause, constraint in zip(self.formula.clauses, self.problem.constraints, strict=True):
            rows[clause.statement.sign] += constraint.size
        listed = ", ".join(f"{count} of {sign}" for sign, count in sorted(rows.items()))
        metrics = self.problem.size_metrics
        return (
            f"{_counted(metrics.num_scalar_variables, 'column')}, "
            f"{_counted(sum(rows.values()), 'row')}{f' ({listed})' if listed else ''}, "
            f"{_counted(metrics.num_scalar_data, 'number')} of data"
        )

    def _asked(self) -> str:
        if self.problem.is_dcp():
            return str(self.needs)
        return "bisection (quasiconvex)" if self.problem.is_dqcp() else "a non-convex method"

    def _unfit(self) -> list[str]:
        """Installed solvers that cannot take the problem, by reason."""
        by_reason: dict[str, list[str]] = {}
        for name, verdict in self.solvers.items():
            if verdict.startswith("cannot") and BACKENDS[name].installed:
                by_reason.setdefault(verdict, []).append(name)
        return [f"{', '.join(names)}: {reason}" for reason, names in by_reason.items()]

    def _dual_lines(self) -> list[tuple[str, str]]:
        if not self.problem.is_dcp() or not self.duals:
            return []
        if self.needs.integer:
            return [("duals", "none: integer variables leave no prices")]
        return [
            ("" if k else "duals", f"{key}: {meaning}")
            for k, (key, meaning) in enumerate(self.duals.items())
        ]

    def _constraints(self) -> list[str]:
        bent = self.curvatures
        return [
            f"{key} ({type(constraint).__name__.lower()}, {_counted(constraint.size, 'row')}, "
            f"{bent[key]})"
            for key, constraint in self._by_key().items()
        ] or ["none"]

    @deep()
    def _describe(self, expression: Any) -> str:
        return _TEXT.write(read(expression, self.formula.symbols))


def show(problem: cp.Problem, names: Mapping[str, Any] | None = None) -> Inspection:
    """Describe any cvxpy problem; print the result to read it.

    Parameters
    ----------
    problem : cvxpy.Problem
    names : mapping of str to array, optional
        Names for the constants of the formula, such as ``{"z": z}``; the others are
        called ``c_1`` (vectors) and ``C_1`` (matrices).

    Returns
    -------
    Inspection
    """
    if not isinstance(problem, cp.Problem):
        raise InputError(f"show takes a cvxpy.Problem, not {type(problem).__name__}")
    return Inspection(problem, dict(names or {}))


def to_latex(problem: cp.Problem, names: Mapping[str, Any] | None = None) -> str:
    """LaTeX of any cvxpy problem, made from its expression tree."""
    return show(problem, names).latex


def _meaning(constraint: Any, bound: str) -> str:
    count = constraint.size
    match constraint:
        case constraints.Equality() | constraints.Zero():
            what = "one number" if count == 1 else f"{count} numbers, one a row,"
            return f"price of {bound}, {what} of either sign"
        case constraints.PSD():
            return f"price of {bound}, a psd matrix of side {constraint.args[0].shape[0]}"
        case SOC():
            return f"price of {bound}, {count} numbers in the second-order cone"
        case constraints.Inequality() | constraints.NonNeg() | constraints.NonPos():
            what = "one number >= 0" if count == 1 else f"{count} numbers >= 0, one a row"
            return f"price of the bound {bound}, {what}"
    return f"price of {bound}, {count} numbers in the dual cone"


def _counted(count: int, thing: str) -> str:
    return f"{count} {thing}" + ("s" if count != 1 else "")
