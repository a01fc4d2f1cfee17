"""Local-learning feature selection as explicit convex problems with certificates.

The names below are loaded when first used: importing convexfs, and fitting with
a native solver, never imports cvxpy. The estimators are those of :data:`convexfs.methods.METHODS`.
"""

import importlib
import logging
from typing import TYPE_CHECKING, Any

from convexfs import former_names

__version__ = "0.2.0"
# Log records go nowhere by default: the application decides where.
logging.getLogger(__name__).addHandler(logging.NullHandler())
former_names.install()

_HOMES = {
    "Certificate": "convexfs.records",
    "Dataset": "convexfs.data.dataset",
    "FORMULATIONS": "convexfs.methods",
    "KnockoffSelector": "convexfs.inference",
    "Selection": "convexfs.selection.result",
    "Solution": "convexfs.records",
    "assert_optimal": "convexfs.certification.certify",
    "StabilitySelector": "convexfs.inference",
    "certify": "convexfs.certification.certify",
    "explain": "convexfs.diagnosis.explain",
    "load": "convexfs.data.specs",
    "open_run": "convexfs.batch.run_results",
    "read_problem": "convexfs.formats",
    "select": "convexfs.selection.select_function",
    "show": "convexfs.inspection",
    "solve": "convexfs.solving.solve",
    "solve_batch": "convexfs.batch.problem_batch",
    "to_latex": "convexfs.inspection",
    "write_problem": "convexfs.formats",
}

if TYPE_CHECKING:  # For editors and type checkers.
    from convexfs.batch.problem_batch import solve_batch as solve_batch
    from convexfs.batch.run_results import open_run as open_run
    from convexfs.certification.certify import assert_optimal as assert_optimal
    from convexfs.certification.certify import certify as certify
    from convexfs.data import Dataset as Dataset
    from convexfs.data import load as load
    from convexfs.diagnosis.explain import explain as explain
    from convexfs.formats import read_problem as read_problem
    from convexfs.formats import write_problem as write_problem
    from convexfs.inference import KnockoffSelector as KnockoffSelector
    from convexfs.inference import StabilitySelector as StabilitySelector
    from convexfs.inspection import show as show
    from convexfs.inspection import to_latex as to_latex
    from convexfs.methods import FORMULATIONS as FORMULATIONS
    from convexfs.methods.irelief.estimator import IRelief as IRelief
    from convexfs.methods.lfe.estimator import LFE as LFE
    from convexfs.methods.llfs.estimator import LLFS as LLFS
    from convexfs.methods.lmba.estimator import Lmba as Lmba
    from convexfs.methods.lmnn.estimator import LMNN as LMNN
    from convexfs.methods.logo.estimator import Logo as Logo
    from convexfs.methods.logo.estimator_cv import LogoCV as LogoCV
    from convexfs.methods.logo_regression.estimator import LogoRegressor as LogoRegressor
    from convexfs.methods.mmc.estimator import MMC as MMC
    from convexfs.methods.relief.estimator import Relief as Relief
    from convexfs.methods.relief_regression.estimator import ReliefRegressor as ReliefRegressor
    from convexfs.methods.simba.estimator import Simba as Simba
    from convexfs.records import Certificate as Certificate
    from convexfs.records import Solution as Solution
    from convexfs.selection import Selection as Selection
    from convexfs.selection import select as select
    from convexfs.solving.solve import solve as solve


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(importlib.import_module(_HOMES[name]), name)
    elif name == "__all__":
        value = [*_HOMES, *_estimators()]
    elif not name.startswith("_") and name in _estimators():
        method, called = _estimators()[name]
        value = method.estimator(called)
    else:
        raise AttributeError(f"module 'convexfs' has no attribute {name!r}")
    globals()[name] = value
    return value


def _estimators() -> dict[str, Any]:
    """Return {class name: (method, name on the command line)} of all estimators."""
    from convexfs.methods import estimator_homes

    return {home.class_name(name): (home, name) for name, home in estimator_homes().items()}


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, *_estimators()})
