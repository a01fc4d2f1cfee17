"""Whether a text from a file is mathematics and nothing else, so that a page may show it."""

import re
from xml.etree import ElementTree

NAMESPACE = "{http://www.w3.org/1998/Math/MathML}"
#: Those of MathML Core that only show something.
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
#: Style of text and spaces, without functions: nothing is fetched or laid over the page.
_STYLE = re.compile(
    r"(\s*(text-align|white-space|font-[a-z]+|padding[-a-z]*|margin[-a-z]*|vertical-align)"
    r"\s*:[-\w\s.,%'\"]*(;|$))*"
)


def is_mathml(text: str) -> bool:
    """Tell whether `text` is one formula of known elements, without code or links."""
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
