"""Texts use the field's words: penalty, solution, missing value, and who does what."""

import io
import re
import tokenize
from functools import cache
from pathlib import Path

import pytest

from convexfs.cli import COMMANDS, main

ROOT = Path(__file__).parents[1]
#: Words to avoid, and what to write.
AVOID = {
    r"\b(?:is|are|was|were) (?:said|told|noticed)\b": "report, print or detect, with a subject",
    r"\b(?:does|do) not tell\b|\bto be (?:said|told)\b": "report",
    r"\bcan(?:not)? be told\b(?! apart)": "known, detected",
    r"\bof (?:its|their) own(?=[,.;:)\"]|$| (?:in|is|are|and|that|to|for|which|has)\b)": "its own",
    r"\b(?:may|to|can|cannot) be had\b": "available",
    r"\bprices?\b": "penalty",
    r"\bholes?\b": "missing value",
    r"\bjudg(?:es|ed|ing)\b(?! :)": "verify, test",
    r"\broads?\b(?! :)": "solution path",
    r"\b(?:stairs|rehears\w*)\b": "layers, warm up",
    r"\bstands? out\b": "is significant",
    r"\bhonest(?:ly)?\b": "held-out, cross-validated",
    r"\bwhole numbers?\b": "integer",
    r"\bis no (?:luxury|proof)\b": "does not prove",
    r"\ba row a\b|\ba task a\b|\ba sample a\b": "one row per ...",
    r"\bgo(?:es)? on where\b": "resume",
    r"\bnoticed, and said\b": "detected and reported",
    r"\bevery answer verified\b": "verify every solution",
    r"\bdata's units\b": "key parameters",
    r"\bfeatures? that cost something\b": "feature costs",
}
#: Files that quote old names, or published data with such a column.
EXCEPTIONS = {"convexfs/former_names.py"}


@cache
def _texts(path: Path) -> str:
    """Return the prose of a file: comments and texts of Python, pages without their code."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return re.sub(r"```.*?```|`[^`]*`", "", text, flags=re.S)
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    comments = (tokenize.COMMENT,)
    texts = (tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING))
    return "\n".join(
        re.sub(r"\{[^}]*\}", "", token.string)
        for token in tokens
        # A word alone is a key or an option, not a text.
        if token.type in comments or (token.type in texts and " " in token.string)
    )


def _files() -> list[Path]:
    places = [*ROOT.glob("convexfs/**/*.py"), *ROOT.glob("convexfs/guide/*.md")]
    places += [ROOT / "README.md", ROOT / "problems" / "README.md", *ROOT.glob("problems/*.py")]
    places += [*ROOT.glob("scripts/pages/*.md"), *ROOT.glob("scripts/pages/examples/*.py")]
    return [each for each in places if str(each.relative_to(ROOT)) not in EXCEPTIONS]


@pytest.mark.parametrize("word", AVOID)
def test_texts_avoid_private_words(word):
    found = [
        f"{path.relative_to(ROOT)}: {match.group()}"
        for path in _files()
        for match in re.finditer(word, _texts(path))
    ]
    assert not found, f"write {AVOID[word]!r} instead:\n" + "\n".join(found)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_avoids_private_words(command, capsys):
    assert main([command, "--help"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert not [match.group() for word in AVOID for match in re.finditer(word, text)]


@pytest.mark.parametrize(
    "path", sorted((ROOT / "convexfs" / "guide").glob("*.md")), ids=lambda p: p.stem
)
def test_every_page_of_the_guide_addresses_the_reader(path):
    assert re.search(r"\byour?\b", _texts(path), re.I), "say what you do: you, your"


def test_files_that_pages_name_exist():
    named = [
        (path.name, name)
        for path in [*_files(), *ROOT.glob("scripts/pages/**/*.md")]
        if path.suffix == ".md"
        for name in re.findall(
            r"\b(?:scripts|problems)/[\w/.-]+\.(?:py|sh|md|csv)", path.read_text()
        )
    ]
    yours = {"problems/mine.py"}  # a file that the reader is to write
    assert named
    assert [each for each in named if each[1] not in yours and not (ROOT / each[1]).exists()] == []
