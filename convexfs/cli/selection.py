"""Any method by name, and what it says of the features.

Methods weigh features and prove it; comparators score them; projections select
no features, but each has a weight in their metric.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from convexfs.baselines import COMPONENT_NUMBERS, PROJECTIONS, SELECTORS, projection, selector
from convexfs.data.dataset import Dataset
from convexfs.data.ranges import constant_columns
from convexfs.errors import ConvexfsError, InputError, check_number, did_you_mean
from convexfs.methods import estimator_homes
from convexfs.methods.lfe.pictures import component_scatter, metric_map
from convexfs.pictures import weight_bars
from convexfs.records import RELEVANT_SHARE, Certificate, Solution


@dataclass(frozen=True)
class Selection:
    """What a method of any kind says of the features.

    Attributes
    ----------
    support : bool array or None
        None for a projection, which selects no features.
    explained, explained_as : array and str
        One number a component of a projection, and what it is.
    reduced : callable
        Samples, scaled like those fitted if this is a projection, in what was selected.
    picture : callable
        A matplotlib figure of the weights or the metric.
    """

    weights: np.ndarray
    weights_are: str
    parameters: Mapping[str, Any]
    reduced: Callable[[Dataset], Dataset]
    picture: Callable[[], Any]
    support: np.ndarray | None = None
    explained: np.ndarray | None = None
    explained_as: str = ""
    solution: Solution | None = None
    certificate: Certificate | None = None


def prepared(
    method: str, settings: Mapping[str, Any], top: int | None = None, seed: int = 0
) -> Callable[[Dataset], Selection]:
    """Return the fit of this method, its settings checked before any data are read.

    Parameters
    ----------
    method : str
        Of a method, comparator or projection.
    settings : mapping
        Its parameters by name.
    top : int, optional
        Features, or components of a projection, to keep.
    seed : int
        For whatever is random.
    """
    if method in SELECTORS:
        return _comparator(method, settings, top, seed)
    if method in PROJECTIONS:
        made = _Projecting(method, projection(method)(), *COMPONENT_NUMBERS[method])
        return _projection(made, settings, top, seed)
    homes = estimator_homes()
    if method not in homes:
        known = [*homes, *SELECTORS, *PROJECTIONS]
        raise InputError(f"unknown method {method!r}: {did_you_mean(method, known)}")
    model, number = homes[method].estimator(method)(), homes[method].component_number
    if number is None:
        return _method(method, model, settings, top, seed)
    return _projection(_Projecting(method, model, *number), settings, top, seed)


@dataclass(frozen=True)
class _Projecting:
    """A projection by name, and what it says of each component: an attribute, and its meaning."""

    name: str
    model: Any
    attribute: str
    meaning: str


def _method(
    name: str, model: Any, settings: Mapping[str, Any], top: int | None, seed: int
) -> Callable[[Dataset], Selection]:
    wanted = {} if top is None else {"n_features_to_select": top}
    model.set_params(**_checked(name, model.get_params(), {**settings, **wanted}, seed))

    def fit(data: Dataset) -> Selection:
        _check_top(top, data)
        model.fit(_frame(data), data.labels)
        return Selection(
            **_of_features(model.weights_, model.get_support(), data),
            weights_are="weight",
            parameters=model.get_params(),
            solution=model.solution_,
            certificate=model.certificate_,
        )

    return fit


def _comparator(
    name: str, settings: Mapping[str, Any], top: int | None, seed: int
) -> Callable[[Dataset], Selection]:
    rank = selector(name)
    defaults = {
        parameter.name: parameter.default
        for parameter in inspect.signature(rank).parameters.values()
        if parameter.default is not parameter.empty
    }
    parameters = defaults | _checked(name, defaults, settings, seed)

    def fit(data: Dataset) -> Selection:
        _check_top(top, data)
        scores = rank(data.X, data.y, **parameters)
        constant = constant_columns(data.X)
        support = scores > RELEVANT_SHARE * scores.max(initial=0.0)
        if top is not None:
            order = np.lexsort((-scores, constant))
            support = np.isin(np.arange(len(scores)), order[:top])
        support &= ~constant
        return Selection(
            **_of_features(scores, support, data), weights_are="score", parameters=parameters
        )

    return fit


def _projection(
    made: _Projecting, settings: Mapping[str, Any], top: int | None, seed: int
) -> Callable[[Dataset], Selection]:
    model, wanted = made.model, {} if top is None else {"n_components": top}
    model.set_params(**_checked(made.name, model.get_params(), {**settings, **wanted}, seed))

    def fit(data: Dataset) -> Selection:
        _check_top(top, data)
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
        return replace(data, X=X, feature_names=names, scale="none", relevant=None)

    def picture() -> Any:
        if components is None:
            return component_scatter(model.transform(data.X), data.y, data.class_names)
        return metric_map(components.T @ components, data.feature_names)

    return Selection(
        weights=weights,
        weights_are=weights_are,
        parameters=model.get_params(),
        reduced=reduced,
        picture=picture,
        explained=explained,
        explained_as=made.meaning,
        solution=getattr(model, "solution_", None),
        certificate=getattr(model, "certificate_", None),
    )


def _of_features(weights: np.ndarray, support: np.ndarray, data: Dataset) -> dict[str, Any]:
    return {
        "weights": weights,
        "support": support,
        "reduced": lambda data: data.select(support),
        "picture": lambda: weight_bars(weights, data.feature_names, support),
    }


def _checked(
    method: str, known: Iterable[str], settings: Mapping[str, Any], seed: int
) -> dict[str, Any]:
    """Return the settings and the seed, all of which the method must know."""
    if "solver" in settings and "solver" not in known:
        solver = settings["solver"]
        raise InputError(f"{method} is computed without a solver: leave --solver {solver} out")
    for name in settings:
        if name not in known:
            raise InputError(f"{method} has no parameter {name!r}: {did_you_mean(name, known)}")
    return ({"random_state": seed} if "random_state" in known else {}) | dict(settings)


def _check_top(top: int | None, data: Dataset) -> None:
    if top is not None:
        check_number(f"--top, of {data.n_features} features,", top, 1, data.n_features)


def _frame(data: Dataset) -> Any:
    import pandas as pd

    return pd.DataFrame(data.X, columns=list(data.feature_names), copy=False)
