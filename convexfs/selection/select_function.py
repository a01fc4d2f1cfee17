"""Select features from Python: :func:`convexfs.select`."""

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal, overload

from convexfs.data.dataset import Dataset
from convexfs.data.readers.options import ReadOptions
from convexfs.data.specs import load
from convexfs.data.targets import CLASSES, require_kind
from convexfs.errors import InputError, did_you_mean
from convexfs.methods import default_method, estimator_homes
from convexfs.selection.class_markers import ClassMarkers, check_markers, select_markers
from convexfs.selection.fit_by_name import fit_and_select, prepare_fit, reading_for
from convexfs.selection.result import Selection
from convexfs.selection.rules import SelectionRule


@overload
def select(
    data: Any, method: str | None = None, *, per_class: Literal[True], **options: Any
) -> ClassMarkers: ...
@overload
def select(
    data: Any, method: str | None = None, *, per_class: Literal[False] = False, **options: Any
) -> Selection: ...
def select(
    data: Any,
    method: str | None = None,
    *,
    target: Any = None,
    rule: str = "",
    level: float | None = None,
    top: int | None = None,
    scale: str | None = None,
    permutations: int | None = None,
    gate: float = 1.0,
    seed: int = 0,
    settings: Mapping[str, Any] | None = None,
    per_class: bool = False,
    **reading: Any,
) -> Selection | ClassMarkers:
    """Weigh and select the features of a data set by any method, as ``convexfs select`` does.

    Parameters
    ----------
    data : Dataset, DataFrame, AnnData, str or path
        From :func:`convexfs.load`, or what that takes.
    method : str, optional
        A method or projection that ``convexfs list`` prints. By default "relief", or the
        knockoffs' own method if that is the rule.
    target : str or sequence, optional
        The column with the classes or the numbers. For a DataFrame also the values themselves,
        one per row, such as a Series, which must have the index of the frame.
    rule : {"", "fdr", "fwer", "curve", "stability", "knockoffs"}
        How features are selected: significant at a false discovery rate or a family-wise error
        rate against shadow columns; the fewest that predict held-out samples as well as any;
        selected by most halves of the samples; or by knockoffs. "" is the default of the method:
        "fdr", or nonzero weights for a method with sparse weights.
    level : float, optional
        Error rate that "fdr" (default 0.1), "fwer" (0.05) and "knockoffs" (0.2) bound.
    top : int, optional
        Number of features or components to select; with "stability", of each half of the samples.
    scale : {"zscore", "minmax", "none"}, optional
        By default what the data declare.
    permutations : int, optional
        Permutations of the test; by default 200, or fewer on large data.
    gate : float, default=1
        With "fdr", select nothing unless the best feature has a max-T p-value up to this.
    seed : int, default=0
    settings : mapping, optional
        Parameters of the method.
    per_class : bool, default=False
        Select markers of each class against all other classes, by "fdr", "fwer" or `top`.
    **reading
        Further parameters of :func:`convexfs.load`, such as ``drop`` and ``limits``.

    Returns
    -------
    Selection
        Or :class:`convexfs.selection.ClassMarkers` with `per_class`.

    Examples
    --------
    >>> import convexfs
    >>> found = convexfs.select("iris", "relief", top=2)
    >>> found.ranking()["name"][:2].tolist()
    ['petal width (cm)', 'petal length (cm)']
    >>> found.to_html().startswith("<!DOCTYPE html>")
    True

    A table in memory, by the defaults of the command:

    >>> from sklearn.datasets import load_iris
    >>> table = load_iris(as_frame=True).frame
    >>> convexfs.select(table, target="target", top=2).support.sum()
    np.int64(2)

    Markers of each class against the rest:

    >>> convexfs.select("wine", per_class=True, top=2).markers()["class_0"]
    ['proline', 'alcohol']
    """
    chosen = SelectionRule(
        "top" if top is not None and not rule else rule, level, top, seed,
        permutations=permutations, gate=gate,
    )  # fmt: skip
    method = method or default_method(rule)
    fit = prepare_fit(method, settings or {}, chosen)
    if per_class:
        check_markers(method, chosen.rule)
    if target is not None and not isinstance(target, str):
        data, target = _with_target(data, target)
    if target is not None:
        reading["target"] = target
    samples, called = _read(data, method, chosen, reading)
    home = estimator_homes().get(method)
    kind = CLASSES if home is None or per_class else home.target
    require_kind(samples.name, samples.numeric, kind)
    asked = {"rule": rule, "level": level, "top": top, "scale": scale, "permutations": permutations}
    asked |= {"gate": None if gate == 1 else gate, "seed": seed, "per_class": per_class}
    given = {key: value for key, value in asked.items() if value not in ("", None, 0)}
    given |= {"settings": dict(settings)} if settings else {}
    words = [called, repr(method), *(f"{key}={v!r}" for key, v in {**reading, **given}.items())]
    line = f"convexfs.select({', '.join(words)})"
    if per_class:
        return select_markers(method, settings or {}, samples, chosen, scale, line)
    return fit_and_select(fit, samples, chosen, scale, line)


def _with_target(data: Any, values: Any) -> tuple[Any, str]:
    """Return a DataFrame with the target as its last column, and that column's name."""
    frame = data.to_pandas() if hasattr(data, "to_pandas") else data
    if not hasattr(frame, "assign"):
        raise InputError("target is the name of a column, or for a DataFrame one value per row")
    name = str(getattr(values, "name", None) or "target")
    if name in frame:
        raise InputError(f"the table has a column '{name}' already: rename the target, or drop it")
    if len(values) != len(frame):
        raise InputError(f"target has {len(values)} values for the {len(frame)} rows of the table")
    if hasattr(values, "iloc") and not values.index.equals(frame.index):
        raise InputError(
            "target has another index than the table: give target.loc[table.index], or "
            "target.to_numpy() if the rows are in the same order"
        )
    values = values.to_numpy() if hasattr(values, "to_numpy") else values
    return frame.assign(**{name: values}), name


def _read(
    data: Any, method: str, chosen: SelectionRule, reading: Mapping[str, Any]
) -> tuple[Dataset, str]:
    """Return samples in the form that a method needs, and the text that names them in reports."""
    known = [option.name for option in fields(ReadOptions)]
    for name in reading:
        if name not in known:
            raise InputError(f"select has no parameter {name!r}: {did_you_mean(name, known)}")
    if isinstance(data, Dataset):
        if reading:
            raise InputError(f"a Dataset is read already: pass {', '.join(reading)} to load")
        return data, "data"
    options = reading_for(method, chosen, reading.get("target_kind")) | dict(reading)
    in_memory = not isinstance(data, str | Path)
    return load(data, **options), "data" if in_memory else repr(str(data))
