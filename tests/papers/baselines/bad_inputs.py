"""What no comparator takes, and what it says."""

import numpy as np


def bad_inputs(X, y):
    """Samples, classes and the sentence, made from good ones of 20 rows."""
    holed = X.copy()
    holed[2, 1] = np.nan
    huge = X.copy()
    huge[4, 2] = -1e200
    text = X.astype(object)
    text[:, 1] = "high"
    return [
        (huge, y, "values of up to 1.0e\\+200 in column 3 .*rescale"),
        (np.round(X) * 1e-200, y, "differ by .* at most.*rescale"),
        (text, y, "text in column '2', such as 'high'"),
        (X.astype("M8[D]"), y, "dates in columns '1', .*, such as '19"),
        (X, [None, *y[1:]], "missing value .* data row 1 "),
        (X, np.array([0, "a"] * 10, dtype=object), "mixes text such as 'a' with int"),
        (X, np.zeros(20), "single class"),
        (holed, y, "contains NaN at data row 3, column 2"),
        (X, y[:-1], "one class for each of the 20 rows"),
        (X[0], y, "X has 1 dimension"),
        (X[:0], y[:0], "X has no rows"),
        (X[:, :0], y, "X has no feature columns"),
    ]
