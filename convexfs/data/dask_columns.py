"""Columns of a dask array, worked on where its workers hold them.

A pass is one task for each worker over the chunks it has: what travels is the pass's own
result, a sum of the worker's chunks where a sum is wanted, and never a chunk. A worker
that dies takes its chunks along; dask makes them again where the array says how (it was
read from files or computed), and the pass is done again there.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from convexfs.data.out_of_core import ALIGNED, PIECE_BYTES, ColumnSource, Window, rounded_up
from convexfs.errors import InputError, RunError

#: If there are more partial sums, workers first add them in groups of this many.
_FAN = 8
#: A chunk on a worker: its future and the index of its first column.
_Chunk = tuple[Any, int]


def on_workers(X: Any) -> "DaskColumns | None":
    """Return DaskColumns of a dask array on the current client's workers; None without a client."""
    try:
        from distributed import default_client  # pyright: ignore[reportMissingImports]

        client = default_client()
    except (ImportError, ValueError):
        return None
    return DaskColumns(X, client)


class DaskColumns(ColumnSource):
    """A dask array whose chunks stay on the workers of a ``distributed`` client.

    Parameters
    ----------
    array : dask.array.Array
        Of samples in rows. Chunks that hold some of the samples only are put together, which
        moves data between workers once: better have chunks of all samples.
    client : distributed.Client
        One thread a worker is used.

    Attributes
    ----------
    bytes_from, bytes_to : int
        What the workers have sent and been sent, without dask's own messages.
    """

    def __init__(self, array: Any, client: Any):
        from distributed import futures_of, wait  # pyright: ignore[reportMissingImports]

        if any(np.isnan(length) for length in array.shape):
            raise InputError(
                "Input X: its chunks are of unknown sizes; X.compute_chunk_sizes() first"
            )
        if array.dtype.kind not in "biuf":
            raise InputError(f"Input X: a dask array of {array.dtype}, not of numbers")
        self.shape, self.dtype, self._client = array.shape, array.dtype, client
        held = client.persist(array.rechunk({0: -1}))
        wait(held)
        futures = {str(future.key): future for future in futures_of(held)}
        starts = np.concatenate([[0], np.cumsum(held.chunks[1])])[:-1].tolist()
        (keys,) = held.__dask_keys__()
        self._chunks: list[_Chunk] = [
            (futures[str(key)], start) for key, start in zip(keys, starts, strict=True)
        ]
        self.bytes_from = self.bytes_to = 0

    def reduce(self, function: Callable[..., Any], map: Callable[..., Any] = map) -> Any:
        sums = self._submitted(_sum, self._chunks, function)
        while len(sums) > _FAN:  # Workers add partial sums, to relieve the client.
            groups = [sums[start : start + _FAN] for start in range(0, len(sums), _FAN)]
            sums = [self._client.submit(_total, group, pure=False) for group in groups]
        return _total(self._fetched(sums))

    def gather(self, function: Callable[..., Any], map: Callable[..., Any] = map) -> list[Any]:
        found = [pair for part in self._everywhere(_each, self._chunks, function) for pair in part]
        return [value for _, value in sorted(found, key=lambda pair: pair[0])]

    def take(self, index: np.ndarray) -> np.ndarray:
        index = np.asarray(index)
        taken = np.empty((self.shape[0], len(index)), self.dtype)
        starts = np.array([start for _, start in self._chunks])
        homes = np.unique(np.searchsorted(starts, index, side="right") - 1)
        chunks = [self._chunks[home] for home in homes.tolist()]
        for places, columns in self._everywhere(_cut, chunks, index):
            taken[:, places] = columns
        return taken

    def _everywhere(
        self, task: Callable[..., Any], chunks: Sequence[_Chunk], told: Any
    ) -> list[Any]:
        """Return the results of ``task(chunks, starts, told)`` on each worker's own chunks."""
        return self._fetched(self._submitted(task, chunks, told))

    def _submitted(
        self, task: Callable[..., Any], chunks: Sequence[_Chunk], told: Any
    ) -> list[Any]:
        from distributed.protocol.pickle import dumps  # pyright: ignore[reportMissingImports]

        homes = self._homes(chunks)
        self.bytes_to += len(homes) * len(dumps(told))
        return [
            self._client.submit(
                task, [chunk for chunk, _ in own], [start for _, start in own], told,
                # Prefer the worker that has the chunks; use another if it is gone.
                workers=worker or None, allow_other_workers=bool(worker), pure=False,
            )
            for worker, own in homes.items()
        ]  # fmt: skip

    def _fetched(self, futures: list[Any]) -> list[Any]:
        try:
            found = self._client.gather(futures)
        except (InputError, MemoryError):
            raise
        # Dask raises many error classes for lost workers and lost data.
        except Exception as error:
            raise RunError(
                f"the columns on dask's workers cannot be read ({type(error).__name__}: {error}); "
                "see the workers' logs, and fit again"
            ) from error
        self.bytes_from += sum(map(_size, found))
        return found

    def _homes(self, chunks: Sequence[_Chunk]) -> dict[str, list[_Chunk]]:
        """Group chunks by the worker that holds them now; lost chunks are under ""."""
        owners = self._client.who_has([chunk for chunk, _ in chunks])
        owners = {str(key): workers for key, workers in owners.items()}
        homes: dict[str, list[_Chunk]] = {}
        for chunk, start in chunks:
            owner = min(owners.get(str(chunk.key), ()), default="")
            homes.setdefault(owner, []).append((chunk, start))
        return homes


def _size(value: Any) -> int:
    if isinstance(value, tuple | list):
        return sum(map(_size, value))
    return getattr(value, "nbytes", 0)


def _window(chunk: np.ndarray, start: int) -> Window:
    """Return a chunk as a Window whose first column has index `start` in the matrix."""
    wanted = PIECE_BYTES // max(1, chunk.shape[0] * chunk.dtype.itemsize)
    return Window(chunk, 0, chunk.shape[1], rounded_up(wanted, ALIGNED), chunk.shape[0], start)


def _total(parts: list[Any]) -> Any:
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def _sum(chunks: list[np.ndarray], starts: list[int], function: Callable[..., Any]) -> Any:
    total = None
    for chunk, start in zip(chunks, starts, strict=True):
        part = function(_window(chunk, start))
        if total is None:
            total = part
        else:
            total += part
    return total


def _each(
    chunks: list[np.ndarray], starts: list[int], function: Callable[..., Any]
) -> list[tuple[int, Any]]:
    pairs = zip(chunks, starts, strict=True)
    return [(start, function(_window(chunk, start))) for chunk, start in pairs]


def _cut(
    chunks: list[np.ndarray], starts: list[int], index: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return which positions of `index` lie in these chunks, and those columns."""
    places, columns = [], []
    for chunk, start in zip(chunks, starts, strict=True):
        here = np.flatnonzero((index >= start) & (index < start + chunk.shape[1]))
        places.append(here)
        columns.append(chunk[:, index[here] - start])
    return np.concatenate(places), np.hstack(columns)
