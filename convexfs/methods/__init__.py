"""The scikit-learn face of the methods, by the name the command line uses."""

import importlib
from typing import Any

from convexfs.errors import InputError, did_you_mean

ESTIMATORS = {
    "relief": "convexfs.methods.relief.estimator:Relief",
    "irelief": "convexfs.methods.irelief.estimator:IRelief",
    "simba": "convexfs.methods.simba.estimator:Simba",
    "lmba": "convexfs.methods.lmba.estimator:Lmba",
    "logo": "convexfs.methods.logo.estimator:Logo",
    "llfs": "convexfs.methods.llfs.estimator:LLFS",
    "logo-cv": "convexfs.methods.logo.estimator_cv:LogoCV",
}


def estimator(method: str) -> type[Any]:
    """Class of a method, with the nearest name if there is none."""
    if method not in ESTIMATORS:
        raise InputError(f"unknown method {method!r}: {did_you_mean(method, ESTIMATORS)}")
    module, _, name = ESTIMATORS[method].partition(":")
    return getattr(importlib.import_module(module), name)
