"""Find the part of a problem that breaks a rule of disciplined convex programming (DCP)."""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import cvxpy as cp
from cvxpy import constraints
from cvxpy.atoms.affine.add_expr import AddExpression
from cvxpy.atoms.affine.affine_atom import AffAtom
from cvxpy.atoms.affine.binary_operators import DivExpression, MulExpression, multiply
from cvxpy.atoms.affine.unary_operators import NegExpression
from cvxpy.utilities import scopes

#: Type of functions that print an expression as text.
Describe = Callable[[Any], str]
#: Longest printed expression in an error message, in characters; longer ones are cut.
LONGEST = 200


def why_not_convex(problem: cp.Problem) -> str:
    """Return the reasons why a problem is not DCP in one line, and what would solve it."""
    if problem.is_dgp():
        return "it is a geometric program, convex in logarithms: problem.solve(gp=True) solves it"
    reasons = [*broken_rules(problem), *broken_log_log_rules(problem)]
    if problem.is_dqcp():
        reasons.append("but it is quasiconvex: problem.solve(qcp=True) bisects")
    return "; ".join(reasons)


def in_words(expression: Any) -> str:
    """Return an expression as cvxpy prints it, but arrays as shapes, cut at LONGEST characters."""
    shapes = {
        id(constant): cp.Constant(constant.value, name=f"array{constant.shape}")
        for constant in expression.constants()
        if constant.shape
    }
    try:
        words = " ".join(str(expression.tree_copy(shapes)).replace("Approx(", "(").split())
    # Some atoms, such as perspectives, cannot be copied.
    except Exception:
        leaves = ", ".join(leaf.name() for leaf in expression.variables())
        words = f"{type(expression).__name__}({leaves})"
    return words if len(words) <= LONGEST else f"{words[:LONGEST]} ..."


def broken_rules(
    problem: cp.Problem, describe: Describe = in_words, dpp: bool = False
) -> Iterator[str]:
    """Yield text on every objective or constraint that breaks a DCP rule, with the reason.

    With `dpp`, parameters count as variables, as they do in parametrised programs.
    """
    with scopes.dpp_scope() if dpp else nullcontext():
        for key, part, asked in _parts(problem):
            if part.is_dcp():
                continue
            wrong = next((each for each in asked if not _is(each[0], each[1])), None)
            if wrong is not None:
                yield f"{key}: {_why_not(*wrong, describe, dpp)}"
            else:
                such = "parameters" if dpp else "arguments"
                yield f"{key}: cvxpy's rules admit no {type(part).__name__} of these {such}"


def broken_log_log_rules(problem: cp.Problem, describe: Describe = in_words) -> Iterator[str]:
    """Yield text on every part that breaks a DGP rule, if all variables are positive."""
    if problem.is_dgp() or not all(leaf.is_pos() for leaf in problem.variables()):
        return
    for key, _, asked in _parts(problem):
        for side, wanted, used in asked:
            if not _is(side, f"log_log_{wanted}"):
                why = _why_not_log_log(side, wanted, used, describe)
                yield f"as a geometric program, {key}: {why}"
                break


def _why_not_log_log(expression: Any, wanted: str, used: str, describe: Describe) -> str:
    if expression.is_log_log_convex() or expression.is_log_log_concave():
        return f"{describe(expression)} is no log-log {wanted} expression, but {used} must be one"
    expression = _innermost(
        expression, lambda e: not (e.is_log_log_convex() or e.is_log_log_concave())
    )
    if isinstance(expression, NegExpression):
        return f"{describe(expression)} has a minus sign"
    if expression.is_constant():
        return f"{describe(expression)} is not positive"
    return f"{describe(expression)} is neither log-log convex nor log-log concave"


def _parts(problem: cp.Problem) -> Iterator[tuple[str, Any, list[tuple[Any, str, str]]]]:
    """Yield (name, objective or constraint, [(argument, curvature it must have, its role)])."""
    wanted, used = "convex", "what is minimised"
    if isinstance(problem.objective, cp.Maximize):
        wanted, used = "concave", "what is maximised"
    yield "objective", problem.objective, [(problem.objective.expr, wanted, used)]
    for position, constraint in enumerate(problem.constraints):
        sides = zip(constraint.args, _asked_of(constraint), strict=True)
        key = f"constraint {constraint.label or position}"
        yield key, constraint, [(side, *asked) for side, asked in sides]


def _asked_of(constraint: Any) -> list[tuple[str, str]]:
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
    """Return "affine", "convex", "log-log convex" or the like: an expression's curvature."""
    plain = ("constant", "affine", "convex", "concave")
    for name in (*plain, *(f"log_log_{name}" for name in plain[1:])):
        if _is(expression, name):
            return name.replace("log_log_", "log-log ")
    return "neither convex nor concave"


def _is(expression: Any, wanted: str) -> bool:
    return bool(getattr(expression, f"is_{wanted}")())


def _unknown(expression: Any) -> bool:
    return not (expression.is_convex() or expression.is_concave())


def _why_not(expression: Any, wanted: str, used: str, describe: Describe, dpp: bool) -> str:
    if _unknown(expression):
        return _broken(_innermost(expression, _unknown), describe, dpp)
    part, flipped = _wrong_part(expression, wanted)
    turned = " and has a negative sign" if flipped else ""
    return f"{describe(part)} is {curvature(part)}{turned}, but {used} must be {wanted}"


def _innermost(expression: Any, is_bad: Callable[[Any], bool]) -> Any:
    """Return the innermost part for which `is_bad`: one without bad arguments."""
    bad = next((arg for arg in _arguments(expression) if is_bad(arg)), None)
    return expression if bad is None else _innermost(bad, is_bad)


def _arguments(expression: Any) -> list[Any]:
    """Return the arguments of an expression that are expressions themselves."""
    return [arg for arg in expression.args if isinstance(arg, cp.Expression)]


def _wrong_part(expression: Any, wanted: str, flipped: bool = False) -> tuple[Any, bool]:
    """Return the smallest part of wrong curvature, and whether a minus sign is before it."""
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
    """Return a sentence on the rule that an expression breaks, if its arguments break none."""
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
    """Return a suggestion how to rewrite a quotient, as the end of a sentence, or ""."""
    numerator, denominator = expression.args
    if dpp and not denominator.variables():
        return ": make the inverse a separate parameter"
    return ": write inv_pos if the divisor is positive" if numerator.is_constant() else ""


def _one_factor(expression: Any, dpp: bool) -> str:
    """Return a suggestion how to rewrite a product, as the end of a sentence."""
    left, right = expression.args
    if dpp and not (left.variables() and right.variables()):
        return ": make the product of the parameters a separate parameter"
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
    """Return ", but quasiconvex, which DQCP admits" or the like for an expression; "" if none."""
    for kind, words in (("quasiconvex", "quasiconvex, which DQCP admits"),
                        ("quasiconcave", "quasiconcave, which DQCP admits"),
                        ("log_log_convex", "log-log convex, which DGP admits"),
                        ("log_log_concave", "log-log concave, which DGP admits")):  # fmt: skip
        if _is(expression, kind):
            return f", but {words}"
    return ""
