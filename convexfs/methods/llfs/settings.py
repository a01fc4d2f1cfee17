"""Parameters of LLFS: of a fit, and of each point."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from convexfs.errors import (
    InputError,
    SolverUnsuitable,
    check_choice,
    check_flag,
    check_number,
    shortened,
)
from convexfs.methods.base.formulation import (
    AUTO,
    DEFAULT_SOLVING,
    Formulation,
    Solving,
    check_solver,
    parameters,
    runs_natively,
)
from convexfs.methods.llfs import METHOD
from convexfs.methods.llfs.numbers import SIGMA_INITS
from convexfs.methods.llfs.rounding import HOW
from convexfs.records import NATIVE

#: The form that is another method (LFS), with several passes.
LFS = "lfs"
FORMS = ("compactness", "linear", "lfs", "bisection", "ratio", "exact")
#: Forms without a native solver.
BACKEND_FORMS = ("bisection", "ratio")
#: A form of earlier versions: its stored points can be read, but not computed.
FORMER_FORM = "bisection-only"
IMPURITIES = ("normalised", "raw")
#: Largest allowed count of evenly spaced betas; more would change nothing.
MOST_BETAS = 100_001


@parameters
class Settings:
    """Parameters of LLFS; see :class:`convexfs.LLFS`."""

    max_features: int | None = None
    gamma: float = 0.2
    betas: Any = 21
    form: str = "compactness"
    rounding: str = "enumerate"
    n_roundings: int = 1000
    swap: bool = False
    sigma_init: str = "feasible"
    impurity: str = "normalised"
    bound: bool = False
    n_passes: int = 2
    width: float = 1.0


@dataclass(kw_only=True, eq=False)
class PointSettings(Settings):
    """Parameters of a point: ``max_features`` is an integer, ``betas`` are values.

    Attributes
    ----------
    solving : Solving
    feasible : callable or None
        ``feasible(f, max_features)``: other constraints than the paper's, for every stage.
    seed : int or tuple of int
        For random roundings; each point and beta has its own draws.
    """

    max_features: int = 1  # pyright: ignore[reportIncompatibleVariableOverride]
    solving: Solving = DEFAULT_SOLVING
    feasible: Callable[..., Any] | None = None
    seed: Any = 0

    def __post_init__(self) -> None:
        check_choice("form", self.form, (*FORMS, FORMER_FORM))
        check_choice("rounding", self.rounding, HOW)
        check_choice("sigma_init", self.sigma_init, SIGMA_INITS)
        check_choice("impurity", self.impurity, IMPURITIES)
        check_number("gamma", self.gamma, 0, 1, open_ends=True)
        check_flag("swap", self.swap)
        check_flag("bound", self.bound)
        check_number("n_roundings", self.n_roundings, 1, whole=True)
        check_number("n_passes", self.n_passes, 1, whole=True)
        check_number("width", self.width, 0, open_ends=True)
        if self.solving.time_limit is not None:
            check_number("time_limit, in seconds,", self.solving.time_limit, 0, open_ends=True)
        if self.swap and self.feasible is not None:
            raise InputError(
                "swap=True exchanges features within the paper's constraints only: "
                "leave it out, or the changed feasible"
            )
        if not self.native:
            check_solver(self.formulation, self.solving)

    @cached_property
    def allows(self) -> Callable[[np.ndarray], np.ndarray] | None:
        """Return a function that tests sets against a changed `feasible`; None if unchanged."""
        if self.feasible is None:
            return None
        from convexfs.methods.llfs.problem import allowed_sets

        return partial(allowed_sets, feasible=self.feasible, max_features=self.max_features)

    def most_features(self, n_features: int) -> int:
        """Return the most features of a set: the budget, or all under a changed `feasible`."""
        return self.max_features if self.feasible is None else n_features

    @property
    def linear(self) -> bool:
        """Return whether a point's problem is a linear program, without a sigmoid."""
        return self.form in ("linear", LFS)

    @property
    def passes(self) -> int:
        """Return the number of passes over all points; only LFS has more than one."""
        return self.n_passes if self.form == LFS else 1

    @property
    def formulation(self) -> Formulation:
        name = self.form.removesuffix("-only")
        return METHOD.formulation(LFS if name == LFS else f"llfs-{name}")

    @property
    def changed(self) -> bool:
        """Return whether a point's problem differs from the paper's."""
        return self.solving.build is not None or self.feasible is not None

    @cached_property
    def native(self) -> bool:
        """Return whether no cvxpy solver is used."""
        solver = self.solving.solver.lower()
        if solver == NATIVE and self.form in BACKEND_FORMS:
            raise SolverUnsuitable(
                f"form={self.form!r} needs a solver of cvxpy: name one, as in  "
                "solver='ECOS', or use form='compactness', which solver='native' takes"
            )
        if self.form == "exact" and not self.changed:
            return solver in (AUTO, NATIVE)
        if self.feasible is not None and solver != NATIVE:
            return False
        return runs_natively(self.formulation, self.solving)


def beta_values(betas: Any, from_zero: bool = True) -> np.ndarray:
    """Return ascending values in [0, 1]: as given, or evenly spaced, possibly without 0."""
    if np.ndim(betas) == 0:
        check_number("betas, when it is a count,", betas, 2, MOST_BETAS, whole=True)
        return np.linspace(0.0, 1.0, int(betas))[0 if from_zero else 1 :]
    try:
        values = np.unique(np.asarray(betas, dtype=float))
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"betas must be numbers or how many, not {shortened(betas)}") from None
    if not len(values):
        raise InputError("betas is empty: give values between 0 and 1, or how many")
    for value in values:
        check_number("each of betas", float(value), 0, 1)
    return values
