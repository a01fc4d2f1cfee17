"""Read MATLAB files in a separate process, because damaged files can crash the reader.

scipy's reader trusts the sizes that a file declares. So it runs in a child process whose memory is
limited and which returns its results through a pipe. If the child crashes, this process continues.
"""

import gzip
import io
import json
import os
import subprocess
import sys
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from convexfs.data.readers.memory_limit import ReadLimit, size_text
from convexfs.errors import InputError

_NUMBER = 8
#: Memory limit of the child: this many copies of the allowed size, plus bytes for Python and scipy.
_COPIES, _OVERHEAD = 2, 10**8
_CHILD = "from convexfs.data.readers.matlab import send; send()"
_SPARSE, _STRUCTURE = "sparse matrix", "structure"
#: Separator between a variable's name and the name of its part; no MATLAB name contains it.
_PART = "/"
_V73 = "is a MATLAB v7.3 file, which is HDF5; save it with -v7 instead"


def read_mat(path: Path, limit: ReadLimit) -> dict[str, np.ndarray]:
    """Return the arrays of a .mat file by name, without sparse matrices, structures and cells.

    Raises
    ------
    InputError
        If X is no array, or reading would take more memory than it may.
    ValueError
        If the file cannot be read.
    """
    arrays, others = _read_in_child(path, limit)
    if kind := others.get("X"):
        raise InputError(
            f"{path.name} holds X as a {kind}; save it as a dense array, as by X.toarray() "
            "or, in MATLAB, full(X)"
        )
    return {name: array for name, array in arrays.items() if _PART not in name}


def read_variables(path: Path, limit: ReadLimit) -> dict[str, Any]:
    """Return the variables of a .mat file by name: arrays, sparse matrices, structures as dicts.

    Cell arrays and arrays of structures are left out. Errors are those of :func:`read_mat`.
    """
    arrays, others = _read_in_child(path, limit)
    found: dict[str, Any] = {name: a for name, a in arrays.items() if _PART not in name}
    for name, kind in others.items():
        parts = {
            key.removeprefix(name + _PART): array
            for key, array in arrays.items()
            if key.startswith(name + _PART)
        }
        if kind == _STRUCTURE and parts:
            found[name] = parts
        elif kind == _SPARSE:
            triple = (parts["data"], parts["indices"], parts["indptr"])
            found[name] = sparse.csc_array(triple, shape=tuple(parts["shape"]))
    return found


def _read_in_child(path: Path, limit: ReadLimit) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Read a .mat file in a child process; return arrays, and types of other variables, by name."""
    path.open("rb").close()  # A missing or unreadable file raises the usual error.
    words = [sys.executable, "-P", "-c", _CHILD, os.fspath(path), str(int(limit.bytes))]
    search = os.pathsep.join(os.path.abspath(folder) for folder in sys.path)
    child = subprocess.run(
        words, capture_output=True, env={**os.environ, "PYTHONPATH": search}, check=False
    )
    reply = io.BytesIO(child.stdout)
    try:
        said = json.loads(reply.readline())
    except ValueError:  # The child ended before it could write its result.
        raise ValueError("it ends the process that reads it: its sizes are damaged") from None
    limit.check(said.get("needed", 0), path.name)
    if "beyond" in said:
        raise InputError(
            f"{path.name} takes more memory than the {size_text(limit.bytes)} that reading may "
            f"take ({limit.origin}); keep fewer rows, columns or cells, or allow more by "
            "--read-limit (from Python read_limit=)"
        )
    if "unread" in said:
        raise InputError(f"{path.name} {_V73}") if said["v73"] else ValueError(said["unread"])
    if not said["names"]:
        return {}, said["others"]
    with np.load(reply, allow_pickle=False) as archive:
        arrays = dict(zip(said["names"], map(archive.__getitem__, archive.files), strict=True))
    return arrays, said["others"]


def send() -> None:
    """Run in the child: read the file named on the command line, write it to standard output."""
    path, allowed = sys.argv[1], int(sys.argv[2])
    pipe = sys.stdout.buffer
    try:
        said, arrays = _read(path, allowed)
    except MemoryError:
        said, arrays = {"beyond": True}, []
    except Exception as error:  # scipy's reader raises any exception.
        unread = " ".join(str(error).split()) or type(error).__name__
        said, arrays = {"unread": unread, "v73": isinstance(error, NotImplementedError)}, []
    pipe.write(json.dumps(said).encode() + b"\n")
    if arrays:
        np.savez(pipe, *arrays)


def _read(path: str, allowed: int) -> tuple[dict[str, Any], list[np.ndarray]]:
    """Return names and types of the variables, to be sent as JSON, and their arrays."""
    from scipy.io.matlab import loadmat, whosmat

    _hold_memory(allowed)
    opener = gzip.open if path.lower().endswith(".gz") else open
    with opener(path, "rb") as file:
        held = io.BytesIO(file.read())
    needed = _NUMBER * sum(prod(shape) for _, shape, kind in whosmat(held) if kind != "sparse")
    if needed > allowed:
        return {"needed": needed}, []
    arrays, others = {}, {}
    for name, value in loadmat(held).items():
        if name[:2] == "__":
            continue
        kind = _kind(value := _uncelled(value))
        if kind is None:
            arrays[name] = value
        else:
            others[name] = kind
            arrays |= {name + _PART + part: array for part, array in _parts(value, kind).items()}
    return {"names": list(arrays), "others": others}, list(arrays.values())


def _parts(value: Any, kind: str) -> dict[str, np.ndarray]:
    """Return the arrays, by name, that make up a sparse matrix or a structure; {} otherwise."""
    if kind == _SPARSE:
        columns = sparse.csc_array(value)
        parts = {part: getattr(columns, part) for part in ("data", "indices", "indptr")}
        return parts | {"shape": np.array(columns.shape)}
    if kind != _STRUCTURE or value.size != 1:
        return {}
    single = value.reshape(-1)[0]
    return {field: single[field] for field in value.dtype.names or () if not _kind(single[field])}


def _hold_memory(allowed: int) -> None:
    """Limit the memory of this process to what reading `allowed` bytes needs; Linux only."""
    try:
        import resource

        in_use = int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
        soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    except (ImportError, OSError):  # This works on Linux only.
        return
    limits = [x for x in (soft, hard) if x != resource.RLIM_INFINITY]
    limits.append(in_use + _OVERHEAD + _COPIES * allowed)
    resource.setrlimit(resource.RLIMIT_DATA, (min(limits), hard))


def _uncelled(value: Any) -> Any:
    # A cell array of texts arrives as an array of one-element arrays.
    if not isinstance(value, np.ndarray) or value.dtype.kind != "O":
        return value
    try:
        return np.array([cell.squeeze()[()] for cell in value.ravel()])
    except (AttributeError, ValueError):  # The cells have different sizes, or contain no arrays.
        return value


def _kind(value: Any) -> str | None:
    """Return "sparse matrix", "structure" or "cell array"; None for arrays of numbers or text."""
    if sparse.issparse(value):
        return _SPARSE
    if not isinstance(value, np.ndarray) or value.dtype.kind == "V":
        return _STRUCTURE
    return "cell array" if value.dtype.hasobject else None
