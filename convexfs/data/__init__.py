"""Data: files, generators and bundled sets as checked, scalable samples.

The names below are loaded when first used, as those of convexfs itself.
"""

import importlib
from typing import TYPE_CHECKING, Any

_HOMES = {
    "BUNDLED": "convexfs.data.specs",
    "GENERATORS": "convexfs.data.specs",
    "Dataset": "convexfs.data.dataset",
    "as_labels": "convexfs.data.checks",
    "as_matrix": "convexfs.data.checks",
    "check_classes": "convexfs.data.checks",
    "check_finite": "convexfs.data.checks",
    "check_largest": "convexfs.data.ranges",
    "check_range": "convexfs.data.ranges",
    "constant_columns": "convexfs.data.ranges",
    "load": "convexfs.data.specs",
    "make_dataset": "convexfs.data.dataset",
    "read_file": "convexfs.data.files",
    "refuse_text": "convexfs.data.checks",
    "varying_columns": "convexfs.data.ranges",
    "warn_constant_columns": "convexfs.data.checks",
}
__all__ = [
    "BUNDLED",
    "GENERATORS",
    "Dataset",
    "as_labels",
    "as_matrix",
    "check_classes",
    "check_finite",
    "check_largest",
    "check_range",
    "constant_columns",
    "load",
    "make_dataset",
    "read_file",
    "refuse_text",
    "varying_columns",
    "warn_constant_columns",
]

if TYPE_CHECKING:
    from convexfs.data.checks import (
        as_labels,
        as_matrix,
        check_classes,
        check_finite,
        refuse_text,
        warn_constant_columns,
    )
    from convexfs.data.dataset import Dataset, make_dataset
    from convexfs.data.files import read_file
    from convexfs.data.ranges import check_largest, check_range, constant_columns, varying_columns
    from convexfs.data.specs import BUNDLED, GENERATORS, load


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'convexfs.data' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
