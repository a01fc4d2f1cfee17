"""Helpers of cross-validation: row indexing, scaling, and errors of predictions."""

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import issparse
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils import get_tags

from convexfs.data.dataset import rescaled
from convexfs.neighbors.missing_values import MixedSamples
from convexfs.neighbors.sparse import SparseSamples

if TYPE_CHECKING:
    import pandas as pd

#: Types of numeric columns, as pandas' ``select_dtypes`` names them.
_NUMBERS = ["number", "bool"]
#: Text that reports how missing values of held-out rows are treated.
IMPUTATION = "imputed by medians of the training rows"

#: 95 % of a normal distribution lies within this many standard deviations.
_NORMAL = 1.96


def as_rows(X: Any) -> Any:
    """Return CSR if sparse, a table if some column is not numeric, else a float64 array."""
    if isinstance(X, MixedSamples):
        return _table(X)
    if isinstance(X, SparseSamples):
        return X.by_rows
    if issparse(X):
        return X.tocsr()
    if not hasattr(X, "select_dtypes"):
        return np.asarray(X, dtype=np.float64)
    if len(X.select_dtypes(exclude=_NUMBERS).columns):
        return X.set_axis(X.columns.astype(str), axis=1)
    return X.to_numpy(dtype=np.float64, na_value=np.nan)


def _table(samples: MixedSamples) -> "pd.DataFrame":
    import pandas as pd

    values = np.where(samples.seen > 0, samples.x / samples.scale + samples.centre, np.nan)
    table = pd.DataFrame(values).add_prefix("x")
    for j in np.flatnonzero(np.isfinite(samples.cap)):
        table[f"x{j}"] = pd.Categorical(np.round(values[:, j]))
    return table


def scaled_rows(X: Any, how: str, train: np.ndarray) -> Any:
    """Scale numeric columns by statistics of the training rows; categories stay unchanged."""
    if not hasattr(X, "select_dtypes"):
        return rescaled(X, how, train)
    numbers = X.select_dtypes(include=_NUMBERS)
    values = numbers.to_numpy(dtype=np.float64, na_value=np.nan)
    return X.assign(**dict(zip(numbers.columns, rescaled(values, how, train).T, strict=True)))


def has_gaps(X: Any) -> bool:
    """Return whether X has missing values, or is a table (which has categories)."""
    if hasattr(X, "select_dtypes"):
        return True
    return not issparse(X) and bool(np.isnan(np.sum(X, axis=0)).any())


def imputation_of(X: Any) -> str:
    """Return in words how rows with missing values and categories are completed; "" if none."""
    if not has_gaps(X):
        return ""
    table = hasattr(X, "select_dtypes") and len(X.select_dtypes(exclude=_NUMBERS).columns) > 0
    return IMPUTATION + (", categories one-hot encoded" if table else "")


def taking_gaps(model: Any, X: Any) -> Any:
    """Return the model, behind imputation and one-hot encoding if X has values it rejects."""
    if not has_gaps(X) or get_tags(model).input_tags.allow_nan:
        return model
    medians = SimpleImputer(strategy="median", keep_empty_features=True)
    if not hasattr(X, "select_dtypes"):
        return make_pipeline(medians, model)
    modes = SimpleImputer(strategy="most_frequent", keep_empty_features=True)
    categories: Any = make_pipeline(modes, OneHotEncoder(handle_unknown="ignore"))
    numbers = make_column_selector(dtype_include=_NUMBERS)
    return make_pipeline(make_column_transformer((medians, numbers), remainder=categories), model)


class ClassErrors:
    """Balanced classification error: the share of wrong predictions, averaged over classes."""

    measure, unit = "balanced error", "balanced"

    def predictor(self) -> Any:
        """Return the default predictor, unfitted: nearest neighbours."""
        return KNeighborsClassifier(3)

    def folds(self, number: int, y: np.ndarray, groups: Any, seed: int) -> Any:
        """Return a splitter into `number` folds, or fewer if a class has fewer rows."""
        number = max(2, min(number, int(np.bincount(y).min())))
        kind = StratifiedKFold if groups is None else StratifiedGroupKFold
        return kind(number, shuffle=True, random_state=seed)

    def chance(self, y: np.ndarray) -> float:
        """Return the error of the best constant prediction."""
        return float(1.0 - 1.0 / (y.max() + 1))

    def losses(self, predictions: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the loss of each prediction (samples, numbers of features)."""
        return predictions != y[:, None]

    def mean(self, losses: np.ndarray, y: np.ndarray, weights: Any = None) -> np.ndarray:
        """Return the mean error of each column of `losses`; `weights` has one number per row."""
        return balanced_errors(losses, y, weights)

    def spread(self, errors: np.ndarray, losses: np.ndarray) -> np.ndarray:
        """Return the standard error of each of `errors`."""
        return np.sqrt(errors * (1.0 - errors) / len(losses))

    def interval(self, error: float, y: np.ndarray) -> tuple[float, float]:
        """Return Wilson's 95 % interval of a mean proportion over classes of these sizes."""
        counts = np.unique(y, return_counts=True)[1]
        number, square = len(counts) ** 2 / (1.0 / counts).sum(), _NORMAL**2
        centre = (error + square / (2 * number)) / (1 + square / number)
        half = np.sqrt(error * (1 - error) / number + square / (4 * number**2))
        half *= _NORMAL / (1 + square / number)
        return max(centre - half, 0.0), min(centre + half, 1.0)

    def enough(self, y: np.ndarray, of: np.ndarray) -> bool:
        """Return whether a subset `y` of the rows has all classes of `of`."""
        return len(set(y)) == of.max() + 1


class SquaredErrors:
    """Squared errors relative to the target's variance; methods as in :class:`ClassErrors`."""

    measure, unit = "squared error, as a share of the variance", "of the variance"

    def predictor(self) -> Any:
        return KNeighborsRegressor(5)

    def folds(self, number: int, y: np.ndarray, groups: Any, seed: int) -> Any:
        if groups is not None:
            return GroupKFold(number)
        return KFold(number, shuffle=True, random_state=seed)

    def chance(self, y: np.ndarray) -> float:
        return 1.0

    def losses(self, predictions: np.ndarray, y: np.ndarray) -> np.ndarray:
        return (predictions - y[:, None]) ** 2 / y.var()

    def mean(self, losses: np.ndarray, y: np.ndarray, weights: Any = None) -> np.ndarray:
        return np.average(losses, axis=0, weights=weights)

    def spread(self, errors: np.ndarray, losses: np.ndarray) -> np.ndarray:
        return losses.std(axis=0) / np.sqrt(len(losses))

    def interval(self, error: float, y: np.ndarray) -> tuple[float, float]:
        return error, error

    def enough(self, y: np.ndarray, of: np.ndarray) -> bool:
        return len(y) > 1


#: An error measure of predictions, for classification or regression.
Errors = ClassErrors | SquaredErrors


def balanced_errors(
    wrong: np.ndarray, codes: np.ndarray, weights: np.ndarray | None = None
) -> np.ndarray:
    """Return the balanced error of each column of `wrong`, which marks wrong predictions."""
    weights = np.ones(len(codes)) if weights is None else weights
    classes = [c for c in np.unique(codes) if weights[codes == c].sum() > 0]
    shares = [np.average(wrong[codes == c], axis=0, weights=weights[codes == c]) for c in classes]
    return np.mean(shares, axis=0)
