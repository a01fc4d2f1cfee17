"""Read text files line by line, plain or compressed; errors name the line."""

import gzip
import math
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

from convexfs.data.readers.memory_limit import read_limit
from convexfs.errors import InputError, check_regular_file, shortened, writing

#: Measured peak bytes of the readers: per byte and per line of text.
_BYTE, _LINE = 4, 400
_BLOCK = 2**20
#: A file that declares more rows or columns is rejected; matrices count with all their entries.
LARGEST = 50_000_000


class FormatError(InputError):
    """Error for a file that breaks the rules of its format."""


def read_bytes(path: Path) -> bytes:
    """Return the content of a file, decompressed if .gz; raise if memory does not suffice."""
    check_regular_file(path)
    limit, blocks, size, lines = read_limit(), [], 0, 0
    opened = gzip.open if path.suffix.lower() == ".gz" else open
    try:
        with opened(path, "rb") as file:
            while block := file.read(_BLOCK):
                blocks.append(block)
                size += len(block)
                lines += block.count(b"\n")
                limit.check(_BYTE * size + _LINE * lines, path.name, "use a smaller problem")
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path} cannot be read ({reason})") from error
    return b"".join(blocks)


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file, compressed if its name says so; equal content gives equal bytes."""
    if path.suffix.lower() == ".gz":
        content = gzip.compress(content, mtime=0)
    with writing(path):
        path.write_bytes(content)


class Lines:
    """The lines of a text file, without comments and blank lines.

    Lines that begin with one of the `marks` are kept apart as comments; `number` is that of
    the line read last.
    """

    def __init__(self, path: Path, *marks: str):
        self.path, self.number = path, 0
        text = read_bytes(path).decode("utf-8", errors="replace")
        if "\0" in text:
            self.fail("this is no text file", 1)
        numbered = [(number, line) for number, line in enumerate(text.splitlines(), 1)
                    if line.strip()]  # fmt: skip
        self.comments = [at for at in numbered if at[1].lstrip().startswith(marks)]
        self._left = iter([at for at in numbered if not at[1].lstrip().startswith(marks)])

    def __iter__(self) -> Iterator[str]:
        for number, line in self._left:
            self.number = number
            yield line

    def next(self, expected: str) -> str:
        """Return the next line; at the end of the file, fail and name what was expected."""
        for line in self:
            return line
        self.fail(f"the file ends where {expected} should stand")

    def whole(self, word: str, what: str, low: int = 0, high: float = math.inf) -> int:
        """Parse an integer in [low, high]."""
        try:
            value = int(word)
        except ValueError:
            self.fail(f"{what} must be an integer, not {shortened(word)}")
        if not low <= value <= high:
            at_most = f" and at most {high:g}" if high < math.inf else ""
            self.fail(f"{what} must be at least {low}{at_most}, not {value}")
        return value

    def check_size(self, total: int) -> None:
        """Raise if a file declares more than 50 million rows or columns."""
        if total > LARGEST:
            self.fail(f"{total:,} rows or columns are more than {LARGEST:,}, the most read here")

    def real(self, word: str, what: str, *, infinite: bool = False) -> float:
        """Parse a number in C or Fortran notation; allow infinity only with `infinite`."""
        try:
            value = float(word.replace("D", "e").replace("d", "e")) if "_" not in word else None
        except ValueError:
            value = None
        if value is None or math.isnan(value) or (math.isinf(value) and not infinite):
            self.fail(f"{what} must be a number, not {shortened(word)}")
        return value

    def fail(self, message: str, line: int | None = None) -> NoReturn:
        """Raise an error that names the file and the line."""
        raise FormatError(f"{self.path}, line {self.number if line is None else line}: {message}")
