"""Write data sets and tables to files, each by the library for its format."""

import os
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from convexfs.data.dataset import Dataset, feature_frame
from convexfs.data.readers.options import unused_name
from convexfs.errors import InputError, writing

if TYPE_CHECKING:
    import pandas as pd

#: Most columns of an Excel worksheet.
_WIDEST_SHEET = 16_384
#: Optional packages that writing needs, by suffix.
_PACKAGES = {".xlsx": "openpyxl", ".h5ad": "h5py", ".parquet": "pyarrow"}


def write_file(data: Dataset, path: str | Path) -> None:
    """Write a Dataset to a file, in a format that :func:`convexfs.load` reads back.

    Parameters
    ----------
    data : Dataset
    path : str or Path
        Its suffix chooses the format: .csv, .tsv, .parquet, .xlsx or .npz.
    """
    path = Path(path)
    suffix = check_target(path, WRITERS)
    with writing(path):
        WRITERS[suffix](data.dense(), path)


def check_target(path: str | Path, suffixes: Iterable[str]) -> str:
    """Return the suffix of an output path; raise if format, package, folder or permission lacks."""
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in suffixes:
        raise InputError(f"{path} has no known format; name it by one of {', '.join(suffixes)}")
    check_package(path)
    if path.is_dir():
        raise InputError(f"{path} is a folder; name a file in it")
    if not path.parent.is_dir():
        raise InputError(f"there is no folder {path.parent} to write {path.name} in; make it first")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise InputError(f"{path} cannot be written: you have no permission; name another file")
    return suffix


def check_package(path: Path) -> None:
    """Raise InputError if writing this format needs a package that is not installed."""
    package = _PACKAGES.get(path.suffix.lower())
    if package is not None and find_spec(package) is None:
        raise InputError(
            f"{path} needs a package to be written: pip install '{package}' (or convexfs[tables], "
            "which has all of them), or write .csv"
        )


def _frame(data: Dataset) -> "pd.DataFrame":
    frame = feature_frame(data).copy()
    # Rename the target column if a feature has the same name.
    frame[unused_name(data.target, frame.columns)] = data.labels
    if data.ids is not None:
        frame.insert(0, data.id_name if data.id_name not in frame.columns else "id", data.ids)
    return frame


def _write_workbook(data: Dataset, path: Path) -> None:
    if data.n_features >= _WIDEST_SHEET:
        raise InputError(
            f"{path} cannot hold {data.n_features} features: a sheet has {_WIDEST_SHEET} columns; "
            "write .csv or .parquet"
        )
    FRAME_WRITERS[".xlsx"](_frame(data), path)


def _write_npz(data: Dataset, path: Path) -> None:
    arrays = {"X": data.X, "y": data.y, "feature_names": np.asarray(data.feature_names)}
    if not data.numeric:
        arrays["class_names"] = np.asarray(data.class_names)
    if data.split is not None:
        arrays["split"] = data.split
    if data.ids is not None:
        arrays["ids"] = np.asarray(data.ids)
    np.savez_compressed(path, allow_pickle=False, **arrays)


def write_frame(frame: "pd.DataFrame", path: str | Path) -> None:
    """Write a DataFrame to a csv, tsv, parquet or xlsx file.

    Parameters
    ----------
    frame : DataFrame
    path : str or Path
        Its suffix chooses the format: .csv, .tsv, .parquet or .xlsx.
    """
    path = Path(path)
    suffix = check_target(path, FRAME_WRITERS)
    with writing(path):
        FRAME_WRITERS[suffix](frame, path)


FRAME_WRITERS: dict[str, Callable[["pd.DataFrame", Path], None]] = {
    ".csv": lambda frame, path: frame.to_csv(path, index=False),
    ".tsv": lambda frame, path: frame.to_csv(path, index=False, sep="\t"),
    ".parquet": lambda frame, path: frame.to_parquet(path, index=False),
    ".xlsx": lambda frame, path: frame.to_excel(path, index=False, engine="openpyxl"),
}
WRITERS: dict[str, Callable[[Dataset, Path], None]] = {
    **{
        suffix: lambda data, path, write=write: write(_frame(data), path)
        for suffix, write in FRAME_WRITERS.items()
    },
    ".xlsx": _write_workbook,
    ".npz": _write_npz,
}
