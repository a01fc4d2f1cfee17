"""Read and write AnnData files of single cells, and read PLINK's genotypes."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from convexfs.data.dataset import symbol_column
from convexfs.data.readers.memory_limit import ReadLimit
from convexfs.data.readers.options import Reading
from convexfs.data.sparse import check_stored, stored_or_dense
from convexfs.errors import InputError, did_you_mean

_NUMBER = 8
#: Names of arrays with a fixed meaning in :func:`convexfs.data.readers.files.from_arrays`.
SYMBOLS = "feature_symbols"
RESERVED = frozenset({"X", "feature_names", SYMBOLS, "class_names", "split", "ids"})
#: Codes of an unknown phenotype in .fam files; without `labels`, such samples are left out.
_NO_PHENOTYPE = ("-9", "0", "NA", "")


def read_h5ad(path: Path, reading: Reading) -> dict[str, Any]:
    """Read an AnnData file into arrays by name: X or a layer, feature names, ids, obs columns.

    By the format that AnnData documents, since the package itself is not made for every
    version of pandas.
    """
    import h5py

    file: Any
    with h5py.File(path) as file:
        layers = list(file["layers"]) if "layers" in file else []
        _check_layer(reading.layer, layers, path.name, "X" in file)
        stored = file["X"] if reading.layer is None else file["layers"][reading.layer]
        columns = {key: _column(file["obs"][key]) for key in _columns(file["obs"])}
        named = filter(None, [symbol_column(_columns(file["var"]))])
        return {
            **{key: values for key, values in columns.items() if key not in RESERVED},
            "X": _matrix(stored, reading, path.name),
            "feature_names": _index(file["var"]),
            "ids": _index(file["obs"]),
            **_symbols({key: _column(file["var"][key]) for key in named}),
        }


def arrays_of(data: Any, reading: Reading, name: str) -> dict[str, Any]:
    """Return an AnnData object as the arrays by name that read_h5ad would return."""
    _check_layer(reading.layer, list(data.layers), name, data.X is not None)
    X = data.X if reading.layer is None else data.layers[reading.layer]
    if hasattr(X, "toarray"):
        X = stored_or_dense(X, reading, name)
    columns = {key: np.asarray(data.obs[key], object) for key in data.obs if key not in RESERVED}
    names = {"feature_names": data.var_names, "ids": data.obs_names}
    fixed = {key: np.asarray(values, dtype=object) for key, values in names.items()}
    symbols = _symbols({key: np.asarray(data.var[key], object) for key in data.var})
    return {**columns, **fixed, **symbols, "X": X if sparse.issparse(X) else np.asarray(X)}


def _symbols(columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return {"feature_symbols": texts} if a column of var has gene symbols, else {}."""
    name = symbol_column(columns)
    if name is None:
        return {}
    return {SYMBOLS: np.array([str(v or "") for v in columns[name]], dtype=object)}


def write_h5ad(
    source: Path,
    path: Path,
    columns: Mapping[str, np.ndarray],
    uns: Mapping[str, Any] | None = None,
) -> None:
    """Copy an AnnData file, unless `path` is the same, and add columns to var and entries to uns.

    Columns hold numbers, truths or texts, entries texts, truths, numbers, structured arrays or
    mappings of these.
    """
    import h5py

    if source.resolve() != path.resolve():
        shutil.copyfile(source, path)
    file: Any
    with h5py.File(path, "r+") as file:
        var = file["var"]
        order = [name for name in _columns(var) if name not in columns]
        for name, values in columns.items():
            _store(var, name, values)
        var.attrs["column-order"] = np.array([*order, *columns], dtype=h5py.string_dtype())
        if "uns" not in file:
            _store(file, "uns", {})
        for name, entry in (uns or {}).items():
            _store(file["uns"], name, entry)


def has_entry(path: Path, name: str) -> bool:
    """Return whether uns of an AnnData file has an entry of this name."""
    import h5py

    file: Any
    with h5py.File(path) as file:
        return "uns" in file and name in file["uns"]


def _store(group: Any, name: str, value: Any) -> None:
    """Write a value into an HDF5 group in AnnData's format, replacing an existing one."""
    import h5py

    text = h5py.string_dtype()
    if name in group:
        del group[name]
    if isinstance(value, Mapping):
        made, kind, version = group.create_group(name), "dict", "0.1.0"
        for key, entry in value.items():
            _store(made, key, entry)
    elif isinstance(value, str):
        made, kind, version = group.create_dataset(name, data=value, dtype=text), "string", "0.2.0"
    elif np.ndim(value) == 0:
        made, kind, version = group.create_dataset(name, data=value), "numeric-scalar", "0.2.0"
    elif value.dtype.names:
        fields = [(own, text if value[own].dtype.kind == "O" else value[own].dtype)
                  for own in value.dtype.names]  # fmt: skip
        made, kind, version = (
            group.create_dataset(name, data=value.astype(fields)), "rec-array", "0.2.0",
        )  # fmt: skip
    elif value.dtype.kind in "OU":
        made = group.create_dataset(name, data=value.astype(object), dtype=text)
        kind, version = "string-array", "0.2.0"
    else:
        made, kind, version = group.create_dataset(name, data=value), "array", "0.2.0"
    made.attrs["encoding-type"], made.attrs["encoding-version"] = kind, version


def _check_layer(layer: str | None, layers: list[str], name: str, has_x: bool) -> None:
    if layer is not None and layer not in layers:
        near = did_you_mean(layer, layers) if layers else "it has none"
        raise InputError(f"{name} has no layer '{layer}'; {near}")
    if layer is None and not has_x:
        raise InputError(f"{name} has no X; name a layer by --layer: {', '.join(layers)}")


def _matrix(stored: Any, reading: Reading, name: str) -> Any:
    """Read a stored matrix: dense ones as they are, sparse ones sparse if options allow it."""
    if hasattr(stored, "shape"):
        rows, columns = stored.shape
        what = f"{name}, as a dense matrix of {rows} x {columns},"
        reading.limit.check(rows * columns * _NUMBER, what)
        return stored[()]
    kinds = {"csr_matrix": sparse.csr_matrix, "csc_matrix": sparse.csc_matrix}
    kind = stored.attrs.get("encoding-type", stored.attrs.get("h5sparse_format", ""))
    if kind not in kinds:
        raise ValueError(f"its X is stored as '{kind}'")
    shape = tuple(int(size) for size in stored.attrs["shape"])
    check_stored(shape, stored["data"].shape[0], reading, name)
    parts = tuple(stored[part][()] for part in ("data", "indices", "indptr"))
    return stored_or_dense(kinds[kind](parts, shape), reading, name)


def _columns(frame: Any) -> list[str]:
    return [str(name) for name in frame.attrs["column-order"] if str(name) in frame]


def _index(frame: Any) -> np.ndarray:
    return _column(frame[frame.attrs["_index"]])


def _column(stored: Any) -> np.ndarray:
    """Read a column of obs or var, decoding categories and masks; missing values are None."""
    if hasattr(stored, "shape"):
        return stored.asstr()[()] if stored.dtype.kind == "O" else stored[()]
    if "codes" in stored:
        codes, categories = stored["codes"][()], _column(stored["categories"])
        values = categories.astype(object)[codes]
        values[codes < 0] = None
        return values
    values = _column(stored["values"]).astype(object)
    values[stored["mask"][()]] = None
    return values


def check_bed(path: Path, limit: ReadLimit) -> None:
    """Raise if PLINK's genotypes would exceed the memory limit: each byte becomes 4 floats."""
    limit.check(4 * path.stat().st_size * _NUMBER, path.name)


def read_bed(path: Path, reading: Reading) -> dict[str, Any]:
    """Read genotypes (copies of the first allele) and, unless labels are given, phenotypes.

    Samples without a phenotype are then left out.
    """
    from bed_reader import open_bed

    for beside in (path.with_suffix(".bim"), path.with_suffix(".fam")):
        if not beside.exists():
            raise InputError(f"{path.name} needs {beside.name} beside it; put it there")
    with open_bed(path) as bed:
        X = bed.read(dtype="float64")
        ids, names, phenotype = bed.iid, bed.sid, np.asarray(bed.pheno, dtype=str)
    known = ~np.isin(phenotype, _NO_PHENOTYPE)
    if reading.labels is not None:
        return {"X": X, "feature_names": names, "ids": ids}
    if not known.any():
        raise InputError(
            f"{path.with_suffix('.fam').name} has no phenotype of any sample; give them in a file "
            "by --labels FILE:COLUMN (from Python labels=)"
        )
    if not known.all():
        reading.tell(f"{np.count_nonzero(~known)} samples without a phenotype are left out")
    return {"X": X[known], "feature_names": names, "ids": ids[known], "y": phenotype[known]}
