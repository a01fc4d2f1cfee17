"""Infer whether a target is categorical or numeric; raise if it is ambiguous.

numpy is imported on use, so that commands without data start faster.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from convexfs.errors import InputError, check_choice

if TYPE_CHECKING:
    import numpy as np

#: The kinds of target: categorical or numeric.
CLASSES, NUMBERS = "classes", "numbers"
KINDS = (CLASSES, NUMBERS)
#: Integers look like a quantity, not classes, if they have more distinct values than the first
#: number, or more than the second with on average fewer samples per value than the third.
_MOST_VALUES, _FEW_VALUES, _SAMPLES_EACH = 20, 8, 5
#: Integers are class codes if the least is 0 or 1, and the largest is below this multiple of the
#: number of distinct values.
_FIRST_CODES, _LEFT_OUT = (0, 1), 2


def several_targets(names: Iterable[Any]) -> InputError:
    """Return (not raise) the InputError for a target of several columns, as time and event."""
    listed = ", ".join(f"'{name}'" for name in names)
    return InputError(
        f"the target has several columns, {listed}: survival times and several targets are not "
        "supported; use penalised Cox regression, such as scikit-survival's, or name one column "
        "as the target and leave the others out by --drop (from Python drop=)"
    )


def check_single_target(target: Any, columns: Iterable[str] = ()) -> None:
    """Raise InputError if a target is a list of columns, or column names joined by commas."""
    if isinstance(target, list | tuple):
        raise several_targets(target)
    names, known = str(target).split(","), set(columns)
    if len(names) > 1 and target not in known and known.issuperset(n.strip() for n in names):
        raise several_targets(name.strip() for name in names)


def check_kind(kind: Any) -> None:
    """Raise unless `kind` is "classes", "numbers" or None (infer)."""
    if kind is not None:
        check_choice("kind of target", kind, KINDS)


def require_kind(name: str, numeric: bool, kind: str | None) -> None:
    """Raise InputError if the data's target is not of this kind; None allows both."""
    if kind == CLASSES and numeric:
        raise InputError(
            f"{name} has numbers for a target, where classes are needed: for numbers there are "
            f"{regressors()}"
        )
    if kind == NUMBERS and not numeric:
        raise InputError(f"{name} has classes for a target: use a method of classes")


def looks_measured(values: "np.ndarray", n_different: int | None = None) -> bool:
    """Return whether numbers have so many distinct values that they look like a quantity.

    `n_different` is the number of distinct values, if it is known.
    """
    import numpy as np

    if values.dtype.kind not in "iuf":
        return False
    different = len(np.unique(values)) if n_different is None else n_different
    few_each = different > _FEW_VALUES and different * _SAMPLES_EACH > values.size
    return different > _MOST_VALUES or few_each


def are_codes(values: "np.ndarray") -> bool:
    """Return whether integers are class codes: from 0 or 1 on, with few numbers left out."""
    import numpy as np

    different = np.unique(values)
    return bool(different[0] in _FIRST_CODES and different[-1] < _LEFT_OUT * len(different))


def measured_error(values: "np.ndarray", where: str, insist: str) -> InputError:
    """Return (not raise) the InputError for classes that look like a quantity, with advice."""
    import numpy as np

    return InputError(
        f"{where} has {len(np.unique(values))} different integers in {values.size} rows, "
        f"which looks like a quantity: for numbers there are {regressors()}; if these are "
        f"classes, {insist}"
    )


def regressors() -> str:
    """Return text that names the regression estimators and their ``--method`` names."""
    from convexfs.methods import estimator_homes  # A higher layer, imported for the message only.

    homes = estimator_homes().items()
    named = [f"{m.class_name(name)} (--method {name})" for name, m in homes if m.target == NUMBERS]
    return " and ".join(named)


def refuse_missing(values: "np.ndarray", where: str, cure: str) -> None:
    """Raise InputError if a target value is missing, naming the first row and the `cure`."""
    import numpy as np
    import pandas as pd

    if values.dtype.kind == "V":
        return  # Records are never missing, and pandas 2 cannot inspect them.
    missing = np.flatnonzero(pd.isna(values))
    if missing.size:
        raise InputError(
            f"{where} has a missing value (NaN) at data row {missing[0] + 1} "
            f"({missing.size} in all); {cure}"
        )


def as_numbers(y: Any, where: str) -> "np.ndarray":
    """Return a numeric target as float64; raise if values are missing, infinite or all equal."""
    import numpy as np

    values = np.asarray(y)
    if values.ndim == 2 and 1 in values.shape:
        values = values.ravel()
    if values.ndim != 1:
        raise InputError(f"{where} has {values.ndim} dimensions; give one number per row")
    refuse_missing(values, where, "drop these rows or fill them in")
    numbers = _converted(values, where)
    if not np.isfinite(numbers).all():
        row = int(np.flatnonzero(~np.isfinite(numbers))[0])
        raise InputError(f"{where} holds infinity at data row {row + 1}; drop or correct it")
    if numbers.size and np.ptp(numbers) == 0:
        raise InputError(
            f"{where} has the single value {numbers[0]:g}; a regressor needs numbers that differ"
        )
    return numbers


def _converted(values: "np.ndarray", where: str) -> "np.ndarray":
    text = values.dtype.kind in "USOT" and any(isinstance(v, str | bytes) for v in values.tolist())
    try:
        if values.dtype.kind in "cmMV" or text:
            raise ValueError
        return values.astype(float)
    except (TypeError, ValueError):
        raise InputError(
            f"{where} holds no numbers, such as {values[0]!r}; for classes use a method of classes"
        ) from None
