"""Parse cells that are not plain numbers: detection limits, thousands, missing values."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from convexfs.data.readers.options import Reading
from convexfs.data.text_columns import LIMIT, QUANTITY, THOUSANDS, WITH_UNIT, to_numbers
from convexfs.errors import InputError, and_more, check_choice

if TYPE_CHECKING:
    import pandas as pd

#: Texts that stand for a missing number: hyphens and dashes.
_DASHES = ("-", "--", "\N{EN DASH}", "\N{EM DASH}")
#: Translation of unusual minus signs and spaces, which parsers of numbers reject.
_SIGNS = str.maketrans({"\N{MINUS SIGN}": "-", "\N{NO-BREAK SPACE}": " ",
                        "\N{NARROW NO-BREAK SPACE}": " "})  # fmt: skip
#: Unless this many first cells look like quantities, a column is not parsed for units.
_LOOKED_AT = 20
#: Choices of ``--limits``: read <0.5 as the number 0.5, or as a missing value.
LIMITS = ("value", "missing")


def read_cells(frame: "pd.DataFrame", reading: Reading) -> "pd.DataFrame":
    """Convert text columns of numbers with dashes, units or, by option, limits and thousands.

    Texts that `na` lists are missing values in all columns. Dashes in columns of numbers are
    missing values too; among words they may be signs.
    """
    _check(reading)
    frame = _without_units(_without_listed(frame, reading), reading)
    number, read = _number_reader(reading), {}
    dashed, limited = [], []
    for name in _text_columns(frame):
        column = frame[name]
        known = column.notna()
        dash = column.isin(_DASHES)
        texts = column[known & ~dash].map(str)
        limit = texts.map(lambda text: LIMIT.fullmatch(text) is not None).astype(bool)
        if not (dash.any() or reading.thousands or (reading.limits and limit.any())):
            continue
        numbers = to_numbers(texts.map(number))
        missing = limit if reading.limits == "missing" else limit & ~limit
        if len(texts) and (numbers.notna() | missing).all():
            read[name] = numbers.where(~missing).reindex(column.index)
            dashed += [name] * bool(dash.any())
            limited += [(name, texts[limit])] * bool(limit.any())
    if dashed:
        named = and_more([f"'{dashed[0]}'"], len(dashed))
        reading.tell(f"a dash is taken as a missing value in column {named}")
    for name, cells in limited:
        how = "missing values" if reading.limits == "missing" else "their limits"
        some = f"{len(cells)} cells such as '{cells.iloc[0]}' in column '{name}'"
        reading.tell(f"{some} are read as {how}")
    return frame.assign(**read) if read else frame


def numbers_left(frame: "pd.DataFrame", reading: Reading) -> "pd.DataFrame":
    """Convert text columns to numbers where all cells left after dropping rows are numbers."""
    plain, read = number_text(reading), {}
    for name in _text_columns(frame):
        numbers = to_numbers(frame[name].map(plain, na_action="ignore"))
        if numbers.notna().any() and (numbers.notna() == frame[name].notna()).all():
            read[name] = numbers
    return frame.assign(**read) if read else frame


def _without_units(frame: "pd.DataFrame", reading: Reading) -> "pd.DataFrame":
    """Convert features' texts that are numbers with one unit for all, or unusual minus signs."""
    plain, read = number_text(reading), {}
    others = {reading.target, reading.id, *reading.aside}
    for name in [own for own in _text_columns(frame) if own not in others]:
        known = frame[name].dropna().map(str)
        if not len(known) or not known.iloc[:_LOOKED_AT].str.contains(QUANTITY, regex=True).all():
            continue
        texts = known.str.translate(_SIGNS).str.strip()
        found = texts.map(WITH_UNIT.fullmatch)
        if found.isna().any():
            continue
        units = set(found.map(lambda own: (own.group(1), (own.group(3) or "").strip())))
        numbers = to_numbers(found.map(lambda own: plain(own.group(2))))
        before, behind = next(iter(units))
        same = not (before or behind) and (texts == known).all()
        if len(units) > 1 or numbers.isna().any() or same:
            continue
        if before or behind:
            unit = " and ".join(f"'{own}'" for own in (before, behind) if own)
            reading.tell(f"column '{name}' is read as numbers, without {unit} in all cells")
        read[name] = numbers.reindex(frame.index)
    return frame.assign(**read) if read else frame


def number_text(reading: Reading) -> Callable[[Any], str]:
    """Return a function from a cell to text that float() reads: decimal commas become points."""
    commas = reading.decimal == "," or "numbers have decimal commas" in reading.told
    return (lambda cell: str(cell).replace(",", ".")) if commas else str


def _check(reading: Reading) -> None:
    if reading.limits is not None:
        check_choice("--limits", reading.limits, LIMITS)
    if reading.thousands not in (None, ",", ".", " ", "'"):
        raise InputError(
            f"--thousands is {reading.thousands!r}; thousands are separated by one of , . ' or a "
            "space"
        )


def _number_reader(reading: Reading) -> Callable[[str], str]:
    """Return a function that turns a cell into number text, without limit sign and thousands."""
    plain, mark = number_text(reading), reading.thousands

    def read(text: str) -> str:
        if reading.limits and (limit := LIMIT.fullmatch(text)):
            text = limit.group(1)
        if mark == "," and not THOUSANDS.fullmatch(text):
            return plain(text)
        return plain(text.replace(mark, "") if mark else text)

    return read


def _without_listed(frame: "pd.DataFrame", reading: Reading) -> "pd.DataFrame":
    """Replace the texts or numbers in the option `na` by missing values."""
    import pandas as pd

    if not reading.na:
        return frame
    texts = [str(text).strip() for text in reading.na]
    codes = to_numbers(pd.Series(texts, dtype=object)).dropna().tolist()
    read, found = {}, 0
    for name in frame.columns:
        column = frame[name]
        if pd.api.types.is_numeric_dtype(column.dtype):
            listed = column.isin(codes)
        else:
            listed = column.map(lambda cell: str(cell).strip(), na_action="ignore").isin(texts)
        if listed.any():
            found += int(listed.sum())
            cells = column.astype(object).where(~listed, None).infer_objects()
            numbers = to_numbers(cells.map(number_text(reading), na_action="ignore"))
            read[name] = numbers if (numbers.notna() == cells.notna()).all() else cells
    reading.tell(f"{found} cells are missing values by --na")
    return frame.assign(**read) if read else frame


def _text_columns(frame: "pd.DataFrame") -> Sequence[Any]:
    import pandas as pd

    other = pd.api.types.is_object_dtype, pd.api.types.is_string_dtype
    return [
        name
        for name, kind in frame.dtypes.items()
        if any(check(kind) for check in other) and not isinstance(kind, pd.CategoricalDtype)
    ]
