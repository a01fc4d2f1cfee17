"""What scikit-learn expects of weights, and the neighbourhoods of samples are not made for."""

from typing import Any


def copies_are_neighbors(_: Any) -> dict[str, str]:
    """Rows written twice are each other's nearest hits; a sample of weight 2 is not its own."""
    why = "copies of a row are its neighbours, those that a weight stands for are not"
    kinds = ("dense", "sparse")
    return {f"check_sample_weight_equivalence_on_{kind}_data": why for kind in kinds} | {
        "check_class_weight_classifiers": "class_weight counts terms; predictions go by who is near"
    }
