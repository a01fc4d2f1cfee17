"""What a fit keeps for later questions."""

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np

from convexfs.errors import InputError


class Held:
    """The samples of a fit, kept for questions that need them again.

    The estimator has this object from `fit` on and what was answered is remembered here, so
    that asking changes nothing in the estimator.
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
        # A copy: the caller may change the array between the fit and the question.
        self.X, self.codes, self.seed = X.copy(), codes, seed
        self.sample_weight, self.groups, self.blocks = sample_weight, groups, blocks
        self._answers: dict[str, Any] = {}

    @property
    def answered(self) -> bool:
        """Whether something was asked."""
        return bool(self._answers)

    def unasked(self) -> "Held":
        """Return a copy that returns None for values that were not computed before."""
        held = copy(self)
        held._answers = {"test": None, "curve": None} | self._answers
        return held

    def packed(self) -> "Held":
        """Return the answers without the samples and the statistics of single permutations."""
        held = copy(self)
        held.X = None
        held._answers = {
            name: answer.without_null() if hasattr(answer, "without_null") else answer
            for name, answer in self._answers.items()
        }
        return held

    def answer(self, name: str, question: Callable[[], Any]) -> Any:
        """Return the value of `question`, computed once."""
        if name not in self._answers:
            if self.X is None:
                raise InputError(
                    "the samples of the fit were not pickled: fit again, or pickle a model that "
                    "was fitted with keep_data=True"
                )
            self._answers[name] = question()
        return self._answers[name]
