"""Counts as text: how cases ended, what failed and how often, what an attack counts by itself."""

from collections import Counter

from .engine import Counts


def progress_line(counts: Counts) -> str:
    """One line while cases run."""
    each = ", ".join(f"{name} {ended.total()}" for name, ended in counts.outcomes.items())
    return f"{counts.cases} cases ({each}), {counts.failed} failures"


def counts_table(counts: Counts) -> str:
    """How the cases of every attack ended."""
    rows = [
        (name, outcome, str(count))
        for name, ended in counts.outcomes.items()
        for outcome, count in ended.most_common()
    ]
    rows += [(name, "most MB a case took", f"{mb:.0f}") for name, mb in counts.megabytes.items()]
    total = [("all", f"{counts.failed} failures", str(counts.cases))]
    return _aligned([("attack", "outcome", "cases"), *rows, *total])


def failures_table(counts: Counts) -> str:
    """Failures by kind and cause, the most frequent first."""
    rows = [
        (name, failure.kind, str(count), failure.cause)
        for name, failures in counts.failures.items()
        for failure, count in failures.most_common()
    ]
    return _aligned([("attack", "failure", "times", "cause"), *rows])


def tally_table(name: str, tally: Counter[tuple[str, str]], columns: tuple[str, ...] = ()) -> str:
    """Write what an attack counts by rows and columns."""
    columns = columns or tuple(sorted({column for _, column in tally}))
    rows = [
        (row, *(str(tally[row, column]) for column in columns))
        for row in sorted({row for row, _ in tally}, key=_natural)
    ]
    return _aligned([(name, *columns), *rows])


def _natural(row: str) -> tuple[str, float]:
    """Order rows that end in a number by the number."""
    head, _, tail = row.rpartition(" ")
    try:
        return head, float(tail)
    except ValueError:
        return row, 0.0


def _aligned(rows: list[tuple[str, ...]]) -> str:
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )
