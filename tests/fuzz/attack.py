"""What an attack is: it makes a case from random numbers, and judges what became of it.

A case is plain data that says all there is to say, so that it can be written down when it
never comes back; the same seed and number give the same case.
"""

import re
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

#: More than this beyond what a process held before a case is too much.
MEMORY_LIMIT_MB = 600.0


@dataclass(frozen=True)
class Failure:
    """A promise that was broken: what kind of promise, and how, in one line."""

    kind: str
    cause: str


class Hung(BaseException):
    """A case has had the processor for too long; no handler of ordinary errors stops this."""


@dataclass(frozen=True)
class Verdict:
    """How a case ended.

    ``outcome`` is counted whatever it is; ``tally`` adds counts to a table of the attack's own,
    by row and column; ``evidence`` are more files for the reproducer; ``megabytes`` is what the
    process came to hold beyond what it held before.
    """

    outcome: str
    failures: tuple[Failure, ...] = ()
    tally: Mapping[tuple[str, str], int] = field(default_factory=dict)
    evidence: Mapping[str, bytes] = field(default_factory=dict)
    megabytes: float = 0.0


@dataclass(frozen=True)
class Attack:
    """One kind of attack.

    Attributes
    ----------
    make : callable
        From a random generator to a case.
    judge : callable
        From a case to a :class:`Verdict`; what it raises is a failure of this script.
    reproducer : callable
        From a case to files, by name, with which anyone can see it again.
    share : float
        Cases of this kind among those of all others.
    warm : callable
        Called once before workers are forked: what all of them then hold.
    columns : tuple of str
        The columns of its table, in the order to print them.
    """

    make: Callable[[np.random.Generator], Any]
    judge: Callable[[Any], Verdict]
    reproducer: Callable[[Any], Mapping[str, bytes]]
    share: float
    warm: Callable[[], None] = lambda: None
    columns: tuple[str, ...] = ()


def generator(seed: int, name: str, number: int) -> np.random.Generator:
    """The random numbers of one case."""
    return np.random.default_rng([seed, zlib.crc32(name.encode()), number])


def pick(rng: np.random.Generator, options: Any) -> Any:
    """One of some options, as it is: numpy would turn them into an array."""
    options = list(options)
    return options[int(rng.integers(len(options)))]


def one_line(error: BaseException | str) -> str:
    """Class and text of an error, short enough for a table."""
    text = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
    printable = "".join(letter if letter.isprintable() else " " for letter in text)
    return " ".join(printable.split())[:200]


def cause_of(error: BaseException) -> str:
    """Where an error came from and what it says, but for numbers and what it quotes.

    So one cause has one line, which can be counted.
    """
    said = re.sub("'[^']*'|\"[^\"]*\"|'.*$", "'…'", one_line(error))
    return f"{place_of(error)} {re.sub('[0-9]+', '0', said)}"


def place_of(error: BaseException) -> str:
    """The innermost line of convexfs that an error came through."""
    found, step = "", error.__traceback__
    while step is not None:
        path = Path(step.tb_frame.f_code.co_filename)
        if "convexfs" in path.parts:
            inside = path.parts[len(path.parts) - 1 - path.parts[::-1].index("convexfs") :]
            found = f"{'/'.join(inside)}:{step.tb_lineno}"
        step = step.tb_next
    return found


class PeakMemory:
    """Megabytes that a process came to hold beyond those it held before; Linux only."""

    def __enter__(self) -> "PeakMemory":
        with suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")
        self._before = _megabytes("VmRSS")
        self.grown = 0.0
        return self

    def __exit__(self, *_: object) -> None:
        self.grown = _megabytes("VmHWM") - self._before

    def failures(self) -> tuple[Failure, ...]:
        if self.grown <= MEMORY_LIMIT_MB:
            return ()
        return (Failure("memory", f"over {MEMORY_LIMIT_MB:g} MB beyond what was held before"),)


def _megabytes(what: str) -> float:
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return 0.0
    return int(status.split(f"{what}:")[1].split()[0]) / 1024
