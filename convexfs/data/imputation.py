"""Missing cells of a matrix, filled by what the training rows show."""

from collections.abc import Sequence

import numpy as np

from convexfs.data.validation import how_to_drop
from convexfs.errors import InputError, did_you_mean

#: Ways to fill them, and what each puts there.
IMPUTATIONS = {
    "none": "",
    "median": "the median of their feature",
    "knn": "the mean of the five nearest samples",
}
#: What stands for a missing difference of two samples; "error" refuses missing values.
MISSING_RULES = ("hybrid", "class", "observed", "error")


def fill_missing(
    X: np.ndarray,
    how: str,
    fit_rows: np.ndarray | None,
    where: str,
    names: Sequence[str],
    left: Sequence[int] = (),
) -> np.ndarray:
    """Fill NaN by the median of its feature, or by the mean over the five nearest samples.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
    how : {"none", "median", "knn"}
    fit_rows : bool array (n_samples,), optional
        Rows that medians and neighbours come from; default: all.
    where : str
        What a message calls the data.
    names : sequence of str
        What it calls the features.
    left : sequence of int
        Features that are left as they are: codes of categories.
    """
    if how not in IMPUTATIONS:
        raise InputError(f"no imputation is called '{how}'; {did_you_mean(how, IMPUTATIONS)}")
    if how == "none" or not np.isnan(X).any():
        return X
    if len(left):
        categories = set(left)
        numbers = [j for j in range(X.shape[1]) if j not in categories]
        whole, named = X.copy(), [names[j] for j in numbers]
        whole[:, numbers] = fill_missing(X[:, numbers], how, fit_rows, where, named)
        return whole
    seen = X if fit_rows is None else X[fit_rows]
    empty = [names[j] for j in np.flatnonzero(np.isnan(seen).all(axis=0)).tolist()]
    if empty:
        raise InputError(
            f"{where} has no value at all in {len(empty)} of its features, such as '{empty[0]}', "
            f"to fill the others by; leave such columns out: {how_to_drop(empty)}"
        )
    from sklearn.impute import KNNImputer, SimpleImputer

    imputer = KNNImputer() if how == "knn" else SimpleImputer(strategy="median")
    return np.ascontiguousarray(imputer.fit(seen).transform(X))
