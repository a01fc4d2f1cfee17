"""Base class of linear projections."""

from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from convexfs.data.validation import as_labels
from convexfs.errors import InputError, check_number
from convexfs.estimators.method_estimator import MethodEstimator
from convexfs.methods.base.formulation import learned, parameters

#: Value of ``n_components`` that requests cross-validation, for methods that support it.
BY_CROSS_VALIDATION = "cv"


@parameters
class Projection(ClassNamePrefixFeaturesOutMixin, TransformerMixin, MethodEstimator):
    """Base of the estimators that project samples on a few directions.

    Parameters
    ----------
    n_components : int, optional
        Number of components; by default all that the method finds.
    """

    n_components: Any = None

    components_: np.ndarray = learned()

    def transform(self, X: Any) -> np.ndarray:
        """Return the coordinates of samples along the components."""
        return self._queries(X) @ self.components_.T

    @property
    def n_components_(self) -> int:
        return len(self.components_)

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def plot(self, X: Any = None, y: Any = None) -> Any:
        """Draw the distance matrix of the 40 heaviest features or, given X, samples in components.

        Parameters
        ----------
        X, y : arrays, optional
            Samples to draw, coloured by their classes.

        Returns
        -------
        matplotlib.figure.Figure
        """
        from convexfs.methods.lfe.pictures import MOST_NAMES, component_scatter, metric_map

        check_is_fitted(self)
        if X is not None:
            found, codes = np.unique(as_labels(y, "Input y"), return_inverse=True)
            return component_scatter(self.transform(X), codes, [str(name) for name in found])
        heaviest = np.argsort(-self._feature_weights(), kind="stable")[:MOST_NAMES]
        kept = self.components_[:, heaviest]
        return metric_map(kept.T @ kept, [self._names()[j] for j in heaviest])

    def _feature_weights(self) -> np.ndarray:
        return (self.components_**2).sum(axis=0)

    def _check_parameters(self, n_features: int) -> None:
        super()._check_parameters(n_features)
        if self.n_components is None:
            return
        if isinstance(self.n_components, str):
            raise InputError(
                f"n_components must be a number, None or 'cv', not {self.n_components!r}"
            )
        check_number("n_components", self.n_components, 1, n_features, whole=True)
