"""Read Matrix Market files, and the name files that single-cell tools write beside them."""

from pathlib import Path
from typing import Any

import numpy as np

from convexfs.data.readers.memory_estimate import open_decompressed
from convexfs.data.readers.memory_limit import ReadLimit
from convexfs.data.readers.options import Reading
from convexfs.data.sparse import stored_or_dense

#: Peak bytes per entry: row, column and value, twice.
_ENTRY = 48
#: Peak bytes per byte of a name file.
_TEXT = 4
#: Usual names of the files with column names (cells) and row names (genes).
_SAMPLES, _FEATURES = ("barcodes.tsv",), ("features.tsv", "genes.tsv")


class TransposedArrays(dict[str, Any]):
    """Arrays by name, already transposed so that samples are rows."""


def check_market(path: Path, limit: ReadLimit) -> None:
    """Check the memory of a Matrix Market file by its declared number of entries."""
    limit.check(_ENTRY * _sizes(path)[2], path.name)


def read_market(path: Path, reading: Reading) -> TransposedArrays:
    """Read a matrix with samples in rows; transpose it if the name files or the user say so."""
    from scipy.io import mmread

    rows, columns, _ = _sizes(path)
    samples = _names(path, _SAMPLES, 0, reading.limit)
    features = _names(path, _FEATURES, 1, reading.limit)
    turn = reading.transpose
    if not turn and len(samples) == columns and len(features) == rows and rows != columns:
        reading.tell("samples are columns, as the names beside the matrix have it: turned")
        turn = True
    with open_decompressed(path) as file:
        matrix: Any = mmread(file)
    X = stored_or_dense(matrix.T if turn else matrix, reading, path.name)
    arrays = TransposedArrays(X=X)
    if len(samples) == X.shape[0]:
        arrays["ids"] = samples
    if len(features) == X.shape[1]:
        arrays["feature_names"] = features
    return arrays


def _sizes(path: Path) -> tuple[int, int, int]:
    """Return rows, columns and entries, from the first line that is not a comment."""
    with open_decompressed(path) as file:
        if not file.readline(200).lower().startswith(b"%%matrixmarket matrix"):
            raise ValueError("it does not begin as a Matrix Market file does")
        line = b"%"
        while line.startswith(b"%") or not line.strip():
            line = file.readline(10_000)
            if not line:
                raise ValueError("it does not say the sizes of its matrix")
    numbers = [int(word) for word in line.split()]
    entries = numbers[2] if len(numbers) > 2 else numbers[0] * numbers[1]
    return numbers[0], numbers[1], entries


def _names(path: Path, called: tuple[str, ...], column: int, limit: ReadLimit) -> Any:
    """Read names from a file beside the matrix, from this column if it has several."""
    for name in called:
        for beside in (path.with_name(name), path.with_name(f"{name}.gz")):
            if beside.is_file():
                with open_decompressed(beside) as file:
                    text = file.read(int(limit.bytes / _TEXT) + 1)
                limit.check(_TEXT * len(text), beside.name)
                cells = [line.split("\t") for line in text.decode("utf-8").splitlines()]
                return np.array([row[min(column, len(row) - 1)] for row in cells], dtype=object)
    return np.empty(0, dtype=object)
