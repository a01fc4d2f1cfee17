"""The convex problem behind a stated one: itself, or the one a geometric problem is solved by.

A geometric problem (DGP) is convex in the logarithms of its variables; so is the logarithm of
its objective, and the gap of logarithms is the relative gap.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np
from cvxpy.reductions.cvx_attr2constr import lower_value, recover_value_for_leaf
from cvxpy.reductions.dgp2dcp.dgp2dcp import Dgp2Dcp

from convexfs.certification.feasibility import value_of
from convexfs.certification.program.standard_form import StandardForm
from convexfs.errors import InputError
from convexfs.solving.dcp_rules import why_not_convex


@dataclass(frozen=True)
class ConvexForm:
    """A problem as stated, and the convex one that it is solved by.

    `variables` are the convex problem's variables with the stated ones they stand for.
    """

    stated: cp.Problem
    convex: cp.Problem
    variables: tuple[tuple[cp.Variable, cp.Variable], ...]
    logarithmic: bool = False

    @classmethod
    def of(cls, problem: cp.Problem) -> "ConvexForm":
        """Read `problem` by cvxpy's rules; raise if it is convex by none of them."""
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
        """-1 if the problem is maximised."""
        return -1.0 if isinstance(self.stated.objective, cp.Maximize) else 1.0

    def take_values(self) -> None:
        """Give the convex problem's variables the values of the stated ones."""
        if self.logarithmic:
            for variable, stated in self.variables:
                with np.errstate(all="ignore"):
                    variable.save_value(np.log(np.asarray(stated.value, dtype=float)))

    def cost(self) -> float:
        """Return what the convex problem minimises, at the stated variables' values."""
        value = objective_value(self.stated)
        with np.errstate(all="ignore"):
            return self.sign * float(np.log(value) if self.logarithmic else value)

    def objective_of(self, cost: float) -> float:
        """Return the stated objective that has this cost."""
        with np.errstate(over="ignore"):
            return float(np.exp(self.sign * cost)) if self.logarithmic else self.sign * cost

    def columns(self, form: StandardForm) -> tuple[np.ndarray, np.ndarray]:
        """Return the columns known from the variables' values, and a mask of them."""
        point, known = np.zeros(form.q.size), np.zeros(form.q.size, dtype=bool)
        for stated, _ in self.variables:
            for variable, value in _real_parts(stated, form):
                at = form.columns.get(variable.id)
                entries = _entries(variable, value)
                if at is not None and entries.size == at.stop - at.start:
                    point[at], known[at] = entries, True
        return point, known

    def sizes(self, form: StandardForm, columns: np.ndarray) -> dict[int, np.ndarray]:
        """Return columns' units as sizes of the stated variables, by id."""
        sizes = {}
        for variable, stated in self.variables:
            at = form.columns.get(variable.id)
            unit = None if at is None else _as_value(variable, columns[at])
            if unit is not None:
                # A logarithm that changes by 1 changes the variable by its own size.
                own = np.abs(np.asarray(stated.value)) * unit if self.logarithmic else unit
                sizes[stated.id] = own
        return sizes

    def moved_to(self, form: StandardForm, z: np.ndarray) -> bool:
        """Give the stated variables the values of columns z; return whether all have one."""
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
    """Yield the variable and its value; of a complex one those of its real and imaginary part."""
    value = value_of(variable)
    if variable.id not in form.parts:
        if np.isrealobj(value):
            yield variable, value
        return
    real, imaginary = form.parts[variable.id]
    if real is not None:
        yield real, np.real(value)
    if imaginary is not None:
        # Hermitian matrices keep the entries above the diagonal alone.
        above = np.triu_indices(value.shape[0], k=1) if variable.is_hermitian() else ...
        yield imaginary, np.imag(value)[above]


def _entries(variable: cp.Variable, value: np.ndarray) -> np.ndarray:
    """Return a value's entries as cvxpy hands them on, such as one triangle of a matrix."""
    return np.ravel(np.asarray(lower_value(variable, value)), order="F")


def _as_value(variable: cp.Variable, entries: np.ndarray) -> np.ndarray | None:
    """Return entries as a value of the variable; None where cvxpy's way is not known here."""
    if entries.size == variable.size:
        return np.reshape(entries, variable.shape, order="F")
    try:
        value: Any = recover_value_for_leaf(variable, entries, project=False)
    except (ValueError, IndexError):
        return None
    return np.asarray(value.toarray() if hasattr(value, "toarray") else value)


def lacking_values(problem: cp.Problem) -> Iterable[str]:
    """Yield the names of variables without a finite value."""
    for variable in problem.variables():
        if variable.value is None or not np.isfinite(value_of(variable)).all():
            yield variable.name()
