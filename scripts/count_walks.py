"""Count the functions, modules and layers of convexfs that everyday work enters.

    python scripts/count_walks.py [--against OTHER_CHECKOUT]

A layer is a name directly under convexfs/, a folder or a file; a folder of methods/ counts as
one too. Code that runs while a module is imported does not count, nor does that of workers.
"""

import argparse
import os
import subprocess
import sys
import tempfile
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
#: Name, program and the words of its command line; {out} is a folder that a checkout's share.
WALKS = (
    ("select", COMMAND, "select wdbc --method logo"),
    ("Logo fit", LOGO, ""),
    ("LLFS fit", FIT, ""),
    ("solve", COMMAND, "solve problems/logo.py --jobs 1 --out {out}/solved"),
    ("compare", COMMAND, "compare problems/relief.py --solvers native,CLARABEL --out {out}/study"),
    ("report", COMMAND, "report {out}/study"),
    ("certify", CERTIFY, ""),
)
TRACER = """import os, sys
root, entered = os.path.join(os.getcwd(), "convexfs", ""), set()
def is_imported(frame):
    while frame and frame.f_code.co_name != "<module>": frame = frame.f_back
    return frame is not None and frame.f_code.co_filename.startswith(root)
def enter(frame, event, _):
    code = frame.f_code
    if event == "call" and code not in entered and code.co_filename.startswith(root):
        if not code.co_name.startswith("<") and not is_imported(frame): entered.add(code)
class Walk:
    def __enter__(self): sys.setprofile(enter)
    def __exit__(self, *_): sys.setprofile(None)
walk = Walk()
"""
TELL = "\nfor code in entered: print('>', code.co_filename[len(root):], file=sys.__stderr__)"


def counts(checkout: Path, program: str, words: list[str]) -> list[int]:
    """Return the numbers of functions, modules and layers that a program enters."""
    environment = os.environ | {"PYTHONPATH": str(checkout), "PYTHONWARNINGS": "ignore"}
    line = [sys.executable, "-c", f"{TRACER}{program}{TELL}", *words]
    ran = subprocess.run(line, cwd=checkout, env=environment, capture_output=True, text=True)
    files = [Path(row[2:]) for row in ran.stderr.splitlines() if row.startswith("> ")]
    layers = {file.parts[: 2 if file.parts[0] == "methods" else 1] for file in files}
    return [len(files), len(set(files)), len(layers)]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--against", type=Path, metavar="CHECKOUT")
    against = parser.parse_args().against
    checkouts = [path.resolve() for path in (against, Path(__file__).parents[1]) if path]
    print(f"{'walk':<10}" + "   functions modules layers" * len(checkouts))
    with tempfile.TemporaryDirectory() as out:
        for name, program, words in WALKS:
            row = f"{name:<10}"
            for number, checkout in enumerate(checkouts):
                own = words.format(out=f"{out}/{number}").split()
                row += "   {:>9} {:>7} {:>6}".format(*counts(checkout, program, own))
            print(row, flush=True)


if __name__ == "__main__":
    main()
