"""What selectors that learn from numbers have in common."""

from typing import Any, ClassVar

import numpy as np

from convexfs.data.targets import as_numbers
from convexfs.errors import InputError
from convexfs.estimators.missing_values import TakesMissing
from convexfs.estimators.selector import WeightSelector
from convexfs.methods.base.parameters import parameters


@parameters
class NumberSelector(TakesMissing, WeightSelector):
    """Base of the selectors whose target is a number.

    A pair of samples is some of a hit and some of a miss, and not one of them: the rules that
    take means over the hits and over the misses seen are for classes.

    Parameters
    ----------
    missing : {"expected", "error"}, default="expected"
        Of a difference of which a value is missing stands its expectation, in distances and in
        margins: the mean difference from the values that are there; or of any two of them, if
        both are missing.
    """

    missing: str = "expected"

    _missing_rules: ClassVar[tuple[str, ...]] = ("expected", "error")

    @property
    def _rule(self) -> str:
        return "class"  # of one class that all samples are of

    def _target(self, y: Any) -> np.ndarray:
        return as_numbers(y, "Input y")

    def _check_parameters(self, n_features: int) -> None:
        super()._check_parameters(n_features)
        if self.n_features_to_select == "auto":
            raise InputError(
                "n_features_to_select='auto' counts errors of classes, and this learns from "
                "numbers: give a number of features, 'relative' or None"
            )
