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
            used = f"what is {'maximised' if maximised else 'minimised'}"
            yield f"objective: {_why_not(problem.objective.expr, wanted, used, describe, dpp)}"
        for position, constraint in enumerate(problem.constraints):
            if not constraint.is_dcp():
                key = constraint.label or position
                yield f"constraint {key}: {_why_constraint_not(constraint, describe, dpp)}"


def _why_constraint_not(constraint: Any, describe: Describe, dpp: bool) -> str:
    for side, (wanted, used) in zip(constraint.args, _asked_of(constraint), strict=True):
        if not _is(side, wanted):
            return _why_not(side, wanted, used, describe, dpp)
    such = "parameters" if dpp else "arguments"
    return f"cvxpy's rules admit no {type(constraint).__name__} of these {such}"


def _asked_of(constraint: Any) -> list[tuple[str, str]]:
    """The curvature each argument must have, and in which words that is asked for."""
    match constraint:
        case constraints.Inequality():
            larger = ("concave", "the larger side of an inequality")
            return [("convex", "the smaller side of an inequality"), larger]
        case constraints.NonNeg():
            return [("concave", "what is at least 0")]
        case constraints.NonPos():
            return [("convex", "what is at most 0")]
        case constraints.Equality() | constraints.Zero():
            asked = ("affine", "each side of an equality")
        case _:
            asked = ("affine", "what lies in a cone")
    return [asked] * len(constraint.args)


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
    turned = " and has a negative sign" if flipped else ""
    return f"{describe(part)} is {curvature(part)}{turned}, but {used} must be {wanted}"


def _innermost_unknown(expression: Any) -> Any:
    for arg in _arguments(expression):
        if _unknown(arg):
            return _innermost_unknown(arg)
    return expression


def _arguments(expression: Any) -> list[Any]:
    """Arguments that are expressions; those of a partial problem or indicator are not."""
    return [arg for arg in expression.args if isinstance(arg, cp.Expression)]


def _wrong_part(expression: Any, wanted: str, flipped: bool = False) -> tuple[Any, bool]:
    """The smallest part behind sums, signs and factors that has the wrong curvature."""
    if wanted == "affine" or not isinstance(expression, AffAtom):
        parts = [arg for arg in _arguments(expression) if not arg.is_affine()]
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
        return f"{shown} divides by an expression that contains {moving}{_inverse(expression, dpp)}"
    if isinstance(expression, MulExpression | multiply):
        constants = [arg for arg in expression.args if arg.is_constant()]
        if not constants:
            both = f"{shown} is a product of two expressions that both contain {moving}"
            return both + _one_factor(expression, dpp)
        bent_arg = next(arg for arg in expression.args if not arg.is_constant())
        unsigned = [p for arg in constants for p in arg.parameters()]
        return (
            f"{shown} multiplies {describe(bent_arg)}, which is {curvature(bent_arg)}, "
            "by a factor whose sign is mixed or not known"
            + (": declare the parameter nonneg or nonpos" if unsigned else "")
        )
    if isinstance(expression, cp.QuadForm):
        matrix = describe(expression.args[1])
        if dpp:
            return (
                f"{shown} has a matrix {matrix} that contains parameters: make a root R of it, "
                "R'R, the parameter and write sum_squares(R @ x)"
            )
        return f"{shown} has a matrix {matrix} that is neither positive nor negative semidefinite"
    return _composition(expression, describe)


def _inverse(expression: Any, dpp: bool) -> str:
    """What a quotient may be written as instead."""
    numerator, denominator = expression.args
    if dpp and not denominator.variables():
        return ": make the inverse a parameter of its own"
    return ": write inv_pos if the divisor is positive" if numerator.is_constant() else ""


def _one_factor(expression: Any, dpp: bool) -> str:
    """What a product may be written as instead."""
    left, right = expression.args
    if dpp and not (left.variables() and right.variables()):
        return ": make the product of the parameters a parameter of its own"
    if left is right and (expression.shape == () or isinstance(expression, multiply)):
        return ": write square, or sum_squares"
    return ": one of them must be constant"


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
    return f"{shown} is neither convex nor concave{_other_curvature(expression)}"


def _other_curvature(expression: Any) -> str:
    """The wider discipline that admits an expression, if there is one."""
    for kind, words in (("quasiconvex", "quasiconvex, which DQCP admits"),
                        ("quasiconcave", "quasiconcave, which DQCP admits"),
                        ("log_log_convex", "log-log convex, which DGP admits"),
                        ("log_log_concave", "log-log concave, which DGP admits")):  # fmt: skip
        if _is(expression, kind):
            return f", but {words}"
    return ""
