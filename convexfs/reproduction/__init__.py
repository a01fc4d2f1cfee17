"""The papers' experiments done again, each beside what the paper printed.

An experiment is a protocol: a module that says which data, splits, grids, classifiers and
measures, and which readings of what the paper leaves open.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from convexfs.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from convexfs.reproduction.experiment import Experiment

#: Where each experiment is declared.
EXPERIMENTS: dict[str, str] = {
    "logo-table2": "convexfs.reproduction.logo_table2:EXPERIMENT",
    "logo-noise": "convexfs.reproduction.logo_figures:NOISE",
    "logo-parameters": "convexfs.reproduction.logo_figures:PARAMETERS",
    "logo-starts": "convexfs.reproduction.logo_figures:STARTS",
    "logo-classifier": "convexfs.reproduction.logo_figures:CLASSIFIER",
    "lfe-table2": "convexfs.reproduction.lfe_table2:EXPERIMENT",
}


def experiment_named(name: str) -> "Experiment":
    """Return the experiment of this name, with the nearest name if there is none."""
    if name not in EXPERIMENTS:
        raise InputError(f"unknown experiment {name!r}: {did_you_mean(name, EXPERIMENTS)}")
    module, _, attribute = EXPERIMENTS[name].partition(":")
    return getattr(import_module(module), attribute)
