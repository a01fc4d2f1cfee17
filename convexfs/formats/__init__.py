"""Problem files: read into a ``cvxpy.Problem``, and written from a convex one.

=============== ========================================== =====================
ending          holds                                      module
=============== ========================================== =====================
``.mps .qps``   linear, quadratic objective, integers      :mod:`mps`
``.lp``         the same, by HiGHS                         :mod:`lp`
``.cbf``        second-order, exponential, power,          :mod:`cbf`
                semidefinite cones, integers
``.dat-s``      linear and semidefinite, integers          :mod:`sdpa`
``.npz``        all of these                               :mod:`npz`
``.mat``        quadratic programs (Maros and Meszaros),   :mod:`matlab`
                cone programs (SeDuMi); only read
=============== ========================================== =====================

Any of them may be compressed, with ``.gz`` behind its ending.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from convexfs.errors import InputError

if TYPE_CHECKING:
    import cvxpy as cp


@dataclass(frozen=True)
class Format:
    """A file format: its modules, and whether it supports a quadratic objective.

    Files of a format without a writer are only read.
    """

    reader: str
    writer: str | None
    quadratic: bool

    @property
    def read(self) -> Callable[[Path], Any]:
        return import_module(f"{__name__}.{self.reader}").read

    @property
    def dumps(self) -> Callable[[Any], str | bytes]:
        return import_module(f"{__name__}.{self.writer}").dumps


FORMATS = {
    ".mps": Format("mps", "mps_writer", quadratic=True),
    ".qps": Format("mps", "mps_writer", quadratic=True),
    ".lp": Format("lp", "lp", quadratic=True),
    ".cbf": Format("cbf", "cbf_writer", quadratic=False),
    ".dat-s": Format("sdpa", "sdpa", quadratic=False),
    ".npz": Format("npz", "npz", quadratic=True),
    ".mat": Format("matlab", None, quadratic=True),
}
#: File endings of the formats that can be written.
WRITTEN = tuple(known for known, form in FORMATS.items() if form.writer)


def ending(path: str | Path) -> str | None:
    """Return the file ending that determines the format, or None if it is not supported."""
    name = Path(path).name.lower().removesuffix(".gz")
    return next((known for known in FORMATS if name.endswith(known) and name != known), None)


def read_problem(path: str | Path) -> "cp.Problem":
    """Read a problem from a file.

    Parameters
    ----------
    path : str or Path
        Its ending determines the format: .mps, .qps, .lp, .cbf, .dat-s, .npz or .mat, perhaps with
        .gz. A .mat file holds a quadratic program ``P q r A l u``, as the collection of Maros
        and Meszaros does, or a cone program ``A b c K``, as SeDuMi takes it.

    Returns
    -------
    cvxpy.Problem
        With one vector ``x``, or the variables that the column names imply (``w_0``,
        ``w_1``, ...); semidefinite matrices of .cbf and .mat are ``X_1``, ``X_2``, ... Its
        attribute ``columns`` has the names of the columns.

    Raises
    ------
    InputError
        For files that cannot be read or break the rules of their format, with the line.
    """
    from convexfs.formats.to_cvxpy import stored_problem

    path = Path(path)
    return stored_problem(_format(path).read(path))


def write_problem(problem: "cp.Problem", path: str | Path) -> None:
    """Write a convex problem to a file, as a cone program.

    Parameters
    ----------
    problem : cvxpy.Problem
        Convex by cvxpy's rules; what its atoms stand for becomes variables ``aux_1``, ...
    path : str or Path
        Its ending determines the format, as in :func:`read_problem`; .mat files are only read.

    Raises
    ------
    InputError
        For problems that are not convex or that the format has no place for, and files that
        cannot be written.
    """
    from convexfs.formats.text import write_bytes
    from convexfs.formats.to_cvxpy import program_of

    path = Path(path)
    form = _format(path)
    if form.writer is None:
        raise InputError(f"{path}: {ending(path)} files are only read; save as .npz or .cbf")
    if not path.parent.is_dir():
        raise InputError(f"there is no folder {path.parent}")
    content = form.dumps(program_of(problem, quadratic=form.quadratic))
    write_bytes(path, content.encode() if isinstance(content, str) else content)


def _format(path: Path) -> Format:
    known = ending(path)
    if known is None:
        raise InputError(f"{path}: the ending must be {', '.join(FORMATS)}, perhaps with .gz")
    return FORMATS[known]
