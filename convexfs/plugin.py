"""The names that a package needs to add a custom method; it imports nothing else.

A package declares ``METHOD`` (a :class:`Method` with its :class:`Formulation`) and registers itself
in the entry point group ``convexfs.methods``. The names are loaded when first used, so that listing
the methods imports neither cvxpy nor scikit-learn.
"""

import importlib
from typing import TYPE_CHECKING, Any

_HOMES = {
    "Certificate": "convexfs.records",
    "DEFAULT_SOLVING": "convexfs.methods.base.formulation",
    "Formulation": "convexfs.methods.base.formulation",
    "Method": "convexfs.methods.base.formulation",
    "Solution": "convexfs.records",
    "Solving": "convexfs.methods.base.formulation",
    "WeightSelector": "convexfs.estimators.selector",
    "check_solver": "convexfs.methods.base.formulation",
    "parameters": "convexfs.methods.base.formulation",
    "require_answer": "convexfs.methods.base.solve_step",
    "solve_step": "convexfs.methods.base.solve_step",
}

if TYPE_CHECKING:
    from convexfs.estimators.selector import WeightSelector as WeightSelector
    from convexfs.methods.base.formulation import DEFAULT_SOLVING as DEFAULT_SOLVING
    from convexfs.methods.base.formulation import Formulation as Formulation
    from convexfs.methods.base.formulation import Method as Method
    from convexfs.methods.base.formulation import Solving as Solving
    from convexfs.methods.base.formulation import check_solver as check_solver
    from convexfs.methods.base.formulation import parameters as parameters
    from convexfs.methods.base.solve_step import require_answer as require_answer
    from convexfs.methods.base.solve_step import solve_step as solve_step
    from convexfs.records import Certificate as Certificate
    from convexfs.records import Solution as Solution


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'convexfs.plugin' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
