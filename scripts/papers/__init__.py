"""The papers' experiments done again, each beside what the paper printed.

An experiment is a protocol: a module that says which data, splits, grids, classifiers and
measures, and which readings of what the paper leaves open.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from convexfs.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from papers.experiment import Experiment

#: Where each experiment is declared.
EXPERIMENTS: dict[str, str] = {
    "logo-table2": "papers.logo.table2:EXPERIMENT",
    "logo-noise": "papers.logo.figures:NOISE",
    "logo-million": "papers.logo.figures:MILLION",
    "logo-parameters": "papers.logo.figures:PARAMETERS",
    "logo-starts": "papers.logo.figures:STARTS",
    "logo-classifier": "papers.logo.figures:CLASSIFIER",
    "logo-ties": "papers.logo.ablation:TIES",
    "logo-rfe-gamma": "papers.logo.ablation:GAMMA",
    "logo-splice-coding": "papers.logo.ablation:SPLICE",
    "logo-table4": "papers.logo.table4:EXPERIMENT",
    "logo-genes": "papers.logo.table4:TIMES",
    "lfe-table2": "papers.lfe.table2:EXPERIMENT",
    "lfe-usps": "papers.lfe.usps:EXPERIMENT",
    "lfe-microarrays": "papers.lfe.microarrays:EXPERIMENT",
    "llfs-table2": "papers.llfs.table2:EXPERIMENT",
    "llfs-table3": "papers.llfs.table3:EXPERIMENT",
    "llfs-table5": "papers.llfs.table5:EXPERIMENT",
    "llfs-vote": "papers.llfs.voting:EXPERIMENT",
    "llfs-figures": "papers.llfs.figures:EXPERIMENT",
    "lmba-table1": "papers.lmba.table1:EXPERIMENT",
    "lmba-curves": "papers.lmba.curves:EXPERIMENT",
}


def experiment_named(name: str) -> "Experiment":
    """Return the experiment of this name, with the nearest name if there is none."""
    if name not in EXPERIMENTS:
        raise InputError(f"unknown experiment {name!r}: {did_you_mean(name, EXPERIMENTS)}")
    module, _, attribute = EXPERIMENTS[name].partition(":")
    return getattr(import_module(module), attribute)
