"""The convex step of an estimator: as a cvxpy problem to read and change, and its certificate."""

import importlib
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from convexfs.errors import InputError
from convexfs.methods.base.change import is_change, printed_problem
from convexfs.methods.base.fixed_point import FixedPointCertificate, relative_change
from convexfs.methods.base.formulation import Step
from convexfs.methods.base.solve_step import stated
from convexfs.records import OPTIMAL, Certificate, Solution

#: A notebook shows the problem of a fit with at most this many samples, and this many values.
_SHOWN_SAMPLES, _SHOWN_ENTRIES = 200, 20_000


@dataclass(eq=False)
class TrainingSamples:
    """A reference to the samples of a fit, for ``model.problem()``; never pickled.

    `spread` has the ranges of the features, where they were computed.
    """

    X: Any = None
    codes: Any = None
    spread: Any = None

    def __reduce__(self) -> Any:
        return TrainingSamples, ()

    def __deepcopy__(self, memo: Any) -> "TrainingSamples":
        return self


def stated_problem(model: Any, X: Any = None, y: Any = None) -> tuple[Any, Step]:
    """Return the convex step of an estimator as a cvxpy problem, and the step itself."""
    from convexfs.inspection import StatedProblem
    from convexfs.solving.named_leaves import fill, name_constants

    step = _step_at(model, X, y)
    problem = _built(step, model._solving().build)
    problem = StatedProblem(problem.objective, problem.constraints)
    name_constants(problem, step.values)
    fill(problem, step.primal)
    return problem, step


def _built(step: Step, build: Any) -> Any:
    offered = {**step.values, **step.hyper}
    if build is None:
        return printed_problem(step.formulation.build, offered)
    state = partial(stated, step.formulation, build=build)
    if is_change(build):
        return state(offered)
    from convexfs.inspection import symbolic

    return symbolic(state, build, offered)


def _step_at(model: Any, X: Any, y: Any) -> Step:
    if (X is None) != (y is None):
        raise InputError("give both X and y, or neither")
    if X is None:
        samples = getattr(model, "_training", None)
        if not hasattr(model, "certificate_"):
            raise InputError("the model is not fitted: fit it first, or give X and y")
        if samples is None or samples.X is None:
            raise InputError("the model does not hold its samples: give X and y of its fit")
        return model._step(samples.X, samples.codes)
    # Validate on a copy, because validation overwrites the recorded classes and columns.
    other = copy(model)
    X, codes = other._validate(X, y)
    if other.n_features_in_ != getattr(model, "n_features_in_", other.n_features_in_):
        raise InputError(f"X has {other.n_features_in_} columns: the fit had others")
    # Drop these attributes, which belong to the samples of the fit.
    for fitted in ("margin_", "_sample_weight"):
        vars(other).pop(fitted, None)
    return other._step(X, codes)


def method_step(model: Any, X: Any, codes: np.ndarray) -> Step:
    """Return the convex step of the model's method, with the fitted solution if there is one."""
    made = _module_of(model)
    if not hasattr(made, "step"):
        raise InputError(f"{type(model).__name__} solves no convex problem")
    step = made.step(X, codes, model, model._solving(), **model._step_options(codes))
    solution = getattr(model, "solution_", None)
    return replace(step, primal={} if solution is None else dict(solution.primal))


def _module_of(model: Any) -> Any:
    return importlib.import_module(type(model)._method.__module__)


def is_quickly_stated(model: Any) -> bool:
    """Return whether the problem of a fit is small enough to be shown in a notebook."""
    samples = getattr(model, "_training", None)
    if samples is None or samples.X is None or not hasattr(_module_of(model), "step"):
        return False
    n_samples, n_features = samples.X.shape
    return n_samples <= _SHOWN_SAMPLES and n_samples * n_features <= _SHOWN_ENTRIES


def certify_fit(model: Any, **options: Any) -> Certificate:
    """Certify a fit's convex step again and, if it is one, its fixed point."""
    from convexfs.certification.certify import certify

    problem, step = model._stated()
    proof = certify(problem, **options)
    if proof.ok is None:
        proof = certify(problem, _with_multipliers(problem), **options)
    if step.start is None or not isinstance(model.certificate_, FixedPointCertificate):
        return proof
    # The problem contains every feature, so a certificate also covers the features left out.
    return FixedPointCertificate(
        **vars(proof),
        residual=relative_change(step.start, step.primal[step.formulation.symbol]),
        residual_tol=model.certificate_.residual_tol,
        n_violated=0,
        n_features=len(step.start),
    )


def _with_multipliers(problem: Any) -> Solution:
    """Return the values in `problem` as a solution, with multipliers from a cvxpy solver."""
    from convexfs.solving.solve import solve

    point = {variable.name(): variable.value for variable in problem.variables()}
    value = float(problem.objective.value)
    return replace(solve(problem), status=OPTIMAL, primal=point, objective=value)
