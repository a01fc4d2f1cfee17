"""Comparators the papers name, and some everybody uses.

A selector is a function ``rank(X, y) -> scores``, one score a feature, more being
better; a projection has scikit-learn's ``fit`` and ``transform``. Where a
maintained library has the method, its code is used.
"""

import importlib
from collections.abc import Callable
from typing import Any

from convexfs.errors import InputError, did_you_mean

SELECTORS = {
    "ams": "papers.baselines.kernel_scaling:ams",
    "elastic-net": "papers.baselines.models:elastic_net",
    "fisher-markov": "papers.baselines.statistics:fisher_markov",
    "kpls": "papers.baselines.kernel_pls:kpls",
    "ks": "papers.baselines.statistics:kolmogorov_smirnov",
    "l1-logistic": "papers.baselines.models:l1_logistic",
    "mitra": "papers.baselines.clustering:mitra",
    "mrmr": "papers.baselines.redundancy:mrmr",
    "mutual-information": "papers.baselines.statistics:mutual_information",
    "qpfs": "papers.baselines.redundancy:qpfs",
    "random-forest": "papers.baselines.models:random_forest",
    "relieff": "papers.baselines.models:relieff",
    "rfe-rbf": "papers.baselines.models:rfe_rbf",
}
#: Selectors whose scores are 0 for what they leave out, or only order the features: no
#: evidence that permuted labels could be held against.
UNTESTED = frozenset({"elastic-net", "l1-logistic", "mitra", "mrmr", "qpfs", "rfe-rbf"})
#: Those whose scores are places in an order, so that differences of scores mean nothing.
ORDERS = frozenset({"mitra", "mrmr", "rfe-rbf"})
PROJECTIONS = {
    "dann": "papers.baselines.projections:DANN",
    "kernel-pls": "papers.baselines.kernel_pls:KernelPLS",
    "nca": "papers.baselines.projections:NCA",
    "pca": "papers.baselines.projections:PCA",
}
#: The attribute with a number a component, and what it is; without one, its squared length.
COMPONENT_NUMBERS = {
    "dann": ("eigenvalues_", "eigenvalue of the local scatter"),
    "kernel-pls": ("explained_", "share of the classes' scatter"),
    "nca": ("", "squared length"),
    "pca": ("explained_variance_ratio_", "share of the variance"),
}


def selector(name: str) -> Callable[..., Any]:
    """The ``rank(X, y)`` of this name, with the nearest name if there is none."""
    return _resolve("selector", name, SELECTORS)


def projection(name: str) -> type[Any]:
    """The projection class of this name, with the nearest name if there is none."""
    return _resolve("projection", name, PROJECTIONS)


def _resolve(kind: str, name: str, table: dict[str, str]) -> Any:
    if name not in table:
        raise InputError(f"unknown {kind} {name!r}: {did_you_mean(name, table)}")
    module, _, attribute = table[name].partition(":")
    return getattr(importlib.import_module(module), attribute)
