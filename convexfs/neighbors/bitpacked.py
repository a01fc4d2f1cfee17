"""Distances of binary data and genotypes, 64 features an instruction, exactly.

The values 0, 1 and 2 are written in unary, as bits ``x >= 1`` and ``x >= 2``: two values
differ by as much as their bits do, so that a Manhattan distance is the number of ones in
``a xor b``. Features that are 0 or 1 take the first bit alone.
"""

from typing import Any

import numpy as np
from numba.core import types
from numba.extending import intrinsic

from convexfs.kernels import compiled

#: Data types that can be packed if all values are 0, 1 or 2.
PACKABLE = (np.dtype(np.int8), np.dtype(np.uint8), np.dtype(np.bool_))
#: Bits per word, and words of a row that are processed together so that all rows stay in cache.
_WORD, _TILE = 64, 64


def packed(columns: np.ndarray) -> np.ndarray | None:
    """Pack columns of bytes 0, 1 and 2 into 64-bit words per row; None for other data."""
    if columns.dtype not in PACKABLE or not columns.size:
        return None
    low, high = columns.min(), columns.max()
    if low < 0 or high > 2:
        return None
    planes = [columns >= 1, columns >= 2] if high == 2 else [columns >= 1]
    return np.hstack([_words(plane) for plane in planes])


def _words(plane: np.ndarray) -> np.ndarray:
    """Pack a boolean matrix into 64-bit words per row, padded with zeros."""
    rows, width = plane.shape
    room = np.zeros((rows, -(-width // _WORD) * _WORD // 8), np.uint8)
    filled = np.packbits(plane, axis=1)
    room[:, : filled.shape[1]] = filled
    return room.view(np.uint64)


def _counting(typing: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


#: Number of set bits of a word, one processor instruction.
_ones: Any = intrinsic(_counting)


@compiled()
def add_distances(words, out):
    """Add the number of bits in which each two rows differ to the upper triangle of `out`."""
    n, width = words.shape
    for first in range(0, width, _TILE):
        tile = words[:, first : first + _TILE].copy()
        for a in range(n):
            x = tile[a]
            for b in range(a + 1, n):
                y = tile[b]
                differing = np.uint64(0)
                for k in range(tile.shape[1]):
                    differing += _ones(x[k] ^ y[k])
                out[a, b] += differing


def distances(words: np.ndarray, start: int, stop: int) -> np.ndarray:
    """Return the number of bits in which rows [start, stop) differ from each row."""
    out = np.zeros((stop - start, len(words)))
    add_between(words[start:stop], words, out)
    return out


@compiled()
def add_between(some, words, out):
    """Add the number of bits in which each of some rows differs from each row to `out`."""
    n, width = words.shape
    for first in range(0, width, _TILE):
        tile = words[:, first : first + _TILE].copy()
        for a in range(some.shape[0]):
            x = some[a, first : first + _TILE].copy()
            for b in range(n):
                y = tile[b]
                differing = np.uint64(0)
                for k in range(tile.shape[1]):
                    differing += _ones(x[k] ^ y[k])
                out[a, b] += differing
