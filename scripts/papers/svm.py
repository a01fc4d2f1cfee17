"""The support vector machine of Logo's Table 2, with the parameters of clean columns."""

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from papers.splits import Split

FOLDS = 10
#: Prices of mistakes tried by the SVM, and widths times the median squared distance.
PRICES = tuple(2.0**power for power in range(-2, 11, 2))
GAMMAS = tuple(2.0 ** (1.5 * step - 6) for step in range(8))


@dataclass(frozen=True)
class Machine:
    """A support vector machine whose parameters are those of the clean training columns."""

    C: float
    gamma: float
    #: gamma times the median squared distance, a number without units
    relative_gamma: float

    def errors(self, X: np.ndarray, y: np.ndarray, new: np.ndarray, truth: np.ndarray) -> float:
        """Return the share of mistakes in %."""
        model = SVC(C=self.C, gamma=self.gamma).fit(X, y)  # type: ignore[arg-type]
        return 100.0 * float(np.mean(model.predict(new) != truth))

    def curve(self, split: Split, order: np.ndarray) -> np.ndarray:
        """Return test errors in % with the first 1, 2, ... features of an order.

        A Gaussian kernel of several features is the product of theirs: each new one costs a
        factor, not a kernel.
        """
        known, new, classes = 1.0, 1.0, np.unique(split.y)
        wrong = []
        for column in order:
            known = known * self._kernel(split.X[:, column], split.X[:, column])
            new = new * self._kernel(split.X_test[:, column], split.X[:, column])
            model = SVC(C=self.C, kernel="precomputed").fit(known, split.y)
            above = new[:, model.support_] @ model.dual_coef_[0] + model.intercept_[0] > 0
            wrong.append(100.0 * float(np.mean(classes[above.astype(int)] != split.y_test)))
        return np.array(wrong)

    def _kernel(self, x: np.ndarray, z: np.ndarray) -> np.ndarray:
        return np.exp(-self.gamma * np.subtract.outer(x, z) ** 2)


def machine_of(clean: Split) -> Machine:
    """Choose C and gamma by folds of the clean training columns; of equals the first."""
    squares = cdist(clean.X, clean.X, "sqeuclidean")
    middle = float(np.median(squares[np.triu_indices(len(squares), 1)]))
    grid = [(C, gamma) for gamma in GAMMAS for C in PRICES]
    wrong = np.zeros(len(grid))
    for train, held in folds_of(clean.y, FOLDS).split(clean.X, clean.y):
        for place, (C, gamma) in enumerate(grid):
            kernel = np.exp(-gamma / middle * squares[:, train])
            model = SVC(C=C, kernel="precomputed").fit(kernel[train], clean.y[train])
            wrong[place] += (model.predict(kernel[held]) != clean.y[held]).sum()
    C, gamma = grid[int(wrong.argmin())]
    return Machine(C, gamma / middle, gamma)


def folds_of(y: np.ndarray, most: int) -> StratifiedKFold:
    """Return so many folds, no more than the smallest class has samples."""
    return StratifiedKFold(min(most, int(np.bincount(y).min())))
