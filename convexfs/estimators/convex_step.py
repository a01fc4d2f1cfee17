"""The convex step of an estimator: as a problem to read and change, and certified anew."""

import importlib
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from convexfs.errors import InputError
from convexfs.estimators.validation import SampleTaker
from convexfs.methods.base.change import is_change, printed_problem
from convexfs.methods.base.fixed_point import FixedPointCertificate, relative_change
from convexfs.methods.base.formulation import Step
from convexfs.methods.base.parameters import Solving
from convexfs.methods.base.solve_step import stated
from convexfs.records import OPTIMAL, Certificate, Solution

#: Samples, and their numbers, up to which a notebook shows the problem of a fit.
_SHOWN_SAMPLES, _SHOWN_ENTRIES = 200, 20_000


class TrainingSamples:
    """A reference to the samples of a fit, for :meth:`StatesProblem.problem`; never pickled."""

    def __init__(self, X: Any = None, codes: Any = None):
        self.X, self.codes = X, codes

    def __reduce__(self) -> Any:
        return TrainingSamples, ()

    def __deepcopy__(self, memo: Any) -> "TrainingSamples":
        return self


class StatesProblem(SampleTaker):
    """An estimator that hands out its convex step as a problem."""

    _method: ClassVar[Any]

    solution_: Solution
    certificate_: Certificate

    def problem(self, *, X: Any = None, y: Any = None) -> Any:
        """Return the convex step as a ``cvxpy.Problem``, to read, change and solve.

        After a fit it is the step that the fitted weights solve, on the samples of the fit, and
        its variables hold that solution: ``convexfs.certify(model.problem())`` proves it. Before
        a fit, give `X` and `y`: it is then the first step. Scalars such as ``lam`` are Parameters
        (``problem.param_dict``), so that a sweep over their values compiles the problem once.
        Constraints have labels. A changed `formulation` is in it. Columns that the fit leaves out
        because they are constant are not in it.

        Parameters
        ----------
        X, y : arrays, optional
            Samples to state it on; by default those of the fit. A model that was pickled does
            not hold its samples.

        Returns
        -------
        cvxpy.Problem

        Examples
        --------
        >>> import cvxpy as cp
        >>> import convexfs
        >>> data = convexfs.load("iris").scaled()
        >>> problem = convexfs.Logo(lam=5.0).fit(data.X, data.y).problem()
        >>> w, lam = problem.var_dict["w"], problem.param_dict["lam"]
        >>> smooth = cp.Problem(problem.objective + cp.Minimize(lam * cp.sum_squares(w)),
        ...                     problem.constraints)
        >>> convexfs.certify(smooth, convexfs.solve(smooth)).ok
        True
        """
        return self._stated(X, y)[0]

    def _stated(self, X: Any = None, y: Any = None) -> tuple[Any, Step]:
        """Return the problem, and the step that it states."""
        from convexfs.inspection import StatedProblem
        from convexfs.solving.named_leaves import fill, name_constants

        step = self._step_at(X, y)
        problem = self._built(step)
        problem = StatedProblem(problem.objective, problem.constraints)
        name_constants(problem, step.values)
        fill(problem, step.primal)
        return problem, step

    def _built(self, step: Step) -> Any:
        build, offered = self._solving().build, {**step.values, **step.hyper}
        if build is None:
            return printed_problem(step.formulation.build, offered)
        state = partial(stated, step.formulation, build=build)
        if is_change(build):
            return state(offered)
        from convexfs.inspection import symbolic

        return symbolic(state, build, offered)

    def _step_at(self, X: Any, y: Any) -> Step:
        if (X is None) != (y is None):
            raise InputError("give both X and y, or neither")
        if X is None:
            samples = getattr(self, "_training", None)
            if not hasattr(self, "certificate_"):
                raise InputError("the model is not fitted: fit it first, or give X and y")
            if samples is None or samples.X is None:
                raise InputError("the model does not hold its samples: give X and y of its fit")
            return self._step(samples.X, samples.codes)
        # Validation records classes and columns, which must stay those of the fit.
        other = copy(self)
        X, codes = other._checked(X, y)
        if other.n_features_in_ != getattr(self, "n_features_in_", other.n_features_in_):
            raise InputError(f"X has {other.n_features_in_} columns: the fit had others")
        for fitted in ("margin_", "_sample_weight"):  # these belong to the samples of the fit
            vars(other).pop(fitted, None)
        return other._step(X, codes)

    def _step(self, X: Any, codes: np.ndarray) -> Step:
        """Return the step at the fitted weights or, before a fit, at those it would start from."""
        if not self._has_step:
            raise InputError(f"{type(self).__name__} solves no convex problem")
        made = importlib.import_module(type(self)._method.__module__)
        step = made.step(X, codes, self, self._solving(), **self._step_options(codes))
        solution = getattr(self, "solution_", None)
        return replace(step, primal={} if solution is None else dict(solution.primal))

    def _step_options(self, codes: np.ndarray) -> dict[str, Any]:
        """Return what the method's `step` takes beside its settings."""
        return {}

    def _solving(self) -> Solving:
        raise NotImplementedError

    def _checked(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        X, codes = super()._checked(X, y)
        self._training = TrainingSamples(X, codes)
        return X, codes

    def _fit_html(self) -> str:
        html, problem = super()._fit_html(), None
        if html:
            problem = self._shown_problem()
        if problem is None:
            return html
        from convexfs.inspection import show

        return f"{html}<div class='convexfs-problem'>{show(problem).mathml}</div>"

    def _shown_problem(self) -> Any:
        """Return the problem that a notebook shows; None if stating it might take long."""
        samples = getattr(self, "_training", None)
        if samples is None or samples.X is None or not self._has_step:
            return None
        n_samples, n_features = samples.X.shape
        small = n_samples <= _SHOWN_SAMPLES and n_samples * n_features <= _SHOWN_ENTRIES
        return self._stated()[0] if small else None

    @property
    def _has_step(self) -> bool:
        return hasattr(importlib.import_module(type(self)._method.__module__), "step")

    def _certify(self, **options: Any) -> Certificate:
        """Certify the fit anew: the step by :func:`convexfs.certify`, then the fixed point."""
        from convexfs.certification.certify import certify

        problem, step = self._stated()
        proof = certify(problem, **options)
        if proof.ok is None:
            proof = certify(problem, _with_multipliers(problem), **options)
        if step.start is None or not isinstance(self.certificate_, FixedPointCertificate):
            return proof
        # The problem has every feature: once it is solved none is left out wrongly.
        return FixedPointCertificate(
            **vars(proof),
            residual=relative_change(step.start, step.primal[step.formulation.symbol]),
            residual_tol=self.certificate_.residual_tol,
            n_violated=0,
            n_features=len(step.start),
        )


def _with_multipliers(problem: Any) -> Solution:
    """Return the values in `problem` as a solution, with the multipliers that a backend finds."""
    from convexfs.solving.solve import solve

    point = {variable.name(): variable.value for variable in problem.variables()}
    value = float(problem.objective.value)
    return replace(solve(problem), status=OPTIMAL, primal=point, objective=value)
