"""Limit the memory of a task by the operating system.

On Linux the limit is ``RLIMIT_DATA``, which counts the private writable memory of a process,
whether used or not. Files that are only mapped into memory do not count. A task over its limit is
refused memory: most libraries then raise MemoryError, some end the process. Other systems have no
such limit.
"""

import re
import sys
from collections.abc import Callable
from typing import Any

from convexfs.errors import InputError

HOLDS = sys.platform == "linux"
UNITS = {"": 1, "B": 1} | {
    f"{prefix}{end}": base**power
    for power, prefix in enumerate("KMGT", start=1)
    for end, base in (("", 1000), ("B", 1000), ("IB", 1024))
}
#: Error messages of libraries that were refused memory.
_REFUSALS = re.compile(
    r"MemoryError|bad_?alloc|(unable|cannot|can't|failed|could not) (to )?(allocate|alloc\b)"
    r"|out of memory|can't start new thread",
    re.IGNORECASE,
)
#: Exit signals of a process that was refused memory.
_ENDS = re.compile(r"WorkerDied: (SIGABRT|SIGSEGV|SIGBUS|exit code)")


def parse_size(text: str) -> int:
    """Parse a size such as 500MB, 2GB or 1.5GiB and return bytes."""
    match = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*([A-Z]*)\s*", text.upper())
    size = float(match[1]) * UNITS.get(match[2], 0) if match else 0.0
    if not 1 <= size < 2**63:
        raise InputError(f"{text!r} is no size of memory; write it as 500MB or 2GB")
    return int(size)


def format_size(size: int) -> str:
    """Format a number of bytes with its unit."""
    power = min(len(str(size)) - 1, 12) // 3
    return f"{size / 1000**power:g} {('B', 'KB', 'MB', 'GB', 'TB')[power]}"


def call_within(limit: int, work: Callable[..., Any], *task: Any) -> Any:
    """Call `work` with at most `limit` bytes more than this process holds now."""
    if not HOLDS:
        return work(*task)
    import resource

    before = resource.getrlimit(resource.RLIMIT_DATA)
    allowed = _data_bytes() + limit
    if before[1] != resource.RLIM_INFINITY:
        allowed = min(allowed, before[1])
    resource.setrlimit(resource.RLIMIT_DATA, (allowed, before[1]))
    try:
        return work(*task)
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


def _data_bytes() -> int:
    with open("/proc/self/status") as status:
        (line,) = (line for line in status if line.startswith("VmData:"))
    return int(line.split()[1]) * 1024


def name_limit(failure: str, limit: int | None) -> str:
    """Return the text of a failure, adding the memory limit if it may be the cause."""
    if limit is None or not HOLDS:
        return failure
    if _REFUSALS.search(failure):
        return f"memory limit {format_size(limit)} reached ({failure})"
    if _ENDS.match(failure):
        return f"{failure}, perhaps at its memory limit of {format_size(limit)}"
    return failure
