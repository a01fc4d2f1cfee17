"""Data: files, generators and bundled sets as checked, scalable samples.

The names below are loaded when first used, as those of convexfs itself.
"""

import importlib
from typing import TYPE_CHECKING, Any

_HOMES = {
    "BUNDLED": "convexfs.data.specs",
    "GENERATORS": "convexfs.data.specs",
    "Dataset": "convexfs.data.dataset",
    "check_classes": "convexfs.data.checks",
    "check_finite": "convexfs.data.checks",
    "load": "convexfs.data.specs",
    "make_dataset": "convexfs.data.dataset",
    "read_file": "convexfs.data.files",
    "warn_constant_columns": "convexfs.data.checks",
}
__all__ = [
    "BUNDLED",
    "GENERATORS",
    "Dataset",
    "check_classes",
    "check_finite",
    "load",
    "make_dataset",
    "read_file",
    "warn_constant_columns",
]

if TYPE_CHECKING:
    from convexfs.data.checks import check_classes, check_finite, warn_constant_columns
    from convexfs.data.dataset import Dataset, make_dataset
    from convexfs.data.files import read_file
    from convexfs.data.specs import BUNDLED, GENERATORS, load


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'convexfs.data' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
