"""Senseless command lines, damaged problem files and damaged stores into every command."""

import functools
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np

from convexfs.batch.run import solve_files

from . import command_line
from .arrays import quiet
from .attack import Attack, pick
from .command_line import SENTINEL, Case
from .mutations import PIECES, damaged

#: Commands in processes of their own take seconds: so many of a hundred.
OUTSIDE_SHARE = 0.01
DATA = b"f0,f1,y\n" + b"".join(
    b"%d.%d,%d,%s\n" % (n * n % 7, n, n * 5 % 3, b"ab"[n % 2 :][:1]) for n in range(8)
)
PROBLEMS = {
    "plain.py": b'METHOD = "relief"\nDATA = ["data.csv"]\n'
    b'GRID = {"n_neighbors": [1, 2]}\nSOLVERS = ["native", "CLARABEL"]\n',
    "capped.py": b'''"""RELIEF, capped: max w'z,  norm2(w) <= 1,  0 <= w <= cap."""

import cvxpy as cp

METHOD = "relief"
DATA = ["data.csv"]
GRID = {"cap": [0.5, 1.0]}
SOLVERS = ["CLARABEL", "SCS"]


def build(z, cap):
    w = cp.Variable(len(z), name="w")
    return cp.Problem(cp.Maximize(w @ z), [cp.norm(w, 2) <= 1, w >= 0, w <= cap])
''',
    "fit.py": b'METHOD = "irelief"\nDATA = ["data.csv"]\n'
    b'GRID = {"sigma": [1.0, 2.0]}\nSOLVERS = ["native"]\nFIT = True\n',
}
#: Words that a command line may hold, right or wrong.
WORDS = ["data.csv", "plain.py", "capped.py", "run", "iris", "relief", "logo", "lfe", "nosuch", "."]
WORDS += ["spiral:n=20", "spiral:n=1e300", "spiral:n=1e9", "spiral:n=-3", "spiral:noise=nan"]
WORDS += ["data:x", "data:../x"]
WORDS += ["data:" + "a" * 300, "twonorm:n=10,noise=2,seed=1", "twonorm:,,=", ":", "", "a" * 5000]
WORDS += ["\x1b[31mred", "new\nline", "[bold]", "\udcff", "-", "--", "/dev/null", "/"]
VALUES = ["0", "1", "2", "-1", "1e-6", "nan", "inf", "1e999", "a", "None", "[1,2]", "{}", "0x10"]
VALUES += ["1,2", "1e-6,1e-8", "CLARABEL", "relief"]
VALUES += ["", "9" * 400, "1" * 5000, "\x1b[31m", "(" * 500]
OPTIONS = {
    "select": "--target --drop --data --method --solver --set --top --scale --seed --out --plot "
    "--json --read-limit",
    "show": "--on --target --data --read-limit --latex --mathml --save",
    "solve": "--out --tol --time-limit --seed --data --read-limit --retry-failed --executor",
    "compare": "--solvers --tol --no-default --seed --data --read-limit --out",
    "report": "--out --data --png",
    "export": "--to",
}
SETTINGS = ["n_neighbors", "sigma", "lam", "n_jobs", "verbose", "betas", "gamma", "solver_tol"]
SETTINGS += ["n_features_to_select", "solver_options", "random_state", "nosuch", ""]
#: What is known to take no value, and what keeps a command quick.
FLAGS = {"--json", "--latex", "--mathml", "--retry-failed", "--no-default"}
QUICK = {"solve": ["--jobs", "1"], "compare": ["--repeats", "1", "--tol", "1e-6", "--no-default"]}


def make(rng: np.random.Generator) -> Case:
    kinds = [_senseless, _senseless, _senseless, _damaged_problem, _damaged_problem, _damaged_store]
    case = pick(rng, kinds)(rng)
    # An empty byte can be no word of a process of its own.
    outside = rng.random() < OUTSIDE_SHARE and not any("\0" in word for word in case.words)
    return Case(case.words, case.files, outside)


def _senseless(rng: np.random.Generator) -> Case:
    """A command with words and options, most of them of the right form."""
    command = pick(rng, [*OPTIONS, "select", "select", "list", "solvers", "nosuch", "--version"])
    words = [command, *QUICK.get(command, [])]
    words += [pick(rng, WORDS) for _ in range(pick(rng, [0, 1, 1, 1, 1, 2]))]
    for _ in range(int(rng.integers(3))):
        option = pick(rng, OPTIONS.get(command, "--help --nosuch").split())
        words.append(option)
        if option == "--set":
            words.append(f"{pick(rng, SETTINGS)}={pick(rng, VALUES)}")
        elif option not in FLAGS:
            words.append(_value(rng, option))
    files = {"data.csv": DATA, **PROBLEMS}
    if "run" in words:
        files |= {"run/results.sqlite": store()}
    return Case(tuple(words), files)


def _value(rng: np.random.Generator, option: str) -> str:
    fitting = {
        "--out": ["out.csv", "new", "run", "out.html", "run/results.sqlite", "no/such/x.csv"],
        "--to": ["out.csv", "out.parquet", "out.jsonl", "run/results.sqlite", "out.xyz"],
        "--plot": ["out.svg", "out.png", "out.xyz"],
        "--png": ["figures", "data.csv"],
        "--save": ["out.npz", "out.lp", "out.mps", "out.xyz"],
        "--on": ["data.csv", "iris", "nosuch"],
        "--method": ["mmc", "irelief", "lfe", "simba", "nosuch"],
        "--solvers": ["CLARABEL", "CLARABEL,SCS", "nosuch", ","],
        "--read-limit": ["1GB", "100MB", "1kB", "1e9", "0", "-1GB", "much"],
        "--time-limit": ["5", "1e-9", "-1"],
        "--executor": ["local", "nosuch", "dask://nohost", ""],
    }.get(option)
    return pick(rng, fitting if fitting and rng.random() < 0.8 else [*VALUES, *WORDS])


def _damaged_problem(rng: np.random.Generator) -> Case:
    name = pick(rng, PROBLEMS)
    content = damaged(rng, PROBLEMS[name])
    line = pick(rng, [["show", name], ["show", name, "plain.py"], ["solve", name, "--out", "run"]])
    return Case((*line, *QUICK.get(line[0], [])), {"data.csv": DATA, **PROBLEMS, name: content})


#: Commands that open a store.
READERS = ["export run --to out.csv", "export run --to out.parquet", "report run"]
READERS += ["solve plain.py --out run --jobs 1"]


def _damaged_store(rng: np.random.Generator) -> Case:
    """A store that was damaged byte by byte, or by somebody who knows SQL."""
    content = damaged(rng, store()) if rng.random() < 0.4 else _rewritten(rng)
    line = pick(rng, READERS).split()
    spy = f"open({SENTINEL!r}, 'w').close()\nMETHOD = 'relief'\nDATA = ['data.csv']\n"
    files = {"data.csv": DATA, **PROBLEMS, "run/results.sqlite": content, "spy.py": spy.encode()}
    return Case(tuple(line), files)


def _rewritten(rng: np.random.Generator) -> bytes:
    with _opened(store()) as (db, path):
        for _ in range(int(rng.integers(1, 4))):
            table = pick(rng, ["tasks", "solutions", "attempts", "environment"])
            columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
            if not columns:
                continue
            column = pick(rng, columns)
            change = pick(rng, ["cell", "cell", "cell", "cell", "code", "drop", "table", "version"])
            try:
                _change(rng, db, change, table, column)
            except sqlite3.Error:  # a key twice, the last column: another change will do
                continue
        db.close()
        return path.read_bytes()


def _change(
    rng: np.random.Generator, db: sqlite3.Connection, change: str, table: str, column: str
) -> None:
    values = [None, "text", "\x1b[31m", "{", "[]", '{"a": NaN}', 1e308, float("inf"), -1, 2**62]
    values += [piece.decode(errors="replace") for piece in PIECES[:20]]
    values += ["", 0, b"x", "spy.py", "CLARABEL"]
    if change == "cell":
        some = pick(rng, ["", f" WHERE rowid = {rng.integers(1, 5)}"])
        db.execute(f'UPDATE {table} SET "{column}" = ?{some}', (pick(rng, values),))
    elif change == "code":
        db.execute("UPDATE tasks SET problem_file = 'spy.py'")
    elif change == "drop":
        db.execute(f'ALTER TABLE {table} DROP COLUMN "{column}"')
    elif change == "table":
        db.execute(pick(rng, [f"DROP TABLE {table}", f"DELETE FROM {table}"]))
    else:
        db.execute(f"PRAGMA user_version = {pick(rng, [0, 1, 2, 3, -1, 99])}")
    db.commit()


@contextmanager
def _opened(content: bytes) -> Iterator[tuple[sqlite3.Connection, Path]]:
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        path = Path(folder) / "results.sqlite"
        path.write_bytes(content)
        with closing(sqlite3.connect(path)) as db:
            db.execute("PRAGMA journal_mode = DELETE")
            yield db, path


@functools.cache
def store() -> bytes:
    """A store as a run leaves it, in one file."""
    with command_line.folder_of({"data.csv": DATA, **PROBLEMS}) as folder:
        with quiet():
            solve_files(["plain.py", "capped.py"], "run")
        shutil.copy(folder / "run" / "results.sqlite", folder / "copy.sqlite")
        with closing(sqlite3.connect(folder / "copy.sqlite")) as db:
            db.execute("PRAGMA journal_mode = DELETE")
        return (folder / "copy.sqlite").read_bytes()


def warm() -> None:
    """Make the store, and load what commands load when they first run."""
    files = {"data.csv": DATA, **PROBLEMS, "run/results.sqlite": store()}
    lines: list[list[str]] = [["list"], ["show", "capped.py"], ["report", "run"]]
    lines += [["export", "run", "--to", "out.parquet"], ["select", "data.csv", "--plot", "out.svg"]]
    run: Callable[[Case], object] = command_line.judge
    for line in lines:
        run(Case(tuple(line), files))


ATTACK = Attack(make, command_line.judge, command_line.reproducer, share=20, warm=warm)
