"""Read tables written as text; detect the separator and report it."""

import codecs
import csv
import io
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from convexfs.data.readers import memory_estimate
from convexfs.data.readers.memory_estimate import open_decompressed
from convexfs.data.readers.memory_limit import ReadLimit
from convexfs.data.readers.options import Reading, distinct_names, unused_name
from convexfs.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

#: Separators that are tried, with their names in notes.
SEPARATORS = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars", " ": "spaces"}
_WORDS = {"tab": "\t", r"\t": "\t", "comma": ",", "semicolon": ";", "space": " ", "bar": "|"}
#: Most lines that are inspected to detect the format, and bytes that are read for it: at least the
#: second number, and up to the third until there are four lines.
_LINES, _LEAST, _MOST = 200, 2**16, 2**27
_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
#: Other file formats by their first bytes, with advice for the error message.
_OTHERS = {
    b"PK\x03\x04": "a zip archive, as Excel's workbooks are: if it is one, name it {}.xlsx",
    b"\xd0\xcf\x11\xe0": "a workbook of an old Excel: save it as {}.xlsx",
    b"PAR1": "a parquet file: name it {}.parquet",
    b"\x89HDF": "an HDF5 file: name it {}.h5ad if it is AnnData's",
}
#: Text that is not UTF-8 is nearly always in this encoding, which Excel writes.
_OTHER_ENCODING = "cp1252"
_COMMENTS = ("#", "!")
_WITH_COMMA = re.compile(r"\s*[+-]?\d*,\d+([eE][+-]?\d+)?\s*")
_WITH_POINT = re.compile(r"\s*[+-]?\d*\.\d+([eE][+-]?\d+)?\s*")
#: Cells that mean a missing value, beside those that pandas knows.
MISSING = ("?", ".", "n.a.", "missing")
#: Tables with more columns are parsed by numpy in one pass, because pandas is slow per column.
_WIDE = 20_000
#: If numpy fails on a table with more columns, an error is raised; else pandas tries.
_TOO_WIDE = 500_000
#: Most text columns, such as classes and ids, in a table that numpy parses.
_TEXT_COLUMNS = 20
#: Name given to a column of row names without a header.
ROW_NAMES = "id"


@dataclass(frozen=True)
class TextFormat:
    """Format of a text table: separator, decimal mark, encoding and lines before the header.

    Attributes
    ----------
    separator, decimal, encoding : str
    skipped : int
        Lines before the header, blank ones included.
    comment : str
        What those lines begin with, or nothing.
    """

    separator: str
    decimal: str
    encoding: str
    skipped: int = 0
    comment: str = ""


def check_separated(path: Path, limit: ReadLimit, usual: str = ",") -> None:
    """Raise if a text table exceeds the memory limit, after detecting its separator."""
    form, _ = detect_format(path, Reading(limit=limit), usual)
    memory_estimate.check_separated(path, limit, form.separator.encode())


def read_separated(path: Path, reading: Reading, usual: str = ",") -> "pd.DataFrame":
    """Read a text table as a DataFrame, and note in `reading` what was detected.

    Parameters
    ----------
    path : Path
        Perhaps packed.
    reading : Reading
        Read options of the user; notes on what was inferred are appended to it.
    usual : str
        The separator that the file's suffix stands for.
    """
    form, lines = detect_format(path, reading, usual)
    names = _header(lines, form, path.name, reading)
    if reading.transpose:
        return _read(path, form, names, dtype=str)
    if len(names) > _WIDE and (frame := _read_wide(path, form, names)) is not None:
        return frame
    try:
        return _read(path, form, names, low_memory=False)
    except UnicodeDecodeError:
        if reading.encoding is not None or form.encoding == _OTHER_ENCODING:
            raise
        reading.tell(f"it is not UTF-8 throughout, and is read as {_OTHER_ENCODING}")
        return _read(path, replace(form, encoding=_OTHER_ENCODING), names, low_memory=False)


def detect_format(path: Path, reading: Reading, usual: str) -> tuple[TextFormat, list[str]]:
    """Detect separator, decimals and encoding; return the format and lines from the header on."""
    start = _start(path, reading.limit)
    encoding = reading.encoding or _encoding(start, path)
    try:
        text = codecs.getincrementaldecoder(encoding)("strict").decode(start)
    except LookupError:
        raise InputError(f"no encoding is called {encoding!r}; try utf-8, cp1252, utf-16") from None
    if "\0" in text:
        raise InputError(not_text(path, path.name))
    every = re.split(r"\r\n|\r|\n", text)
    first, comment = _first_line(every)
    lines = [line for line in every[first : first + _LINES] if line.strip(" ")]
    if not lines:
        raise InputError(f"{path.name} has blank lines only; save the data again")
    separator = _WORDS.get(reading.sep or "", reading.sep) or _separator(lines, usual)
    if len(separator) != 1:
        raise InputError(f"cells are separated by one character, as ';' or tab, not {separator!r}")
    decimal = reading.decimal or _decimal(lines, separator)
    if decimal not in (".", ",") or decimal == separator:
        raise InputError(f"decimals stand after '.' or ',', and not the separator; not {decimal!r}")
    _tell(reading, TextFormat(separator, decimal, encoding, first, comment), usual)
    return TextFormat(separator, decimal, encoding, first, comment), lines


def _first_line(lines: Sequence[str]) -> tuple[int, str]:
    """Return the index of the header, and the prefix of the comment lines before it."""
    comment = ""
    for i, line in enumerate(lines):
        if line.strip(" ") and not line.startswith(comment or _COMMENTS):
            return i, comment
        if line.strip(" ") and not comment:
            comment = line[0]
    return len(lines), comment


def not_text(path: Path, name: str) -> str:
    """Return the error message that a file is not text, with its type by the first bytes."""
    with path.open("rb") as file:
        start = file.read(8)
    for magic, what in _OTHERS.items():
        if start.startswith(magic):
            return f"{name} is no text but {what.format(path.stem)}"
    return f"{name} is not text in UTF-8; save it as such, or name it by the format it has"


def _tell(reading: Reading, form: TextFormat, usual: str) -> None:
    if form.separator != usual and reading.sep is None:
        called = SEPARATORS.get(form.separator, repr(form.separator))
        reading.tell(f"cells are separated by {called}")
    if form.decimal == "," and reading.decimal is None:
        reading.tell("numbers have decimal commas")
    if form.encoding not in ("utf-8", "utf-8-sig") and reading.encoding is None:
        reading.tell(f"it is not UTF-8, and is read as {form.encoding}")
    if form.comment:
        reading.tell(f"{form.skipped} lines of comment before the header are left out")


def _start(path: Path, limit: ReadLimit) -> bytes:
    """Return the first bytes of a file, with enough complete lines to detect its format."""
    blocks, size, lines = [], 0, 0
    with open_decompressed(path) as file:
        while size < _LEAST or (lines < 4 and size < _MOST):
            block = file.read(_LEAST)
            if not block:
                return b"".join(blocks)
            blocks.append(block)
            size, lines = size + len(block), lines + block.count(b"\n") + block.count(b"\r")
            limit.check(2 * size, f"{path.name}, with few lines in so much text,")
        # The last line is incomplete, and is cut off below.
        start = b"".join(blocks)
    end = max(start.rfind(b"\n"), start.rfind(b"\r"))
    return start[: end + 1] if end > 0 and start[:2] not in _MARKS else start


def _encoding(start: bytes, path: Path) -> str:
    for mark, encoding in _MARKS.items():
        if start.startswith(mark):
            return encoding
    try:
        start.decode("utf-8")
    except UnicodeDecodeError as error:
        if b"\0" in start:
            raise InputError(not_text(path, path.name)) from None
        if error.start < len(start) - 4:
            return _OTHER_ENCODING
    return "utf-8"


def _separator(lines: Sequence[str], usual: str) -> str:
    """Return the separator by which most lines have as many cells as the header.

    Return `usual` if no other is better and 90 % of the lines agree, or if none is found.
    """
    agreeing: dict[str, tuple[float, int]] = {}
    for mark in (mark for mark in SEPARATORS if mark in lines[0]):
        widths = [len(cells) for cells in csv.reader(lines, delimiter=mark)]
        header, rows = widths[0], widths[1:]
        same = [width == header for width in rows]
        if header == 1 or (mark == " " and agreeing):
            continue
        if rows and min(rows) == max(rows) == header + 1:  # Row names have no heading.
            same = [True]
        agreeing[mark] = (sum(same) / max(len(same), 1), header)
    if usual in agreeing and agreeing[usual][0] >= max(
        0.9, *(agree for agree, _ in agreeing.values())
    ):
        return usual
    return max(agreeing, key=lambda mark: (agreeing[mark], mark == usual), default=usual)


def _decimal(lines: Sequence[str], separator: str) -> str:
    if separator == ",":
        return "."
    cells = [cell for line in csv.reader(lines[1:], delimiter=separator) for cell in line]
    commas, points = (
        sum(bool(number.fullmatch(cell)) for cell in cells) for number in (_WITH_COMMA, _WITH_POINT)
    )
    return "," if commas > points else "."


def _header(lines: list[str], form: TextFormat, name: str, reading: Reading) -> list[str]:
    """Return distinct column names; name a first column of row names, raise if another has none."""
    rows = list(csv.reader(lines, delimiter=form.separator))
    names, body = [cell.strip() for cell in rows[0]], [row for row in rows[1:] if row]
    others = [mark for mark in SEPARATORS if mark != form.separator and mark in names[0]]
    if len(names) == 1 and others and reading.sep is not None:
        raise InputError(f"{name} is not separated by {form.separator!r}; leave the separator out")
    if body and all(len(row) == len(names) + 1 for row in body) and _row_names(body):
        names = ["", *names]  # R writes tables with row names this way.
    if names[0] == "" and len(names) > 1 and (not body or _row_names(body)):
        names[0] = unused_name(ROW_NAMES, names)
        reading.tell(f"the first column has no name, and is called '{names[0]}'")
    if "" in names:
        full = next((i for i, row in enumerate(rows) if _may_be_header(row, len(names))), None)
        later = "" if full is None else f"; or delete the {full} lines before '{lines[full]:.40}'"
        raise InputError(
            f"{name} has no name for column {names.index('') + 1}; name it in the header, "
            f"or leave the column out when saving{later}"
        )
    return distinct_names(names, reading.tell)


def _may_be_header(row: Sequence[str], width: int) -> bool:
    """Return whether a row has `width` distinct names, none empty or a number."""
    names = [cell.strip() for cell in row]
    return len(set(names)) == width == len(names) and not any(not n or is_number(n) for n in names)


def _row_names(body: Sequence[Sequence[str]]) -> bool:
    """Return whether the first cells are row names: all different, and words or numbered."""
    first = [row[0].strip() for row in body]
    if len(set(first)) < len(first):
        return False
    numbered = [[str(i + k) for i in range(len(first))] for k in (0, 1)]
    return first in numbered or not any(map(is_number, first))


def _read(path: Path, form: TextFormat, names: Sequence[str], **options: Any) -> "pd.DataFrame":
    import pandas as pd

    try:
        with warnings.catch_warnings(), open_decompressed(path) as file:
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame = pd.read_csv(
                file,
                sep=form.separator,
                decimal=form.decimal,
                encoding=form.encoding,
                # Replace the header's names, because pandas and csv count its lines differently.
                skiprows=form.skipped,
                header=0,
                names=list(names),
                index_col=False,
                na_values=list(MISSING),
                skipinitialspace=form.separator == " ",
                **_to_the_last_digit(pd.__version__),
                **options,
            )
    except pd.errors.ParserWarning:
        raise InputError(
            f"{path.name} has rows with more cells than the header has names; "
            "name every column or drop the extra cells"
        ) from None
    if form.comment and len(frame) and isinstance(frame.iloc[-1, 0], str):
        marked = frame.iloc[:, 0].astype(str).str.startswith(form.comment)
        frame = frame[~marked.to_numpy()].infer_objects()
    return frame


def _to_the_last_digit(version: str) -> dict[str, Any]:
    """Return the option by which pandas reads numbers exactly; {} from 3.1 on, the default."""
    major, minor = map(int, version.split(".")[:2])
    return {"float_precision": "round_trip"} if (major, minor) < (3, 1) else {}


def _header_lines(path: Path, form: TextFormat) -> int:
    """Return how many lines the header takes, more than one if a name has a line break."""
    with _lines(path, form) as file:
        reader = csv.reader(islice(file, form.skipped, None), delimiter=form.separator)
        next(reader, None)
        return reader.line_num


def _lines(path: Path, form: TextFormat) -> Any:
    return io.TextIOWrapper(open_decompressed(path), encoding=form.encoding, newline="")


def _read_wide(path: Path, form: TextFormat, names: Sequence[str]) -> "pd.DataFrame | None":
    """Parse a wide table by numpy in one pass; None for many text columns or bad cells.

    Decimal commas give None too.
    """
    import pandas as pd

    skipped = form.skipped + _header_lines(path, form)
    with _lines(path, form) as file:
        rows = csv.reader(islice(file, skipped, None), delimiter=form.separator)
        first_row = next((row for row in rows if row), [])
    text = [j for j, cell in enumerate(first_row) if not is_number(cell)]
    if len(first_row) != len(names) or len(text) > _TEXT_COLUMNS or form.decimal != ".":
        return None
    try:
        with _lines(path, form) as file:
            numbers = np.loadtxt(
                file,
                delimiter=form.separator,
                quotechar='"',
                comments=None,
                skiprows=skipped,
                ndmin=2,
                converters=dict.fromkeys(text, lambda _: 0.0),
            )
    except ValueError as error:
        if len(names) > _TOO_WIDE:
            raise InputError(
                f"{path.name} has {len(names)} columns, and so wide a table is read only if all "
                f"its cells but a few columns are numbers ({error}); mend the cell or keep fewer "
                "columns"
            ) from None
        return None
    frame = pd.DataFrame(numbers, columns=list(names), copy=False)
    if text:
        read = _read(path, form, names, usecols=text)
        for name in read.columns:
            frame[name] = read[name]
    return frame


def is_number(cell: str) -> bool:
    """Return whether float() can parse a cell."""
    try:
        float(cell)
    except ValueError:
        return False
    return True
