"""Data sets: read files, generate data or load bundled sets, checked and ready to scale.

The names below are loaded when first used. Import everything else from the module that defines it.
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
