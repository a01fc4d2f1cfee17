"""Out-of-core matrices: read a few columns at a time from where they are stored.

Any object with a ``shape`` and slices ``[:, start:stop]`` works: memory maps, arrays of h5py and
zarr, the X of a backed AnnData, bed-reader's genotypes, dask arrays, or a class of your own. Values
are read, never written, and never all at once: a pass holds at most :data:`PIECE_BYTES` of them per
thread, or 128 columns or one chunk of the file if these are larger.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from convexfs.errors import InputError

#: About this many bytes of columns are read at a time, or 128 columns or a chunk if these are
#: larger.
PIECE_BYTES = 2**25
#: Columns are summed in groups of this many, counted from the matrix's first column, so that every
#: partition of the matrix rounds alike.
ALIGNED = 128
#: Fewest columns of a block, and most blocks of a pass: each block has its own result.
_LEAST, _MOST_BLOCKS = 1024, 64
#: bed-reader's code of a missing genotype.
_BED_MISSING = -127


class ColumnSource(ABC):
    """Base class of matrices whose columns are read from outside of memory, block by block.

    Attributes
    ----------
    shape : tuple of int
        Samples and features.
    dtype : numpy dtype
    missing : int or None
        What stands for a missing value where the dtype has no NaN.
    """

    shape: tuple[int, int]
    dtype: np.dtype
    missing: int | None = None

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: tuple[slice, np.ndarray]) -> np.ndarray:
        rows, columns = key
        if not isinstance(rows, slice) or rows != slice(None):
            raise InputError("of columns that lie elsewhere all samples are read, not some")
        return self.take(np.arange(self.shape[1])[columns])

    def copy(self) -> "ColumnSource":
        """Return this object itself: stored columns are not copied."""
        return self

    def spreads(self) -> np.ndarray:
        """Return the range (maximum minus minimum) of each column."""
        low, high = self.ends()
        return high.astype(float) - low.astype(float)

    def ends(self, map: Callable[..., Any] = map) -> tuple[np.ndarray, np.ndarray]:
        """Return minimum and maximum of each column; NaN if it contains NaN."""
        found = self.gather(_block_ends, map)
        low, high = (np.concatenate(ends) for ends in zip(*found, strict=True))
        return low, high

    @abstractmethod
    def take(self, index: np.ndarray) -> np.ndarray:
        """Return the columns of these indices as an array, in this order."""

    @abstractmethod
    def gather(self, function: Callable[..., Any], map: Callable[..., Any] = map) -> list[Any]:
        """Return the list of ``function(block)`` for every block of columns, in order."""

    @abstractmethod
    def reduce(self, function: Callable[..., Any], map: Callable[..., Any] = map) -> Any:
        """Return the sum of ``function(block)`` over all blocks of columns."""


@dataclass(frozen=True)
class Window:
    """A range of columns of a sliceable matrix: one block of a pass."""

    matrix: Any
    start: int
    stop: int
    #: Number of columns that are read at a time.
    piece: int
    n_samples: int
    #: Index of the matrix's first column among all columns.
    origin: int = 0

    @property
    def shape(self) -> tuple[int, int]:
        return self.n_samples, self.stop - self.start

    def open(self) -> "Window":
        return self

    def parts(self, width: int) -> Iterator[np.ndarray]:
        """Read the window's columns; yield them as arrays of at most `width` columns."""
        start = self.start
        while start < self.stop:
            beyond = (self.origin + start) % ALIGNED
            stop = min(start + (ALIGNED - beyond if beyond else self.piece), self.stop)
            yield from parts(read(self.matrix, start, stop, self.n_samples), width)
            start = stop


def ranges(n_features: int) -> list[tuple[int, int]]:
    """Return (start, stop) of the column blocks of a pass, the same for any number of workers."""
    size = rounded_up(max(_LEAST, -(-n_features // _MOST_BLOCKS)), ALIGNED)
    return [(start, min(start + size, n_features)) for start in range(0, n_features, size)]


def rounded_up(number: int, step: int) -> int:
    """Round up to the next multiple of `step`."""
    return -(-number // step) * step


def parts(columns: Any, width: int) -> Iterator[np.ndarray]:
    """Yield an array's or a window's columns as arrays of at most `width` columns."""
    if isinstance(columns, Window):
        yield from columns.parts(width)
        return
    for start in range(0, columns.shape[1], width):
        yield columns[:, start : start + width]


def _block_ends(block: Any) -> tuple[np.ndarray, np.ndarray]:
    pairs = [(part.min(axis=0), part.max(axis=0)) for part in parts(block.open(), _LEAST)]
    return np.concatenate([low for low, _ in pairs]), np.concatenate([high for _, high in pairs])


def read(matrix: Any, start: int, stop: int, n_samples: int) -> np.ndarray:
    """Return columns start to stop as a dense array; raise InputError if its shape is wrong."""
    found = matrix[:, start:stop]
    if hasattr(found, "toarray"):  # A slice of a sparse matrix.
        found = found.toarray(order="C")  # C order as for arrays, so that sums round alike.
    found = np.asarray(found)
    if found.shape != (n_samples, stop - start):
        raise InputError(
            f"Input X: [:, {start}:{stop}] of a {type(matrix).__name__} has shape {found.shape}, "
            f"not {(n_samples, stop - start)}"
        )
    return found


class SlicedColumns(ColumnSource):
    """Columns of an object with ``shape``, ``dtype`` and slices ``[:, start:stop]``."""

    def __init__(self, matrix: Any, missing: int | None = None):
        self.matrix, self.missing = matrix, missing
        n_samples, n_features = (int(length) for length in matrix.shape)
        self.shape = n_samples, n_features
        self.dtype = read(matrix, 0, min(1, n_features), n_samples).dtype
        if self.dtype.kind not in "biuf":
            raise InputError(f"Input X: a {type(matrix).__name__} of {self.dtype}, not of numbers")
        #: Number of columns in a chunk of the file, which is read as a whole.
        self._chunk = _chunk_width(matrix, n_features)
        wanted = PIECE_BYTES // max(1, n_samples * self.dtype.itemsize)
        self._piece = rounded_up(max(self._chunk, wanted - ALIGNED + 1), ALIGNED)

    @property
    def in_memory(self) -> np.ndarray | None:
        """The matrix if it is an array in memory, else None."""
        held = isinstance(self.matrix, np.ndarray) and not isinstance(self.matrix, np.memmap)
        return self.matrix if held else None

    def blocks(self) -> list[Window]:
        """Return the windows of a pass, the same for any number of workers."""
        n_samples, n_features = self.shape
        return [
            Window(self.matrix, start, stop, self._piece, n_samples)
            for start, stop in ranges(n_features)
        ]

    def take(self, index: np.ndarray) -> np.ndarray:
        index = np.asarray(index)
        if self.in_memory is not None:
            return self.in_memory[:, index]
        taken = np.empty((self.shape[0], len(index)), self.dtype)
        order = np.argsort(index, kind="stable")
        home = index[order] // self._chunk
        # Read the requested columns of a chunk by one slice.
        for places in np.split(order, np.flatnonzero(np.diff(home)) + 1):
            if len(places):
                first, last = int(index[places[0]]), int(index[places[-1]])
                span = read(self.matrix, first, last + 1, self.shape[0])
                taken[:, places] = span[:, index[places] - first]
        return taken

    def gather(self, function: Callable[..., Any], map: Callable[..., Any] = map) -> list[Any]:
        return list(map(function, self.blocks()))

    def reduce(self, function: Callable[..., Any], map: Callable[..., Any] = map) -> Any:
        results = iter(map(function, self.blocks()))
        total = next(results)
        for part in results:
            total += part
        return total


class Genotypes:
    """Sliceable matrix of PLINK's genotypes: 0, 1, 2, and -127 for missing."""

    def __init__(self, file: Any):
        self.file, self.shape = file, (int(file.iid_count), int(file.sid_count))

    def __getitem__(self, key: tuple[slice, slice]) -> np.ndarray:
        return self.file.read(index=(slice(None), key[1]), dtype="int8", num_threads=1)


def column_source(X: Any) -> ColumnSource | None:
    """Wrap a matrix stored outside of memory as a ColumnSource; None for ordinary tables."""
    if isinstance(X, ColumnSource):
        return X
    if hasattr(X, "iid_count") and hasattr(X, "sid_count"):
        return SlicedColumns(Genotypes(X), missing=_BED_MISSING)
    if not _sliceable(X):
        return None
    if type(X).__module__.partition(".")[0] == "dask":
        from convexfs.data.dask_columns import on_workers

        return on_workers(X) or SlicedColumns(X)
    return SlicedColumns(X)


def _sliceable(X: Any) -> bool:
    """Return whether X can be sliced by columns but is no array or table in memory."""
    known = ("iloc", "columns", "__dataframe__", "tocsr", "__array_interface__")
    shape = getattr(X, "shape", None)
    return (
        isinstance(shape, tuple)
        and len(shape) == 2
        and all(isinstance(length, int | np.integer) for length in shape)
        and min(shape) > 0
        and hasattr(X, "__getitem__")
        and not isinstance(X, np.ndarray)
        and not any(hasattr(X, name) for name in known)
    )


def _chunk_width(matrix: Any, n_features: int) -> int:
    """Return the number of columns per chunk, as h5py, zarr and dask report it; 1 if unknown."""
    chunks = getattr(matrix, "chunks", None)
    if not isinstance(chunks, tuple) or len(chunks) != 2:
        return 1
    width = max(chunks[1]) if isinstance(chunks[1], tuple) else chunks[1]
    return min(max(1, int(width)), n_features)
