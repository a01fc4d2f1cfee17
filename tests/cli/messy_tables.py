"""Tables as clinics and laboratories write them, each with the option that reads it.

The column `marker` separates the classes; every reading must find it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

N = 48


@dataclass(frozen=True)
class MessyTable:
    """A table, what the error says of it, and the beginning of each option that cures it."""

    frame: pd.DataFrame
    says: str
    options: tuple[str, ...]
    sep: str = ","


def _plain(seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    ill = np.arange(N) % 2 == 1
    values = {"age": rng.integers(30, 80, N), "sodium": rng.normal(140, 3, N).round(1)}
    values["marker"] = (rng.normal(5, 1, N) + 4 * ill).round(2)
    return pd.DataFrame(values).assign(status=np.where(ill, "ill", "well"))


def _spoil(frame: pd.DataFrame, column: str, cells: dict[int, str]) -> pd.DataFrame:
    texts = frame[column].astype(str).astype(object)
    for row, cell in cells.items():
        texts[row - 1] = cell
    return frame.assign(**{column: texts})


def _words(cell: Callable[[int], str]) -> list[str]:
    return [cell(i) for i in range(N)]


_CODES = _words(lambda i: f"{'EIJK'[i % 4]}{10 + i % 20}.{i % 10}")
_NOTES = _words(lambda i: f"seen {i % 30} times, patient {'AB'[i % 2]} tired")
_DAYS = _words(lambda i: f"2021-0{1 + i % 9}-{10 + i % 15}")


def tables() -> Iterator[tuple[str, MessyTable]]:
    """Yield tables by name."""
    plain = _plain()
    yield (
        "detection-limit",
        MessyTable(
            _spoil(plain, "marker", {17: "<2.5", 20: "<2.5", 31: "<2.5"}),
            "column 'marker', such as '<2.5' in data row 17 (and 2 more)",
            ("--limits value",),
        ),
    )
    yield (
        "two-limits",
        MessyTable(
            _spoil(plain, "marker", {3: "< 2.5", 4: ">=12"}),
            "column 'marker', such as '< 2.5' in data row 3 (and 1 more)",
            ("--limits value",),
        ),
    )
    yield (
        "not-done",
        MessyTable(
            _spoil(plain, "marker", {5: "not done", 9: "haemolysed, repeat"}),
            "such as 'not done' in data row 5 (and 1 more)",
            ("--na '",),
        ),
    )
    yield (
        "limit-and-word",
        MessyTable(
            _spoil(plain, "marker", {5: "<2", 9: "n.d."}),
            "such as '<2' in data row 5 (and 1 more)",
            ("--limits value", "--na n.d."),
        ),
    )
    thousands = plain.assign(platelets=_words(lambda i: f"{100 + i},{i % 9}00"))
    yield (
        "thousands",
        MessyTable(thousands, "column 'platelets', such as '100,000'", ("--thousands ,",)),
    )
    yield (
        "dates",
        MessyTable(plain.assign(seen=_DAYS), "dates in column 'seen'", ("--drop seen",)),
    )
    yield (
        "named-months",
        MessyTable(
            plain.assign(seen=_words(lambda i: f"{1 + i % 28:02d}-Mar-2021")),
            "dates in column 'seen'",
            ("--drop seen",),
        ),
    )
    yield (
        "codes",
        MessyTable(plain.assign(icd10=_CODES), "text in column 'icd10'", ("--drop icd10",)),
    )
    yield (
        "free-text",
        MessyTable(plain.assign(note=_NOTES), "text in column 'note'", ("--drop note",)),
    )
    everything = _spoil(plain, "marker", {17: "<2.5"})
    everything.insert(0, "admission_date", _DAYS)
    yield (
        "clinic",
        MessyTable(
            everything.assign(icd10=_CODES, comment=_NOTES),
            "text in column 'marker', such as '<2.5' in data row 17; dates in column "
            "'admission_date', such as '2021-01-10'; text in columns 'icd10', 'comment'",
            ("--limits value", "--drop admission_date,icd10,comment"),
        ),
    )
    yield (
        "grades",
        MessyTable(
            plain.assign(protein=[("0", "1+", "2+", "3+")[i * i % 7 % 4] for i in range(N)]),
            "text in column 'protein'",
            ("--categorical protein",),
        ),
    )
    commas = _spoil(plain.assign(marker=plain["marker"].map(lambda v: f"{v}".replace(".", ","))),
                    "marker", {8: "<2,5"})  # fmt: skip
    yield (
        "decimal-commas",
        MessyTable(
            commas.assign(sodium=commas["sodium"].map(lambda v: f"{v}".replace(".", ","))),
            "such as '<2,5' in data row 8",
            ("--limits value",),
            sep=";",
        ),
    )
    mixed = _words(lambda i: f"{i}.5" if i % 3 else f"see note {i}")
    yield (
        "mixed",
        MessyTable(
            plain.assign(dose=mixed), "such as 'see note 0' in data row 1", ("--drop dose",)
        ),
    )


def _csv(frame: pd.DataFrame, sep: str = ",") -> str:
    return frame.to_csv(index=False, sep=sep)


def _commas(column: Any) -> list[str]:
    return [f"{value}".replace(".", ",") for value in column]


def files() -> dict[str, bytes]:
    """Return files by name: some are read as they are, others after what the message says."""
    plain = _plain()
    marker = plain["marker"]

    def with_marker(cell: Callable[[float], str]) -> str:
        return _csv(plain.assign(marker=[cell(value) for value in marker]))

    def beside(cell: Callable[[int], str]) -> str:
        return _csv(plain.assign(other=_words(cell)))

    text = _csv(plain)
    german = plain.assign(marker=_commas(marker), sodium=_commas(plain["sodium"]))
    platelets = _words(lambda i: f"{100 + i}.{i % 9}00,5")
    total = pd.DataFrame([["mean", "", "", ""]], columns=plain.columns)
    texts = {
        "percent": with_marker(lambda v: f"{v} %"),
        "units": with_marker(lambda v: f"{v} mg/l"),
        "euros": with_marker(lambda v: f"€{v}"),
        "quotes": with_marker(lambda v: f"'{v}'"),
        "minus": with_marker(lambda v: f"\N{MINUS SIGN}{20 - v:.2f}"),
        "spaces": with_marker(lambda v: f"\N{NO-BREAK SPACE}{v} "),
        "one-unit": _csv(_spoil(plain, "marker", {3: "5.2 mg/l"})),
        "flags": _csv(_spoil(plain, "marker", {3: "7.2*", 4: "6.1 H"})),
        "spreadsheet-errors": _csv(_spoil(plain, "marker", {3: "#DIV/0!", 4: "#REF!"})),
        "nothing-known": _csv(_spoil(plain, "marker", {3: "NULL", 5: ".", 7: "?", 8: "unknown"})),
        "thousands-by-spaces": beside(lambda i: f"{100 + i} {i % 9}00"),
        "thousands-by-apostrophes": beside(lambda i: f"{100 + i}'{i % 9}00"),
        "thousands-by-points": _csv(german.assign(platelets=platelets), ";"),
        "pressure": beside(lambda i: f"{110 + i}/{70 + i % 20}"),
        "age-groups": beside(lambda i: ("10-20", "20-30", "30-40")[i % 3]),
        "signs": beside(lambda i: ("-", "+", "++")[i % 3]),
        "german-dates": beside(lambda i: f"{1 + i % 28:02d}.{1 + i % 12:02d}.2020"),
        "times": beside(lambda i: f"{i % 24:02d}:{i % 60:02d}"),
        "moments": beside(lambda i: f"2020-01-{1 + i % 28:02d}T08:{i % 60:02d}:00Z"),
        "powers": beside(lambda i: f"{i}.5x10^3"),
        "yes-and-no": beside(lambda i: "yes" if i % 3 else "no"),
        "row-of-means": _csv(pd.concat([plain.astype(object), total])),
        "title": "Export of the laboratory,,,\nmade 2021-03-04,,,\n" + text,
        "comma-at-the-end": text.replace("\n", ",\n"),
        "name-in-capitals": text.replace("status", "Status"),
        "samples-in-columns": plain.T.to_csv(header=[f"S{i}" for i in range(N)]),
        "no-class-in-some-rows": _csv(plain.assign(status=plain["status"].where(plain.index > 3))),
        "bars": _csv(plain, "|"),
        "row-numbers": plain.to_csv(),
    }
    made = {name: own.encode() for name, own in texts.items()}
    made["other-letters"] = text.replace("age", "Größe").encode("cp1252")
    made["utf-16"] = text.encode("utf-16")
    return made
