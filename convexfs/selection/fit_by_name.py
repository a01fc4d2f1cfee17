"""Fit any method by name, and collect its weights and certificate as a selection.

Projections select no features, but each feature has a weight in their metric.
"""

import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from convexfs.data.column_ranges import constant_columns
from convexfs.data.dataset import Dataset, feature_frame
from convexfs.data.targets import NUMBERS
from convexfs.data.validation import warn_constant_columns
from convexfs.errors import ConvexfsError, InputError, check_number, did_you_mean
from convexfs.estimators.validation import Accepts
from convexfs.methods import KNOCKOFFS, estimator_homes, method_home, table_needs
from convexfs.methods.lfe.pictures import component_scatter, metric_map
from convexfs.records import NOT_TESTED
from convexfs.report.pictures import weight_bars
from convexfs.selection.result import Selection
from convexfs.selection.rules import (
    ITS_CERTIFICATE,
    SelectionDecision,
    SelectionRule,
    summary_lines,
)

#: A function that takes scaled data and a rule, and returns a selection.
Fit = Callable[[Dataset, SelectionRule], Selection]


def prepare_fit(method: str, settings: Mapping[str, Any], rule: SelectionRule) -> Fit:
    """Check the settings of a method before any data are read, and return its fit function.

    Parameters
    ----------
    method : str
        A method or projection that ``convexfs list`` prints.
    settings : mapping
        Its parameters by name.
    rule : SelectionRule
        Known before the data are.
    """
    rule.check()
    if method == KNOCKOFFS:
        if settings:
            raise InputError("--set and --solver are of a method: name it by --method")
        return partial(_by_knockoffs, method, None)
    home = method_home(method)
    if home.target == NUMBERS and rule.rule == "knockoffs":
        raise InputError(f"--knockoffs is of classes, and {method} learns from numbers")
    model = home.estimator(method)()
    fit = _by_knockoffs if rule.rule == "knockoffs" else _by_weights
    if home.component_number is not None:
        if rule.rule not in ("", "top"):
            raise InputError(f"{method} is a projection and selects no features: no --{rule.rule}")
        fit = partial(_by_projection, home.component_number)
        settings = {**settings, **({} if rule.top is None else {"n_components": rule.top})}
    model.set_params(**_checked(method, model.get_params(), settings, rule.seed))
    return partial(fit, method, model)


def fit_and_select(
    fit: Fit, data: Dataset, rule: SelectionRule, scale: str | None, line: str = ""
) -> Selection:
    """Fit the scaled training rows; return the Selection with the unscaled rows, for figures."""
    began = time.perf_counter()
    rule = replace(rule, scale=scale or data.scale)
    selection = fit(data.scaled(scale).training, rule)
    seconds = time.perf_counter() - began
    return replace(selection, data=data.training, scale=rule.scale, seconds=seconds, line=line)


def reading_for(method: str, rule: SelectionRule, target_kind: str | None = None) -> dict[str, Any]:
    """Return keywords of :func:`convexfs.load` that suit a method and rule, such as ``sparse``."""
    needs = table_needs(method, target_kind)
    # Knockoffs take neither missing values nor categories.
    mixed = needs["mixed"] and rule.rule != "knockoffs"
    return needs | {"mixed": mixed, "sparse": takes_sparse(method, rule)}


def takes_sparse(method: str, rule: SelectionRule) -> bool:
    """Return whether both the method and the rule accept sparse samples."""
    home = estimator_homes().get(method)
    takes = home is not None and getattr(home.estimator(method), "_accepts", Accepts()).sparse
    return takes and rule.rule != "knockoffs"


def _by_weights(name: str, model: Any, data: Dataset, rule: SelectionRule) -> Selection:
    _check_top(rule.top, data)
    began = time.process_time()
    _fit_model(model, data)
    fit_seconds = time.process_time() - began
    untested = model.get_support() if model._sparse else None
    judgement = rule(model, model.weights_, data, untested)
    if getattr(model, "lam", None) == "null" and model.lam_ is not None:
        told = f"lam = {model.lam_:.3g}: permuted labels let one feature enter on average"
        judgement = replace(judgement, lines={**judgement.lines, "penalty": told})
    if judgement.lines.get("permuted labels") == NOT_TESTED:
        # Version 0.1 stored a number under this key; the next release removes it.
        judgement = replace(judgement, record={**judgement.record, "objective_pvalue": None})
    curve = partial(rule.curve, model, data)
    more: dict[str, Any] = {"held_out": curve, "fit_seconds": fit_seconds}
    return _weighed(name, model, model.weights_, "weight", judgement, data, **more)


def _fit_model(model: Any, data: Dataset) -> None:
    """Fit a model to a data set; name constant columns of sparse samples in the warning."""
    with warnings.catch_warnings():
        if data.is_sparse:
            warnings.filterwarnings("ignore", "constant column")
        model.fit(feature_frame(data), data.labels)
    if data.is_sparse:
        warn_constant_columns(constant_columns(data.X), data.full_names)


def _by_knockoffs(name: str, model: Any, data: Dataset, rule: SelectionRule) -> Selection:
    """Select by knockoffs with `model`, or with the default method if None."""
    from convexfs.inference import KnockoffSelector

    made = KnockoffSelector(model, fdr=rule.bound, random_state=rule.seed)
    made.fit(feature_frame(data), data.labels)
    lines = summary_lines(made)
    del lines[ITS_CERTIFICATE]  # This line repeats the certificate of the selection.
    judgement = SelectionDecision(
        np.asarray(made.get_support()),
        lines,
        {"rule": "knockoffs", "fdr": rule.bound, "threshold": float(made.threshold_)},
        picture=made.plot,
    )
    return _weighed(name, made, made.W_, "weight minus its knockoff's", judgement, data)


def _by_projection(
    component_number: tuple[str, str], name: str, model: Any, data: Dataset, rule: SelectionRule
) -> Selection:
    _check_top(rule.top, data)
    try:
        model.fit(data.X, data.y)
    except ConvexfsError:
        raise
    except ValueError as error:  # scikit-learn rejected a parameter of its estimator.
        raise InputError(f"{name}: {error}") from error
    return _projected(name, model, *component_number, data)


def _projected(name: str, model: Any, attribute: str, meaning: str, data: Dataset) -> Selection:
    """Return a fitted projection's Selection; weights are the metric's diagonal, if it has one."""
    components = getattr(model, "components_", None)
    if components is None:
        weights, weights_are = model.weights_, "correlation with components"
        explained = getattr(model, attribute)
    else:
        squares = components**2
        weights, weights_are = squares.sum(axis=0), "diagonal of the metric"
        explained = getattr(model, attribute) if attribute else squares.sum(axis=1)
        explained = explained[: len(components)]

    def reduced(data: Dataset) -> Dataset:
        X = np.ascontiguousarray(model.transform(data.X))
        if not X.shape[1]:
            raise InputError(f"{name} found no component, so there is nothing to write")
        names = tuple(f"component_{t}" for t in range(1, X.shape[1] + 1))
        return replace(
            data, X=X, feature_names=names, scale="none", relevant=None, feature_metadata={}
        )

    def picture() -> Any:
        if components is None:
            return component_scatter(model.transform(data.X), data.y, data.class_names)
        return metric_map(components.T @ components, data.feature_names)

    return Selection(
        name,
        data,
        weights=weights,
        weights_are=weights_are,
        parameters=model.get_params(),
        reduced=reduced,
        picture=picture,
        explained=explained,
        explained_as=meaning,
        components=np.asarray(model.transform(data.X)),
        model=model,
        solution=getattr(model, "solution_", None),
        certificate=getattr(model, "certificate_", None),
    )


def _weighed(
    name: str,
    model: Any,
    weights: np.ndarray,
    weights_are: str,
    judgement: SelectionDecision,
    data: Dataset,
    **more: Any,
) -> Selection:
    """Return the Selection by a rule of features with these weights."""
    support = judgement.support
    return Selection(
        name, data, weights, weights_are, model.get_params(),
        reduced=lambda data: data.select(support),
        picture=judgement.picture or (lambda: weight_bars(weights, data.full_names, support)),
        support=support, judgement=judgement, model=model,
        solution=model.solution_, certificate=model.certificate_, **more,
    )  # fmt: skip


def _checked(
    method: str, known: Iterable[str], settings: Mapping[str, Any], seed: int
) -> dict[str, Any]:
    """Return the checked settings and the seed; raise for settings that the method lacks."""
    if "solver" in settings and "solver" not in known:
        solver = settings["solver"]
        raise InputError(f"{method} is computed without a solver: leave --solver {solver} out")
    for name in settings:
        if name == "n_anchors":
            raise InputError("n_anchors was removed: select from a random subset of the rows")
        if name not in known:
            raise InputError(f"{method} has no parameter {name!r}: {did_you_mean(name, known)}")
    return ({"random_state": seed} if "random_state" in known else {}) | dict(settings)


def _check_top(top: int | None, data: Dataset) -> None:
    if top is not None:
        check_number(f"--top, of {data.n_features} features,", top, 1, data.n_features)
