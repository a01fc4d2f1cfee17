"""Local-learning feature selection as explicit convex problems with certificates.

The names below are loaded when first used: importing convexfs, and fitting with
a native solver, never imports cvxpy.
"""

import importlib
import logging
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
# Records go where the application sends them, and nowhere by default.
logging.getLogger(__name__).addHandler(logging.NullHandler())

_HOMES = {
    "Certificate": "convexfs.solution",
    "Dataset": "convexfs.data",
    "FORMULATIONS": "convexfs.formulations",
    "LLFS": "convexfs.estimators.llfs",
    "IRelief": "convexfs.estimators.irelief",
    "LFE": "convexfs.estimators.lfe",
    "Lmba": "convexfs.estimators.lmba",
    "Logo": "convexfs.estimators.logo",
    "LogoCV": "convexfs.estimators.logo_cv",
    "Relief": "convexfs.estimators.relief",
    "Simba": "convexfs.estimators.simba",
    "Solution": "convexfs.solution",
    "certify": "convexfs.solving.certify",
    "load": "convexfs.data",
    "show": "convexfs.inspection",
    "solve": "convexfs.solving.solve",
    "to_latex": "convexfs.inspection",
}
__all__ = [
    "FORMULATIONS",
    "LFE",
    "LLFS",
    "Certificate",
    "Dataset",
    "IRelief",
    "Lmba",
    "Logo",
    "LogoCV",
    "Relief",
    "Simba",
    "Solution",
    "certify",
    "load",
    "show",
    "solve",
    "to_latex",
]

if TYPE_CHECKING:
    from convexfs.data import Dataset, load
    from convexfs.estimators.irelief import IRelief
    from convexfs.estimators.lfe import LFE
    from convexfs.estimators.llfs import LLFS
    from convexfs.estimators.lmba import Lmba
    from convexfs.estimators.logo import Logo
    from convexfs.estimators.logo_cv import LogoCV
    from convexfs.estimators.relief import Relief
    from convexfs.estimators.simba import Simba
    from convexfs.formulations import FORMULATIONS
    from convexfs.inspection import show, to_latex
    from convexfs.solution import Certificate, Solution
    from convexfs.solving.certify import certify
    from convexfs.solving.solve import solve


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'convexfs' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
