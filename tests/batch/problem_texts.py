"""Problem files, good and troublesome, and the command that solves them."""

import sys
from pathlib import Path

from convexfs.batch.store.store import Store

PLAIN = """
METHOD = "relief"
DATA = ["iris", "wine"]
GRID = {"n_neighbors": [1, 2, 3, 4, 5]}
SOLVERS = ["native", "CLARABEL", "SCS", "HIGHS"]
"""

#: Solvers that hang, die or raise on some of the tasks, written into `build`.
TROUBLE = """
import os, signal, time
import cvxpy as cp

METHOD = "relief"
DATA = ["iris"]
GRID = {"how": ["well", "hang", "die", "raise", "well again"]}
SOLVERS = ["CLARABEL"]

def build(z, how):
    print("asked to", how)
    if how == "hang":
        time.sleep(1000)
    if how == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "raise":
        raise ArithmeticError("as asked")
    w = cp.Variable(len(z), name="w")
    return cp.Problem(cp.Maximize(w @ z), [cp.norm(w) <= 1, w >= 0])
"""


#: The command, where the tasks of TROUBLE that hang are ended soon.
IMPATIENT = """
import sys
from convexfs.__main__ import main
from tests.batch.problem_texts import hangs
from tests.waiting import end_soon

end_soon(hangs)
sys.exit(main())
"""


def hangs(task):
    """Whether a task, or the statement of a task, is one of TROUBLE that hangs."""
    return '"hang"' in getattr(task, "task", task).hyper


def command(*words):
    return [sys.executable, "-m", "convexfs", "solve", *map(str, words)]


def finished(out: Path) -> int:
    """How many tasks of a run have ended so far."""
    try:
        with Store.read(out) as store:
            return len(store.tasks())
    except Exception:
        return 0


def program_file(path):
    """Write a linear program to `path`; return the path."""
    import cvxpy as cp
    import numpy as np

    from convexfs import write_problem

    x = cp.Variable(40, name="x")
    matrix = np.random.default_rng(0).normal(size=(20, 40))
    write_problem(cp.Problem(cp.Minimize(cp.sum(x)), [matrix @ x >= 1, x >= 0]), path)
    return path
