"""Read data files of many formats, each by the library for that format.

Tables (csv, tsv, txt, xlsx, parquet, arff) have named columns, one of them the target. Containers
(npz, mat, libsvm, mtx, h5ad, bed) hold a matrix X and its labels. Repeated names are numbered.
"""

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from convexfs.data.build import make_dataset
from convexfs.data.dataset import Dataset
from convexfs.data.readers import anndata_plink, matrix_market, memory_estimate
from convexfs.data.readers.label_file import in_order, join_labels
from convexfs.data.readers.matlab import read_mat
from convexfs.data.readers.memory_limit import ReadLimit
from convexfs.data.readers.options import Reading, distinct_names
from convexfs.data.readers.table import from_table
from convexfs.data.readers.text import MISSING, check_separated, not_text, read_separated
from convexfs.data.readers.transposed import with_metadata
from convexfs.data.sparse import stored_or_dense
from convexfs.errors import InputError, did_you_mean

if TYPE_CHECKING:
    import pandas as pd

#: Surrogates are the code points 0xD800 to 0xDFFF, all with this quotient by 0x800.
_SURROGATES = 0xD800 // 0x800


def read_file(path: str | Path, reading: Reading | None = None, name: str | None = None) -> Dataset:
    """Read one data file as a Dataset; the suffix determines the format.

    Parameters
    ----------
    path : str or Path
    reading : Reading, optional
        What the user says of the file. By default a column called target, class, label or
        y holds the classes if there is exactly one, or the array y.
    name : str, optional
        What data set and messages are called; default: the path.

    Returns
    -------
    Dataset

    Raises
    ------
    InputError
        If the file cannot be read or what it holds cannot be used.
    """
    reading, name = reading or Reading(), name or str(path)
    content = read_content(Path(path), reading, name)
    if isinstance(content, Mapping):
        return from_arrays(content, reading, name)
    return from_table(content, reading, name)


def read_content(path: Path, reading: Reading, name: str) -> Any:
    """Read a file as a DataFrame (tables) or a dict of arrays (other formats)."""
    suffix = file_suffix(path)
    if suffix is None:
        raise InputError(
            f"{name} has no known format; name it by one of {', '.join(sorted(_READERS))}"
        )
    return _content(path, suffix, name, reading)


def file_suffix(path: str | Path) -> str | None:
    """Return the suffix of a path if it names a supported format, such as ".csv.gz", else None."""
    lowered = Path(path).name.lower()
    return next((suffix for suffix in _READERS if lowered.endswith(suffix)), None)


def _content(path: Path, suffix: str, name: str, reading: Reading) -> Any:
    if os.path.isdir(path):
        raise InputError(f"{name} is a folder; name a file in it")
    check_size, read = _READERS[suffix]
    try:
        if path.stat().st_size == 0:
            raise InputError(f"{name} is an empty file; save the data again")
        check_size(path, reading.limit)
        content = read(path, reading)
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
        raise InputError(not_text(path, name)) from None
    except ImportError as error:
        # pandas names the missing package only in the cause of its own error.
        package = error.name or getattr(error.__cause__, "name", None) or "convexfs[tables]"
        raise InputError(
            f"{name} needs a package to be read: pip install '{package.replace('_', '-')}' "
            "(or convexfs[tables], which has all of them)"
        ) from None
    except Exception as error:  # Readers raise any exception that their parsers meet.
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InputError(
            f"{name} cannot be read as {suffix} ({reason}); check that the file is whole "
            "and its suffix right"
        ) from error


def from_arrays(arrays: Mapping[str, Any], reading: Reading, name: str) -> Dataset:
    """Make a Dataset of arrays by name: X, the target and, if given, names, split and ids."""
    if reading.id is not None or (
        reading.transpose and not isinstance(arrays, matrix_market.TransposedArrays)
    ):
        raise InputError(f"{name} is no table with columns: leave --id and --transpose out")
    if reading.labels is not None:
        arrays, reading = _labelled(arrays, reading, name)
    options = [key for key in arrays if key not in anndata_plink.RESERVED]
    for column in reading.aside:
        if column not in options:
            raise InputError(f"{name} has no array '{column}'; {did_you_mean(column, options)}")
    wanted = None if reading.target is None else reading.target.removeprefix("obs:")
    labels = wanted or next((key for key in ("y", "Y") if key in options), None)
    if labels is None and isinstance(arrays, matrix_market.TransposedArrays):
        raise InputError(f"{name} holds a matrix alone; give the classes of its rows by --labels")
    if "X" not in arrays or labels is None:
        raise InputError(
            f"{name} must hold arrays X and y, but holds {', '.join(arrays) or 'nothing'}; "
            "save a dense X (X.toarray() if it is sparse) and its labels y, or name these by "
            "target= (--target)"
        )
    if labels not in options:
        raise InputError(f"{name} has no label array '{labels}'; {did_you_mean(labels, options)}")
    names = _listed(arrays.get("feature_names"))
    names = None if names is None else distinct_names(names, reading.tell)
    data = make_dataset(
        arrays["X"],
        arrays[labels],
        names,
        _listed(arrays.get("class_names")),
        name=name,
        target=labels,
        split=arrays.get("split"),
        ids=_listed(arrays.get("ids")),
        aside={column: np.ravel(arrays[column]) for column in reading.aside},
        **reading.of_data_set,
    )
    if names is None or anndata_plink.SYMBOLS not in arrays:
        return data
    return with_metadata(data, names, {"symbol": tuple(arrays[anndata_plink.SYMBOLS])})


def _labelled(
    arrays: Mapping[str, Any], reading: Reading, name: str
) -> tuple[Mapping[str, Any], Reading]:
    """Join labels from another file; return arrays of labelled samples, and the new options."""
    named = "ids" in arrays
    if "X" not in arrays or not (named or isinstance(arrays, matrix_market.TransposedArrays)):
        raise InputError(f"{name} names no samples, so no labels can be joined; leave --labels out")
    if named:
        found = join_labels(_listed(arrays["ids"]), "ids", reading, name, list(arrays))
    else:
        found = in_order(arrays["X"].shape[0], reading, name)
    kept = ("X", *(["ids"] if named else []), *reading.aside)
    rows = {key: arrays[key][found.known] for key in kept if key in arrays} | dict(found.aside)
    whole = {key: arrays[key] for key in ("feature_names", anndata_plink.SYMBOLS) if key in arrays}
    return {**rows, **whole, found.target: found.labels}, replace(reading, target=found.target)


def _check_text_arrays(arrays: Mapping[str, Any]) -> None:
    """Raise ValueError for texts that are no valid Unicode, because numpy accepts any bytes."""
    for key, values in arrays.items():
        if values.dtype.kind == "U" and values.size:
            codes = np.ravel(values).astype(values.dtype.newbyteorder("=")).view(np.uint32)
            if ((codes > sys.maxunicode) | (codes // 0x800 == _SURROGATES)).any():
                raise ValueError(f"its {key} holds text that is no Unicode")


def _listed(names: np.ndarray | None) -> Any:
    """Return names as a flat array, whatever the shape they were saved in; None stays None."""
    return None if names is None else np.ravel(names)


def _read_parquet(path: Path, reading: Reading) -> "pd.DataFrame":
    from pyarrow import parquet

    # Read by pyarrow and rename columns: pandas' error about repeated names is hard to understand.
    with parquet.ParquetFile(path) as file:
        table = file.read()
    if len(set(table.column_names)) < table.num_columns:
        table = table.rename_columns(distinct_names(table.column_names, reading.tell))
    return table.to_pandas()


def _read_workbook(path: Path, reading: Reading) -> "pd.DataFrame":
    import pandas as pd

    with pd.ExcelFile(path, engine="calamine") as book:
        sheets = [str(sheet) for sheet in book.sheet_names]
        sheet = reading.sheet or sheets[0]
        if sheet not in sheets:
            raise InputError(f"{path.name} has no sheet '{sheet}'; {did_you_mean(sheet, sheets)}")
        if len(sheets) > 1 and reading.sheet is None:
            reading.tell(f"of {len(sheets)} sheets '{sheet}' is read, the first")
        kind = object if reading.transpose else None
        frame = pd.read_excel(book, sheet_name=sheet, header=None, dtype=kind)
    if not len(frame):
        raise InputError(f"sheet '{sheet}' of {path.name} is empty; name another by --sheet")
    header = ["" if pd.isna(cell) else str(cell) for cell in frame.iloc[0]]
    body = frame.iloc[1:].reset_index(drop=True)
    body = body.mask(body.isin(MISSING))
    if header[0] == "":
        header[0] = "id"
    if "" in header:
        raise InputError(
            f"{path.name} has no name for column {header.index('') + 1} of sheet '{sheet}'; name "
            "it in the first row"
        )
    return body.set_axis(distinct_names(header, reading.tell), axis=1).infer_objects()


def _read_arff(path: Path, _: Reading) -> "pd.DataFrame":
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


def _read_npz(path: Path, _: Reading) -> dict[str, np.ndarray]:
    with np.load(path, allow_pickle=False) as archive:
        return {key: archive[key] for key in archive.files}


def _read_libsvm(path: Path, reading: Reading) -> dict[str, np.ndarray]:
    from sklearn.datasets import load_svmlight_file

    sparse, labels, *_ = load_svmlight_file(str(path))
    return {"X": stored_or_dense(sparse, reading, path.name), "y": labels}


_Check = Callable[[Path, ReadLimit], None]
_Reader = Callable[[Path, Reading], Any]
_Row = tuple[_Check, _Reader]
_CSV: _Row = check_separated, read_separated
_TSV: _Row = partial(check_separated, usual="\t"), partial(read_separated, usual="\t")
_LIBSVM: _Row = partial(memory_estimate.check_written, mark=b":"), _read_libsvm
#: Peak bytes per cell of an arff file: scipy makes a Python object of each.
_ARFF_CELL = 100
_TEXT = {".csv": _CSV, ".tsv": _TSV, ".txt": _TSV}
#: By suffix: the function that checks the size of a file, and the one that reads it.
_READERS: dict[str, _Row] = {
    **{suffix + packed: row for packed in (".gz", ".zst", "") for suffix, row in _TEXT.items()},
    ".xlsx": (memory_estimate.check_workbook, _read_workbook),
    ".parquet": (memory_estimate.check_parquet, _read_parquet),
    ".arff": (partial(memory_estimate.check_written, mark=b",", cell=_ARFF_CELL), _read_arff),
    ".npz": (memory_estimate.check_npz, _read_npz),
    ".mat": (memory_estimate.check_mat, lambda path, reading: read_mat(path, reading.limit)),
    ".h5ad": (memory_estimate.check_hdf5, anndata_plink.read_h5ad),
    ".bed": (anndata_plink.check_bed, anndata_plink.read_bed),
    **dict.fromkeys((".mtx", ".mtx.gz"), (matrix_market.check_market, matrix_market.read_market)),
    ".libsvm": _LIBSVM,
    ".svm": _LIBSVM,
    ".svmlight": _LIBSVM,
}
