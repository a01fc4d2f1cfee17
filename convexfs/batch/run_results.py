"""The results of a run as data frames, vectors included; also the numbers of an experiment."""

import json
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from convexfs.batch.store.store import Store, task_frame, unpack
from convexfs.errors import InputError, did_you_mean
from convexfs.records import MEASURED, VERDICTS, Solution

_CERTIFICATE = (
    "primal_residual", "dual_residual", "complementarity", "gap", "certificate_tol", "basis"
)  # fmt: skip
#: A message shows this many characters of a task key, and this many keys.
_SHOWN = 12


def open_run(folder: str | Path) -> "Run":
    """Open the results of ``convexfs solve``, ``convexfs compare`` or :func:`convexfs.solve_batch`.

    Nothing of the folder is run. A run that is going on can be read meanwhile; every call of a
    method reads anew.

    Parameters
    ----------
    folder : path
        The ``--out`` of a command, or the `out` of a function.

    Returns
    -------
    Run

    Examples
    --------
    >>> import cvxpy as cp, convexfs, tempfile
    >>> x, floor = cp.Variable(name="x"), cp.Parameter(name="floor")
    >>> problem = cp.Problem(cp.Minimize(x), [x >= floor])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = convexfs.solve_batch(problem, {"floor": [1.0, 2.0]}, out=folder)
    ...     convexfs.open_run(folder).tasks()[["floor", "status", "ok"]].values.tolist()
    [[1.0, 'optimal', True], [2.0, 'optimal', True]]
    """
    with Store.read(folder):
        return Run(folder=Path(folder))


class Run:
    """The results of a batch; :func:`convexfs.open_run` and :func:`convexfs.solve_batch` make it.

    Parameters
    ----------
    folder : path, optional
        Where the results are; None if they are in memory.
    keys : sequence of str, optional
        The tasks that belong to it, in their order; None for all of the folder.
    rows : sequence of (task, solutions), optional
        The results, if they are in memory.
    """

    def __init__(
        self,
        folder: Path | None = None,
        keys: Sequence[str] | None = None,
        rows: Sequence[tuple[Mapping[str, Any], Sequence[Mapping[str, Any]]]] = (),
    ):
        self.folder, self._keys, self._rows = folder, keys, rows

    def tasks(self, primal: bool = False, dual: bool = False) -> pd.DataFrame:
        """Return a DataFrame with one row per task, and one column per hyperparameter.

        Parameters
        ----------
        primal, dual : bool
            Add the vectors of each task's solution: a column ``primal_NAME`` per variable, and
            ``dual_LABEL`` per constraint. Cells are arrays, or None where there is none.

        Returns
        -------
        DataFrame
            The store's columns, and one column per parameter of the grid (``grid_NAME`` where
            the store has a column of that name).
        """
        frame, solutions = self._tables(primal or dual)
        chosen = [json.loads(text) if isinstance(text, str) else {} for text in frame["hyper"]]
        for name in dict.fromkeys(name for values in chosen for name in values):
            column = f"grid_{name}" if name in frame.columns else name
            frame[column] = _column(values.get(name) for values in chosen)
        for kind in ["primal"] * primal + ["dual"] * dual:
            arrays = [_arrays(solutions.get(key), kind) for key in frame["key"]]
            for name in dict.fromkeys(name for own in arrays for name in own):
                cells = pd.Series([own.get(name) for own in arrays], frame.index, dtype=object)
                frame[f"{kind}_{name}"] = cells
        return frame

    def certificates(self) -> pd.DataFrame:
        """Return a DataFrame with the verdict on every task and the residuals that support it.

        ``ok`` is True (proven), False (refuted) or missing (undecided); ``verdict`` is the word,
        and ``reason`` says why a solution is refuted or undecided.
        """
        frame, solutions = self._tables()
        names = ["key", "problem", "hyper", "solver", "status", "objective", "ok"]
        verdicts = frame[names].copy()
        verdicts["verdict"] = [VERDICTS[_known(ok)] for ok in frame["ok"].astype(object)]
        verdicts["reason"] = frame["failure"]
        for name in _CERTIFICATE:
            verdicts[name] = _column(solutions.get(key, {}).get(name) for key in frame["key"])
        return verdicts

    def solution(self, key: str) -> Solution:
        """Return the last stored Solution of one task, by its key or a unique prefix of it.

        Raises
        ------
        InputError
            If no task or several tasks have such a key.
        """
        frame, solutions = self._tables(vectors=True)
        found = [own for own in frame["key"] if own.startswith(key)]
        if len(found) != 1:
            known = did_you_mean(key, [own[:_SHOWN] for own in frame["key"]][:_SHOWN])
            count = "no task has" if not found else f"{len(found)} tasks have"
            raise InputError(f"{count} a key that begins with {key!r}: {known}")
        row: Any = frame.set_index("key").astype(object).loc[found[0]]
        last = solutions.get(found[0], {})
        numbers: dict[str, Any] = {
            name: _known(row[name]) or 0.0
            for name in ("build_seconds", "compile_seconds", "solve_seconds")
        }
        return Solution(
            status=row["status"],
            solver=_known(row["solver"]) or "",
            solver_version=_known(row["solver_version"]) or "",
            primal=_arrays(last, "primal"),
            dual=_arrays(last, "dual"),
            objective=_known(row["objective"]),
            iterations=_known(last.get("iterations")),
            failure=_known(row["failure"]) or "",
            **numbers,
        )

    def _tables(self, vectors: bool = False) -> tuple[pd.DataFrame, dict[str, Mapping[Any, Any]]]:
        """Return the table of tasks, and a dict from task key to the row of its last solution."""
        if self.folder is None:
            frame = task_frame([task for task, _ in self._rows])
            return frame, {task["key"]: rows[-1] for task, rows in self._rows if rows}
        with Store.read(self.folder) as store:
            frame, solutions = store.tasks(), store.solutions(blobs=vectors)
        if self._keys is not None:
            places = {key: place for place, key in enumerate(self._keys)}
            own = frame[frame["key"].isin(places)]
            frame = own.sort_values("key", key=lambda keys: keys.map(places))
        last = solutions.drop_duplicates("key", keep="last").astype(object)
        return frame.reset_index(drop=True), {row["key"]: row for row in last.to_dict("records")}

    def __len__(self) -> int:
        return len(self._tables()[0])

    def __repr__(self) -> str:
        frame, _ = self._tables()
        counts = frame["status"].value_counts().to_dict()
        words = Counter(VERDICTS[_known(ok)] for ok in frame["ok"].astype(object))
        statuses = ", ".join(f"{count} {status}" for status, count in counts.items())
        verdicts = ", ".join(f"{words[word]} {word}" for word in VERDICTS.values() if words[word])
        place = "in memory" if self.folder is None else f"in {self.folder}"
        return f"<Run {place}: {len(frame)} tasks ({statuses}): {verdicts}>"


def _known(value: Any) -> Any:
    """Return a cell's value, or None if it is missing."""
    return None if value is None or pd.isna(value) else value


def _column(values: Iterable[Any]) -> pd.Series:
    """Return values as a Series of inferred dtype; of dtype object if one is a list or dict."""
    cells = list(values)
    if any(isinstance(cell, list | dict) for cell in cells):
        return pd.Series(cells, dtype=object)
    return pd.Series(cells, dtype=object).infer_objects()


def _arrays(row: Mapping[str, Any] | None, kind: str) -> dict[str, Any]:
    """Return the primal or dual arrays (`kind`) of a solution's row by name; {} if none."""
    held = None if row is None else row.get(kind)
    if held is None or isinstance(held, float):
        return {}
    return unpack(held) if isinstance(held, bytes) else dict(held)


def are_measurements(tasks: pd.DataFrame) -> bool:
    """Return whether a table of tasks has rows of an experiment's numbers, status measured."""
    return len(tasks) > 0 and bool((tasks["status"] == MEASURED).any())


def read_measurements(folder: str | Path, keys: frozenset[str] | None = None) -> pd.DataFrame:
    """Return the numbers of an experiment, one per row: of `keys`, or the latest of all.

    Returns
    -------
    DataFrame
        Columns data, method, run, measure, position and value; a single number has the
        position 0, and so has the first of several under one name.
    """
    with Store.read(folder) as store:
        tasks, numbers = store.tasks(), store.solutions()
    told = tasks[tasks["status"] == MEASURED]
    if keys is None:
        told = told.sort_values("finished_utc", kind="stable")
        told = told.drop_duplicates(["problem", "data", "method", "repeat"], keep="last")
    else:
        told = told[told["key"].isin(list(keys))]
    told = told[["key", "data", "method", "repeat"]]
    told = told.merge(numbers[["key", "step", "label", "objective", "primal"]], on="key")
    rows = [
        (row["data"], row["method"], int(row["repeat"]), row["label"], position, float(value))
        for row in told.to_dict("records")
        for position, value in enumerate(_values(row))
    ]
    return pd.DataFrame(rows, columns=["data", "method", "run", "measure", "position", "value"])


def _values(row: Mapping[Hashable, Any]) -> Sequence[float]:
    held = row["primal"]
    return [row["objective"]] if held is None else unpack(held)["values"].tolist()
