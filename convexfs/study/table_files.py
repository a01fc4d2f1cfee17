"""The tables of a report as files: CSV with every digit, LaTeX as they are shown."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from convexfs.errors import InputError
from convexfs.study.columns import Column
from convexfs.study.page.assemble import Table

#: Longer tables are for programs: they are written as CSV only.
MOST_LATEX_ROWS = 400
_SPECIAL = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "×": r"$\times$", "µ": r"$\mu$",
}  # fmt: skip
_WORDS = {"text", "code", "long", "outcome", "flag"}


def write_tables(tables: Mapping[str, Table], folder: str | Path) -> list[Path]:
    """Write every table as NAME.csv and, unless it is long, as NAME.tex; return where they are."""
    folder, written = Path(folder), []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, table in tables.items():
            table.frame.to_csv(folder / f"{name}.csv", index=False)
            written.append(folder / f"{name}.csv")
            if len(table.frame) <= MOST_LATEX_ROWS:
                (folder / f"{name}.tex").write_text(
                    latex(table), encoding="utf-8", errors="backslashreplace"
                )
                written.append(folder / f"{name}.tex")
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror or error})") from error
    return written


def latex(table: Table) -> str:
    """Return a table of the columns that are shown, in the style of the package booktabs.

    What the columns mean stands before it as a comment.
    """
    shown = table.shown
    places = "".join("l" if column.kind in _WORDS else "r" for column in shown)
    lines = [f"% {escaped(table.title)}; needs \\usepackage{{booktabs}}"]
    lines += [f"% {own.heading}: {own.meaning}" for own in shown if own.meaning]
    lines += [rf"\begin{{tabular}}{{{places}}}", r"\toprule"]
    lines += [_line(column.heading for column in shown), r"\midrule"]
    lines += [_line(_cells(shown, row)) for row in table.frame.to_dict("records")]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def _cells(shown: list[Column], row: Mapping[str, object]) -> list[str]:
    return [column.printed(row[column.name]) for column in shown]


def _line(cells: Iterable[str]) -> str:
    return " & ".join(map(escaped, cells)) + r" \\"


def escaped(text: str) -> str:
    """Return text from anywhere so that LaTeX shows it, on one line."""
    plain = " ".join(str(text).split())
    return "".join(_SPECIAL.get(letter, letter) for letter in plain)
