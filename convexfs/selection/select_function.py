"""A selection asked for from Python."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from convexfs.data.dataset import Dataset
from convexfs.data.specs import load
from convexfs.selection.fit_by_name import fit_and_select, prepare_fit
from convexfs.selection.result import Selection
from convexfs.selection.rules import SelectionRule


def select(
    data: Dataset | str | Path,
    method: str,
    *,
    rule: str = "",
    level: float | None = None,
    top: int | None = None,
    scale: str | None = None,
    permutations: int | None = None,
    gate: float = 1.0,
    seed: int = 0,
    settings: Mapping[str, Any] | None = None,
) -> Selection:
    """Weigh the features of a data set by any method, as ``convexfs select`` does.

    Parameters
    ----------
    data : Dataset, str or path
        From :func:`convexfs.load`, or what that takes.
    method : str
        A method or projection that ``convexfs list`` prints.
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

    Returns
    -------
    Selection

    Examples
    --------
    >>> import convexfs
    >>> found = convexfs.select("iris", "relief", top=2)
    >>> found.ranking()["name"][:2].tolist()
    ['petal width (cm)', 'petal length (cm)']
    >>> found.to_html().startswith("<!DOCTYPE html>")
    True
    """
    judge = SelectionRule(
        "top" if top is not None and not rule else rule, level, top, seed,
        permutations=permutations, gate=gate,
    )  # fmt: skip
    fit = prepare_fit(method, settings or {}, judge)
    samples, called = (data, "data") if isinstance(data, Dataset) else (load(data), repr(str(data)))
    asked = {"rule": rule, "level": level, "top": top, "scale": scale}
    asked |= {"permutations": permutations, "gate": None if gate == 1 else gate, "seed": seed}
    given = {key: value for key, value in asked.items() if value not in ("", None, 0)}
    given |= {"settings": dict(settings)} if settings else {}
    words = [called, repr(method), *(f"{key}={value!r}" for key, value in given.items())]
    return fit_and_select(fit, samples, judge, scale, f"convexfs.select({', '.join(words)})")
