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
    "logo-million": "convexfs.reproduction.logo_figures:MILLION",
    "logo-parameters": "convexfs.reproduction.logo_figures:PARAMETERS",
    "logo-starts": "convexfs.reproduction.logo_figures:STARTS",
    "logo-classifier": "convexfs.reproduction.logo_figures:CLASSIFIER",
    "logo-ties": "convexfs.reproduction.logo_because:TIES",
    "logo-rfe-gamma": "convexfs.reproduction.logo_because:GAMMA",
    "logo-splice-coding": "convexfs.reproduction.logo_because:SPLICE",
    "logo-table4": "convexfs.reproduction.logo_table4:EXPERIMENT",
    "logo-genes": "convexfs.reproduction.logo_table4:TIMES",
    "lfe-table2": "convexfs.reproduction.lfe_table2:EXPERIMENT",
    "lfe-usps": "convexfs.reproduction.lfe_usps:EXPERIMENT",
    "lfe-microarrays": "convexfs.reproduction.lfe_microarrays:EXPERIMENT",
    "llfs-table2": "convexfs.reproduction.llfs_table2:EXPERIMENT",
    "llfs-table3": "convexfs.reproduction.llfs_table3:EXPERIMENT",
    "llfs-table5": "convexfs.reproduction.llfs_table5:EXPERIMENT",
    "llfs-vote": "convexfs.reproduction.llfs_vote:EXPERIMENT",
    "llfs-figures": "convexfs.reproduction.llfs_figures:EXPERIMENT",
    "lmba-table1": "convexfs.reproduction.lmba_table1:EXPERIMENT",
    "lmba-curves": "convexfs.reproduction.lmba_curves:EXPERIMENT",
}


def experiment_named(name: str) -> "Experiment":
    """Return the experiment of this name, with the nearest name if there is none."""
    if name not in EXPERIMENTS:
        raise InputError(f"unknown experiment {name!r}: {did_you_mean(name, EXPERIMENTS)}")
    module, _, attribute = EXPERIMENTS[name].partition(":")
    return getattr(import_module(module), attribute)
