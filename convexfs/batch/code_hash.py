"""Hash the code that computes results; stored results are valid while the hash is the same.

Only statements count. Docstrings, comments, file names, imports and the texts of exceptions do not,
so that rewording and moving files leaves stored results valid.
"""

import ast
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import suppress
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

#: Files and folders that neither compute nor verify results, in any package. All others are hashed:
#: repeating a computation costs time, but a stale result is wrong.
LEFT_OUT = (
    "__pycache__", "__main__", "cli", "study", "inspection", "report", "selection", "pictures*",
    "theory", "plugin", "former_names",
)  # fmt: skip


@cache
def code_sha256(package: Path) -> str:
    """Return a hash of a package's code that affects results; file hashes are cached on disk."""
    known = _read_cache()
    digests, fresh = [], {}
    for file in files_that_count(package):
        at = file.stat()
        name, age = str(file.resolve()), [at.st_size, at.st_mtime_ns]
        if name not in known or known[name][:2] != age:
            statements = sorted(statement_hashes(file.read_text(encoding="utf-8")))
            known[name] = fresh[name] = [*age, statements]
        digests += known[name][2]
    if fresh:
        _write_cache(known)
    return hashlib.sha256("\n".join(sorted(digests)).encode()).hexdigest()


def files_that_count(package: Path) -> Iterator[Path]:
    """Yield the Python files of a package that compute or verify results."""
    for file in package.rglob("*.py"):
        names = file.relative_to(package).with_suffix("").parts
        if not any(fnmatch(name, pattern) for name in names for pattern in LEFT_OUT):
            yield file


def statement_hashes(source: str) -> Iterator[str]:
    """Yield a hash of each top-level statement; docstrings, imports, error texts do not count."""
    for statement in _Wordless().visit(ast.parse(source)).body:
        yield hashlib.sha256(ast.dump(statement).encode()).hexdigest()


class _Wordless(ast.NodeTransformer):
    """AST transformer that removes docstrings, imports and the texts of exceptions."""

    def visit_Import(self, node: ast.Import) -> None:
        return None

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        return None

    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        is_text = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return None if is_text else node

    def visit_Raise(self, node: ast.Raise) -> ast.Raise:
        return _Textless().visit(node)


class _Textless(ast.NodeTransformer):
    """AST transformer that empties all strings."""

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        return ast.Constant("") if isinstance(node.value, str) else node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.Constant:
        return ast.Constant("")


def _cache_file() -> Path:
    folder = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(folder) / "convexfs" / "code_hashes.json"


def _read_cache() -> dict[str, list]:
    """Return {path: [size, mtime, statement hashes]} from the cache file; {} if unreadable."""
    try:
        known = json.loads(_cache_file().read_text(encoding="utf-8"))
        return {str(name): [*age, list(found)] for name, (*age, found) in known.items()}
    except (OSError, RuntimeError, ValueError, TypeError, AttributeError):
        return {}


def _write_cache(known: dict[str, list]) -> None:
    # If the cache cannot be written, only the next run is a second slower.
    with suppress(OSError, RuntimeError):
        file = _cache_file()
        file.parent.mkdir(parents=True, exist_ok=True)
        partial = file.with_name(f"{file.name}.{os.getpid()}")
        partial.write_text(json.dumps(known), encoding="utf-8")
        partial.replace(file)
