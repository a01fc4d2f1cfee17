"""How Sphinx makes the site of what scripts/build_site.py has put beside this file."""

import logging
import re
from typing import Any

import matplotlib as mpl
from latex2mathml.converter import convert
from matplotlib import pyplot as plt
from sphinx_gallery.scrapers import figure_rst

import convexfs

project = "convexfs"
author = "convexfs developers"
copyright = author
version = release = convexfs.__version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["examples", "**sg_execution_times.rst"]
templates_path = ["templates"]
#: Inherited docstrings refer to labels and terms of scikit-learn's site.
suppress_warnings = ["config.cache", "ref.ref", "ref.term"]
#: A reference that leads nowhere stops the build.
nitpicky = True
#: The site is built without a network, so names of scikit-learn and cvxpy, such as those in
#: inherited docstrings, cannot be resolved. No name of convexfs may stand here.
nitpick_ignore_regex = [("py:.*", r"(sklearn|cvxpy)\..*")]

html_theme = "furo"
html_title = "convexfs"
html_static_path = ["static"]
html_css_files = ["site.css"]
pygments_dark_style = "github-dark"
html_show_sphinx = False
html_copy_source = False

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
copybutton_prompt_text = "$ "
copybutton_only_copy_prompt_lines = True

autosummary_generate = True
autodoc_typehints = "none"
napoleon_use_rtype = False
napoleon_use_ivar = True


def scraped(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """The figure that a block of an example has made, as the example's next picture."""
    figure = block_vars["example_globals"].pop("figure", None)
    if figure is None:
        return ""
    path = next(block_vars["image_path_iterator"])
    figure.savefig(path, dpi=130)
    plt.close("all")
    return figure_rst([path], gallery_conf["src_dir"])


def styled(gallery_conf: dict[str, Any], name: str) -> None:
    """The look of all pictures; and no examples that narrate."""
    logging.getLogger("convexfs").setLevel(logging.WARNING)
    mpl.rcdefaults()
    mpl.use("Agg")
    mpl.rcParams.update(
        {
            "figure.constrained_layout.use": True,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "legend.frameon": False,
        }
    )


sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "filename_pattern": "/plot_",
    "within_subsection_order": "FileNameSortKey",
    "image_scrapers": (scraped,),
    "reset_modules": (styled,),
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "capture_repr": (),
    "min_reported_time": 1e9,
    "write_computation_times": False,
}


def mathml(formula: str, display: str) -> str:
    """A formula as MathML, which browsers draw by themselves."""
    drawn = convert(re.sub(r"\\[Bb]igg?[lr]?(?=\\|\W)", "", formula), display=display)
    if display == "inline":
        return drawn
    # What is minimised over stands below the word.
    return re.sub(r"<msub>(<mo>(?:min|max)</mo>.*?)</msub>", r"<munder>\1</munder>", drawn)


def visit_math(writer: Any, node: Any) -> None:
    """An inline formula."""
    writer.body.append(mathml(node.astext(), "inline"))
    raise _skip()


def visit_displaymath(writer: Any, node: Any) -> None:
    """A formula on a line of its own."""
    writer.body.append(f'<div class="formula">{mathml(node.astext(), "block")}</div>')
    raise _skip()


def _skip() -> Exception:
    from docutils.nodes import SkipNode

    return SkipNode()


def escaped(app: Any, what: str, name: str, of: Any, options: Any, lines: list[str]) -> None:
    """Learned attributes end in ``_``, which would make links of them."""
    lines[:] = [typed(each) for line in lines for each in apart(line)]
    for number, line in enumerate(lines):
        if not line.lstrip().startswith(".. "):
            lines[number] = re.sub(r"(?<![`\w.])(\w+)_(?=[\s,):]|$)", r"\1\\_", line)


def apart(line: str) -> list[str]:
    """Attributes that are told of together, each on a line of its own: Sphinx takes one a line."""
    told = re.fullmatch(r"(:ivar )([^:]+)(:.*)", line)
    if told is None:
        return [line]
    return [f"{told[1]}{name}{told[3]}" for name in told[2].split(", ")]


#: Words of types that begin with a capital letter and are not classes of convexfs.
WORDS = {"True", "False", "None", "DataFrame", "RandomState", "Generator", "AnnData", "Path", "NaN"}
#: What is no prose in a type: texts, names of classes, and markup.
NAMES = r"""("[^"]*"|``.*?``|:\w+:`[^`]+`|[a-z_]\w*(?:\.\w+)+|\b[A-Z]\w*[a-z]\w*)"""


def typed(line: str) -> str:
    """Return the type of a parameter as a sentence in which only classes of convexfs are links.

    Sphinx would take every word of "array (N, J), optional" for the name of a class.
    """
    found = re.fullmatch(r"(\s*:(?:var)?type [^:]+: )(.+)", line)
    if found is None:
        return line
    parts: list[str] = []
    for each in re.split(NAMES, found[2]):
        is_name = re.fullmatch(NAMES, each) and each not in WORDS
        if is_name or not parts or parts[-1].startswith("\0"):
            parts.append("\0" + each if is_name else each)
        else:
            parts[-1] += each
    return found[1] + r"\ ".join(_marked(each) for each in parts if each)


def _marked(part: str) -> str:
    if not part.startswith("\0"):
        prose = part.strip()
        return part.replace(prose, f"*{prose}*") if re.search(r"\w", prose) else part
    name = part[1:]
    if name.startswith(("`", ":")):
        return name
    return f":class:`~.{name}`" if name[0].isupper() else f"``{name}``"


html_math_renderer = "mathml"


def setup(app: Any) -> None:
    """Formulas without scripts, docstrings as they are meant."""
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_displaymath, None))
    app.connect("autodoc-process-docstring", escaped, priority=900)  # after napoleon
