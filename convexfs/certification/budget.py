"""The CPU time that a certificate may take, measured for its own thread only."""

import time
from dataclasses import dataclass

import numpy as np


class Stopped(Exception):
    """The budget of CPU time is used up."""


@dataclass(frozen=True)
class Budget:
    """CPU time that a certificate, or one part of its work, may take.

    Examples
    --------
    >>> Budget.of(60.0).share(0.5).left < 31
    True
    """

    deadline: float = np.inf

    @classmethod
    def of(cls, seconds: float) -> "Budget":
        """Return a budget of some seconds of this thread's CPU time, counted from now."""
        return cls(time.thread_time() + seconds)

    @property
    def left(self) -> float:
        return self.deadline - time.thread_time()

    def share(self, share: float) -> "Budget":
        """Return a budget of this share of what is left."""
        return Budget.of(share * self.left)

    def check(self) -> None:
        """Raise Stopped if nothing is left."""
        if self.left <= 0:
            raise Stopped
