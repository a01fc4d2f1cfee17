"""The hash of the code that makes results: a result is kept as long as that stays the same."""

import hashlib
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

#: Files and folders that neither make nor judge a result, wherever they are. All others count:
#: a result done again in vain costs time, a stale one is wrong.
LEFT_OUT = (
    "__pycache__", "__main__", "cli", "study", "reproduction", "inspection", "pictures*",
    "baselines", "theory",
)  # fmt: skip


@cache
def code_sha256(package: Path) -> str:
    """Hash all code that states, feeds, solves and judges problems."""
    digest = hashlib.sha256()
    for file in sorted(files_that_count(package)):
        text = file.read_bytes()
        digest.update(f"{file.relative_to(package).as_posix()} {len(text)}\n".encode() + text)
    return digest.hexdigest()


def files_that_count(package: Path) -> Iterator[Path]:
    """Return the files of a package that make or judge results."""
    for file in package.rglob("*.py"):
        names = file.relative_to(package).with_suffix("").parts
        if not any(fnmatch(name, pattern) for name in names for pattern in LEFT_OUT):
            yield file
