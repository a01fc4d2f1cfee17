"""The methods, one package each; this is the only list of them.

:data:`METHODS` has those of this package and, by the entry point group ``convexfs.methods``,
those of others; :data:`FORMULATIONS` all their convex problems. Both are gathered when first
asked for.
"""

import importlib
from functools import cache
from importlib.metadata import entry_points
from typing import Any

from convexfs.data.targets import NUMBERS
from convexfs.errors import InputError, did_you_mean
from convexfs.methods.base.formulation import OWN, Formulation, Method

_OWN = (
    "relief", "irelief", "simba", "lmba", "logo", "llfs", "lfe", "lmnn", "mmc",
    "knockoffs", "stability", "relief_regression", "logo_regression",
)  # fmt: skip
_GROUP = "convexfs.methods"
#: Method name for knockoffs with their default statistic.
KNOCKOFFS = "knockoffs"

#: Comparators of the papers, which earlier versions offered as methods.
_FORMER = frozenset({
    "ams", "dann", "elastic-net", "fisher-markov", "kernel-pls", "kpls", "ks", "l1-logistic",
    "mitra", "mrmr", "mutual-information", "nca", "pca", "qpfs", "random-forest", "relieff",
    "rfe-rbf",
})  # fmt: skip

METHODS: dict[str, Method]
FORMULATIONS: dict[str, Formulation]


def __getattr__(name: str) -> Any:
    if name == "METHODS":
        return _methods()
    if name == "FORMULATIONS":
        return _formulations()
    raise AttributeError(f"module 'convexfs.methods' has no attribute {name!r}")


@cache
def _methods() -> dict[str, Method]:
    own = (f"{__name__}.{folder}" for folder in _OWN)
    packages = [*own, *(point.module for point in entry_points(group=_GROUP))]
    declared = [importlib.import_module(package).METHOD for package in packages]
    return {method.name: method for method in declared}


@cache
def _formulations() -> dict[str, Formulation]:
    return {row.name: row for method in _methods().values() for row in method.formulations}


@cache
def estimator_homes() -> dict[str, Method]:
    """Return a dict from each name that ``convexfs select --method`` accepts to its Method."""
    return {name: method for method in _methods().values() for name in method.estimators}


def method_home(method: str) -> Method:
    """Return the :class:`Method` behind a name that ``convexfs select --method`` accepts.

    Raises
    ------
    InputError
        If there is none; the nearest name is suggested.
    """
    homes = estimator_homes()
    if method not in homes:
        classes = {homes[name].class_name(name).lower(): name for name in homes}
        if own := classes.get(method.lower().replace("-", "").replace("_", "")):
            raise InputError(f"unknown method {method!r}: the command calls it {own}")
        if method in _FORMER:
            raise InputError(
                f"{method} is a comparator and no longer a method of select: "
                "the papers' experiments use it, in scripts/papers/baselines"
            )
        raise InputError(f"unknown method {method!r}: {did_you_mean(method, homes)}")
    return homes[method]


def default_method(rule: str) -> str:
    """Return the default method name of a selection rule: knockoffs for that rule, else relief."""
    return KNOCKOFFS if rule == KNOCKOFFS else _OWN[0]


def table_needs(method: str, target_kind: str | None = None) -> dict[str, Any]:
    """Return the keywords of :func:`convexfs.load` that suit a method: target_kind and mixed."""
    home = estimator_homes().get(method)
    numbers = home is not None and home.target == NUMBERS
    mixed = home is not None and method in home.takes_missing
    return {"target_kind": target_kind or (NUMBERS if numbers else None), "mixed": mixed}


def parts_of(formulation: Formulation) -> tuple[str, str] | None:
    """Return the two names of a split fit's parts in problem files (in FIT, in GRID), or None."""
    return next(row.parts for row in _methods().values() if row.home == formulation.home)


def target_of(formulation: Formulation) -> str | None:
    """Return the kind of target a formulation's method needs, or None for a custom problem."""
    return {row.home: row.target for row in _methods().values()}.get(formulation.home)


def named_formulation(name: str) -> Formulation:
    """Return the formulation of this name, or the first of the method of this name; else raise."""
    convex = [method for method in _methods().values() if method.formulations]
    known = {method.name: method.formulations[0] for method in convex} | _formulations()
    if name not in known:
        raise InputError(f"unknown method or formulation {name!r}: {did_you_mean(name, known)}")
    return known[name]


def stored_formulation(name: str) -> Formulation:
    """Return the formulation of a name in a run's store, which may be one of an earlier version."""
    return _stored()[name]


def stored_names() -> set[str]:
    """Return all formulation names that a run's store may contain, including former ones."""
    return set(_stored())


@cache
def _stored() -> dict[str, Formulation]:
    former = {row.formerly: row for row in _formulations().values() if row.formerly}
    return former | {OWN.name: OWN} | _formulations()
