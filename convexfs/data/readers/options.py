"""Options of reading a file, and the notes that readers report."""

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from convexfs.data.readers.memory_limit import ReadLimit, read_limit
from convexfs.errors import and_more

#: Choices of command-line options, here because this module imports little: scalings, imputations
#: with texts for notes, and rules for missing values.
SCALE_NAMES = ("zscore", "minmax", "none")
IMPUTATIONS = {
    "none": "",
    "median": "the median of their feature",
    "knn": "the mean of the five nearest samples",
}
MISSING_RULES = ("hybrid", "class", "observed", "error")


def _word(help: str, metavar: str = "", default: Any = None) -> Any:
    """Return a dataclass field of an option that data specs and the command line share."""
    return field(default=default, metadata={"help": help, "metavar": metavar})


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """Options of reading data, as ``load`` documents them.

    Those with a help text are also options of ``convexfs select`` and words of a spec.
    """

    target: str | None = field(
        default=None,
        metadata={"help": "target column: classes or numbers", "metavar": ""},
        kw_only=False,
    )
    data_dir: str | os.PathLike[str] | None = field(default=None, kw_only=False)
    drop: Sequence[str] = _word("columns to omit", "COL,COL", ())
    aside: Sequence[str] = ()
    id: str | None = _word("sample-id column [detected automatically and reported]", "COL")
    labels: str | os.PathLike[str] | None = field(
        default=None,
        metadata={"help": "table with the classes, joined by sample id", "metavar": "FILE[:COL]"},
    )
    transpose: bool = _word(
        "the file has one column per sample and one row per feature", default=False
    )
    sep: str | None = _word("separator of a text file [detected and reported]", "CHAR")
    decimal: str | None = _word("decimal mark of a text file [detected and reported]", "CHAR")
    encoding: str | None = _word("encoding of a text file [detected and reported]", "NAME")
    limits: str | None = _word("read <0.5 or >100 as the limit, or as missing", "value|missing")
    thousands: str | None = _word("character between thousands, as in 12,400", "CHAR")
    na: Sequence[str] = _word("cells that mean a missing value", "TEXT,TEXT", ())
    sheet: str | None = _word("sheet of a workbook [the first]", "NAME")
    layer: str | None = _word("layer of an .h5ad file [X]", "NAME")
    target_kind: str | None = None
    impute: str = _word("imputation of missing numbers [none]", default="none")
    normalize: str | None = _word(
        "log1p-cpm: log(1 + counts per million) of each sample", "log1p-cpm"
    )
    sparse: bool = False
    mixed: bool = False
    categorical: Sequence[str] = _word(
        "categorical columns [text columns of few values, detected and reported]", "COL,COL", ()
    )
    read_limit: str | float | None = None


#: Fields of the options that ``convexfs select`` and data specs share, by name.
WORDS = {option.name: option for option in fields(ReadOptions) if "help" in option.metadata}


@dataclass(frozen=True, kw_only=True)
class Reading(ReadOptions):
    """Options of reading a file; if None, readers infer the value and note it in `told`.

    Attributes
    ----------
    limit : ReadLimit
        Memory that reading may take.
    told : list of str
        Notes on what was inferred, one sentence each; readers add to it.
    """

    limit: ReadLimit = field(default_factory=read_limit)
    told: list[str] = field(default_factory=list)

    @property
    def of_data_set(self) -> dict[str, Any]:
        """Return the options that :func:`make_dataset` takes, by its parameters."""
        names = ("drop", "impute", "mixed", "categorical", "told", "target_kind")
        return {name: getattr(self, name) for name in names}

    def tell(self, sentence: str) -> None:
        """Append a note for the user to `told`, unless it is there."""
        if sentence not in self.told:
            self.told.append(sentence)


def unused_name(name: str, taken: Collection[str]) -> str:
    """Return `name`, followed by as many underscores as it takes to differ from those taken."""
    while name in taken:
        name += "_"
    return name


def distinct_names(names: Iterable[Any], tell: Callable[[str], None] | None = None) -> list[str]:
    """Return names with numbers added to repeated ones, such as probes of one gene.

    >>> distinct_names(["g", "h", "g"])
    ['g', 'h', 'g#2']
    """
    texts = [str(name) for name in names]
    taken, seen, distinct = set(texts), Counter[str](), []
    for name in texts:
        seen[name] += 1
        while seen[name] > 1 and f"{name}#{seen[name]}" in taken:
            seen[name] += 1
        distinct.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    twice = [name for name, count in Counter(texts).items() if count > 1]
    if twice and tell is not None:
        named = and_more([f"'{twice[0]}'"], len(twice))
        tell(f"column name {named} repeated: copies are numbered, as '{twice[0]}#2'")
    return distinct
