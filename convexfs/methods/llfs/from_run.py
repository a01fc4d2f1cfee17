"""Load a fitted LLFS from the stored points of a folder, such as a cluster's batch."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from convexfs.batch.callable_hash import callable_sha256
from convexfs.batch.problem_files.load import canonical
from convexfs.batch.store.store import Store
from convexfs.batch.tasks import DEFAULT_ACCURACY
from convexfs.data import Dataset, load
from convexfs.data.specs import BUNDLED, GENERATORS
from convexfs.errors import InputError, RunError
from convexfs.estimators.custom_formulation import changed_file
from convexfs.methods.llfs import METHOD
from convexfs.methods.llfs.fit import PointResult, PointWork
from convexfs.methods.llfs.settings import Settings
from convexfs.methods.llfs.tasks import (
    AS_PRINTED,
    POINT,
    POINT_LABEL,
    digest,
    pruned,
    stored_points,
)

#: Most alternatives and points that a message names.
LISTED = 8


@dataclass
class _Stored:
    """One stored model: its parameters, data, and the store's key of each point."""

    chosen: dict[str, Any]
    data_sha256: str
    problem_file: str
    changed: str
    specs: set[str] = field(default_factory=set)
    keys: dict[int, str] = field(default_factory=dict)


def stored_model(
    estimator: type[Any],
    run_dir: str | Path,
    data: Any,
    solver: str | None,
    hyper: Mapping[str, Any],
) -> tuple[dict[str, Any], Any, Any, Callable[..., list[PointResult]]]:
    """Return the only complete model of a folder that matches the arguments, or raise.

    Returns
    -------
    parameters, X, y
    points : callable
        A ``map`` that returns the model's points.
    """
    models = _models(run_dir)
    asked = dict(hyper) if solver is None else {**hyper, "solver": solver}
    models = [model for model in models if _is_meant(model, asked)] or _fail(
        f"{run_dir}: no model there has {_words(asked)}; it holds {_choices(models)}"
    )
    samples = None
    if data is not None:
        models, samples = _on(models, data, run_dir)
    if len(models) > 1:
        _fail(
            f"{run_dir}: holds {len(models)} models; say which one by data=, solver= or other "
            f"parameters: {_choices(models)}"
        )
    (model,) = models
    X, y = _own_data(model, run_dir) if samples is None else samples
    _check_all_there(model, len(X), run_dir)
    _check_file(model, asked.get("formulation"), run_dir)
    _check_options(model, asked, run_dir)
    further = {row.name for row in fields(estimator)} - set(model.chosen)
    parameters = {name: value for name, value in model.chosen.items() if name != "data"}
    parameters |= {name: value for name, value in asked.items() if name in further}
    parameters["run_dir"] = run_dir

    def points(work: PointWork, numbers: Iterable[int]) -> list[PointResult]:
        if work.settings.n_passes < model.chosen["n_passes"]:
            # The store holds the results of the last pass.
            return [work(point) for point in numbers]
        with Store.read(run_dir) as store:
            points = list(stored_points(store, model.keys.values()))
        _check_points(points, work, run_dir)
        return points

    return parameters, X, y, points


def _check_points(points: list[PointResult], work: PointWork, run_dir: str | Path) -> None:
    """Raise unless every sample has one point, with features that the data have."""
    numbers = sorted(own.point for own in points)
    fits = all(((own.features >= 0) & (own.features < work.n_features)).all() for own in points)
    if not fits or numbers != list(range(len(work.X))):
        raise RunError(f"{run_dir}: is damaged: its points do not match its tasks; fit again")


def _fail(message: str) -> Any:
    raise InputError(message)


def _models(run_dir: str | Path) -> list[_Stored]:
    """Return every model that a folder has points of; raise if there is none."""
    with Store.read(run_dir) as store:
        rows = store.solutions(blobs=False)
        answered = set(rows["key"][rows["label"].str.startswith(POINT_LABEL, na=False)])
        tasks: Any = store.tasks().sort_values("finished_utc", kind="stable")
    if not answered:
        _fail(f"{run_dir}: holds no {POINT}s of {METHOD.name}; give the folder of a run with some")
    models: dict[str, _Stored] = {}
    for row in tasks[tasks["key"].isin(answered)].astype(object).to_dict("records"):
        if not isinstance(row["hyper"], str):
            _fail(f"{run_dir}: an earlier version kept its {POINT}s without settings; fit again")
        hyper = json.loads(row["hyper"])
        if row["repeat"] == row["repeat"] and row["repeat"]:  # Measured repeatedly.
            continue
        point, changed = hyper.pop(POINT, None), row["problem_code"] != AS_PRINTED
        try:
            chosen = _chosen(row, hyper)
        except (TypeError, ValueError) as error:
            raise RunError(f"{run_dir}: is damaged: the options of a task are {error}") from error
        if not isinstance(point, int):
            raise RunError(f"{run_dir}: is damaged: a task names no {POINT}; fit again")
        model = _Stored(
            chosen, row["data_sha256"], row["problem_file"] or "",
            row["problem_code"] if changed else "",
        )  # fmt: skip
        known = canonical([model.chosen, model.data_sha256, model.changed])
        # If a point was computed again after a code change, the last result counts.
        model = models.setdefault(known, model)
        model.keys[point] = row["key"]
        model.specs |= {row["data"]} - {""}
    return list(models.values())


def _chosen(row: Mapping[str, Any], hyper: Mapping[str, Any]) -> dict[str, Any]:
    """Return the estimator parameters that would produce such points."""
    settings = dict(vars(Settings()))
    limit, tol = row["time_limit"], row["tol"]
    more = {
        "solver": row["solver"], "solver_tol": DEFAULT_ACCURACY if tol != tol else tol,
        "solver_options": json.loads(row["options"]) or None,
        "time_limit": None if limit != limit else limit, "random_state": row["seed"],
        "prune_to": None,
    }  # fmt: skip
    own = {name: value for name, value in hyper.items() if name in {**settings, **more}}
    return {**settings, **more, **own}


def _is_meant(model: _Stored, asked: Mapping[str, Any]) -> bool:
    known = model.chosen
    return all(_same(known[name], value) for name, value in asked.items() if name in known)


def _same(stored: Any, asked: Any) -> bool:
    if isinstance(stored, str) and isinstance(asked, str):
        return stored.lower() == asked.lower()
    return bool(np.array_equal(np.asarray(stored), np.asarray(asked)))


def _words(asked: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in asked.items())


def _choices(models: list[_Stored]) -> str:
    """List up to 8 values of each parameter that differs, or else of data, solver and form."""
    told = [{"data": _spec(model), **model.chosen} for model in models]
    values = {name: list(dict.fromkeys(repr(each[name]) for each in told)) for name in told[0]}
    shown = {name for name, each in values.items() if len(each) > 1} or {"data", "solver", "form"}
    listed = []
    for name in values:
        if name in shown:
            more = " ..." if len(values[name]) > LISTED else ""
            listed.append(f"{name}={', '.join(values[name][:LISTED])}{more}")
    return "; ".join(listed)


def _spec(model: _Stored) -> str:
    return min(model.specs, default="arrays")


def _on(models: list[_Stored], data: Any, run_dir: str | Path) -> tuple[list[_Stored], Any]:
    """Return the models fitted to `data`, and (X, y) of the data; raise if there is none."""
    for X, y, codes in _readings(data):
        matching = [model for model in models if _digest(model, X, codes) == model.data_sha256]
        if matching:
            return matching, (X, y)
    return _fail(f"{run_dir}: no model there was fitted to these data; it holds {_choices(models)}")


def _readings(data: Any) -> list[tuple[Any, Any, np.ndarray]]:
    """Return (X, y, codes) for each form in which a run may have used the data."""
    if isinstance(data, str | Path):
        data = load(str(data))
    if isinstance(data, Dataset):
        return [(each.X, each.y, each.y) for each in (data.training.scaled(), data)]
    X, y = data
    return [(X, y, np.unique(np.asarray(y), return_inverse=True)[1])]


def _digest(model: _Stored, X: Any, codes: np.ndarray) -> str:
    samples = np.asarray(X, dtype=np.float64)
    return digest(samples[:, pruned(samples, codes, model.chosen["prune_to"])], codes)


def _own_data(model: _Stored, run_dir: str | Path) -> tuple[Any, Any]:
    """Return (X, y) of the generated or bundled data of a batch; raise for files and arrays."""
    if not model.specs:
        _fail(f"{run_dir}: these points were fitted to arrays; give them as data=(X, y)")
    spec = _spec(model)
    if spec.partition(":")[0] not in (*GENERATORS, *BUNDLED):
        _fail(f"{run_dir} was computed on {spec}: give it as data=, for a folder does not choose "
              "which files are read")  # fmt: skip
    data = load(spec).training.scaled()
    if _digest(model, data.X, data.y) != model.data_sha256:
        raise RunError(f"{spec} is not the data of the run: it has changed; give those as data=")
    return data.X, data.y


def _check_all_there(model: _Stored, n_samples: int, run_dir: str | Path) -> None:
    missing = sorted(set(range(n_samples)) - set(model.keys))
    if missing:
        listed = ", ".join(map(str, missing[:LISTED])) + (", ..." if len(missing) > LISTED else "")
        _fail(
            f"{run_dir}: {len(missing)} of {n_samples} {POINT}s are unfinished or failed "
            f"({listed}): start the same run again, with --retry-failed, to go on"
        )


def _check_file(model: _Stored, formulation: Any, run_dir: str | Path) -> None:
    """Raise unless the caller passes the run's problem file or function, unchanged.

    A problem file is code. Its path in the store is shown and never followed.
    """
    if not model.changed:
        if formulation is not None:
            _fail(f"{run_dir} was computed without a problem file: leave formulation= out")
        return
    if callable(formulation) and not model.problem_file:
        if callable_sha256(formulation) != model.changed:
            raise RunError(f"formulation= is not the function of {run_dir}: it has changed")
        return
    if not isinstance(formulation, str | Path):
        what = model.problem_file or "a function"
        _fail(f"{run_dir} was computed with {what}: give that as formulation=; "
              "it is code, and a folder does not choose what is run")  # fmt: skip
    if changed_file(formulation, METHOD.name).code_sha256 != model.changed:
        raise RunError(f"{formulation} is not the problem file of the run: it has changed")


def _check_options(model: _Stored, asked: Mapping[str, Any], run_dir: str | Path) -> None:
    """Raise if stored solver options may name files and the caller does not pass them."""
    options = model.chosen["solver_options"] or {}
    if "solver_options" not in asked and any(isinstance(own, str) for own in _leaves(options)):
        _fail(f"{run_dir} was computed with solver_options={options}: give them too, for options "
              "in words may name files")  # fmt: skip


def _leaves(value: Any) -> Iterator[Any]:
    """Yield the values of nested dicts and lists."""
    if isinstance(value, Mapping | list):
        for part in value.values() if isinstance(value, Mapping) else value:
            yield from _leaves(part)
    else:
        yield value
