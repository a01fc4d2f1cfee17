"""Data: files, generators and bundled sets as checked, scalable samples.

The names below are loaded when first used, as those of convexfs itself; whatever else is
needed is imported from the file that has it.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from convexfs.data.build import make_dataset as make_dataset
    from convexfs.data.dataset import Dataset as Dataset
    from convexfs.data.specs import load as load

_HOMES = {"Dataset": "dataset", "load": "specs", "make_dataset": "build"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'convexfs.data' has no attribute {name!r}")
    return getattr(importlib.import_module(f"convexfs.data.{_HOMES[name]}"), name)
