"""Select features of a data set by any method, and report the selection as a page.

:func:`select` does in Python what ``convexfs select`` does. The names are loaded when first used.
"""

import importlib
from typing import TYPE_CHECKING, Any

_HOMES = {
    "ClassMarkers": "convexfs.selection.class_markers",
    "Selection": "convexfs.selection.result",
    "select": "convexfs.selection.select_function",
}

if TYPE_CHECKING:  # For editors and type checkers.
    from convexfs.selection.class_markers import ClassMarkers as ClassMarkers
    from convexfs.selection.result import Selection as Selection
    from convexfs.selection.select_function import select as select


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'convexfs.selection' has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(_HOMES[name]), name)
    return value
