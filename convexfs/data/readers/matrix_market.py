"""Read Matrix Market files, and the name files that single-cell tools write beside them."""

from pathlib import Path
from typing import Any

import numpy as np

from convexfs.data.readers.memory_estimate import open_decompressed
from convexfs.data.readers.memory_limit import ReadLimit
from convexfs.data.readers.options import Reading
from convexfs.data.sparse import stored_or_dense

#: Peak bytes per matrix entry: row, column and value, twice.
_ENTRY = 48
#: Peak bytes per byte of a name file.
_TEXT = 4
#: Usual names of the files with sample names (cells) and feature names (genes).
_SAMPLES, _FEATURES = ("barcodes.tsv",), ("features.tsv", "genes.tsv")


class TransposedArrays(dict[str, Any]):
    """Dict of arrays whose X has samples in rows, transposed if the file had them in columns."""


def check_market(path: Path, limit: ReadLimit) -> None:
    """Raise if a Matrix Market file would exceed the memory limit, by its number of entries."""
    limit.check(_ENTRY * _sizes(path)[2], path.name)


def read_market(path: Path, reading: Reading) -> TransposedArrays:
    """Read X, ids and feature names; transpose if option or name files have samples in columns."""
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
    """Return the declared numbers of rows, columns and entries of a Matrix Market file."""
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
    """Read names from the first file of these names beside the matrix; empty if there is none."""
    for name in called:
        for beside in (path.with_name(name), path.with_name(f"{name}.gz")):
            if beside.is_file():
                with open_decompressed(beside) as file:
                    text = file.read(int(limit.bytes / _TEXT) + 1)
                limit.check(_TEXT * len(text), beside.name)
                cells = [line.split("\t") for line in text.decode("utf-8").splitlines()]
                return np.array([row[min(column, len(row) - 1)] for row in cells], dtype=object)
    return np.empty(0, dtype=object)
