"""What a user says of a file that is to be read, and what reading it then tells."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from convexfs.data.readers.memory_limit import ReadLimit, read_limit


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How to read a file; None means: infer it, and report what was inferred in `told`.

    Attributes
    ----------
    target : str, optional
        The column with the classes; for npz and mat the array.
    drop : sequence of str
        Columns to leave out.
    aside : sequence of str
        Columns that are no features but stay with the samples, such as subject or batch.
    id : str, optional
        The column that names the samples.
    labels : str, optional
        ``FILE`` or ``FILE:COLUMN``, the classes of the samples by their ids.
    transpose : bool
        Whether samples are columns and features rows.
    sep, decimal, encoding : str, optional
        Of text: what separates cells and what stands before decimals.
    sheet, layer : str, optional
        Of a workbook; of annotated data.
    target_kind : {"classes", "numbers"}, optional
        What the target holds; many different integers are refused if it is None.
    impute : {"median", "knn", "none"}
        What fills missing cells of numbers.
    sparse : bool
        Whether a matrix that is stored sparse stays so.
    mixed : bool
        Whether missing values and columns of text that have few values are kept.
    categorical : sequence of str
        Columns that are categories, if data are `mixed`.
    limit : ReadLimit
        Memory that reading may take.
    told : list of str
        What was recognised, one sentence each; readers add to it.
    """

    target: str | None = None
    drop: Sequence[str] = ()
    aside: Sequence[str] = ()
    id: str | None = None
    labels: str | None = None
    transpose: bool = False
    sep: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    sheet: str | None = None
    layer: str | None = None
    target_kind: str | None = None
    impute: str = "none"
    sparse: bool = False
    mixed: bool = False
    categorical: Sequence[str] = ()
    limit: ReadLimit = field(default_factory=read_limit)
    told: list[str] = field(default_factory=list)

    def tell(self, sentence: str) -> None:
        """Say what was recognised, once."""
        if sentence not in self.told:
            self.told.append(sentence)


def distinct_names(names: Sequence[Any], tell: Callable[[str], None] | None = None) -> list[str]:
    """Number the copies of repeated names, as probes of one gene share its name.

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
        more = f" and {len(twice) - 1} more" if len(twice) > 1 else ""
        tell(f"column name '{twice[0]}'{more} repeated: copies are numbered, as '{twice[0]}#2'")
    return distinct
