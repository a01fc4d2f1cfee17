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
#: What scikit-learn's docstrings refer to stands in its own site.
suppress_warnings = ["config.cache", "ref.ref", "ref.term"]

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
    lines[:] = [each for line in lines for each in apart(line)]
    for number, line in enumerate(lines):
        if not line.lstrip().startswith(".. "):
            lines[number] = re.sub(r"(?<![`\w.])(\w+)_(?=[\s,):]|$)", r"\1\\_", line)


def apart(line: str) -> list[str]:
    """Attributes that are told of together, each on a line of its own: Sphinx takes one a line."""
    told = re.fullmatch(r"(:ivar )([^:]+)(:.*)", line)
    if told is None:
        return [line]
    return [f"{told[1]}{name}{told[3]}" for name in told[2].split(", ")]


html_math_renderer = "mathml"


def setup(app: Any) -> None:
    """Formulas without scripts, docstrings as they are meant."""
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_displaymath, None))
    app.connect("autodoc-process-docstring", escaped, priority=900)  # after napoleon
