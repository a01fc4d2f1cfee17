"""Put what ``python scripts/reproduce.py`` wrote into the documents, so that no table is typed.

    python scripts/papers/write_tables.py RUNS [RUNS ...]

RUNS is the ``--out`` of the command. Of every experiment there the summary and the numbers of
single runs go to ``problems/results``; in the two pages of
``scripts/pages/results`` the text between ``<!-- table NAME -->`` and ``<!-- end -->`` is
replaced, be it a table or the points of a figure.
"""

import re
import sys
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).parents[2]
DOCUMENTS = ("scripts/pages/results/lfe-logo.md", "scripts/pages/results/llfs-lmba.md")
PLACE = re.compile(r"(<!-- table (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)


def kept_runs(runs: pd.DataFrame) -> pd.DataFrame:
    """Single numbers, which tables and tests are made of; not the points of curves."""
    several = set(runs.loc[runs["position"] > 0, "measure"])
    kept = runs[~runs["measure"].isin(list(several))]
    return kept.drop(columns="position").round({"value": 6})


def filled(text: str, tables: dict[str, str]) -> str:
    """A document with its tables written anew; those that were not run stay as they are."""

    def table(place: re.Match[str]) -> str:
        begin, name, end = place.groups()
        return f"{begin}\n{tables[name].strip()}\n\n{end}" if name in tables else place[0]

    return PLACE.sub(table, text)


def points_shown(points: pd.DataFrame) -> str:
    """The points of a figure as a table, a line for each series."""
    wide = points.pivot(index="series", columns="x", values="y").reindex(points["series"].unique())
    heading = ["", *(f"{x:g}" for x in wide.columns)]
    lines = [heading, ["---"] * len(heading)]
    for series, row in zip(wide.index, wide.to_numpy(), strict=True):
        lines.append([str(series), *("" if y != y else f"{y:.3g}" for y in row)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main(folders: list[Path]) -> None:
    results, tables = ROOT / "problems/results", {}
    results.mkdir(exist_ok=True)
    for summary in sorted(found for folder in folders for found in folder.glob("*/summary.md")):
        name = summary.parent.name
        (results / f"{name}.md").write_text(summary.read_text(encoding="utf-8"), encoding="utf-8")
        runs = pd.read_csv(summary.parent / "runs.csv")
        kept_runs(runs).to_csv(results / f"{name}.csv", index=False)
        tables |= {
            own.stem: own.read_text(encoding="utf-8")
            for own in summary.parent.glob("*.md")
            if own != summary
        }
        tables |= {
            drawn.stem: points_shown(pd.read_csv(drawn.with_suffix(".csv")))
            for drawn in summary.parent.glob("*.svg")
        }
    for document in (ROOT / name for name in DOCUMENTS):
        text = document.read_text(encoding="utf-8")
        document.write_text(filled(text, tables), encoding="utf-8")


if __name__ == "__main__":
    main([Path(word) for word in sys.argv[1:]])
