"""Which part of a problem breaks which rule of disciplined convex programming."""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import cvxpy as cp
from cvxpy import constraints
from cvxpy.atoms.affine.add_expr import AddExpression
from cvxpy.atoms.affine.affine_atom import AffAtom
from cvxpy.atoms.affine.binary_operators import DivExpression, MulExpression, multiply
from cvxpy.utilities import scopes

#: Writes an expression, or the name of its function alone.
Describe = Callable[[Any], str]


def broken_rules(problem: cp.Problem, describe: Describe, dpp: bool = False) -> Iterator[str]:
    """Every part that is not convex by cvxpy's rules, each with the reason.

    With `dpp`, parameters count as variables, as they do in parametrised programs.
    """
    with scopes.dpp_scope() if dpp else nullcontext():
        maximised = isinstance(problem.objective, cp.Maximize)
        if not problem.objective.is_dcp():
            wanted = "concave" if maximised else "convex"
            used = "maximised" if maximised else "minimised"
            yield f"objective: {_why_not(problem.objective.expr, wanted, used, describe, dpp)}"
        for position, constraint in enumerate(problem.constraints):
            if not constraint.is_dcp():
                key = constraint.label or position
                yield f"constraint {key}: {_why_constraint_not(constraint, describe, dpp)}"


def _why_constraint_not(constraint: Any, describe: Describe, dpp: bool) -> str:
    if isinstance(constraint, constraints.Inequality):
        sides = (
            (constraint.args[0], "convex", "on the smaller side of <="),
            (constraint.args[1], "concave", "on the larger side of <="),
        )
    else:
        name = "equality" if isinstance(constraint, constraints.Equality) else "cone"
        sides = tuple(
            (arg, "affine", f"in an {name}".replace("an c", "a c")) for arg in constraint.args
        )
    for side, wanted, used in sides:
        if not _is(side, wanted):
            return _why_not(side, wanted, used, describe, dpp)
    return f"{type(constraint).__name__} is not allowed here"


def curvature(expression: Any) -> str:
    """The curvature in a word or two."""
    for name in ("constant", "affine", "convex", "concave"):
        if _is(expression, name):
            return name
    return "neither convex nor concave"


def _is(expression: Any, wanted: str) -> bool:
    return bool(getattr(expression, f"is_{wanted}")())


def _unknown(expression: Any) -> bool:
    return not (expression.is_convex() or expression.is_concave())


def _why_not(expression: Any, wanted: str, used: str, describe: Describe, dpp: bool) -> str:
    if _unknown(expression):
        return _broken(_innermost_unknown(expression), describe, dpp)
    part, flipped = _wrong_part(expression, wanted)
    turned = " with a negative sign" if flipped else ""
    return f"{describe(part)} is {curvature(part)}, {used}{turned}"


def _innermost_unknown(expression: Any) -> Any:
    for arg in expression.args:
        if _unknown(arg):
            return _innermost_unknown(arg)
    return expression


def _wrong_part(expression: Any, wanted: str, flipped: bool = False) -> tuple[Any, bool]:
    """The smallest part behind sums, signs and factors that has the wrong curvature."""
    if wanted == "affine" or not isinstance(expression, AffAtom):
        parts = [arg for arg in expression.args if not arg.is_affine()]
        if wanted == "affine" and isinstance(expression, AffAtom) and parts:
            return _wrong_part(parts[0], wanted)
        return expression, flipped
    for position, arg in enumerate(expression.args):
        falling = expression.is_decr(position) and not expression.is_incr(position)
        needed = {"convex": "concave", "concave": "convex"}[wanted] if falling else wanted
        if not _is(arg, needed):
            return _wrong_part(arg, needed, flipped != falling)
    return expression, flipped


def _broken(expression: Any, describe: Describe, dpp: bool) -> str:
    """The rule broken by an expression whose arguments keep them all."""
    shown = describe(expression)
    moving = "variables or parameters" if dpp else "variables"
    if isinstance(expression, AddExpression):
        bent = {name: [a for a in expression.args if not a.is_affine() and _is(a, name)]
                for name in ("convex", "concave")}  # fmt: skip
        return (
            f"{describe(bent['convex'][0])} is convex and {describe(bent['concave'][0])} is "
            "concave, so their sum is neither"
        )
    if isinstance(expression, DivExpression) and not expression.args[1].is_constant():
        return f"{shown} divides by an expression that contains {moving}"
    if isinstance(expression, MulExpression | multiply):
        constants = [arg for arg in expression.args if arg.is_constant()]
        if not constants:
            return f"{shown} is a product of two expressions that both contain {moving}"
        bent_arg = next(arg for arg in expression.args if not arg.is_constant())
        return (
            f"{shown} multiplies {describe(bent_arg)}, which is {curvature(bent_arg)}, "
            "by a factor whose sign is mixed or not known"
        )
    if isinstance(expression, cp.QuadForm):
        matrix = describe(expression.args[1])
        return f"{shown} has a matrix {matrix} that is neither positive nor negative semidefinite"
    return _composition(expression, describe)


def _composition(expression: Any, describe: Describe) -> str:
    shown = describe(expression)
    for name in ("convex", "concave"):
        if not getattr(expression, f"is_atom_{name}")():
            continue
        other = "concave" if name == "convex" else "convex"
        for position, arg in enumerate(expression.args):
            rising, falling = expression.is_incr(position), expression.is_decr(position)
            if arg.is_affine() or (rising and _is(arg, name)) or (falling and _is(arg, other)):
                continue
            needed, way = (
                (name, "increasing") if rising
                else (other, "decreasing") if falling
                else ("affine", "not monotone")
            )  # fmt: skip
            return (
                f"in {shown} the function is {name} and {way}, so its argument must be {needed}, "
                f"but {describe(arg)} is {curvature(arg)}"
            )
    return f"{shown} is neither convex nor concave"
