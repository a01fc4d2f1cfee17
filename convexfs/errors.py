"""Errors and warnings of the package, and checks that raise them.

Every message is one sentence that names the place, the problem and the remedy. The command line
prints it and exits with code 2. Python callers catch :class:`ConvexfsError`, or ``ValueError`` for
invalid input.
"""

import difflib
import math
import os
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any

#: In messages, reprs of values with more characters lose their middle.
_SHOWN = 60
#: Largest seed: the largest integer that SQLite stores.
LARGEST_SEED = 2**63 - 1


class ConvexfsError(Exception):
    """Base of every error convexfs raises on purpose."""


class InputError(ConvexfsError, ValueError):
    """Data, a name or a parameter that cannot be used as given."""


class SolverUnavailable(InputError):
    """A solver that is unknown or not installed."""


class SolverUnsuitable(InputError):
    """A solver that cannot take the problem: its cones, integers or structure."""


class ProblemFileError(InputError):
    """A problem file that cannot be found or read, or breaks the rules of problem files."""


class RunError(ConvexfsError):
    """A batch run that cannot continue: its folder is locked, full or damaged."""


class ConvexfsWarning(UserWarning):
    """Warning that something was repaired or left out; the result is still meaningful."""


def warn(message: str) -> None:
    """Issue a :class:`ConvexfsWarning` for the line outside this package that caused it."""
    frame, level = sys._getframe(1), 2
    while frame.f_back and frame.f_globals.get("__name__", "").startswith("convexfs."):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, ConvexfsWarning, stacklevel=level)


def did_you_mean(name: str, options: Iterable[str]) -> str:
    """Return the end of an error message: the nearest valid name, or all of them.

    >>> did_you_mean("SOLVER", ["SOLVERS", "GRID"])
    'did you mean SOLVERS?'
    """
    known = sorted(options)
    lowered = {option.lower(): option for option in known}
    near = difflib.get_close_matches(name.lower(), list(lowered), n=1, cutoff=0.6)
    if near:
        return f"did you mean {lowered[near[0]]}?"
    return f"choose from {', '.join(known)}" if known else "there are none to choose from"


def and_more(names: Sequence[str], total: int) -> str:
    """Join names by commas, and count those of `total` that are not among them.

    >>> and_more(["age", "site"], 5)
    'age, site and 3 more'
    """
    more = total - len(names)
    return ", ".join(names) + (f" and {more:,} more" if more > 0 else "")


def check_number(
    name: str,
    value: Any,
    low: float = -math.inf,
    high: float = math.inf,
    *,
    whole: bool = False,
    open_ends: bool = False,
) -> None:
    """Raise InputError unless `value` is a number in [low, high]; `open_ends` exclude the ends.

    With `whole` it must be an integer, otherwise finite.

    >>> check_number("n_neighbors", 0, 1, whole=True)
    Traceback (most recent call last):
    convexfs.errors.InputError: n_neighbors must be an integer of at least 1, not 0
    """
    kinds: Any = Integral if whole else Real
    is_number = isinstance(value, kinds) and not isinstance(value, bool)
    # math.isfinite fails for huge integers; a value that is not an integer must be a float.
    is_number = is_number and abs(value) <= (math.inf if whole else sys.float_info.max)
    if is_number and (low < value < high if open_ends else low <= value <= high):
        return
    kind = "an integer" if whole else "a number"
    form = ".15g" if whole else "g"
    above = f"above {low:{form}}" if open_ends else f"of at least {low:{form}}"
    below = f"below {high:{form}}" if open_ends else f"at most {high:{form}}"
    bounds = [above] * math.isfinite(low) + [below] * math.isfinite(high)
    said = f"{name} must be {kind} {' and '.join(bounds)}".strip()
    raise InputError(f"{said}, not {shortened(value)}")


def check_regular_file(path: str | os.PathLike[str]) -> None:
    """Raise InputError if a path is a pipe, device or folder: reading a pipe may never end."""
    if os.path.exists(path) and not os.path.isfile(path):
        kind = "a folder" if os.path.isdir(path) else "a pipe or device"
        raise InputError(f"{path} is {kind}, not a file; save its content to a file")


@contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn an OSError in this block into an InputError that the path cannot be written."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error.strerror or error})") from error


def check_seed(name: str, value: Any) -> None:
    """Raise InputError unless a value is a valid seed: an integer from 0 to 2**63-1."""
    check_number(name, value, 0, LARGEST_SEED, whole=True)


def check_flag(name: str, value: Any) -> None:
    """Raise InputError unless `value` is True or False."""
    # numpy's bool is recognised by name, because numpy is not imported here.
    if type(value).__name__ not in ("bool", "bool_"):
        raise InputError(f"{name} must be True or False, not {shortened(value)}")


def shortened(value: Any) -> str:
    """Return the repr of a value, with its middle left out if it is long.

    >>> shortened(10**400)
    '100000000000000000000000000000...00000000000000000000000000000'
    """
    try:
        text = repr(value)
    except ValueError:  # Python refuses to print integers of more than 4300 digits.
        return "a number of thousands of digits"
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN // 2]}...{text[-_SHOWN // 2 + 1 :]}"


def check_choice(name: str, value: Any, options: Iterable[str]) -> None:
    """Raise InputError unless `value` is one of `options`, suggesting the nearest."""
    options = list(options)
    if not isinstance(value, str) or value not in options:
        raise InputError(f"unknown {name} {shortened(value)}: {did_you_mean(str(value), options)}")
