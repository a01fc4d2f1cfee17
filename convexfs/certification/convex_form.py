"""The convex problem behind a stated one: itself, or the one a geometric problem is solved by.

A geometric problem (DGP) is convex in the logarithms of its variables; so is the logarithm of
its objective, and the gap of logarithms is the relative gap.

A user, or a tolerance of cvxpy, may take a property for granted: ``quad_form(x, P,
assume_PSD=True)`` and ``psd_wrap`` assert what cvxpy does not verify, and P passes as positive
semidefinite with eigenvalues down to -1e-10. At points far away the problem that is compiled is
then another than the stated one.

cvxpy's compiler is the one part of a certificate that is not verified by a proof. So the cheapest
values of its auxiliary columns are computed at the returned point and at a random one, and the cost
of the program must be that of the stated expressions, evaluated in numpy.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from cvxpy.atoms.affine import wraps
from cvxpy.atoms.quad_form import QuadForm
from cvxpy.reductions.cvx_attr2constr import lower_value, recover_value_for_leaf
from cvxpy.reductions.dgp2dcp.dgp2dcp import Dgp2Dcp

from convexfs.certification.auxiliary import completed, priced_columns
from convexfs.certification.duals.dual_bound import cost_at, has_no_negative_eigenvalue
from convexfs.certification.feasibility import dense, value_of, violation
from convexfs.certification.program.scaling import unit_of_objective
from convexfs.certification.program.standard_form import StandardForm
from convexfs.errors import InputError
from convexfs.records import values_kept
from convexfs.solving.dcp_rules import why_not_convex


@dataclass(frozen=True)
class ConvexForm:
    """A problem as stated, and the convex one to solve: the same (DCP) or in logarithms (DGP).

    `variables` are the convex problem's variables with the stated ones they stand for.
    """

    stated: cp.Problem
    convex: cp.Problem
    variables: tuple[tuple[cp.Variable, cp.Variable], ...]
    logarithmic: bool = False

    @classmethod
    def of(cls, problem: cp.Problem) -> "ConvexForm":
        """Return the convex form of a DCP or DGP problem; raise InputError for any other."""
        if problem.is_dcp():
            return cls(problem, problem, tuple((each, each) for each in problem.variables()))
        if problem.is_dgp():
            reduction = Dgp2Dcp(problem)
            convex = reduction.reduce()
            methods: Any = reduction.canon_methods
            own = {each.id: each for each in convex.variables()}
            pairs = ((own.get(log.id), stated) for stated, log in methods._variables.items())
            known = tuple((log, stated) for log, stated in pairs if log is not None)
            return cls(problem, convex, known, logarithmic=True)
        raise InputError(
            "the problem is not convex by cvxpy's rules (DCP, DGP or DQCP), so no answer could be "
            "certified: " + why_not_convex(problem)
        )

    @property
    def sign(self) -> float:
        """Return -1 if the problem is a maximisation, else 1."""
        return -1.0 if isinstance(self.stated.objective, cp.Maximize) else 1.0

    def take_values(self) -> None:
        """Set the convex problem's variables to the logarithms of the stated ones, if DGP."""
        if self.logarithmic:
            for variable, stated in self.variables:
                with np.errstate(all="ignore"):
                    variable.save_value(np.log(np.asarray(stated.value, dtype=float)))

    def cost(self) -> float:
        """Return the objective, or its logarithm if DGP, at the point; negated if maximised."""
        value = objective_value(self.stated)
        with np.errstate(all="ignore"):
            return self.sign * float(np.log(value) if self.logarithmic else value)

    def objective_of(self, cost: float) -> float:
        """Convert a cost of the convex problem to the stated objective."""
        with np.errstate(over="ignore"):
            return float(np.exp(self.sign * cost)) if self.logarithmic else self.sign * cost

    def columns(self, form: StandardForm) -> tuple[np.ndarray, np.ndarray]:
        """Return the point as a vector of columns, and a mask of the columns that variables set."""
        point, known = np.zeros(form.q.size), np.zeros(form.q.size, dtype=bool)
        for stated, _ in self.variables:
            for variable, value in _real_parts(stated, form):
                at = form.columns.get(variable.id)
                entries = np.ravel(np.asarray(lower_value(variable, value)), order="F")
                if at is not None and entries.size == at.stop - at.start:
                    point[at], known[at] = entries, True
        return point, known

    def sizes(self, form: StandardForm, columns: np.ndarray) -> dict[int, np.ndarray]:
        """Convert units of columns to units of the stated variables, a dict by variable id."""
        sizes = {}
        for variable, stated in self.variables:
            at = form.columns.get(variable.id)
            unit = None if at is None else _as_value(variable, columns[at])
            if unit is not None:
                # If a logarithm changes by 1, the variable changes by its own magnitude.
                own = np.abs(np.asarray(stated.value)) * unit if self.logarithmic else unit
                sizes[stated.id] = own
        return sizes

    def moved_to(self, form: StandardForm, z: np.ndarray) -> bool:
        """Assign columns z to the stated variables; stop with False if a layout is unknown."""
        for variable, stated in self.variables:
            at = form.columns.get(variable.id)
            value = None if at is None else _as_value(variable, z[at])
            if value is None:
                return False
            with np.errstate(over="ignore"):
                stated.save_value(np.exp(value) if self.logarithmic else value)
        return True


def objective_value(problem: cp.Problem) -> float:
    """Return the objective at the variables' values; NaN if it has none there."""
    try:
        value: Any = problem.objective.value
    except np.linalg.LinAlgError as error:
        raise InputError(f"the objective cannot be evaluated at the point: {error}") from error
    return np.nan if value is None else float(np.real(np.asarray(value)).item())


def _real_parts(
    variable: cp.Variable, form: StandardForm
) -> Iterable[tuple[cp.Variable, np.ndarray]]:
    """Yield (variable, value); for a complex variable, its real and imaginary variables."""
    value = value_of(variable)
    if variable.id not in form.parts:
        if np.isrealobj(value):
            yield variable, value
        return
    real, imaginary = form.parts[variable.id]
    if real is not None:
        yield real, np.real(value)
    if imaginary is not None:
        # The imaginary part of a Hermitian matrix is stored as its entries above the diagonal.
        above = np.triu_indices(value.shape[0], k=1) if variable.is_hermitian() else ...
        yield imaginary, np.imag(value)[above]


def _as_value(variable: cp.Variable, entries: np.ndarray) -> np.ndarray | None:
    """Rebuild a variable's value from stored entries; None if the layout is unknown."""
    if entries.size == variable.size:
        return np.reshape(entries, variable.shape, order="F")
    try:
        value: Any = recover_value_for_leaf(variable, entries, project=False)
    except (ValueError, IndexError):
        return None
    return dense(value)


def lacking_values(problem: cp.Problem) -> Iterable[str]:
    """Yield the names of variables that have no finite value."""
    for variable in problem.variables():
        if variable.value is None or not np.isfinite(value_of(variable)).all():
            yield variable.name()


def broken_assumption(problem: cp.Problem) -> str:
    """Return text on a convexity assumption of the user (as psd_wrap) that is false; "" if none."""
    for expression in _expressions(problem):
        match expression:
            case QuadForm():
                P = _matrix(expression.args[1].value)
                if not (has_no_negative_eigenvalue(P) or has_no_negative_eigenvalue(-P)):
                    return "the matrix of a quadratic form has eigenvalues of both signs"
            case wraps.psd_wrap() | wraps.nsd_wrap():
                sign = 1.0 if isinstance(expression, wraps.psd_wrap) else -1.0
                if not has_no_negative_eigenvalue(sign * _matrix(expression.args[0].value)):
                    return f"{type(expression).__name__} is given another matrix"
            case wraps.nonneg_wrap() | wraps.nonpos_wrap():
                sign = 1.0 if isinstance(expression, wraps.nonneg_wrap) else -1.0
                if np.any(sign * np.asarray(expression.args[0].value) < 0):
                    return f"{type(expression).__name__} is given other numbers"
    return ""


def _matrix(value: Any) -> Any:
    matrix = sp.csr_array(value)
    # The real matrix of a complex form has the same eigenvalues, twice.
    if np.iscomplexobj(matrix):
        matrix = sp.csr_array(
            sp.block_array([[matrix.real, -matrix.imag], [matrix.imag, matrix.real]])
        )
    return sp.csr_array((matrix + matrix.T) / 2)


def _expressions(problem: cp.Problem) -> Iterator[Any]:
    """Yield every expression of the problem that is not a leaf, once."""
    left: list[Any] = [problem.objective, *problem.constraints]
    seen: set[int] = set()
    while left:
        expression = left.pop()
        arguments = getattr(expression, "args", None)
        if arguments and id(expression) not in seen:
            seen.add(id(expression))
            yield expression
            left.extend(arguments)


#: Costs that differ by more than this share of their terms count as different.
DIFFERENT = 1e-4
#: A row counts as satisfied if its violation is at most this share of its terms. Costs may also
#: differ by this share of the objective's unit.
NEARLY = 1e-6
#: If no values of auxiliary columns are found at a point whose relative violation is at most this,
#: the compiled program counts as different.
EXACTLY = 1e-13
#: A compiled program is compared with the stated one at a random point in its first so many
#: verifications only.
CHECKS = 3


def completions(
    form: StandardForm, point: np.ndarray, known: np.ndarray, own: np.ndarray | None
) -> Iterator[np.ndarray | None]:
    """Yield `point` with values of its auxiliary columns: the solver's, then the cheapest.

    The cheapest are searched for in two scales, because a scale that does not fit leaves errors.
    None stands for columns for which Clarabel found no values.
    """
    if known.all():
        yield point
        return
    if own is not None and own.size == point.size:
        joined = np.where(known, point, own)
        slack = form.A @ joined + form.b
        terms = form.together(np.abs(form.b) + form.sizes @ np.abs(joined))
        if np.all(form.outside(slack) <= NEARLY * terms):
            yield joined
    for natural in (False, True):
        found = completed(form, point, known, natural=natural)
        yield None if found is None or found.contradicts else found.z
    # If rounding violates a row, no values may exist for the rest: optimise columns with costs
    # first.
    found = completed(form, point, known, priced=True)
    if found is not None and not found.contradicts:
        known = known | priced_columns(form, known)
        rest = completed(form, found.z, known)
        yield found.z if rest is None or rest.contradicts else rest.z


def differs_at(convex: ConvexForm, form: StandardForm, z: np.ndarray | None) -> bool:
    """Return whether compiled and stated objective differ at columns z by more than rounding.

    z is None if its auxiliary columns have no values, which they must have at feasible points.
    """
    wanted = convex.cost()
    if not np.isfinite(wanted):
        return False
    if z is None:
        return violation(convex.stated).value <= EXACTLY
    cost = cost_at(form, z)[0] + form.d
    terms = max(abs(wanted), abs(cost), float(np.abs(form.q * z).max(initial=0.0)))
    # Solvers reach a cost of 0 only up to a small share of the objective's unit.
    return abs(cost - wanted) > DIFFERENT * terms + NEARLY * (unit_of_objective(form) or 1.0)


def differs_at_random(convex: ConvexForm, form: StandardForm) -> bool:
    """Return whether compiled and stated cost differ at a random point by over 1e-4 of their terms.

    The stated variables are left as they were. A program that is compiled once for many values
    of its parameters is checked for the first `CHECKS` values alone. False if Clarabel fails.
    """
    if form.memory.get("checked", 0) >= CHECKS:
        return False
    form.memory["checked"] = form.memory.get("checked", 0) + 1
    draw = np.random.default_rng(0)
    stated = {variable.id: variable for pair in convex.variables for variable in pair}
    with values_kept(stated.values()):
        for variable, own in convex.variables:
            _set_random(variable, own, draw, convex.logarithmic)
        convex.take_values()
        point, known = convex.columns(form)
        if known.all():
            return differs_at(convex, form, point)
        for natural in (False, True):
            found = completed(form, point, known, priced=True, natural=natural)
            if found is None or found.contradicts or not differs_at(convex, form, found.z):
                return False
        return True


def _set_random(
    variable: cp.Variable, own: cp.Variable, draw: np.random.Generator, logarithmic: bool
) -> None:
    """Assign `own` a random value, of its current magnitude or near 1 if `logarithmic`.

    Project it on the variable's domain.
    """
    size = float(np.abs(value_of(own)).max(initial=0.0)) or 1.0
    value: Any = draw.normal(size=variable.shape)
    value = np.exp(value) if logarithmic else size * value
    if any(each is not None and each is not False for each in own.attributes.values()):
        value = own.project(value)
    own.save_value(dense(value))
