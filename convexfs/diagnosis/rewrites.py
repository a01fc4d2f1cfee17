"""Rewrites of expressions that cvxpy's rules reject into equal ones that they accept.

A rewrite is offered only if cvxpy accepts it, and if it has the same value as the original at
random points: at all where the rewrite is defined.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.atoms.affine.add_expr import AddExpression
from cvxpy.atoms.affine.binary_operators import DivExpression, MulExpression, multiply
from cvxpy.atoms.affine.sum import Sum
from cvxpy.atoms.affine.transpose import transpose
from cvxpy.atoms.affine.unary_operators import NegExpression
from cvxpy.atoms.elementwise.abs import abs as absolute
from cvxpy.atoms.elementwise.exp import exp
from cvxpy.atoms.elementwise.log import log
from cvxpy.atoms.elementwise.power import Power
from cvxpy.atoms.quad_over_lin import quad_over_lin

from convexfs.records import values_kept

#: Random points at which expressions are compared, the fewest at which both are defined, and the
#: largest relative difference.
POINTS, FEWEST, EQUAL = 40, 8, 1e-8
Rule = Callable[[Any], Any]


@dataclass(frozen=True)
class Rewrite:
    """An expression, its equal replacement, and a sentence that states the rule."""

    old: Any
    new: Any
    words: str


def rewritten(problem: cp.Problem) -> tuple[cp.Problem, list[Rewrite]] | None:
    """Return the problem with parts rewritten to fit DCP, and the rewrites; None if none fit."""
    found: list[Rewrite] = []
    objective = type(problem.objective)(_rewritten(problem.objective.expr, found))
    constraints = [
        each if each.is_dcp() else each.copy([_rewritten(arg, found) for arg in each.args])
        for each in problem.constraints
    ]
    if not found or not all(are_equal(each.old, each.new) for each in found):
        return None
    return cp.Problem(objective, constraints), found


def are_equal(old: Any, new: Any) -> bool:
    """Return whether two expressions are equal at random points; False if few are defined."""
    variables = {each.id: each for each in (*old.variables(), *new.variables())}.values()
    with values_kept(variables):
        return _equal_at_points(old, new, list(variables))


def _equal_at_points(old: Any, new: Any, variables: list[Any]) -> bool:
    rng, counted = np.random.default_rng(0), 0
    for point in range(POINTS):
        for variable in variables:
            value = rng.normal(size=variable.shape)
            value = np.abs(value) + 0.05 if point % 2 or variable.is_nonneg() else value
            symmetric = variable.ndim == 2 and variable.is_symmetric()
            variable.save_value(value + value.T if symmetric else value)
        with np.errstate(all="ignore"):
            both = [_dense(each.value) for each in (old, new)]
        if both[0] is None or both[1] is None:
            continue
        defined = np.isfinite(both[0]) & np.isfinite(both[1])
        counted += bool(defined.all())
        off = np.abs(both[0] - both[1])[defined]
        if np.any(off > EQUAL * (1.0 + np.abs(both[0][defined]))):
            return False
    return counted >= FEWEST


def _dense(value: Any) -> np.ndarray | None:
    if value is None or np.iscomplexobj(value):
        return None
    return np.atleast_1d(np.asarray(value.toarray() if hasattr(value, "toarray") else value, float))


def _rewritten(expression: Any, found: list[Rewrite]) -> Any:
    """Return the expression with all parts rewritten that can be; append rewrites to `found`."""
    if not _is(expression, cp.Expression) or not expression.args:
        return expression
    outer = _first_rewrite(expression)  # Rewrite log(sum(exp(x))) before its parts.
    if outer is not None:
        found.append(outer)
        return outer.new
    args = [_rewritten(arg, found) for arg in expression.args]
    if all(new is old for new, old in zip(args, expression.args, strict=True)):
        return expression
    changed = expression.copy(args)
    again = _first_rewrite(changed)
    if again is None:
        return changed
    found.append(again)
    return again.new


def _first_rewrite(expression: Any) -> Rewrite | None:
    if _has_curvature(expression):
        return None
    for words, rule in RULES:
        new = rule(expression)
        fits = new is not None and _has_curvature(new) and new.shape == expression.shape
        if fits and are_equal(expression, new):
            return Rewrite(expression, new, words)
    return None


def _has_curvature(expression: Any) -> bool:
    return expression.is_convex() or expression.is_concave()


def _is(expression: Any, kind: Any) -> bool:
    """Return isinstance without type narrowing, because cvxpy's atoms declare no attributes."""
    return isinstance(expression, kind)


def _power(expression: Any) -> float | None:
    """Return the constant exponent of a power, None for other expressions."""
    if not _is(expression, Power):
        return None
    value = cp.Constant.cast_to_const(expression.p).value
    return None if value is None else float(np.ravel(value)[0])


def _same(left: Any, right: Any) -> bool:
    return left is right or str(left) == str(right)


def _factors(expression: Any) -> tuple[Any, Any] | None:
    """Return the two factors of an entrywise or scalar product, None for other expressions."""
    if _is(expression, multiply):
        return expression.args[0], expression.args[1]
    if _is(expression, MulExpression) and all(arg.size == 1 for arg in expression.args):
        return expression.args[0], expression.args[1]
    return None


def _pairs(expression: Any) -> Iterator[tuple[Any, Any]]:
    factors = _factors(expression)
    if factors is not None:
        yield factors
        yield factors[1], factors[0]


def _roots(expression: Any) -> list[Any] | None:
    """Return affine vectors whose squared norms sum to the expression, or None."""
    if _is(expression, cp.QuadForm) and expression.args[1].is_constant():
        matrix = _dense(expression.args[1].value)
        if matrix is None:
            return None
        values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
        if values[0] < -1e-12 * max(1.0, values[-1]):
            return None
        return [(np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T) @ expression.args[0]]
    if _is(expression, quad_over_lin) and expression.args[1].is_constant():
        return [cp.vec(expression.args[0], order="F") / np.sqrt(float(expression.args[1].value))]
    if _power(expression) == 2 and expression.size == 1:
        return [cp.reshape(expression.args[0], (1,), order="F")]
    if _is(expression, Sum) and _power(expression.args[0]) == 2:
        return [cp.vec(expression.args[0].args[0], order="F")]
    if _is(expression, AddExpression) and expression.size == 1:
        parts = [_roots(arg) for arg in expression.args]
        return None if None in parts else [each for part in parts for each in part or ()]
    if expression.is_constant() and expression.size == 1 and float(expression.value) >= 0:
        return [np.array([np.sqrt(float(expression.value))])]
    return None


def _root_of_squares(e: Any) -> Any:
    roots = _roots(e.args[0]) if _power(e) == 0.5 and e.size == 1 else None
    return None if roots is None else cp.norm(cp.hstack(roots), 2)


def _root_of_square(e: Any) -> Any:
    return cp.abs(e.args[0].args[0]) if _power(e) == 0.5 and _power(e.args[0]) == 2 else None


def _root_of_product(e: Any) -> Any:
    pair = next(_pairs(e.args[0]), None) if _power(e) == 0.5 and e.size == 1 else None
    return None if pair is None else cp.geo_mean(cp.hstack(pair))


def _product_of_roots(e: Any) -> Any:
    pair = next(_pairs(e), None) if e.size == 1 else None
    if pair is None or any(_power(each) != 0.5 for each in pair):
        return None
    return cp.geo_mean(cp.hstack([each.args[0] for each in pair]))


def _log_sum_exp(e: Any) -> Any:
    if not _is(e, log):
        return None
    inner = e.args[0]
    if _is(inner, Sum) and _is(inner.args[0], exp) and e.size == 1:
        return cp.log_sum_exp(inner.args[0].args[0])
    if _is(inner, AddExpression) and all(_is(arg, exp) for arg in inner.args):
        return (
            cp.log_sum_exp(cp.hstack([arg.args[0] for arg in inner.args])) if e.size == 1 else None
        )
    return None


def _one_plus_exp(e: Any) -> Any:
    """Return z if the expression is 1 + exp(z), else None."""
    if not _is(e, AddExpression) or len(e.args) != 2:
        return None
    exps = [arg for arg in e.args if _is(arg, exp)]
    ones = [arg for arg in e.args if arg.is_constant() and np.all(_dense(arg.value) == 1)]
    return exps[0].args[0] if exps and ones else None


def _logistic(e: Any) -> Any:
    if not _is(e, log):
        return None
    inner = e.args[0]
    z = _one_plus_exp(inner)
    if z is not None:
        return cp.logistic(z)
    if _is(inner, DivExpression):
        above, below = inner.args
        z = _one_plus_exp(below)
        if z is not None and _is(above, exp) and _same(above.args[0], z):
            return -cp.logistic(-z)
        if z is not None and above.is_constant():
            return cp.log(above) - cp.logistic(z)
    return None


def _log_of_product(e: Any) -> Any:
    pair = next(_pairs(e.args[0]), None) if _is(e, log) else None
    return None if pair is None else cp.log(pair[0]) + cp.log(pair[1])


def _log_of_quotient(e: Any) -> Any:
    if _is(e, log) and _is(e.args[0], DivExpression):
        return cp.log(e.args[0].args[0]) - cp.log(e.args[0].args[1])
    return None


def _log_of_exp(e: Any) -> Any:
    return e.args[0].args[0] if _is(e, log) and _is(e.args[0], exp) else None


def _log_of_power(e: Any) -> Any:
    power = _power(e.args[0]) if _is(e, log) else None
    return None if power is None else power * cp.log(e.args[0].args[0])


def _power_of_exp(e: Any) -> Any:
    power = _power(e)
    return cp.exp(power * e.args[0].args[0]) if power and _is(e.args[0], exp) else None


def _product_of_exps(e: Any) -> Any:
    pair = next(_pairs(e), None)
    if pair is not None and all(_is(each, exp) for each in pair):
        return cp.exp(pair[0].args[0] + pair[1].args[0])
    if _is(e, DivExpression) and all(_is(each, exp) for each in e.args):
        return cp.exp(e.args[0].args[0] - e.args[1].args[0])
    return None


def _square(e: Any) -> Any:
    pair = next(_pairs(e), None)
    if pair is not None and _same(*pair) and not pair[0].is_constant():
        return cp.square(pair[0])
    if _is(e, MulExpression) and e.size == 1 and _same(*map(_untransposed, e.args)):
        return cp.sum_squares(_untransposed(e.args[0]))
    return None


def _square_of_abs(e: Any) -> Any:
    pair = next(_pairs(e), None)
    both = pair is not None and all(_is(each, absolute) for each in pair)
    return cp.square(pair[0].args[0]) if pair and both and _same(*pair) else None


def _untransposed(e: Any) -> Any:
    return e.args[0] if _is(e, transpose) else e


def _entropy(e: Any) -> Any:
    for factor, other in _pairs(e):
        if _is(other, NegExpression):
            other = other.args[0]
        if not _is(other, log):
            continue
        inner = other.args[0]
        if _same(factor, inner):
            return -cp.entr(factor)
        if _is(inner, DivExpression) and _same(factor, inner.args[0]):
            return cp.rel_entr(factor, inner.args[1])
    return None


def _inverse(e: Any) -> Any:
    if not _is(e, DivExpression) or not e.args[0].is_constant():
        return None
    below = e.args[1]
    pair = next(_pairs(below), None) if e.size == 1 else None
    if pair is not None and not any(each.is_constant() for each in pair):
        return cp.multiply(e.args[0], cp.inv_prod(cp.hstack(pair)))
    power = _power(below)
    if power is not None and power > 0 and power != 1:
        return cp.multiply(e.args[0], cp.power(below.args[0], -power))
    return cp.multiply(e.args[0], cp.inv_pos(below))


def _square_over_linear(e: Any) -> Any:
    if not _is(e, DivExpression) or e.args[1].is_constant() or e.size != 1:
        return None
    roots = _roots(e.args[0])
    return None if roots is None else cp.quad_over_lin(cp.hstack(roots), e.args[1])


#: Rules in order of trial: a sentence, and the function that rewrites or returns None.
RULES: tuple[tuple[str, Rule], ...] = (
    ("the square root of a sum of squares is a norm", _root_of_squares),
    ("sqrt(z^2) is abs(z)", _root_of_square),
    ("sqrt(y z) is geo_mean of both, for y, z >= 0", _root_of_product),
    ("sqrt(y) sqrt(z) is geo_mean of both", _product_of_roots),
    ("log(sum(exp(z))) is log_sum_exp(z)", _log_sum_exp),
    ("log(1 + exp(z)) is logistic(z)", _logistic),
    ("log(exp(z)) is z", _log_of_exp),
    ("log(z^p) is p log(z), for z > 0", _log_of_power),
    ("log(y z) is log(y) + log(z), for y, z > 0", _log_of_product),
    ("log(y / z) is log(y) - log(z), for y, z > 0", _log_of_quotient),
    ("exp(z)^p is exp(p z)", _power_of_exp),
    ("exp(y) exp(z) is exp(y + z)", _product_of_exps),
    ("abs(z) abs(z) is square(z)", _square_of_abs),
    ("z z is square(z), or sum_squares(z)", _square),
    ("z log(z) is -entr(z), and y log(y / z) is rel_entr(y, z)", _entropy),
    ("c / z is c inv_pos(z), c / z^p is c power(z, -p), for z > 0", _inverse),
    ("norm(z)^2 / t is quad_over_lin(z, t), for t > 0", _square_over_linear),
)
