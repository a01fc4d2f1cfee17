"""Hostile arrays and parameters into every estimator and comparator.

Each must end with finite numbers and a true certificate, or with an error that a person
can act on.
"""

import contextlib
import inspect
import io
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import issparse

import convexfs
from convexfs.errors import ConvexfsError

from .attack import Attack, Failure, PeakMemory, Verdict, cause_of
from .hostile import HEADER, evaluated, labels, matrix, parameters

#: Settings that keep a method to milliseconds on a dozen samples, as expressions.
QUICK = {
    "LogoCV": {"sigmas": "(2.0,)", "lams": "(1.0,)", "cv": "2"},
    "LLFS": {"betas": "3", "n_roundings": "20"},
    "Simba": {"n_starts": "2"},
}
#: How often each is tried, among the others; those that take long are tried less.
WEIGHTS = {"Logo": 3.0, "LLFS": 2.0, "LFE": 3.0, "IRelief": 3.0, "Relief": 3.0, "Simba": 3.0}
WEIGHTS |= {"Lmba": 3.0, "LogoCV": 0.5}
#: Fitted numbers that must be finite wherever a model has them.
NUMBERS = ("weights_", "margin_", "components_", "metric_", "eigenvalues_", "local_support_")
#: What an estimator is asked after its fit.
QUESTIONS = ("transform", "predict", "predict_proba", "decision_function")


@dataclass(frozen=True)
class Case:
    """A method by name with settings, samples and labels, all but the name as expressions."""

    method: str
    settings: Mapping[str, str]
    X: str
    y: str


@dataclass
class Fitted:
    """What a fit said, in the same words for selectors and projections."""

    numbers: dict[str, Any]
    support: np.ndarray | None = None
    certificate: Any = None
    converged: bool | None = None
    answers: dict[str, Any] = field(default_factory=dict)


def make(rng: np.random.Generator) -> Case:
    weights = np.array(list(WEIGHTS.values()))
    method = list(WEIGHTS)[rng.choice(len(weights), p=weights / weights.sum())]
    X, rows = matrix(rng)
    known = _parameters_of(method)
    quick = {name: value for name, value in QUICK.get(method, {}).items() if name in known}
    return Case(method, parameters(rng, known, quick), X, labels(rng, rows))


def _parameters_of(method: str) -> list[str]:
    called = inspect.signature(getattr(convexfs, method)).parameters
    return [name for name in called if name not in ("X", "y", "self")]


def judge(case: Case) -> Verdict:
    """Fit, and hold what comes of it against what was promised."""
    with quiet():
        X, y = evaluated(case.X), evaluated(case.y)
        settings = {name: evaluated(value) for name, value in case.settings.items()}
    with PeakMemory() as memory, quiet():
        try:
            fitted = _fit(case.method, settings, X, y)
        except Exception as error:
            verdict = _judged_error(error)
        else:
            certified = fitted.certificate is None or fitted.certificate.ok is not False
            outcome = "fitted" if certified else "fitted, certificate refuted"
            verdict = Verdict(outcome, tuple(_broken_promises(fitted, X, settings)))
    failures = verdict.failures + memory.failures()
    named = [replace(failure, cause=f"{case.method}: {failure.cause}") for failure in failures]
    return replace(verdict, failures=tuple(named))


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Show neither warnings nor what a method prints."""
    with (
        warnings.catch_warnings(),
        np.errstate(all="ignore"),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        warnings.simplefilter("ignore")
        yield


def _judged_error(error: Exception) -> Verdict:
    """Errors of convexfs, and of scikit-learn's checks of input, are clean; others are not."""
    if isinstance(error, ConvexfsError):
        return Verdict("refused in words")
    if isinstance(error, ValueError | TypeError) and _raised_by_scikit_learn(error):
        return Verdict("refused by scikit-learn")
    kind = "raw error" if isinstance(error, ValueError | TypeError) else "crash"
    return Verdict(kind, (Failure(kind, cause_of(error)),))


def _raised_by_scikit_learn(error: BaseException) -> bool:
    step = error.__traceback__
    while step is not None:
        if "sklearn" in step.tb_frame.f_code.co_filename:
            return True
        step = step.tb_next
    return False


def _fit(method: str, settings: Mapping[str, Any], X: Any, y: Any) -> Fitted:
    model = getattr(convexfs, method)(**settings).fit(X, y)
    fitted = Fitted({name: getattr(model, name) for name in NUMBERS if hasattr(model, name)})
    fitted.certificate = getattr(model, "certificate_", None)
    fitted.converged = getattr(model, "converged_", None)
    solution = getattr(model, "solution_", None)
    if solution is not None:
        fitted.numbers["objective"] = solution.objective
    if hasattr(model, "get_support"):
        fitted.support = model.get_support()
    fitted.answers = {name: getattr(model, name)(X) for name in QUESTIONS if hasattr(model, name)}
    return fitted


def _broken_promises(fitted: Fitted, X: Any, settings: Mapping[str, Any]) -> Iterator[Failure]:
    bad = [name for name, value in fitted.numbers.items() if not finite(value)]
    certificate = fitted.certificate
    if bad:
        yield Failure("NaN", f"{' and '.join(bad)} not finite")
        if certificate is not None and certificate.ok:
            yield Failure("ok over NaN", f"certificate {str(certificate)[:2]}")
    if bad_answers := [name for name, value in fitted.answers.items() if not finite(value)]:
        yield Failure("NaN", f"{' and '.join(bad_answers)} not finite")
    if fitted.converged and certificate is not None and certificate.ok is False:
        yield Failure("false convergence", "converged_ where the certificate refutes")
    if fitted.support is not None:
        constant = constant_columns(X)
        wanted = settings.get("n_features_to_select")
        others = int((~constant).sum())
        if (wanted is None or wanted <= others) and (fitted.support & constant).any():
            yield Failure("constant column selected", f"{'default' if wanted is None else 'top k'}")


def finite(value: Any) -> bool:
    """Whether all numbers of a result are finite; what is not numbers is."""
    array = np.asarray(value)
    if array.dtype.kind == "O":
        return all(part is not None for part in array.ravel())
    return array.dtype.kind not in "fc" or bool(np.isfinite(array).all())


def constant_columns(X: Any) -> np.ndarray:
    """Which columns hold one value only, as the numbers or categories they are fitted as."""
    table = pd.DataFrame(X.toarray() if issparse(X) else np.asarray(X))
    return np.array([_fitted_as(table[name]).nunique() <= 1 for name in table])


def _fitted_as(column: Any) -> Any:
    try:
        return column.astype(np.float64)
    except (TypeError, ValueError):
        return column.astype(object)


def reproducer(case: Case) -> dict[str, bytes]:
    """A program that fits the same and prints what came of it."""
    settings = ", ".join(f"{name}={value}" for name, value in case.settings.items())
    text = (
        f"{HEADER}\nimport convexfs\n\nX = {case.X}\ny = {case.y}\n"
        f"model = convexfs.{case.method}({settings}).fit(X, y)\n"
        "for name, value in sorted(vars(model).items()):\n"
        "    if name.endswith('_'):\n"
        "        print(name, '=', value)\n"
        "if hasattr(model, 'get_support'):\n"
        "    print('support', model.get_support())\n"
        "print(model.transform(X))\n"
    )
    return {"case.py": text.encode()}


def warm() -> None:
    """Load or compile the kernels of every method."""
    X = np.random.default_rng(0).normal(size=(12, 3))
    for method in WEIGHTS:
        quick = {k: v for k, v in QUICK.get(method, {}).items() if k in _parameters_of(method)}
        with quiet():
            _fit(method, {k: evaluated(v) for k, v in quick.items()}, X, np.arange(12) % 2)


ATTACK = Attack(make, judge, reproducer, share=100, warm=warm)
