"""Whether two checkouts of convexfs give the same numbers, bit by bit.

    python scripts/compare_checkouts.py OLD NEW [--jobs 2]

In each, every estimator is fitted on iris, wine and wdbc, and every shipped problem file of OLD
is solved. Weights, objectives and certificates are compared; times are not.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ESTIMATORS = ("Relief", "IRelief", "Simba", "Lmba", "Logo", "LogoCV", "LLFS", "LFE")
DATA = ("iris", "wine", "wdbc")
FIT = """
import json, sys, warnings
import numpy as np
import convexfs
warnings.simplefilter("ignore")
name, spec = sys.argv[1:]
data = convexfs.load(spec).scaled()
model = getattr(convexfs, name)()
if "random_state" in model.get_params():
    model.set_params(random_state=0)
model.fit(data.X, data.y)
answer = model.components_ if name == "LFE" else model.weights_
certificate = {k: str(v) for k, v in vars(model.certificate_).items()}
objective = model.solution_.objective
print(json.dumps({"answer": np.asarray(answer, dtype=float).tobytes().hex(),
                  "objective": repr(objective), "certificate": certificate}))
"""
ROWS = """
import json, sqlite3, sys
rows = sqlite3.connect(sys.argv[1]).execute(
    "select problem, data, hyper, solver, repeat, tasks.status, tasks.objective, tasks.ok,"
    " step, primal_residual, dual_residual, complementarity, gap, hex(primal)"
    " from tasks left join solutions using (key)")
print(json.dumps([[str(cell) for cell in row] for row in rows]))
"""


def run(checkout: Path, *arguments: str) -> str:
    environment = os.environ | {"PYTHONPATH": str(checkout), "OMP_NUM_THREADS": "1"}
    ended = subprocess.run(
        [sys.executable, *arguments], env=environment, cwd=checkout, capture_output=True, text=True
    )
    if ended.returncode not in (0, 1) or not ended.stdout:
        sys.exit(f"{checkout}: {' '.join(arguments)[:80]} failed\n{ended.stderr}")
    return ended.stdout


def fits(checkout: Path) -> dict[str, object]:
    return {
        f"{name} on {spec}": json.loads(run(checkout, "-c", FIT, name, spec))
        for name in ESTIMATORS
        for spec in DATA
    }


def solved(checkout: Path, problems: list[str], jobs: int) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as out:
        solve = ("-m", "convexfs", "solve", *problems, "--out", out, "--jobs", str(jobs))
        run(checkout, *solve)
        rows = json.loads(run(checkout, "-c", ROWS, str(Path(out, "results.sqlite"))))
    return {" ".join([*row[:5], "step", row[8]]): row[5:] for row in rows}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    old, new = arguments.old.resolve(), arguments.new.resolve()
    problems = sorted(str(path) for path in (old / "problems").glob("*.py"))
    differing = 0
    for what, gather in (
        ("fits", fits),
        ("steps of problem files", lambda at: solved(at, problems, arguments.jobs)),
    ):
        before, after = gather(old), gather(new)
        names = sorted(before.keys() | after.keys())
        changed = [name for name in names if before.get(name) != after.get(name)]
        print(f"{what}: {len(names)} compared, {len(changed)} differ")
        for name in changed:
            print(f"  {name}\n    old {before.get(name)!s:.300}\n    new {after.get(name)!s:.300}")
        differing += len(changed)
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
