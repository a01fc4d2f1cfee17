"""Any method by name, and what it says of the features.

Methods weigh features and prove it; projections select no features, but each has a weight in
their metric.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from convexfs.data.dataset import Dataset, feature_frame
from convexfs.data.targets import NUMBERS
from convexfs.errors import ConvexfsError, InputError, check_number, did_you_mean
from convexfs.estimators.validation import Accepts
from convexfs.methods import estimator_homes, home_of
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

#: What goes for a method where knockoffs are weighed by the one they have by default.
KNOCKOFFS = "knockoffs"
#: A function from scaled data and a rule to the selection.
Fit = Callable[[Dataset, SelectionRule], Selection]


def default_method(rule: str) -> str:
    """Return the method of a selection that names none."""
    return KNOCKOFFS if rule == "knockoffs" else "relief"


def prepare_fit(method: str, settings: Mapping[str, Any], judge: SelectionRule) -> Fit:
    """Return the fit of this method, its settings checked before any data are read.

    Parameters
    ----------
    method : str
        A method or projection that ``convexfs list`` prints.
    settings : mapping
        Its parameters by name.
    judge : Judge
        The rule, known before the data are.
    """
    judge.check()
    if method == KNOCKOFFS:
        if settings:
            raise InputError("--set and --solver are of a method: name it by --method")
        return _knockoffs(method, None)
    home = home_of(method)
    if home.target == NUMBERS and judge.rule == "knockoffs":
        raise InputError(f"--knockoffs is of classes, and {method} learns from numbers")
    model = home.estimator(method)()
    if home.component_number is not None:
        return _projection(_Projecting(method, model, *home.component_number), settings, judge)
    model.set_params(**_checked(method, model.get_params(), settings, judge.seed))
    return _knockoffs(method, model) if judge.rule == "knockoffs" else _method(method, model)


def fit_and_select(
    fit: Fit, data: Dataset, judge: SelectionRule, scale: str | None, line: str = ""
) -> Selection:
    """Fit to the training rows of data, scaled, and keep those rows as they are for pictures."""
    began = time.perf_counter()
    judge = replace(judge, scale=scale or data.scale)
    selection = fit(data.scaled(scale).training, judge)
    seconds = time.perf_counter() - began
    return replace(selection, data=data.training, scale=judge.scale, seconds=seconds, line=line)


def reading_for(
    method: str, judge: SelectionRule, target_kind: str | None = None
) -> dict[str, Any]:
    """Return the options of reading that a method and a rule need: see :func:`convexfs.load`."""
    home = estimator_homes().get(method)
    numbers = home is not None and home.target == NUMBERS
    takes_missing = home is not None and method in home.takes_missing and judge.takes_missing
    return {
        "target_kind": target_kind or (NUMBERS if numbers else None),
        "sparse": takes_sparse(method, judge),
        "mixed": takes_missing,
    }


def takes_sparse(method: str, judge: SelectionRule) -> bool:
    """Whether a method and the rule that tests it take sparse samples as they are."""
    home = estimator_homes().get(method)
    takes = home is not None and getattr(home.estimator(method), "_accepts", Accepts()).sparse
    return takes and judge.rule != "knockoffs"


@dataclass(frozen=True)
class _Projecting:
    """A projection by name, and what it says of each component: an attribute, and its meaning."""

    name: str
    model: Any
    attribute: str
    meaning: str


def _method(name: str, model: Any) -> Fit:
    def fit(data: Dataset, judge: SelectionRule) -> Selection:
        _check_top(judge.top, data)
        began = time.process_time()
        model.fit(feature_frame(data), data.labels)
        fit_seconds = time.process_time() - began
        untested = model.get_support() if model._sparse else None
        judgement = judge(model, model.weights_, data, untested)
        if getattr(model, "lam", None) == "null" and model.lam_ is not None:
            told = f"lam = {model.lam_:.3g}: permuted labels let one feature enter on average"
            judgement = replace(judgement, lines={**judgement.lines, "penalty": told})
        if judgement.lines.get("permuted labels") == NOT_TESTED:
            # Version 0.1 had a number under this key; it stays until the next release.
            judgement = replace(judgement, record={**judgement.record, "objective_pvalue": None})
        return Selection(
            name,
            **_of_features(model.weights_, judgement, data),
            weights_are="weight",
            parameters=model.get_params(),
            solution=model.solution_,
            certificate=model.certificate_,
            model=model,
            held_out=partial(judge.curve, model, data),
            fit_seconds=fit_seconds,
        )

    return fit


def _knockoffs(name: str, model: Any) -> Fit:
    """Select by the knockoffs of the features, weighed by `model`, or as usual if None."""

    def fit(data: Dataset, judge: SelectionRule) -> Selection:
        from convexfs.inference import KnockoffSelector

        made = KnockoffSelector(model, fdr=judge.bound, random_state=judge.seed)
        made.fit(feature_frame(data), data.labels)
        lines = summary_lines(made)
        del lines[ITS_CERTIFICATE]  # which is that of the selection
        judgement = SelectionDecision(
            np.asarray(made.get_support()),
            lines,
            {"rule": "knockoffs", "fdr": judge.bound, "threshold": float(made.threshold_)},
            picture=made.plot,
        )
        return Selection(
            name,
            **_of_features(made.W_, judgement, data),
            weights_are="weight minus its knockoff's",
            parameters=made.get_params(),
            solution=made.solution_,
            certificate=made.certificate_,
            model=made,
        )

    return fit


def _projection(made: _Projecting, settings: Mapping[str, Any], judge: SelectionRule) -> Fit:
    if judge.rule not in ("", "top"):
        raise InputError(f"{made.name} is a projection and selects no features: no --{judge.rule}")
    model, wanted = made.model, {} if judge.top is None else {"n_components": judge.top}
    settings = {**settings, **wanted}
    model.set_params(**_checked(made.name, model.get_params(), settings, judge.seed))

    def fit(data: Dataset, judge: SelectionRule) -> Selection:
        _check_top(judge.top, data)
        try:
            model.fit(data.X, data.y)
        except ConvexfsError:
            raise
        except ValueError as error:  # scikit-learn's own settings
            raise InputError(f"{made.name}: {error}") from error
        return _projected(made, data)

    return fit


def _projected(made: _Projecting, data: Dataset) -> Selection:
    """Sum up a projection: weights are the metric's diagonal, if it has one in the features."""
    model = made.model
    components = getattr(model, "components_", None)
    if components is None:
        weights, weights_are = model.weights_, "correlation with components"
        explained = getattr(model, made.attribute)
    else:
        squares = components**2
        weights, weights_are = squares.sum(axis=0), "diagonal of the metric"
        explained = getattr(model, made.attribute) if made.attribute else squares.sum(axis=1)
        explained = explained[: len(components)]

    def reduced(data: Dataset) -> Dataset:
        X = np.ascontiguousarray(model.transform(data.X))
        if not X.shape[1]:
            raise InputError(f"{made.name} found no component, so there is nothing to write")
        names = tuple(f"component_{t}" for t in range(1, X.shape[1] + 1))
        return replace(
            data, X=X, feature_names=names, scale="none", relevant=None, feature_metadata={}
        )

    def picture() -> Any:
        if components is None:
            return component_scatter(model.transform(data.X), data.y, data.class_names)
        return metric_map(components.T @ components, data.feature_names)

    return Selection(
        made.name,
        data,
        weights=weights,
        weights_are=weights_are,
        parameters=model.get_params(),
        reduced=reduced,
        picture=picture,
        explained=explained,
        explained_as=made.meaning,
        components=np.asarray(model.transform(data.X)),
        model=model,
        solution=getattr(model, "solution_", None),
        certificate=getattr(model, "certificate_", None),
    )


def _of_features(
    weights: np.ndarray, judgement: SelectionDecision, data: Dataset
) -> dict[str, Any]:
    support = judgement.support
    return {
        "data": data,
        "weights": weights,
        "support": support,
        "judgement": judgement,
        "reduced": lambda data: data.select(support),
        "picture": judgement.picture or (lambda: weight_bars(weights, data.full_names, support)),
    }


def _checked(
    method: str, known: Iterable[str], settings: Mapping[str, Any], seed: int
) -> dict[str, Any]:
    """Return the settings and the seed, all of which the method must know."""
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
