"""Count the functions, modules and layers of convexfs that everyday work enters, and its lines.

    python scripts/count_walks.py [--against OTHER_CHECKOUT]
    python scripts/count_walks.py --list solve

A layer is a name directly under convexfs/, a folder or a file; a folder of methods/ counts as
one too. Code that runs while a module is imported does not count, nor does that of workers.
"Before Logo" counts what a fit of Logo enters before its mathematics begins, "classes of Logo"
the classes of this package that it inherits from, itself included. Code lines are lines without
docstrings, comments and blanks. `--list` prints the functions that one walk enters by module.
"""

import argparse
import ast
import io
import os
import subprocess
import sys
import tempfile
import tokenize
from collections import defaultdict
from pathlib import Path

COMMAND = "from convexfs.cli import main\nwith walk: main(sys.argv[1:])"
FIT = """import convexfs
data = convexfs.load("iris").scaled()
with walk: convexfs.LLFS(betas=3).fit(data.X[::5], data.y[::5])"""
LOGO = """import convexfs
data = convexfs.load("iris").scaled()
with walk: convexfs.Logo(lam=1.0).fit(data.X, data.y)"""
CERTIFY = """import convexfs, numpy
problem = convexfs.FORMULATIONS["relief"].build(z=numpy.arange(4.0))
solution = convexfs.solve(problem, "CLARABEL")
with walk: convexfs.certify(problem, solution)"""
BEFORE_LOGO = """import convexfs
data, Logo = convexfs.load("iris").scaled(), convexfs.Logo
last = Logo._method.__code__
with walk: Logo(lam=1.0).fit(data.X, data.y)"""
CLASSES = """import convexfs
print(sum(own.__module__.startswith("convexfs") for own in convexfs.Logo.__mro__))"""
#: Name, program and the words of its command line; {out} is a folder that a checkout's share.
WALKS = (
    ("select", COMMAND, "select wdbc --method logo"),
    ("Logo fit", LOGO, ""),
    ("before Logo", BEFORE_LOGO, ""),
    ("LLFS fit", FIT, ""),
    ("solve", COMMAND, "solve problems/logo.py --jobs 1 --out {out}/solved"),
    ("compare", COMMAND, "compare problems/relief.py --solvers native,CLARABEL --out {out}/study"),
    ("report", COMMAND, "report {out}/study"),
    ("certify", CERTIFY, ""),
)
TRACER = """import os, sys
root, entered, last = os.path.join(os.getcwd(), "convexfs", ""), set(), None
def is_imported(frame):
    while frame and frame.f_code.co_name != "<module>": frame = frame.f_back
    return frame is not None and frame.f_code.co_filename.startswith(root)
def enter(frame, event, _):
    code = frame.f_code
    if code is last: sys.setprofile(None)
    elif event == "call" and code not in entered and code.co_filename.startswith(root):
        if not code.co_name.startswith("<") and not is_imported(frame): entered.add(code)
class Walk:
    def __enter__(self): sys.setprofile(enter)
    def __exit__(self, *_): sys.setprofile(None)
walk = Walk()
"""
TELL = """
for code in entered: print(">", code.co_filename[len(root):], code.co_qualname, file=sys.__stderr__)
"""


def entered(checkout: Path, program: str, words: list[str]) -> list[tuple[Path, str]]:
    """Return the file and the name of every function that a program enters."""
    environment = os.environ | {"PYTHONPATH": str(checkout), "PYTHONWARNINGS": "ignore"}
    line = [sys.executable, "-c", f"{TRACER}{program}{TELL}", *words]
    ran = subprocess.run(line, cwd=checkout, env=environment, capture_output=True, text=True)
    rows = [row.split() for row in ran.stderr.splitlines() if row.startswith("> ")]
    return [(Path(file), name) for _, file, name in rows]


def counts(checkout: Path, program: str, words: list[str]) -> list[int]:
    """Return the numbers of functions, modules and layers that a program enters."""
    files = [file for file, _ in entered(checkout, program, words)]
    layers = {file.parts[: 2 if file.parts[0] == "methods" else 1] for file in files}
    return [len(files), len(set(files)), len(layers)]


#: Tokens that are no code.
_NO_CODE = (
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENDMARKER,
)  # fmt: skip


def code_lines(text: str) -> int:
    """Return the number of lines of a module without docstrings, comments and blanks."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(getattr(node.value, "value", None), str):
            lines.difference_update(range(node.lineno, (node.end_lineno or 0) + 1))
    return len(lines)


def package_lines(checkout: Path) -> int:
    """Return the code lines of the package."""
    files = (checkout / "convexfs").rglob("*.py")
    return sum(code_lines(file.read_text(encoding="utf-8")) for file in files)


def classes_of_logo(checkout: Path) -> int:
    """Return how many classes of the package Logo inherits from, itself included."""
    line, environment = [sys.executable, "-c", CLASSES], os.environ | {"PYTHONPATH": str(checkout)}
    ran = subprocess.run(line, cwd=checkout, env=environment, capture_output=True, text=True)
    return int(ran.stdout)


def list_walk(checkout: Path, name: str) -> None:
    """Print every module that a walk enters, with its functions."""
    program, words = next((program, words) for each, program, words in WALKS if each == name)
    functions = defaultdict(list)
    with tempfile.TemporaryDirectory() as out:
        for file, function in entered(checkout, program, words.format(out=out).split()):
            functions[file].append(function)
    for file in sorted(functions):
        print(file, *sorted(functions[file]))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--against", type=Path, metavar="CHECKOUT")
    names = [name for name, _, _ in WALKS]
    parser.add_argument("--list", choices=names, metavar="NAME", help=", ".join(names))
    args = parser.parse_args()
    if args.list:
        return list_walk(Path(__file__).resolve().parents[1], args.list)
    against = args.against
    checkouts = [path.resolve() for path in (against, Path(__file__).parents[1]) if path]
    print(f"{'walk':<12}" + "   functions modules layers" * len(checkouts))
    with tempfile.TemporaryDirectory() as out:
        for name, program, words in WALKS:
            row = f"{name:<12}"
            for number, checkout in enumerate(checkouts):
                own = words.format(out=f"{out}/{number}").split()
                row += "   {:>9} {:>7} {:>6}".format(*counts(checkout, program, own))
            print(row, flush=True)
    for name, count in (("classes of Logo", classes_of_logo), ("code lines", package_lines)):
        print(f"{name:<15}" + "".join(f"{count(checkout):>9}" for checkout in checkouts))


if __name__ == "__main__":
    main()
