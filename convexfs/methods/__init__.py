"""The methods, one package each; this is the only list of them.

:data:`METHODS` has those of this package and, by the entry point group ``convexfs.methods``,
those of others; :data:`FORMULATIONS` all their convex problems. Both are gathered when first
asked for.
"""

import importlib
from functools import cache
from importlib.metadata import entry_points
from typing import Any

from convexfs.errors import InputError, did_you_mean
from convexfs.methods.base.formulation import OWN, Formulation, Method

_OWN = (
    "relief", "irelief", "simba", "lmba", "logo", "llfs", "lfe", "lmnn", "mmc",
    "knockoffs", "stability", "relief_regression", "logo_regression",
)  # fmt: skip
_GROUP = "convexfs.methods"
#: Comparators of the papers, which earlier versions selected by.
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
    packages = [*own, *(point.value for point in entry_points(group=_GROUP))]
    declared = [importlib.import_module(package).METHOD for package in packages]
    return {method.name: method for method in declared}


@cache
def _formulations() -> dict[str, Formulation]:
    return {row.name: row for method in _methods().values() for row in method.formulations}


@cache
def estimator_homes() -> dict[str, Method]:
    """Map each name that ``convexfs select --method`` takes to its method."""
    return {name: method for method in _methods().values() for name in method.estimators}


def home_of(name: str) -> Method:
    """Return the method that ``convexfs select --method`` calls by this name."""
    homes = estimator_homes()
    if name in homes:
        return homes[name]
    classes = {homes[each].class_name(each).lower(): each for each in homes}
    if own := classes.get(name.lower().replace("-", "").replace("_", "")):
        raise InputError(f"unknown method {name!r}: the command calls it {own}")
    if name in _FORMER:
        raise InputError(
            f"{name} is a comparator and no longer a method of select: "
            "the papers' experiments use it, in scripts/papers/baselines"
        )
    raise InputError(f"unknown method {name!r}: {did_you_mean(name, homes)}")


def parts_of(formulation: Formulation) -> tuple[str, str] | None:
    """Return what the method of a formulation calls its parts; None if it has no own tasks."""
    return next(row.parts for row in _methods().values() if row.home == formulation.home)


def target_of(formulation: Formulation) -> str | None:
    """What the method of a formulation learns from; None of a problem that is no method's."""
    homes = {row.home: row.target for row in _methods().values()}
    return homes.get(formulation.home)


def named_formulation(name: str) -> Formulation:
    """Return the formulation of this name or, for a method's name, its estimator's."""
    convex = [method for method in _methods().values() if method.formulations]
    known = {method.name: method.formulations[0] for method in convex} | _formulations()
    if name not in known:
        raise InputError(f"unknown method or formulation {name!r}: {did_you_mean(name, known)}")
    return known[name]


def stored_formulation(name: str) -> Formulation:
    """Return the formulation that a store, perhaps of an earlier version, knows by this name."""
    return _stored()[name]


def stored_names() -> set[str]:
    """Return the names by which stores may know formulations."""
    return set(_stored())


@cache
def _stored() -> dict[str, Formulation]:
    former = {row.formerly: row for row in _formulations().values() if row.formerly}
    return former | {OWN.name: OWN} | _formulations()
