"""Names of columns that repeat."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any


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
