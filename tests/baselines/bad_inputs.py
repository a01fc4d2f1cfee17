"""What no comparator takes, and what it says."""

import numpy as np


def bad_inputs(X, y):
    """Samples, classes and the sentence, made from good ones of 20 rows."""
    holed = X.copy()
    holed[2, 1] = np.nan
    return [
        (X, np.zeros(20), "single class"),
        (holed, y, "contains NaN at data row 3, column 2"),
        (X, y[:-1], "one class for each of the 20 rows"),
        (X[0], y, "X must be a matrix of numbers"),
        (X[:0], y[:0], "X is empty"),
        (X[:, :0], y, "X is empty"),
    ]
