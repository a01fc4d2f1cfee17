"""Damage to bytes: what disks, editors, spreadsheets and enemies do to files."""

import re

import numpy as np

from .attack import pick

#: Pieces that parsers stumble over.
PIECES = [
    b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\x1b[31m", b"\x1b]0;title\x07", b"\x9b31m",
    b"\r", b"\r\n", b"\n", b"\n\n\n", b'"', b"'", b",", b";", b"\t", b":", b"%", b"@", b"#", b"{}",
    b"nan", b"NaN", b"inf", b"-inf", b"1e999", b"1e308", b"-1e-400", b"0x10", b"1_000", b"1,5",
    b"NA", b"n/d", b"null", b"None", b"True", b"?", b"-", b"", b" ", b"9" * 400, b"1" * 5000,
    b"[bold]x[/bold]", b"[/]", b"<script>alert(1)</script>", "é\u202e\u2028".encode(), b"\\",
    b"\xc2\x9b", b"../x", b"$(touch x)", b"=1+1", b"2020-01-01",
]  # fmt: skip
NUMBER = re.compile(rb"-?\d+(\.\d+)?")


def damaged(rng: np.random.Generator, content: bytes) -> bytes:
    """The content after up to three accidents, of which one may be enough or too much."""
    for _ in range(pick(rng, [0, 1, 1, 1, 2, 3])):
        content = pick(rng, ACCIDENTS)(rng, content)
    return content


def _span(rng: np.random.Generator, content: bytes, longest: int = 40) -> slice:
    start = int(rng.integers(len(content) + 1))
    return slice(start, start + int(rng.integers(1, longest)))


def _flip(rng: np.random.Generator, content: bytes) -> bytes:
    changed = bytearray(content)
    if changed:
        changed[rng.integers(len(changed))] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def _cut(rng: np.random.Generator, content: bytes) -> bytes:
    span = _span(rng, content)
    return content[: span.start] + content[span.stop :]


def _truncate(rng: np.random.Generator, content: bytes) -> bytes:
    return content[: rng.integers(len(content) + 1)]


def _repeat(rng: np.random.Generator, content: bytes) -> bytes:
    span = _span(rng, content)
    times = pick(rng, [1, 1, 2, 50])
    return content[: span.stop] + content[span] * times + content[span.stop :]


def _insert(rng: np.random.Generator, content: bytes) -> bytes:
    start = _span(rng, content).start
    return content[:start] + pick(rng, PIECES) + content[start:]


def _renumber(rng: np.random.Generator, content: bytes) -> bytes:
    """Put a piece in the place of a number."""
    found = list(NUMBER.finditer(content))
    if not found:
        return content
    place = pick(rng, found)
    return content[: place.start()] + pick(rng, PIECES) + content[place.end() :]


def _swap_lines(rng: np.random.Generator, content: bytes) -> bytes:
    lines = content.split(b"\n")
    first, second = rng.integers(len(lines), size=2)
    lines[first], lines[second] = lines[second], lines[first]
    return b"\n".join(lines)


def _other_bytes(rng: np.random.Generator, content: bytes) -> bytes:
    span = _span(rng, content, 8)
    return content[: span.start] + rng.bytes(span.stop - span.start) + content[span.stop :]


ACCIDENTS = [_flip, _cut, _truncate, _repeat, _insert, _insert, _renumber, _renumber]
ACCIDENTS += [_swap_lines, _other_bytes]
