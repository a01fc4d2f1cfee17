"""The inspection of a problem as one object that prints."""

import html
import textwrap
import warnings
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import cvxpy as cp
from cvxpy import constraints
from cvxpy.constraints import SOC
from cvxpy.reductions.dgp2dcp.dgp2dcp import Dgp2Dcp

from convexfs.certification.program.cone_program import ConeProgram
from convexfs.errors import InputError
from convexfs.inspection.document import Page, span
from convexfs.inspection.layout import Notation
from convexfs.inspection.parse import Formula, read, read_problem
from convexfs.inspection.symbols import SymbolTable
from convexfs.inspection.tree import deep
from convexfs.inspection.writers import Text
from convexfs.solving.backends import BACKENDS, Needs, choose, lacking_in, needs_of
from convexfs.solving.dcp_rules import broken_log_log_rules, broken_rules, curvature

_TEXT = Notation(Text())
#: Width of the text beside the headings.
_FACT_WIDTH = 80 - 13
_SIGNS = {constraints.Inequality: " <= ", constraints.Equality: " == "}
_NOT_CONVEX = "the problem is not convex by cvxpy's rules"


@dataclass(frozen=True)
class Inspection:
    """Result of :func:`show`; prints as text, and as mathematics in a notebook.

    Attributes
    ----------
    problem : cvxpy.Problem
    text, latex, optidef, mathml : str
        The formula in four notations; optidef is a package of LaTeX. Positions are counted
        from 0 in text, as in Python, and from 1 in the others, as on paper.
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

    text = property(lambda self: self.page.as_text())
    latex = property(lambda self: self.page.as_latex())
    optidef = property(lambda self: self.page.as_optidef())
    mathml = property(lambda self: self.page.as_mathml())

    @cached_property
    def convex(self) -> cp.Problem | None:
        """The problem if it is DCP, its convex form in logarithms if DGP, else None."""
        if self.problem.is_dcp():
            return self.problem
        return Dgp2Dcp(self.problem).reduce() if self.problem.is_dgp() else None

    @cached_property
    def needs(self) -> Needs:
        return needs_of(self.convex or self.problem)

    @property
    def rules(self) -> dict[str, bool]:
        """Return which of cvxpy's disciplines (DCP, DGP, DQCP, DPP) the problem follows."""
        return _rules(self.problem) | {"DPP": self.problem.is_dpp()}

    @property
    def part_rules(self) -> dict[str, dict[str, bool]]:
        """Return which disciplines the objective and each constraint follow."""
        parts = {"objective": self.problem.objective} | self._by_key
        return {key: _rules(part) | {"DPP": part.is_dcp(dpp=True)} for key, part in parts.items()}

    @property
    def reasons(self) -> list[str]:
        """Return the parts that break a rule: of DCP and DGP, or of DPP if DCP holds."""
        if self.problem.is_dcp():
            is_dpp = self.problem.is_dpp()
            return [] if is_dpp else list(broken_rules(self.problem, self._describe, dpp=True))
        if self.problem.is_dgp():
            return []
        return [rule for check in (broken_rules, broken_log_log_rules)
                for rule in check(self.problem, self._describe)]  # fmt: skip

    @property
    def curvatures(self) -> dict[str, str]:
        """Return the curvature of the objective and of the sides of each constraint."""
        sides = {key: _SIGNS.get(type(constraint), ", ").join(map(curvature, constraint.args))
                 for key, constraint in self._by_key.items()}  # fmt: skip
        return {"objective": curvature(self.problem.objective.expr)} | sides

    @cached_property
    def _by_key(self) -> dict[str, Any]:
        keys = (clause.key for clause in self.formula.clauses)
        return dict(zip(keys, self.problem.constraints, strict=True))

    @property
    def solvers(self) -> dict[str, str]:
        """Return a dict of every solver: "ready", how to install it, or what it cannot take."""
        if self.convex is None:
            return dict.fromkeys(BACKENDS, _NOT_CONVEX)
        verdicts = {}
        for name, row in BACKENDS.items():
            lacking = lacking_in(row, self.needs)
            ready = "ready" if row.installed else row.how_to_install
            verdicts[name] = f"cannot take {lacking}" if lacking else ready
        return verdicts

    @property
    @deep()
    def duals(self) -> dict[str, str]:
        """Return the meaning of each multiplier, by its name in ``Solution.dual``."""
        rows = zip(self.formula.clauses, self.problem.constraints, strict=True)
        return {
            clause.key: _meaning(constraint, _TEXT.write(clause.statement))
            for clause, constraint in rows
        }

    @cached_property
    def canonical(self) -> ConeProgram | str:
        """Return the cone program for the preferred solver, or a text on why there is none."""
        unset = [self._name(p) for p in self.problem.parameters() if p.value is None]
        if self.convex is None:
            return f"none: {_NOT_CONVEX}"
        if unset:
            return f"not known before parameter {', '.join(unset)} has a value"
        try:
            return canonical(self.convex)
        # cvxpy raises many error classes for problems that it cannot compile.
        except Exception as reason:
            return f"none: {reason}"

    def __str__(self) -> str:
        return f"{self.text}\n\n{self._facts()}"

    __repr__ = __str__

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex}$"

    def _repr_html_(self) -> str:
        return f"{self.mathml}\n<pre>{html.escape(self._facts())}</pre>"

    def _facts(self) -> str:
        rules = ", ".join(
            f"{rule} {'yes' if obeyed else 'no'}" for rule, obeyed in self.rules.items()
        )
        program, form = self.problem, self.canonical
        ready = [name for name, verdict in self.solvers.items() if verdict == "ready"]
        facts = {
            "variables": [self._listing(program.variables())],
            "parameters": [self._listing(program.parameters())],
            "constraints": self._constraints() or ["none"],
            "curvature": [f"{self.curvatures['objective']}; {rules}", *self.reasons],
            "stated": _wrapped(self._stated()),
            "cone program": _wrapped(form if isinstance(form, str) else sizes(form)),
            "needs": [self._asked()],
            "solvers": _wrapped(", ".join(ready) or "none"),
            "not these": [line for reason in self._unfit() for line in _wrapped(reason)],
            "duals": [line for text in self._dual_lines() for line in _wrapped(text)],
        }
        return "\n".join(
            f"{'' if k else head:<13}{line}"
            for head, lines in facts.items()
            for k, line in enumerate(lines)
        )

    def _listing(self, leaves: list[Any]) -> str:
        listed = (f"{self._name(leaf)} {leaf.shape or 'scalar'}" for leaf in leaves)
        return ", ".join(listed) or "none"

    def _name(self, leaf: Any) -> str:
        return self.formula.symbols.leaf(leaf).name

    def _stated(self) -> str:
        """Describe the problem's columns, rows and data before canonicalisation."""
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
        if self.problem.is_dgp():
            return f"{self.needs}, for the logarithms of its variables (a geometric program, DGP)"
        return "bisection (quasiconvex)" if self.problem.is_dqcp() else "a non-convex method"

    def _unfit(self) -> list[str]:
        """Return lines of installed solvers that cannot take the problem, with the reason."""
        by_reason: dict[str, list[str]] = {}
        for name, verdict in self.solvers.items():
            if verdict.startswith("cannot") and BACKENDS[name].installed:
                by_reason.setdefault(verdict, []).append(name)
        return [f"{', '.join(names)}: {reason}" for reason, names in by_reason.items()]

    @deep()
    def _dual_lines(self) -> list[str]:
        if not self.problem.is_dcp():
            return []
        if self.needs.integer and self.problem.constraints:
            return ["none: integer problems have no dual values"]
        lines = []
        for node, run in self.page.folded.clauses:
            bound = _TEXT.write(node) + self.page.folded.range_of(run)
            lines.append(f"{span(run)}: {_meaning(self._by_key[run[0].key], bound)}")
        return lines

    def _constraints(self) -> list[str]:
        bent, lines = self.curvatures, []
        for _, run in self.page.folded.clauses:
            key, one = run[0].key, self._by_key[run[0].key]
            same = all(bent[clause.key] == bent[key] for clause in run)
            kind = f"{len(run)} of " * (len(run) > 1) + type(one).__name__.lower()
            rows = _counted(one.size, "row") + " each" * (len(run) > 1)
            curved = bent[key] if same else "of several curvatures"
            lines.append(f"{span(run)} ({kind}, {rows}, {curved})")
        return lines

    @deep()
    def _describe(self, expression: Any) -> str:
        return _TEXT.write(read(expression, self.formula.symbols))


class StatedProblem(cp.Problem):
    """A ``cvxpy.Problem`` that notebooks show as mathematics; otherwise unchanged."""

    def _repr_html_(self) -> str:
        return show(self)._repr_html_()


def show(problem: Any, names: Mapping[str, Any] | None = None) -> Inspection:
    """Describe any cvxpy problem, or that of an estimator; print the result to read it.

    Parameters
    ----------
    problem : cvxpy.Problem, or an estimator
        Of a fitted estimator the problem that its ``problem()`` returns is shown.
    names : mapping of str to array, optional
        Names for the constants of the formula, such as ``{"z": z}``; the others are
        called ``c_1`` (vectors) and ``C_1`` (matrices).

    Returns
    -------
    Inspection

    Examples
    --------
    >>> import convexfs
    >>> data = convexfs.load("wine").scaled()
    >>> print(show(convexfs.Relief().fit(data.X, data.y)).text)
    maximize    w'z - lam 1'w
    subject to  norm: norm2(w) <= 1
                sign: w >= 0
    where       w in R^13
                lam = 0, parameter
                z in R^13, constant
    """
    if hasattr(problem, "problem") and not isinstance(problem, cp.Problem):
        problem = problem.problem()
    if not isinstance(problem, cp.Problem):
        raise InputError(f"show takes a cvxpy.Problem, not {type(problem).__name__}")
    return Inspection(problem, dict(names or {}))


def to_latex(
    problem: cp.Problem, names: Mapping[str, Any] | None = None, optidef: bool = False
) -> str:
    """Return the LaTeX of any cvxpy problem, made from its expression tree.

    Parameters
    ----------
    problem : cvxpy.Problem
    names : mapping of str to array, optional
        Names for the constants of the formula, as in :func:`convexfs.show`.
    optidef : bool, default=False
        Write an environment of the package optidef. By default the result is one formula for
        KaTeX, MathJax or amsmath, aligned in lines if it is long.
    """
    seen = show(problem, names)
    return seen.optidef if optidef else seen.latex


def _rules(part: Any) -> dict[str, bool]:
    return {"DCP": part.is_dcp(), "DPP": False, "DQCP": part.is_dqcp(), "DGP": part.is_dgp()}


def _meaning(constraint: Any, bound: str) -> str:
    count = constraint.size
    match constraint:
        case constraints.Equality() | constraints.Zero():
            what = "one number" if count == 1 else f"{count} numbers, one per row,"
            return f"multiplier of {bound}, {what} of either sign"
        case constraints.PSD():
            return f"multiplier of {bound}, a psd matrix of side {constraint.args[0].shape[0]}"
        case SOC():
            return f"multiplier of {bound}, {count} numbers in the second-order cone"
        case constraints.Inequality() | constraints.NonNeg() | constraints.NonPos():
            what = "one number >= 0" if count == 1 else f"{count} numbers >= 0, one per row"
            return f"multiplier of {bound}, {what}"
    return f"multiplier of {bound}, {count} numbers in the dual cone"


def _wrapped(text: str) -> list[str]:
    """Wrap a sentence to fit 80 columns beside its heading."""
    return textwrap.wrap(text, _FACT_WIDTH, break_long_words=False, break_on_hyphens=False)


def _counted(count: int, thing: str) -> str:
    return f"{count} {thing}" + ("s" if count != 1 else "")


def canonical(problem: cp.Problem) -> ConeProgram:
    """Compile the problem for the preferred solver; return the cone program."""
    if not problem.variables():
        raise InputError("a problem without variables has no canonical form")
    name = choose(problem, "auto").name
    with warnings.catch_warnings():
        # Ignore that a problem is not DPP: it only slows later solves, and none follows.
        warnings.simplefilter("ignore", UserWarning)
        return ConeProgram.of(problem, name)


def sizes(program: ConeProgram) -> str:
    """Describe the columns, rows by cone and nonzeros of a cone program in words."""
    rows: Counter[str] = Counter()
    for cone in program.cones:
        rows[cone.kind] += cone.rows.stop - cone.rows.start
    listed = ", ".join(f"{count} {kind}" for kind, count in rows.items()) or "none"
    nonzeros = int(program.A.nnz) + (0 if program.P is None else int(program.P.nnz))
    quadratic = "" if program.P is None else ", quadratic objective"
    return (
        f"{program.q.size} columns, {program.b.size} rows ({listed}), {nonzeros} nonzeros"
        f"{quadratic}, as {program.solver} takes it"
    )
