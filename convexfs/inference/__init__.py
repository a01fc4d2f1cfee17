"""How far a selection can be trusted: permutations, held-out curves, knockoffs, stability.

A certificate proves that a problem was solved. These tests estimate whether the data contain a
signal, how many features to select, and how reliable each feature is. The names are loaded when
first used.
"""

import importlib
from typing import TYPE_CHECKING, Any

_HOMES = {
    "KnockoffSelector": "convexfs.inference.knockoffs",
    "StabilitySelector": "convexfs.inference.stability",
    "permutation_test": "convexfs.inference.permutation_tests",
    "selection_curve": "convexfs.inference.selection_curves",
    "shadow_test": "convexfs.inference.shadow_tests",
}

if TYPE_CHECKING:  # For editors and type checkers.
    from convexfs.inference.knockoffs import KnockoffSelector as KnockoffSelector
    from convexfs.inference.permutation_tests import permutation_test as permutation_test
    from convexfs.inference.selection_curves import selection_curve as selection_curve
    from convexfs.inference.shadow_tests import shadow_test as shadow_test
    from convexfs.inference.stability import StabilitySelector as StabilitySelector


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return list(_HOMES)
    if name not in _HOMES:
        raise AttributeError(f"module 'convexfs.inference' has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
