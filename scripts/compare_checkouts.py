"""Whether two checkouts of convexfs give the same results, bit by bit.

    python scripts/compare_checkouts.py OLD NEW [--jobs 2] [--only fits,select,messages,files]

In each checkout, every estimator is fitted to every kind of input that it accepts, ``select`` is
run by every rule, bad inputs are given to estimators and commands, and every problem file of OLD
is solved. Weights, objectives, certificates, JSON and messages are compared; times are not.
"""

import argparse
import difflib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

#: Fits of every estimator to everything that it accepts; prints a JSON object.
FITS = """
import json, warnings
import numpy as np, pandas as pd, polars, scipy.sparse as sp
import convexfs
warnings.simplefilter("ignore")
SELECTORS = {"Relief": {}, "IRelief": {}, "Simba": {"random_state": 0}, "Lmba": {}, "Logo": {},
             "LogoCV": {"cv": 2}, "LLFS": {"betas": 3}}
PROJECTIONS = {"LFE": {}, "LMNN": {}, "MMC": {}}
REGRESSORS = {"ReliefRegressor": {}, "LogoRegressor": {}}
INFERENCE = {"KnockoffSelector": {"random_state": 0},
             "StabilitySelector": {"estimator": convexfs.Relief(), "random_state": 0}}
found = {}

def text(value):
    if value is None or isinstance(value, (str, bool, int)): return repr(value)
    return np.asarray(value, dtype=float).tobytes().hex()

def fit(case, name, settings, X, y, **more):
    try:
        model = getattr(convexfs, name)(**settings).fit(X, y, **more)
        named = [a for a in ("weights_", "components_", "margin_") if hasattr(model, a)]
        row = {a: text(getattr(model, a)) for a in named}
        if hasattr(model, "get_support"): row["support"] = text(model.get_support())
        certificate = getattr(model, "certificate_", None)
        if certificate is not None: row["certificate"] = repr(certificate)
        solution = getattr(model, "solution_", None)
        row["objective"] = repr(getattr(solution, "objective", None))
    except Exception as error:
        row = {"error": f"{type(error).__name__}: {error}"}
    found[f"{name} {case}"] = row

data = {name: convexfs.load(name).scaled() for name in ("iris", "wine", "wdbc")}
every = {**SELECTORS, **PROJECTIONS, **INFERENCE}
for name, settings in every.items():
    for spec, own in data.items():
        step = 10 if name in ("LMNN", "LLFS", "StabilitySelector") and spec != "iris" else 2
        fit(spec, name, settings, own.X[::step], own.y[::step])
X, y = data["wine"].X[::4], data["wine"].y[::4]
target = X @ np.linspace(-1.0, 1.0, X.shape[1])
frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(X.shape[1])])
missing = X.copy(); missing[::5, 1] = np.nan
mixed = frame.assign(kind=pd.Categorical(np.where(X[:, 0] > 0, "a", "b")))
weight, groups = np.linspace(0.5, 2.0, len(X)), np.arange(len(X)) // 2
class Columns:
    shape = X.shape
    def __getitem__(self, key): return X[key]
counts = np.where(np.abs(X) > 1, X, 0.0)
for name, settings in {**every, **REGRESSORS}.items():
    own = target if name in REGRESSORS else y
    for case, value in {"float32": X.astype(np.float32), "fortran": np.asfortranarray(X),
                        "frame": frame, "polars": polars.from_pandas(frame), "missing": missing,
                        "categorical": mixed, "sparse": sp.csr_matrix(counts),
                        "out of core": Columns(), "int8": np.round(X).astype(np.int8)}.items():
        fit(case, name, settings, value, own)
    fit("sample_weight", name, settings, X, own, sample_weight=weight)
    fit("groups", name, settings, X, own, groups=groups)
    known = getattr(convexfs, name)(**settings).get_params(deep=False)
    if "class_weight" in known:
        fit("class_weight", name, {**settings, "class_weight": "balanced"}, X, own)
    if "solver" in known:
        fit("CLARABEL", name, {**settings, "solver": "CLARABEL"}, X[::3], own[::3])
print(json.dumps(found))
"""
#: Every rule of ``select``, as words behind ``convexfs select``.
SELECTIONS = (
    "iris", "wine --top 3", "wine --fdr 0.2 --permutations 99", "wine --fwer 0.05",
    "iris --curve", "iris --stability --top 2", "wdbc --knockoffs 0.3", "iris --method logo",
    "iris --method irelief", "iris --method simba", "iris --method lmba", "iris --method lfe",
    "iris --method mmc", "iris --method llfs --set betas=3 --top 2", "wine --scale range --top 2",
    "friedman:n=60,noise=5 --method rrelief --top 3",
    "friedman:n=60,noise=5 --method rlogo --top 3", "iris --method logo-cv --set cv=2",
)  # fmt: skip
#: Bad lines, as words behind ``convexfs``; {file} is a table with a text cell.
BAD_LINES = (
    "", "nosuch", "select", "select nosuch", "select iris --method nosuch",
    "select iris --method reliefF", "select iris --top 0", "select iris --top 9",
    "select iris --fdr 2", "select iris --fdr 0.1 --top 2", "select iris --set nosuch=1",
    "select iris --method simba --solver SCS", "select iris --method lmnn --solver HIGHS",
    "select iris --seed -1", "select iris --drop nosuch", "select iris --groups who",
    "select iris --permutations 5", "select {file}", "select {file} --target nosuch",
    "select {file} --target kind", "select nosuch.csv", "select friedman --method relief",
    "select iris --method rlogo", "show", "show nosuch", "show relief --as nosuch",
    "show relief logo lfe", "solve", "solve nosuch.py", "solve {file} --jobs 0",
    "compare nosuch.py", "compare relief --solvers NOSUCH", "report nosuch", "export nosuch --to x",
    "certify nosuch", "certify {file}", "merge nosuch --out x", "archive nosuch --to x",
    "guide nosuch", "export-problems --nosuch", "solvers nosuch", "list nosuch",
)  # fmt: skip
ROWS = """
import json, sqlite3, sys
rows = sqlite3.connect(sys.argv[1]).execute(
    "select problem, data, hyper, solver, repeat, tasks.status, tasks.objective, tasks.ok,"
    " step, primal_residual, dual_residual, complementarity, gap, hex(primal)"
    " from tasks left join solutions using (key)")
print(json.dumps([[str(cell) for cell in row] for row in rows]))
"""
Found = dict[str, object]


def run(checkout: Path, *arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess:
    environment = os.environ | {"PYTHONPATH": str(checkout), "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, *arguments],
        env=environment | {"COLUMNS": "80"}, cwd=cwd or checkout, capture_output=True, text=True,
    )  # fmt: skip


def output(checkout: Path, *arguments: str) -> str:
    ended = run(checkout, *arguments)
    if ended.returncode not in (0, 1) or not ended.stdout:
        sys.exit(f"{checkout}: {' '.join(arguments)[:80]} failed\n{ended.stderr}")
    return ended.stdout


def fits(checkout: Path, _: argparse.Namespace) -> Found:
    return json.loads(output(checkout, "-c", FITS))


def selections(checkout: Path, _: argparse.Namespace) -> Found:
    """Return the JSON of every selection, without its times."""
    found: Found = {}
    for words in SELECTIONS:
        ended = run(checkout, "-m", "convexfs", "select", *words.split(), "--json")
        found[words] = ended.stderr if ended.returncode else _without_times(ended.stdout)
    return found


def _without_times(text: str) -> str:
    return re.sub(r'"[a-z_]*seconds[a-z_]*": [0-9.e+-]+', '"seconds": 0', text)


def messages(checkout: Path, _: argparse.Namespace) -> Found:
    """Return exit codes and messages of bad lines."""
    found: Found = {}
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder, "table.csv")
        table.write_text("a,b,kind\n1,2,x\n3,?!,y\n5,6,x\n7,8,y\n")
        for words in BAD_LINES:
            line = words.format(file=table.name).split()
            ended = run(checkout, "-m", "convexfs", *line, cwd=Path(folder))
            found[words] = [ended.returncode, ended.stderr.replace(folder, "FOLDER")]
    return found


def files(checkout: Path, given: argparse.Namespace) -> Found:
    """Return the stored steps of every problem file of the old checkout."""
    problems = sorted(str(path) for path in (given.old / "problems").glob("*.py"))
    with tempfile.TemporaryDirectory() as out:
        words = ("-m", "convexfs", "solve", *problems, "--out", out, "--jobs", str(given.jobs))
        output(checkout, *words)
        rows = json.loads(output(checkout, "-c", ROWS, str(Path(out, "results.sqlite"))))
    return {" ".join([*row[:5], "step", row[8]]): row[5:] for row in rows}


PARTS: dict[str, Callable[[Path, argparse.Namespace], Found]] = {
    "fits": fits, "select": selections, "messages": messages, "files": files
}  # fmt: skip


def differing_lines(*values: object) -> list[str]:
    """Return the lines by which two results differ, at most ten of them."""
    old, new = (str(value).splitlines() for value in values)
    lines = difflib.ndiff(old, new)
    return [line[:300] for line in lines if line[:2] in ("- ", "+ ")][:10]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", default=",".join(PARTS), metavar="PART,...")
    given = parser.parse_args()
    given.old, given.new = given.old.resolve(), given.new.resolve()
    differing = 0
    for part in given.only.split(","):
        before, after = (PARTS[part](at, given) for at in (given.old, given.new))
        names = sorted(before.keys() | after.keys())
        changed = [name for name in names if before.get(name) != after.get(name)]
        print(f"{part}: {len(names)} compared, {len(changed)} differ", flush=True)
        for name in changed:
            print(f"  {name}", *differing_lines(before.get(name), after.get(name)), sep="\n    ")
        differing += len(changed)
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
