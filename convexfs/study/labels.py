"""Labels of instances, problem classes, settings, solvers and options in tables."""

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from convexfs.batch.problem_files.base import OWN_DATA
from convexfs.methods import stored_formulation
from convexfs.records import RAW
from convexfs.report.sanitiser import without_folders

DEFAULT = "default"
_CLASSES = {"SDP": "SDP", "POW": "POW", "EXP": "EXP", "SOC": "SOCP", "QP": "QP"}
#: Columns that are added to labels of instances that are otherwise equal.
_APART = ["formulation", "problem_file", "problem_code", "data_sha256", "seed", "time_limit"]
#: Columns of outcomes that hold paths.
_PATHS = ("problem_file", "data")


def settings(frame: pd.DataFrame) -> pd.Series:
    """Return each row's label of settings: the accuracy, and "raw" or "warm" if so."""
    default = frame["tol"].isna()
    accuracy = frame["tol"].map(format_tolerance).mask(default, DEFAULT)
    raw = frame["asked"].eq(RAW).fillna(False) & ~default
    warm = frame["warm_from"].fillna("").ne("")
    return (
        accuracy + raw.map({True: " raw", False: ""}) + warm.map({True: " warm", False: ""})
    ).astype("string")


def format_tolerance(tol: float) -> str:
    """Format an accuracy in the fewest characters: 1e-04, 2.5e-07."""
    short = f"{tol:.0e}"
    return short if float(short) == tol else f"{tol:g}"


def solvers(frame: pd.DataFrame) -> pd.Series:
    """Return each row's label of the solver: name, interface and options set by the user.

    Each choice is one to compare.
    """
    named = frame["own_options"].fillna("{}").map(words)
    called = frame["solver"] + " " + frame["interface"].fillna("")
    return (called.str.strip() + " " + named).str.strip().astype("string")


@cache
def words(options: str) -> str:
    """Format a JSON object as ``name=value`` words; nested names are joined by dots."""
    return " ".join(_words(json.loads(options)))


def _words(options: dict[str, Any], inside: str = "") -> list[str]:
    told: list[str] = []
    for name, value in options.items():
        if isinstance(value, dict):
            told += _words(value, f"{inside}{name}.")
        else:
            told.append(f"{inside}{name}={_short(value)}")
    return told


def problem_classes(frame: pd.DataFrame) -> pd.Series:
    """Return each row's problem class, such as SOCP or MISDP: its most general cone, and integers.

    Tasks that were cut short have no note of it: another task of the instance has, or else
    the formulation as printed.
    """
    needs = frame["needs"]
    needs = needs.fillna(needs.groupby(frame["instance"]).transform("first"))
    classes = [
        _class(str(formulation) if pd.isna(need) else None, str(need))
        for need, formulation in zip(needs, frame["formulation"], strict=True)
    ]
    return pd.Series(classes, index=frame.index, dtype="string")


@cache
def _class(formulation: str | None, needs: str) -> str:
    if formulation is None:
        parts = set(needs.split(" + "))
        integer = "integer" in parts
    else:
        row = stored_formulation(formulation)
        parts, integer = row.cones, row.integer
    largest = next((name for cone, name in _CLASSES.items() if cone in parts), "LP")
    return f"MI{largest}" if integer else largest


def instances(frame: pd.DataFrame) -> pd.Series:
    """Return each row's instance label, the same only for the same problem, data and parameters."""
    labels = pd.Series(
        [
            " ".join(filter(None, [str(problem), _data_name(str(data)), words(str(hyper))]))
            for problem, data, hyper in zip(
                frame["problem"], frame["data"], frame["hyper"], strict=True
            )
        ],
        index=frame.index,
        dtype="string",
    )
    for name in _APART:
        told = from_common_folder(frame[name]) if name == "problem_file" else frame[name]
        values = told.map(lambda value, name=name: f" {name}={_short(value)}")
        labels = labels.where(values.groupby(labels).transform("nunique") == 1, labels + values)
    return labels


def _data_name(data: str) -> str:
    """Return the name of a data set; "" for a problem with its own data."""
    return "" if data == OWN_DATA else Path(data).name


def from_common_folder(paths: pd.Series) -> pd.Series:
    """Make absolute paths relative to their innermost common folder; other texts stay."""
    places = {path: Path(str(path)) for path in paths.dropna().unique()}
    folders = [place.parent for place in places.values() if place.is_absolute()]
    if not folders:
        return paths
    common = os.path.commonpath(folders)
    short = {
        path: str(place.relative_to(common)) if place.is_absolute() else path
        for path, place in places.items()
    }
    return paths.map(short).astype("string")


def without_places(frame: pd.DataFrame) -> pd.DataFrame:
    """Make paths relative to their common folder, and remove folders from messages (private)."""
    told = {name: from_common_folder(frame[name]) for name in _PATHS}
    folders = sorted(_folders(frame), key=len, reverse=True)
    said = frame["failure"].map(lambda text: without_folders(text, folders), na_action="ignore")
    return frame.assign(**told, failure=said.astype("string"))


def _folders(frame: pd.DataFrame) -> set[str]:
    paths = {str(path) for name in _PATHS for path in frame[name].dropna().unique()}
    return {path.rpartition("/")[0] + "/" for path in paths if path.startswith("/")}


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    text = str(value)
    return text[:8] if len(text) == 64 else text
