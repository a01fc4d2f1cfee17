"""Base class of selectors for regression."""

from typing import ClassVar

from convexfs.data.targets import NUMBERS
from convexfs.errors import InputError
from convexfs.estimators.selector import MissingParameters, WeightSelector
from convexfs.estimators.validation import Accepts
from convexfs.methods.base.formulation import parameters


@parameters
class NumberSelector(MissingParameters, WeightSelector):
    """Base of the selectors whose target is numeric.

    A pair of samples is some of a hit and some of a miss, and not one of them: the rules that
    take means over the hits and over the misses seen are for classes. Without classes there are
    no errors to count, so that the number of features cannot be chosen by them.

    Parameters
    ----------
    missing : {"expected", "error"}, default="expected"
        Of a difference of which a value is missing stands its expectation, in distances and in
        margins: the mean difference from the values that are there; or of any two of them, if
        both are missing.
    """

    missing: str = "expected"

    _accepts: ClassVar[Accepts] = Accepts(
        sparse=True, missing=("expected", "error"), target=NUMBERS
    )

    def _check_parameters(self, n_features: int) -> None:
        super()._check_parameters(n_features)
        if self.n_features_to_select == "auto":
            raise InputError(
                "n_features_to_select='auto' counts errors of classes, and this learns from "
                "numbers: give a number of features, 'relative' or None"
            )
