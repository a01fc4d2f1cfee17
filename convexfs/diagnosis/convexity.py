"""Explain why a problem is not convex by cvxpy's rules, and suggest rewrites."""

from collections.abc import Callable, Iterator
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.constraints import Equality, Inequality

from convexfs.diagnosis.explanation import Explanation, Line, Section
from convexfs.diagnosis.rewrites import rewritten
from convexfs.solving.dcp_rules import broken_log_log_rules, broken_rules

NOT_CONVEX = "not convex"


def explain_not_convex(problem: cp.Problem) -> Explanation:
    """Return the Explanation of a problem that is not DCP: broken rules, rewrites and advice."""
    describe = describer(problem)
    reasons = list(broken_rules(problem, describe))
    named = (reason.partition(": ") for reason in reasons)
    lines = [Line(words, name) for name, _, words in named]
    sections = [Section("What breaks the rules of convexity (DCP)", lines)]
    offered, found = rewritten(problem) or (None, [])
    accepted = offered is not None and offered.is_dcp()
    rewrites = [
        {"old": describe(each.old), "new": describe(each.new), "rule": each.words} for each in found
    ]
    data: dict[str, Any] = {"reasons": reasons, "rewrites": rewrites}
    if offered is not None:
        lines = [Line("{old}  as  {new}  ({rule})".format(**each)) for each in rewrites]
        end = "cvxpy accepts the problem" if accepted else "other parts still break the rules"
        lines.append(Line(f"With these, {end}."))
        sections.append(Section("Write instead, equal at random points", lines))
        data["accepted_after_rewrites"] = accepted
    advice = [] if accepted else list(_advice(problem, describe))
    if advice:
        sections.append(Section("What else you can do", [Line(each) for each in advice]))
    data["advice"] = advice
    headline = "NOT CONVEX by cvxpy's rules (DCP)"
    if accepted:
        headline += " as it is written, but the rewrite below is"
    elif problem.is_dqcp():
        headline += ", but quasiconvex: problem.solve(qcp=True) solves it"
    return Explanation(NOT_CONVEX, False, headline, tuple(sections), data)


def describer(problem: cp.Problem) -> Callable[[Any], str]:
    """Return a function that prints the problem's expressions as text."""
    from convexfs.inspection.layout import Notation
    from convexfs.inspection.parse import read
    from convexfs.inspection.symbols import SymbolTable
    from convexfs.inspection.writers import Text

    symbols, notation = SymbolTable(problem, {}), Notation(Text())

    def describe(expression: Any) -> str:
        return str(notation.write(read(expression, symbols)))

    return describe


def _advice(problem: cp.Problem, describe: Callable[[Any], str]) -> Iterator[str]:
    """Yield sentences on what to do about parts that have no equivalent convex expression."""
    yield from broken_log_log_rules(problem, describe)
    objective = problem.objective.expr
    maximised = isinstance(problem.objective, cp.Maximize)
    if maximised and objective.is_convex() and not objective.is_affine():
        yield ("A convex function is maximised: its maximum lies at a corner. Enumerate corners, "
               "or linearise at a point and repeat.")  # fmt: skip
    for constraint in problem.constraints:
        if not constraint.is_dcp():
            yield from _constraint_advice(constraint, describe)
    for form in _indefinite(problem):
        lowest = float(np.linalg.eigvalsh(np.asarray(form.args[1].value))[0])
        yield (
            f"The matrix of {describe(form)} has the eigenvalue {lowest:.3g}. If that is a "
            "rounding error, wrap the matrix in cp.psd_wrap; else the form is not convex."
        )
    if _has_product(problem):
        yield ("A product of variables is not convex. If one is boolean, replace the product by a "
               "variable with linear bounds; if all are positive, try gp=True (DGP).")  # fmt: skip


def _constraint_advice(constraint: Any, describe: Callable[[Any], str]) -> Iterator[str]:
    name = constraint.label or describe(constraint.args[0])
    if isinstance(constraint, Equality):
        left, right = constraint.args
        curved = left if not left.is_affine() else right
        if curved.is_convex() or curved.is_concave():
            sign = "<=" if (curved.is_convex()) == (curved is left) else ">="
            yield (f"The equality {name} has a curved side: write {sign}, and check after solving "
                   "that it holds with equality.")  # fmt: skip
    if isinstance(constraint, Inequality):
        smaller, larger = constraint.args
        if larger.is_convex() and not larger.is_affine() and smaller.is_convex():
            yield (
                f"{describe(larger)} is bounded from below, which makes the feasible "
                "set non-convex: linearise it at a point and repeat, or split it by a "
                "boolean variable."
            )


def _parts(problem: cp.Problem) -> Iterator[Any]:
    todo: list[Any] = [problem.objective.expr, *(a for c in problem.constraints for a in c.args)]
    while todo:
        expression: Any = todo.pop()
        yield expression
        todo += [each for each in expression.args if isinstance(each, cp.Expression)]


def _indefinite(problem: cp.Problem) -> Iterator[Any]:
    for part in _parts(problem):
        known = isinstance(part, cp.QuadForm) and part.args[1].is_constant()
        if known and not (part.is_convex() or part.is_concave()):
            yield part


def _has_product(problem: cp.Problem) -> bool:
    from cvxpy.atoms.affine.binary_operators import MulExpression, multiply

    return any(
        isinstance(part, MulExpression | multiply)
        and not any(arg.is_constant() for arg in part.args)
        and not (part.is_convex() or part.is_concave())
        for part in _parts(problem)
    )
