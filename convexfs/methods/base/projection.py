"""What linear projections share."""

from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from convexfs.errors import InputError, check_number
from convexfs.methods.base.parameters import learned, parameters
from convexfs.methods.base.selector import MethodEstimator

#: The value of ``n_components`` that asks for cross-validation, where a method has it.
BY_CROSS_VALIDATION = "cv"


@parameters
class Projection(ClassNamePrefixFeaturesOutMixin, TransformerMixin, MethodEstimator):
    """Base of the estimators that project samples on a few directions.

    Parameters
    ----------
    n_components : int, optional
        Components kept, of those there are.
    """

    n_components: Any = None

    components_: np.ndarray = learned()

    def transform(self, X: Any) -> np.ndarray:
        """Coordinates of samples along the components."""
        return self._queries(X) @ self.components_.T

    @property
    def n_components_(self) -> int:
        return len(self.components_)

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def _check_parameters(self, n_features: int) -> None:
        super()._check_parameters(n_features)
        if self.n_components is None:
            return
        if isinstance(self.n_components, str):
            raise InputError(
                f"n_components must be a number, None or 'cv', not {self.n_components!r}"
            )
        check_number("n_components", self.n_components, 1, n_features, whole=True)
