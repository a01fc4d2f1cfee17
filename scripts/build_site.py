"""Build the site of the guide, the gallery and the reference, and check its links.

    python scripts/build_site.py [--out DIR]

It needs ``pip install 'convexfs[site]'``. Examples of the gallery run again only if they have
changed. The site loads nothing from the network: formulas are MathML, and styles and scripts
lie beside the pages.
"""

import argparse
import contextlib
import importlib.util
import io
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from unittest import mock
from urllib.parse import unquote, urlparse

import convexfs
from convexfs.cli import COMMANDS
from convexfs.cli import main as run_command
from convexfs.cli.guide import FOLDER, pages

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "scripts" / "pages"
NEEDED = ("sphinx", "furo", "myst_parser", "sphinx_gallery", "sphinx_copybutton", "latex2mathml")
#: Pages by section of the sidebar; a page of the guide that is in none is put under "How-to".
SECTIONS = {
    "Get started": ("guide/install", "guide/methods", "guide/faq", "guide/coming-from"),
    "Tutorials": ("guide/table", "guide/change", "problem-files", "gallery/index"),
    "How-to": (
        "guide/data", "guide/solvers", "guide/explain", "guide/batches", "guide/clusters",
        "guide/scale", "guide/studies",
    ),
    "Methods": (
        "guide/relief", "guide/logo", "guide/llfs", "guide/lmba", "guide/lfe", "guide/knockoffs",
    ),
    "Reference": ("commands", "reference", "guide/glossary"),
    "Background": (
        "guide/selection", "guide/certificates", "guide/peers", "guide/reproduction",
        "results/error-rates", "results/peers", "results/peers-relief", "results/lfe-logo",
        "results/llfs-lmba",
        "results/solver-study", "cvxpy-bounds",
    ),
    "Project": ("changelog", "contributing"),
}  # fmt: skip
#: The reference, part by part: what stands in it by its dotted name.
INFERENCE = (
    "shadow_test", "permutation_test", "selection_curve", "KnockoffSelector", "StabilitySelector",
)  # fmt: skip
PROBLEMS = ("solve", "certify", "assert_optimal", "explain", "show", "Solution", "Certificate")
#: Classes that the public names return or inherit from, and functions that they refer to.
DETAILS = (
    "convexfs.data.build.make_dataset",
    "convexfs.inference.shadow_statistics.ShadowResult",
    "convexfs.inference.stability.StabilityIndex",
    "convexfs.methods.base.fixed_point.FixedPointCertificate",
    "convexfs.methods.lfe.estimator.ComponentChoice",
    "convexfs.methods.lfe.estimator.choose_components",
    "convexfs.records.ConePoint",
    "convexfs.selection.rules.SelectionDecision",
    "convexfs.estimators.method_estimator.MethodEstimator",
    "convexfs.estimators.selector.ClassSelector",
    "convexfs.estimators.regression.NumberSelector",
)
MODULES = (
    "convexfs.report.pictures",
    "convexfs.inference.selection_curves",
    "convexfs.inference.label_permutations",
    "convexfs.estimators.selector",
    "convexfs.methods.lfe.pictures",
    "convexfs.methods.llfs.pictures",
    "convexfs.methods.llfs.problem",
    "convexfs.methods.llfs.problem_steps",
    "convexfs.methods.llfs.lfs",
    "convexfs.methods.llfs.theory",
    "convexfs.methods.logo.theory",
    "convexfs.neighbors.missing_values",
    "convexfs.neighbors.sample_weight",
    "convexfs.data.generators",
    "convexfs.errors",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "site", metavar="DIR")
    out = parser.parse_args().out.resolve()
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        sys.exit(f"The site needs {', '.join(missing)}: pip install '{ROOT}[site]'")
    source = out.with_name(f"{out.name}-source")
    gather(source)
    words = ["-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"]
    words += ["-d", str(source / ".doctrees")]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg"}
    line = [sys.executable, *words, str(source), str(out)]
    if subprocess.run(line, env=environment).returncode:
        sys.exit("The site was not built: correct the warnings above.")
    troubles = list(check(out))
    for trouble in troubles:
        print(trouble)
    print(
        f"{out / 'index.html'}: {len(list(out.rglob('*.html')))} pages, {len(troubles)} bad links"
    )
    sys.exit(bool(troubles))


def gather(source: Path) -> None:
    """Gather the sources of the site in one folder; unchanged files keep their date."""
    shutil.copytree(
        SOURCE, source, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__")
    )
    shutil.copytree(FOLDER, source / "guide", dirs_exist_ok=True)
    shutil.copy(ROOT / "problems" / "README.md", source / "problem-files.md")
    placed = {document for documents in SECTIONS.values() for document in documents}
    others = [f"guide/{topic}" for topic in pages() if f"guide/{topic}" not in placed]
    trees = [
        _tree(caption, [*documents, *(others if caption == "How-to" else [])])
        for caption, documents in SECTIONS.items()
    ]
    index = (SOURCE / "index.md").read_text()
    _write(source / "index.md", "\n".join([index, *trees]))
    _write(source / "reference.md", reference())
    for page in (source / "reference").glob("*.rst"):
        if f"   {page.stem}\n" not in reference():  # a name that an earlier build listed
            page.unlink()
    _write(source / "commands.md", commands())
    _write(source / "changelog.md", _relinked(ROOT / "CHANGELOG.md"))
    _write(source / "contributing.md", _relinked(ROOT / ".github" / "CONTRIBUTING.md"))


def _relinked(path: Path) -> str:
    """Return a page of the repository with links to the guide's pages, and without other links."""
    text = re.sub(r"\((?:\.\./)?convexfs/guide/([\w-]+\.md)", r"(guide/\1", path.read_text())
    text = text.replace("(problems/README.md", "(problem-files.md")
    return re.sub(r"\[([^\]]+)\]\((?:\.\./|\.github|CITATION|LICENSE)[^)]*\)", r"\1", text)


def commands() -> str:
    """Return the page of all commands: their help, made from the parsers."""
    sections = [
        "# Commands\n\n`convexfs COMMAND --help` prints these texts. "
        "Exit codes and errors are explained under [questions](guide/faq.md), environment "
        "variables under [install](guide/install.md#environment-variables).\n"
    ]
    with mock.patch.dict(os.environ, COLUMNS="80"):
        for name in ("", *COMMANDS):
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                run_command([name, "--help"] if name else ["--help"])
            title = f"convexfs {name}".strip()
            sections.append(f"## {title}\n\n```text\n{printed.getvalue()}```\n")
    return "\n".join(sections)


def _tree(caption: str, documents: Iterable[str]) -> str:
    entries = "\n".join(documents)
    return f"```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{entries}\n```\n"


def _write(path: Path, text: str) -> None:
    if not path.is_file() or path.read_text() != text:  # an old date keeps pages from being redone
        path.write_text(text)


def reference() -> str:
    """Return the page that lists all public names."""
    others = sorted({*convexfs.__all__} - {*INFERENCE, *PROBLEMS, "FORMULATIONS"}, key=str.lower)
    estimators = [name for name in others if hasattr(getattr(convexfs, name), "fit")]
    reading = [name for name in others if name not in estimators]
    parts = {
        "Estimators": [f"convexfs.{name}" for name in estimators],
        "Inference": [f"convexfs.inference.{name}" for name in INFERENCE],
        "Problems and certificates": [f"convexfs.{name}" for name in PROBLEMS],
        "Data and files": [f"convexfs.{name}" for name in reading],
        "Results, base classes and details": list(DETAILS),
        "Modules": list(MODULES),
    }
    sections = []
    for title, names in parts.items():
        rows = "\n".join(f"   {name}" for name in names)
        sections.append(
            f"## {title}\n\n```{{eval-rst}}\n.. autosummary::\n   :toctree: reference\n"
            f"   :nosignatures:\n\n{rows}\n```\n"
        )
    rows = convexfs.FORMULATIONS.values()
    table = "\n".join(f"| `{row.name}` | `{row.equation}` | {row.reference} |" for row in rows)
    return "\n".join(
        [
            "# Python API\n\nAll public names, from their docstrings.\n",
            *sections,
            "## Formulations\n\n`convexfs.FORMULATIONS[name].build(...)` states each of them.\n",
            f"| name | problem | printed in |\n|---|---|---|\n{table}\n",
        ]
    )


@dataclass
class _Page(HTMLParser):
    """What a page links to, what it loads, and the names of its places."""

    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)
    places: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value for name, value in attrs if value}
        self.places |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        elif tag == "link" and values.get("rel") not in ("canonical", "prev", "next", "search"):
            self.loads.append(values.get("href", ""))
        elif "src" in values:
            self.loads.append(values["src"])


def check(out: Path) -> Iterable[str]:
    """Links and pictures of a site that lead nowhere, and what it would fetch from the network."""
    read = {}
    for path in sorted(out.rglob("*.html")):
        read[path] = _Page()
        read[path].feed(path.read_text(encoding="utf-8"))
    for path, page in read.items():
        for url in (*page.links, *page.loads):
            trouble = _trouble(url, path, read, loaded=url in page.loads)
            if trouble:
                yield f"{path.relative_to(out)}: {url} {trouble}"


def _trouble(url: str, path: Path, read: dict[Path, _Page], *, loaded: bool) -> str:
    parts = urlparse(url)
    if parts.scheme in ("http", "https") or url.startswith("//"):
        return "is loaded from the network" if loaded else ""
    if parts.scheme in ("data", "mailto", "javascript"):
        return ""
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not target.is_file():
        return "is not there"
    if parts.fragment and target in read and unquote(parts.fragment) not in read[target].places:
        return "names a place that is not there"
    return ""


if __name__ == "__main__":
    main()
