"""What is loaded before a task's time begins."""

import pickle
import subprocess
import sys

from convexfs.batch.problem_files.load import load_problem_file
from convexfs.batch.tasks import expand
from tests.batch.problem_texts import TROUBLE

#: What a worker does that has nothing but a task, and what its packages load meanwhile.
WORKER = """
import pickle, sys
from convexfs.batch.preparation import prepare
from convexfs.batch.tasks import DATASETS, do

task = pickle.load(sys.stdin.buffer)
prepare(task)
before, data = set(sys.modules), dict(DATASETS)
assert do(task).row["ok"]
assert data == DATASETS
loaded = {name.partition(".")[0] for name in set(sys.modules) - before}
print(loaded - sys.stdlib_module_names)
"""


def test_a_prepared_task_has_its_data_and_its_packages(tmp_path):
    file = tmp_path / "well.py"
    file.write_text(TROUBLE)
    task, *_ = expand([load_problem_file(file)])
    line = [sys.executable, "-c", WORKER]
    ran = subprocess.run(line, input=pickle.dumps(task), capture_output=True, check=True)
    # cvxpy loads the pieces that a problem needs when it first meets one of that kind.
    assert ran.stdout.decode().split("\n")[-2] in ("set()", "{'cvxpy'}")
