"""Training data stored with a fit, for results that are computed on demand."""

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np

from convexfs.errors import InputError


class Held:
    """The samples of a fit, and results that are computed from them when first requested.

    Results are cached here, so that reading one leaves the estimator unchanged.
    """

    def __init__(
        self,
        X: Any,
        codes: np.ndarray,
        seed: int,
        sample_weight: Any = None,
        groups: Any = None,
        blocks: Any = None,
    ):
        # Store a copy: the caller may change the array after the fit.
        self.X, self.codes, self.seed = X.copy(), codes, seed
        self.sample_weight, self.groups, self.blocks = sample_weight, groups, blocks
        self._answers: dict[str, Any] = {}

    @property
    def answered(self) -> bool:
        """Return whether any result has been computed."""
        return bool(self._answers)

    def unasked(self) -> "Held":
        """Return a copy that gives None for every result that has not been computed."""
        held = copy(self)
        held._answers = {"test": None, "curve": None} | self._answers
        return held

    def packed(self) -> "Held":
        """Return the cached results without the samples and without permutation statistics."""
        held = copy(self)
        held.X = None
        held._answers = {
            name: answer.without_null() if hasattr(answer, "without_null") else answer
            for name, answer in self._answers.items()
        }
        return held

    def answer(self, name: str, question: Callable[[], Any]) -> Any:
        """Return the result of `question`, computed once and cached by `name`."""
        if name not in self._answers:
            if self.X is None:
                raise InputError(
                    "the samples of the fit were not pickled: fit again, or pickle a model that "
                    "was fitted with keep_data=True"
                )
            self._answers[name] = question()
        return self._answers[name]
