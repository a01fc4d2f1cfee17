"""Sanitise a page's content: formulas without code, and files without folders."""

import re
from typing import Any
from xml.etree import ElementTree

NAMESPACE = "{http://www.w3.org/1998/Math/MathML}"
#: Names of MathML Core elements that can only display.
ELEMENTS = {
    "math", "merror", "mfrac", "mi", "mmultiscripts", "mn", "mo", "mover", "mpadded", "mphantom",
    "mprescripts", "mroot", "mrow", "ms", "mspace", "msqrt", "mstyle", "msub", "msubsup", "msup",
    "mtable", "mtd", "mtext", "mtr", "munder", "munderover",
}  # fmt: skip
ATTRIBUTES = {
    "accent", "accentunder", "alttext", "class", "columnalign", "columnspacing", "columnspan",
    "depth", "dir", "display", "displaystyle", "fence", "form", "height", "largeop",
    "linethickness", "lspace", "mathvariant", "maxsize", "minsize", "movablelimits", "rowalign",
    "rowspacing", "rowspan", "rspace", "scriptlevel", "separator", "stretchy", "style",
    "symmetric", "voffset", "width",
}  # fmt: skip
#: Pattern of allowed style attributes: text and spacing without functions, so that nothing is
#: fetched or overlaid.
_STYLE = re.compile(
    r"(\s*(text-align|white-space|font-[a-z]+|padding[-a-z]*|margin[-a-z]*|vertical-align)"
    r"\s*:[-\w\s.,%'\"]*(;|$))*"
)
#: Pattern of the folders of an absolute path inside a text, up to the file name.
_PLACE = re.compile(r"(?<![\w.:/\\<])(?:/|[A-Za-z]:[\\/])(?:[^\s/\\'\"<>:,;()]+[\\/])+(?=[^\s/\\])")


def is_mathml(text: str) -> bool:
    """Return whether `text` is one MathML formula of known elements, without code or links."""
    if "<!" in text or "<?" in text:
        return False
    try:
        formula = ElementTree.fromstring(text)
    except (ElementTree.ParseError, ValueError):
        return False
    return formula.tag == f"{NAMESPACE}math" and all(map(_shows_only, formula.iter()))


def _shows_only(element: ElementTree.Element) -> bool:
    known = element.tag in {f"{NAMESPACE}{name}" for name in ELEMENTS}
    style = element.attrib.get("style", "")
    return known and set(element.attrib) <= ATTRIBUTES and bool(_STYLE.fullmatch(style))


def without_folders(text: Any, folders: list[str]) -> str:
    """Remove these folders, which may contain blanks, and those of other paths from a text."""
    for folder in folders:
        text = str(text).replace(folder, "")
    return _PLACE.sub("", str(text))
