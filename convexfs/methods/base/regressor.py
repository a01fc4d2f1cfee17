"""What selectors that learn from numbers have in common."""

from typing import Any

import numpy as np

from convexfs.data.targets import as_numbers
from convexfs.errors import InputError
from convexfs.methods.base.parameters import parameters
from convexfs.methods.base.selector import WeightSelector


@parameters
class NumberSelector(WeightSelector):
    """Base of the selectors whose target is a number."""

    def _target(self, y: Any) -> np.ndarray:
        return as_numbers(y, "Input y")

    def _check_parameters(self, n_features: int) -> None:
        super()._check_parameters(n_features)
        if self.n_features_to_select == "auto":
            raise InputError(
                "n_features_to_select='auto' counts errors of classes, and this learns from "
                "numbers: give a number of features, 'relative' or None"
            )
