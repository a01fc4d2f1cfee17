"""The scikit-learn face of the methods, by the name the command line uses."""

import importlib
from typing import Any

from convexfs.errors import InputError, did_you_mean

ESTIMATORS = {
    "relief": "convexfs.estimators.relief:Relief",
    "irelief": "convexfs.estimators.irelief:IRelief",
    "simba": "convexfs.estimators.simba:Simba",
    "lmba": "convexfs.estimators.lmba:Lmba",
    "logo": "convexfs.estimators.logo:Logo",
    "llfs": "convexfs.estimators.llfs:LLFS",
    "logo-cv": "convexfs.estimators.logo_cv:LogoCV",
}


def estimator(method: str) -> type[Any]:
    """Class of a method, with the nearest name if there is none."""
    if method not in ESTIMATORS:
        raise InputError(f"unknown method {method!r}: {did_you_mean(method, ESTIMATORS)}")
    module, _, name = ESTIMATORS[method].partition(":")
    return getattr(importlib.import_module(module), name)
