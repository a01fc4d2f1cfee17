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
    "Certificate": "convexfs.records",
    "Dataset": "convexfs.data",
    "FORMULATIONS": "convexfs.methods",
    "LLFS": "convexfs.methods.llfs.estimator",
    "IRelief": "convexfs.methods.irelief.estimator",
    "LFE": "convexfs.methods.lfe.estimator",
    "Lmba": "convexfs.methods.lmba.estimator",
    "Logo": "convexfs.methods.logo.estimator",
    "LogoCV": "convexfs.methods.logo.estimator_cv",
    "Relief": "convexfs.methods.relief.estimator",
    "Simba": "convexfs.methods.simba.estimator",
    "Solution": "convexfs.records",
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
    from convexfs.inspection import show, to_latex
    from convexfs.methods import FORMULATIONS
    from convexfs.methods.irelief.estimator import IRelief
    from convexfs.methods.lfe.estimator import LFE
    from convexfs.methods.llfs.estimator import LLFS
    from convexfs.methods.lmba.estimator import Lmba
    from convexfs.methods.logo.estimator import Logo
    from convexfs.methods.logo.estimator_cv import LogoCV
    from convexfs.methods.relief.estimator import Relief
    from convexfs.methods.simba.estimator import Simba
    from convexfs.records import Certificate, Solution
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
