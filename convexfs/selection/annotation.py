"""Write results into AnnData objects: columns of ``var`` and entries of ``uns``, as in scanpy."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import convexfs
from convexfs.data.counts import LOG1P
from convexfs.data.readers.anndata_plink import has_entry, write_h5ad
from convexfs.errors import InputError
from convexfs.selection.class_markers import ClassMarkers
from convexfs.selection.effect_sizes import class_means
from convexfs.selection.result import Selection, order

#: Keys of ``uns`` where scanpy stores the markers of groups and the flag of log-transformed data.
KEY, LOGGED = "rank_genes_groups", "log1p"
#: Constant that scanpy adds to means before it divides them.
_LEAST = 1e-9


def annotate(found: Selection | ClassMarkers, adata: Any, key: str = KEY) -> None:
    """Write a selection or the markers of classes into an AnnData object, in place.

    Raises
    ------
    InputError
        If the object lacks features of the selection.
    """
    names = {str(name): place for place, name in enumerate(adata.var_names)}
    missing = [name for name in found.data.feature_names if name not in names]
    if missing:
        raise InputError(
            f"the AnnData object has no feature '{missing[0]}' ({len(missing):,} missing in all); "
            "pass the object that the features were selected from"
        )
    places = [names[name] for name in found.data.feature_names]
    for name, values in var_columns(found).items():
        column = np.full(len(names), _empty(values), dtype=values.dtype)
        column[places] = values
        adata.var[name] = column
    adata.uns.update(uns_entries(found, LOGGED in adata.uns, key))


def write_annotated(found: Selection | ClassMarkers, source: Path, path: Path) -> None:
    """Write a copy of a .h5ad file with the results in var and uns."""
    write_h5ad(source, path, var_columns(found), uns_entries(found, has_entry(source, LOGGED)))


def var_columns(found: Selection | ClassMarkers) -> dict[str, np.ndarray]:
    """Return new columns of ``var`` by name (weight, selected, tests), one value per feature."""
    if isinstance(found, ClassMarkers):
        lists = [[] for _ in found.data.feature_names]
        for name, part in found.parts.items():
            for j in order(part):
                lists[j].append(name)
        marked = np.array([", ".join(own) for own in lists], dtype=object)
        return {"convexfs_selected": found.support, "convexfs_marker_of": marked}
    columns = {"convexfs_weight": found.weights}
    if found.support is not None:
        columns["convexfs_selected"] = found.support
    for name, values in found.evidence().items():
        texts = values.dtype.kind == "O"
        filled = [value or "" for value in values]
        columns[f"convexfs_{name}"] = np.array(filled, dtype=object) if texts else values
    return columns


def uns_entries(
    found: Selection | ClassMarkers, logged: bool = False, key: str = KEY
) -> dict[str, Any]:
    """Return entries for ``uns``: how features were selected, and tested markers as in scanpy."""
    told = {"version": convexfs.__version__, "method": found.method, "line": found.line}
    entries: dict[str, Any] = {"convexfs": told | found.told()}
    if isinstance(found, ClassMarkers) and found.tests:
        logged = logged or LOG1P in found.data.told
        entries[key] = _rank_genes_groups(found, logged)
    return entries


def _rank_genes_groups(found: ClassMarkers, logged: bool) -> dict[str, Any]:
    """Return markers in scanpy's form: arrays with one field per class, sorted by score.

    A score is the statistic of the test where that is positive, else 0, negative if the class
    has the lower mean.
    """
    names, columns = np.array(found.data.feature_names, dtype=object), {}
    for name, part in found.parts.items():
        test = found.tests[name]
        means = class_means(part.data)
        scores = np.sign(means[1] - means[0]) * np.maximum(test.centred, 0.0)
        adjusted = test.max_t_pvalues if test.control == "fwer" else test.qvalues
        own = {
            "names": names,
            "scores": scores.astype(np.float32),
            "pvals": test.pvalues,
            "pvals_adj": adjusted,
            "logfoldchanges": _log_fold_changes(means, logged),
        }
        order = np.argsort(-scores, kind="stable")
        columns[name] = {what: values[order] for what, values in own.items()}
    test = next(iter(found.tests.values()))
    params = {
        "groupby": found.data.target, "reference": "rest", "method": f"convexfs {found.method}",
        "use_raw": False, "corr_method": f"convexfs {test.control}",
    }  # fmt: skip
    first = next(iter(columns.values()))
    return {"params": params} | {what: _structured(columns, what) for what in first}


def _structured(columns: Mapping[str, Mapping[str, np.ndarray]], what: str) -> np.ndarray:
    fields = [(name, own[what].dtype) for name, own in columns.items()]
    return np.rec.fromarrays([own[what] for own in columns.values()], dtype=fields)


def _log_fold_changes(means: np.ndarray, logged: bool) -> np.ndarray:
    """Return log2 fold changes as scanpy computes them; NaN if the data are not log-transformed."""
    if not logged:
        return np.full(means.shape[1], np.nan, dtype=np.float32)
    rest, own = np.expm1(np.maximum(means, 0.0)) + _LEAST
    return np.log2(own / rest).astype(np.float32)


def _empty(values: np.ndarray) -> Any:
    """Return the value for features that were not in the data: False, an empty text or NaN."""
    return {"b": False, "O": ""}.get(values.dtype.kind, np.nan)
