"""Flip single comparisons and signs of the package, and count how many the tests notice.

    python scripts/benchmarks/mutation_check.py --record FILE [PYTEST ARGUMENTS]
    python scripts/benchmarks/mutation_check.py --run FILE [--lines 60] [--seed 0] [--first 0]

--record runs the tests with pytest-cov, which must be installed, notes which of them execute which
lines, and writes that to FILE. Code that numba compiles is not seen. --run draws lines by seed
from those that were executed and have a comparison, a plus or a minus, flips one of these in a copy
of the checkout, and runs the tests that execute the line, the quickest first. A change is noticed
if a test fails or takes too long.
"""

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("convexfs", "tests", "scripts", "problems", "pyproject.toml", "README.md", "CHANGELOG.md")
#: Tests noted of a line, and run for it.
MOST_TESTS = 40
#: Seconds that the tests of one change may take.
LIMIT = 300
FLIPPED: dict[type, tuple[str, str]] = {
    ast.Lt: ("<", ">="), ast.LtE: ("<=", ">"), ast.Gt: (">", "<="), ast.GtE: (">=", "<"),
    ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="), ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"), ast.Is: ("is", "is not"), ast.IsNot: ("is not", "is"),
    ast.Add: ("+", "-"), ast.Sub: ("-", "+"),
}  # fmt: skip


class Durations:
    """A plugin of pytest that notes how long each test takes."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.seconds[report.nodeid] += report.duration


def record(out: Path, words: list[str]) -> None:
    """Run the tests and write, for every line of the package, the quickest that execute it."""
    import coverage  # type: ignore[import-not-found]

    durations = Durations()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["COVERAGE_FILE"] = str(Path(folder) / "data")
        covered = ["--cov=convexfs", "--cov-context=test", "--cov-report="]
        pytest.main([*words, *covered, "-q", "-p", "no:cacheprovider"], plugins=[durations])
        data = coverage.CoverageData(os.environ["COVERAGE_FILE"])
        data.read()
        found = {
            os.path.relpath(file, ROOT): dict(quickest_tests(data, file, durations.seconds))
            for file in data.measured_files()
        }
    out.write_text(json.dumps(found), encoding="utf-8")


def quickest_tests(
    data: Any, file: str, seconds: dict[str, float]
) -> Iterator[tuple[int, list[str]]]:
    """Yield the lines of a file that tests execute, and the quickest of these tests."""
    for line, contexts in data.contexts_by_lineno(file).items():
        tests = {name.partition("|")[0] for name in contexts} & seconds.keys()
        if tests:  # lines that imports alone execute have none
            yield line, sorted(tests, key=seconds.__getitem__)[:MOST_TESTS]


def flips(text: str) -> Iterator[tuple[int, str]]:
    """Yield each line with something to flip, and the whole text with that flipped."""
    lines = text.splitlines(keepends=True)
    for node in ast.walk(ast.parse(text)):
        left, right, kind = None, None, None
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            left, right, kind = node.left, node.comparators[0], type(node.ops[0])
        elif isinstance(node, ast.BinOp) and type(node.op) in FLIPPED:
            left, right, kind = node.left, node.right, type(node.op)
        if left is None or right is None or kind is None or left.end_lineno != right.lineno:
            continue
        at, line = right.lineno - 1, lines[right.lineno - 1].encode()
        between = line[left.end_col_offset : right.col_offset].decode()
        old, new = FLIPPED[kind]
        if between.strip(" ()") == old:
            begin, end = line[: left.end_col_offset].decode(), line[right.col_offset :].decode()
            changed = begin + between.replace(old, new, 1) + end
            yield right.lineno, "".join([*lines[:at], changed, *lines[at + 1 :]])


def drawn(executed: dict[str, dict[str, list[str]]], count: int, seed: int) -> list[Any]:
    """Return file, line, changed text and tests of `count` lines, drawn by seed."""
    found: dict[tuple[str, int], list[Any]] = defaultdict(list)
    for file, lines in sorted(executed.items()):
        for line, text in flips((ROOT / file).read_text(encoding="utf-8")):
            if str(line) in lines:
                found[file, line].append(text)
    rng = random.Random(seed)
    keys = rng.sample(sorted(found), min(count, len(found)))
    return [(*key, rng.choice(found[key]), executed[key[0]][str(key[1])]) for key in keys]


def notice(copy: Path, file: str, text: str, tests: list[str]) -> str:
    """Return how the tests notice a changed file; empty if they do not."""
    if not tests:
        return ""
    whole = (copy / file).read_text(encoding="utf-8")
    (copy / file).write_text(text, encoding="utf-8")
    try:
        ran = run_pytest(copy, ["-x", *tests])
    except subprocess.TimeoutExpired:
        return "took too long"
    finally:
        (copy / file).write_text(whole, encoding="utf-8")
    return "failed" if ran.returncode else ""


def run_pytest(copy: Path, words: list[str]) -> subprocess.CompletedProcess[str]:
    """Run pytest in a copy of the checkout."""
    line = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words]
    surroundings = os.environ | {"PYTHONPATH": str(copy)}
    return subprocess.run(
        line, cwd=copy, env=surroundings, capture_output=True, text=True, timeout=LIMIT
    )


def run(executed: Path, count: int, seed: int, first: int) -> None:
    """Flip the lines, one after the other, and print which were noticed."""
    lines = drawn(json.loads(executed.read_text(encoding="utf-8")), count, seed)
    noticed = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        for name in COPIED:
            source = ROOT / name
            (shutil.copytree if source.is_dir() else shutil.copy)(source, copy / name)
        # A test that was renamed after the record would fail whatever is flipped.
        there = set(run_pytest(copy, ["--collect-only"]).stdout.splitlines())
        for number, (file, line, text, tests) in enumerate(lines[first:], first + 1):
            how = notice(copy, file, text, [test for test in tests if test in there])
            noticed += bool(how)
            changed = text.splitlines()[line - 1].strip()
            print(f"{number:3} {how or 'SURVIVED':13} {file}:{line}  {changed}", flush=True)
    print(f"noticed: {noticed} of {len(lines) - first}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--record", type=Path, metavar="FILE")
    parser.add_argument("--run", type=Path, metavar="FILE")
    parser.add_argument("--lines", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="lines to skip, done before")
    chosen, words = parser.parse_known_args()
    if chosen.record is not None:
        record(chosen.record, words)
    if chosen.run is not None:
        run(chosen.run, chosen.lines, chosen.seed, chosen.first)


if __name__ == "__main__":
    main()
