"""Data files of many formats, each through the library that owns the format.

Tables (csv, tsv, parquet, arff) have named columns, one of them the target. Containers
(npz, mat, libsvm) hold a matrix X and the labels y beside it; where their feature names
repeat, the copies are numbered.
"""

import csv
import gzip
import os
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from convexfs.data import sizes
from convexfs.data.checks import check_unique, last_columns, near_column
from convexfs.data.dataset import Dataset, make_dataset
from convexfs.data.limits import ReadLimit, read_limit
from convexfs.data.matlab import read_mat
from convexfs.errors import InputError, did_you_mean

_TARGET_NAMES = frozenset({"target", "class", "label", "y"})
_SEPARATORS = {",": "commas", "\t": "tabs", ";": "semicolons"}
_NO_TEXT = "is not text in UTF-8; save it as such, or name it by the format it has"
#: Columns from which numbers are read all at once: pandas takes a while over each column.
_WIDE = 20_000
#: Columns from which that is the only way.
_TOO_WIDE = 500_000
#: Columns of text, such as classes and identifiers, that a wide table may have.
_TEXT_COLUMNS = 20
#: Code points 0xD800 to 0xDFFF, each half a character of UTF-16, divided by their number.
_SURROGATES = 0xD800 // 0x800


def read_file(
    path: str | Path,
    target: str | None = None,
    name: str | None = None,
    drop: Iterable[str] = (),
    limit: ReadLimit | None = None,
) -> Dataset:
    """Read one data file, its format told by its suffix.

    Parameters
    ----------
    path : str or Path
    target : str, optional
        The column with the classes; for npz and mat, the array. Default: a column
        called target, class, label or y if there is exactly one, or the array y.
    name : str, optional
        What data set and messages are called; default: the path.
    drop : iterable of str
        Columns to leave out, such as identifiers.
    limit : ReadLimit, optional
        Memory that reading may take; default: half of the machine's.

    Returns
    -------
    Dataset

    Raises
    ------
    InputError
        If the file cannot be read or what it holds cannot be used.
    """
    path, name = Path(path), name or str(path)
    suffix = file_suffix(path)
    if suffix is None:
        raise InputError(
            f"{name} has no known format; name it by one of {', '.join(sorted(_READERS))}"
        )
    content = _content(path, suffix, name, limit or read_limit())
    if isinstance(content, Mapping):
        return _from_arrays(content, target, name, drop)
    return _from_table(content, target, name, drop)


def read_columns(
    path: str | Path, columns: Iterable[str], name: str
) -> tuple[dict[str, np.ndarray], bool]:
    """Read columns as text, such as what subject or batch a row is of.

    Returns them and whether they stand among the features, as in a table; of npz and mat
    files the arrays of these names are read.
    """
    suffix = file_suffix(path)
    if suffix is None:
        raise InputError(f"{name} is no file with columns; save the data as csv")
    content = _content(Path(path), suffix, name, read_limit())
    known = [str(key) for key in content]
    for column in columns:
        if column not in known:
            raise InputError(f"{name} has no column '{column}'; {near_column(column, known)}")
    found = {column: np.asarray(content[column]).astype(str) for column in columns}
    return found, not isinstance(content, Mapping)


def file_suffix(path: str | Path) -> str | None:
    """Find the suffix that tells the format of a file, if it is a known one."""
    lowered = Path(path).name.lower()
    return next((suffix for suffix in _READERS if lowered.endswith(suffix)), None)


def _content(path: Path, suffix: str, name: str, limit: ReadLimit) -> Any:
    if os.path.isdir(path):
        raise InputError(f"{name} is a folder; name a file in it")
    check_size, read = _READERS[suffix]
    try:
        if path.stat().st_size == 0:
            raise InputError(f"{name} is an empty file; save the data again")
        check_size(path, limit)
        content = read(path, limit)
        if isinstance(content, Mapping):
            _check_text_arrays(content)
        return content
    except FileNotFoundError:
        raise InputError(f"there is no file {name}; check the spelling and the folder") from None
    except PermissionError:
        raise InputError(f"{name} may not be read; change its permissions") from None
    except (InputError, MemoryError):
        raise
    except UnicodeDecodeError:
        raise InputError(f"{name} {_NO_TEXT}") from None
    except Exception as error:  # the readers raise whatever their parsers meet
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InputError(
            f"{name} cannot be read as {suffix} ({reason}); check that the file is whole "
            "and its suffix right"
        ) from error


def _from_table(frame: Any, target: str | None, name: str, drop: Iterable[str]) -> Dataset:
    columns = [str(column) for column in frame.columns]
    check_unique(columns, name)
    frame.columns = columns
    chosen = _target_column(columns, target, name)
    features = frame.drop(columns=chosen)
    return make_dataset(features, frame[chosen], name=name, target=chosen, drop=drop)


def _from_arrays(
    arrays: Mapping[str, Any], target: str | None, name: str, drop: Iterable[str]
) -> Dataset:
    options = [key for key in arrays if key not in ("X", "feature_names", "class_names", "split")]
    labels = target or next((key for key in ("y", "Y") if key in options), None)
    if "X" not in arrays or labels is None:
        raise InputError(
            f"{name} must hold arrays X and y, but holds {', '.join(arrays) or 'nothing'}; "
            "save a dense X (X.toarray() if it is sparse) and its labels y"
        )
    if labels not in options:
        raise InputError(f"{name} has no label array '{labels}'; {did_you_mean(labels, options)}")
    return make_dataset(
        arrays["X"],
        arrays[labels],
        _distinct(_listed(arrays.get("feature_names"))),
        _listed(arrays.get("class_names")),
        name=name,
        target=labels,
        split=arrays.get("split"),
        drop=drop,
    )


def _check_text_arrays(arrays: Mapping[str, Any]) -> None:
    """Raise for text that Python and pandas would stumble over later: numpy takes any bytes."""
    for key, values in arrays.items():
        if values.dtype.kind == "U" and values.nbytes:
            codes = np.ravel(values).astype(values.dtype.newbyteorder("=")).view(np.uint32)
            if ((codes > sys.maxunicode) | (codes // 0x800 == _SURROGATES)).any():
                raise ValueError(f"its {key} holds text that is no Unicode")


def _listed(names: np.ndarray | None) -> Any:
    """Names one after the other, whatever the shape they were saved in."""
    return None if names is None else np.ravel(names)


def _distinct(names: Iterable[Any] | None) -> list[str] | None:
    # probes of one gene share its name in many microarray files, and the columns differ
    if names is None:
        return None
    seen: Counter[str] = Counter()
    distinct = []
    for name in map(str, names):
        seen[name] += 1
        distinct.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return distinct


def _target_column(columns: list[str], target: str | None, name: str) -> str:
    if len(columns) == 1:
        raise InputError(
            f"{name} has a single column '{columns[0]:.40}', so no feature columns beside a "
            "target; check that csv is separated by commas and tsv by tabs"
        )
    if target in columns:
        return str(target)
    if target is not None:
        raise InputError(f"{name} has no column '{target}'; {near_column(target, columns)}")
    usual = [column for column in columns if column.lower() in _TARGET_NAMES]
    if len(usual) != 1:
        last = last_columns(columns)
        raise InputError(
            f"{name} has {len(usual) or 'no'} columns called target, class, label or y; say which "
            f"column holds the classes by target= (--target on the command line): {last}"
        )
    return usual[0]


def _read_separated(path: Path, _: ReadLimit, separator: str = ",") -> Any:
    import pandas as pd

    # pandas renames repeated and nameless columns, so look at the header first
    names = _line(path, separator, 0)
    if names is None:
        raise InputError(f"{path.name} has blank lines only; save the data again")
    _check_text(names, separator, path.name)
    check_unique([cell for cell in names if cell], path.name)
    if "" in names:
        raise InputError(
            f"{path.name} has no name for column {names.index('') + 1}; name it in the header, "
            "or leave row numbers out when saving"
        )
    if len(names) > _WIDE and (frame := _read_wide(path, separator, names)) is not None:
        return frame
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            # without index_col=False a nameless first column becomes row labels
            return pd.read_csv(path, sep=separator, low_memory=False, index_col=False)
    except pd.errors.ParserWarning:
        raise InputError(
            f"{path.name} has rows with more cells than the header has names; "
            "name every column or drop the extra cells"
        ) from None


def _line(path: Path, separator: str, position: int) -> list[str] | None:
    """Return the cells of the line at this position, blank lines not counted."""
    packed = path.suffix.lower() == ".gz"
    with (gzip.open if packed else open)(path, "rt", encoding="utf-8-sig", newline="") as file:
        lines = (line for line in csv.reader(file, delimiter=separator) if line)
        return next(islice(lines, position, None), None)


def _read_wide(path: Path, separator: str, names: list[str]) -> Any:
    """Read a table of numbers but for some columns; return None if it is something else."""
    import pandas as pd

    first_row = _line(path, separator, 1) or []
    text = [j for j, cell in enumerate(first_row) if not _is_number(cell)]
    if len(first_row) != len(names) or len(text) > _TEXT_COLUMNS:
        return None
    try:
        numbers = np.loadtxt(
            path,
            delimiter=separator,
            quotechar='"',
            comments=None,
            skiprows=1,
            ndmin=2,
            encoding="utf-8",
            converters=dict.fromkeys(text, lambda _: 0.0),
        )
    except ValueError as error:
        if len(names) > _TOO_WIDE:
            raise InputError(
                f"{path.name} has {len(names)} columns, and so wide a table is read only if all "
                f"its cells but a few columns are numbers ({error}); mend the cell or keep fewer "
                "columns"
            ) from None
        return None
    frame = pd.DataFrame(numbers, columns=names, copy=False)
    if text:
        read = pd.read_csv(path, sep=separator, usecols=text, index_col=False)
        for name in read.columns:
            frame[name] = read[name]
    return frame


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _check_text(header: list[str], separator: str, name: str) -> None:
    if any("\0" in cell for cell in header):
        raise InputError(f"{name} {_NO_TEXT}")
    others = [other for other in _SEPARATORS if other != separator and other in header[0]]
    if len(header) == 1 and others:
        raise InputError(
            f"{name} is separated by {_SEPARATORS[others[0]]}; save it separated by "
            f"{_SEPARATORS[separator]}, with points in its numbers"
        )


def _read_parquet(path: Path, _: ReadLimit) -> Any:
    import pandas as pd
    import pyarrow.parquet as parquet

    # pandas gives up on repeated names with a message about its own internals
    check_unique(parquet.read_schema(path).names, path.name)
    return pd.read_parquet(path)


def _read_arff(path: Path, _: ReadLimit) -> Any:
    import pandas as pd
    from scipy.io import arff

    try:
        records, meta = arff.loadarff(path)
    except NotImplementedError:
        raise InputError(
            f"{path.name} has attributes of type string, which scipy does not read; "
            "save it without them, or as csv"
        ) from None
    frame = pd.DataFrame(records)
    for attribute, kind in zip(meta.names(), meta.types(), strict=True):
        if kind == "nominal":
            text = frame[attribute].str.decode("utf-8")
            frame[attribute] = text.mask(text == "?")
    return frame


def _read_npz(path: Path, _: ReadLimit) -> dict[str, np.ndarray]:
    with np.load(path, allow_pickle=False) as archive:
        return {key: archive[key] for key in archive.files}


def _read_libsvm(path: Path, limit: ReadLimit) -> dict[str, np.ndarray]:
    from sklearn.datasets import load_svmlight_file

    sparse, labels, *_ = load_svmlight_file(str(path))
    rows, columns = sparse.shape
    limit.check(rows * columns * 8, f"{path.name}, as a dense matrix of {rows} x {columns},")
    return {"X": sparse.toarray(), "y": labels}


_Check = Callable[[Path, ReadLimit], None]
_Reader = Callable[[Path, ReadLimit], Any]
_CSV: tuple[_Check, _Reader] = (partial(sizes.check_separated, separator=b","), _read_separated)
_TSV: tuple[_Check, _Reader] = (
    partial(sizes.check_separated, separator=b"\t"),
    partial(_read_separated, separator="\t"),
)
_LIBSVM: tuple[_Check, _Reader] = (sizes.check_libsvm, _read_libsvm)
#: By suffix, what refuses a file too large to be read, and what reads it.
_READERS: dict[str, tuple[_Check, _Reader]] = {
    ".csv": _CSV,
    ".csv.gz": _CSV,
    ".tsv": _TSV,
    ".tsv.gz": _TSV,
    ".parquet": (sizes.check_parquet, _read_parquet),
    ".arff": (sizes.check_arff, _read_arff),
    ".npz": (sizes.check_npz, _read_npz),
    ".mat": (sizes.check_mat, read_mat),
    ".libsvm": _LIBSVM,
    ".svm": _LIBSVM,
    ".svmlight": _LIBSVM,
}
