"""What can go wrong, in words a user can act on.

Every message is one sentence that names the place, the trouble and the cure.
The command line prints it and exits with code 2; Python callers catch
:class:`ConvexfsError`, or ``ValueError`` for anything wrong with their input.
"""

import difflib
from collections.abc import Iterable


class ConvexfsError(Exception):
    """Base of every error convexfs raises on purpose."""


class InputError(ConvexfsError, ValueError):
    """Data, a name or a parameter that cannot be used as given."""


class SolverUnavailable(InputError):
    """A solver that is unknown or not installed."""


class SolverUnsuitable(InputError):
    """A solver that cannot take the cones of the problem."""


class ProblemFileError(InputError):
    """A problem file that breaks its contract."""


class RunError(ConvexfsError):
    """A batch run that cannot go on: its folder is locked, full or damaged."""


class ConvexfsWarning(UserWarning):
    """Something was repaired or left out; the result is still meaningful."""


def did_you_mean(name: str, options: Iterable[str]) -> str:
    """End of an error message: the nearest valid name, or all of them.

    >>> did_you_mean("SOLVER", ["SOLVERS", "GRID"])
    'did you mean SOLVERS?'
    """
    known = sorted(options)
    lowered = {option.lower(): option for option in known}
    near = difflib.get_close_matches(name.lower(), list(lowered), n=1, cutoff=0.6)
    if near:
        return f"did you mean {lowered[near[0]]}?"
    return f"choose from {', '.join(known)}" if known else "there are none to choose from"
