"""Parts joined: equal to one run, whatever was killed, missing or given twice."""

import shutil
import signal
import subprocess
import sys

import pytest

from convexfs.batch.run import solve_files
from convexfs.batch.store.merge import merge
from convexfs.batch.store.shards import Shard
from convexfs.batch.store.store import Store, same_results
from convexfs.errors import InputError, RunError
from convexfs.study.compare import compare_files
from tests.batch.problem_texts import PLAIN, command, finished, hangs
from tests.waiting import end_soon, until


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """A problem file of forty tasks."""
    path = tmp_path_factory.mktemp("file") / "plain.py"
    path.write_text(PLAIN)
    return path


@pytest.fixture(scope="module")
def solved(plain):
    """All tasks in one folder, and in three parts."""
    solve_files([plain], plain.parent / "whole")
    for number in (1, 2, 3):
        solve_files([plain], plain.parent / f"part-{number}", shard=Shard(number, 3))
    return plain.parent


@pytest.fixture
def whole(solved, tmp_path):
    return shutil.copytree(solved / "whole", tmp_path / "whole")


@pytest.fixture
def parts(solved, tmp_path):
    """The tasks in three parts, which a test may change."""
    names = ("part-1", "part-2", "part-3")
    return [shutil.copytree(solved / name, tmp_path / name) for name in names]


def tables(folder):
    """All of a run but times, processes and machines."""
    with Store.read(folder) as store:
        attempts = store.attempts()
        told = [attempts[name].tolist() for name in ("key", "attempt", "ended", "failure")]
        return store.problems().to_dict("records"), told, len(store.environments())


def test_merged_parts_are_the_whole_run(whole, parts, tmp_path):
    made = merge(parts, tmp_path / "merged")
    assert (made.shards, made.tasks, made.total) == (3, 40, 40)
    assert (made.missing, made.unfinished) == ((), ())
    assert same_results(whole, tmp_path / "merged") == []
    assert tables(whole) == tables(tmp_path / "merged")


def test_a_merge_done_twice_changes_nothing_and_the_run_goes_on_there(plain, parts, tmp_path):
    merge(parts, tmp_path / "merged")
    before = tables(tmp_path / "merged"), (tmp_path / "merged" / "results.sqlite").stat().st_size
    merge(parts[::-1], tmp_path / "merged")
    after = tables(tmp_path / "merged"), (tmp_path / "merged" / "results.sqlite").stat().st_size
    assert before == after
    assert solve_files([plain], tmp_path / "merged").resumed == 40


def test_environments_keep_their_rows(parts, tmp_path):
    with Store(parts[1]) as store:
        other = store.environment({"python": "of another machine"})
        store._db.execute("UPDATE tasks SET environment = ?", (other,))
    merge(parts, tmp_path / "merged")
    with Store.read(parts[1]) as store:
        moved = set(store.tasks()["key"])
    with Store.read(tmp_path / "merged") as store:
        noted, tasks = store._frame("environment"), store.tasks()
    machines = dict(zip(noted["id"], noted["record"], strict=True))
    there = {
        key
        for key, number in zip(tasks["key"], tasks["environment"], strict=True)
        if "another machine" in machines[number]
    }
    assert there == moved


def test_missing_parts_are_named_and_may_come_later(whole, parts, tmp_path):
    made = merge([parts[1]], tmp_path / "merged")
    assert made.missing == ("1/3", "3/3")
    assert made.tasks < made.total
    assert merge([parts[0], parts[2]], tmp_path / "merged").tasks == 40
    assert same_results(whole, tmp_path / "merged") == []


def test_a_part_that_is_not_finished_is_named(plain, tmp_path):
    class Stop(Exception):
        pass

    def stop_soon(progress):
        if progress.done == 4:
            raise Stop

    with pytest.raises(Stop):
        solve_files([plain], tmp_path / "part", shard=Shard(1, 2), watch=stop_soon)
    made = merge([tmp_path / "part"], tmp_path / "merged")
    assert len(made.unfinished) == 1
    assert "has done 4 of" in made.unfinished[0]
    solve_files([plain], tmp_path / "part", shard=Shard(1, 2))
    assert merge([tmp_path / "part"], tmp_path / "merged").unfinished == ()


def test_a_task_done_again_takes_the_place_of_its_failure(trouble, tmp_path, monkeypatch):
    end_soon(hangs, monkeypatch.setattr)
    part, merged = tmp_path / "part", tmp_path / "merged"
    solve_files([trouble], part, jobs=2, time_limit=3.0, shard=Shard(1, 1))
    merge([part], merged)
    assert _statuses(merged).count("error") == 2
    with Store(part) as store:
        store._db.execute(
            "UPDATE tasks SET status = 'optimal', finished_utc = '9' || finished_utc "
            "WHERE status = 'error'"
        )
    merge([part], merged)
    assert _statuses(merged).count("error") == 0
    assert len(_statuses(merged)) == 5


def _statuses(folder):
    with Store.read(folder) as store:
        return store.tasks()["status"].tolist()


@pytest.mark.usefixtures("whole")
def test_what_does_not_belong_together_is_refused(plain, parts, tmp_path):
    solve_files([plain], tmp_path / "seeded", shard=Shard(1, 3), seed=1)
    solve_files([plain], tmp_path / "again", shard=Shard(1, 3))
    for folders, out, words in (
        ([], "merged", "give the folders"),
        ([tmp_path / "whole"], "merged", "is no shard"),
        ([tmp_path / "nothing"], "merged", "holds no results"),
        ([*parts, tmp_path / "seeded"], "merged", "not of one run .other grids, options"),
        ([*parts, tmp_path / "again"], "merged", "are both shard 1/3; give one"),
    ):
        with pytest.raises(InputError, match=words):
            merge(folders, tmp_path / out)
    assert not (tmp_path / "merged").exists()
    merge([tmp_path / "seeded"], tmp_path / "other")
    for out, words in (
        ("whole", "holds another run"),
        ("part-1", "is shard 1/3 itself"),
        ("other", "holds another run"),
    ):
        with pytest.raises(RunError, match=words):
            merge(parts, tmp_path / out)
    assert merge([*parts, parts[0]], tmp_path / "merged").tasks == 40


def test_a_comparison_in_parts_is_one_study(tmp_path):
    file = tmp_path / "small.py"
    file.write_text('METHOD = "relief"\nDATA = ["iris"]\nGRID = {"n_neighbors": [1, 2, 3]}\n')
    plan = {"solvers": "native", "repeats": 2, "tols": [1e-6], "default": False}
    for number in (1, 2):
        compare_files([file], tmp_path / f"{number}", shard=Shard(number, 2), **plan)
    compare_files([file], tmp_path / "whole", **plan)
    merge([tmp_path / "1", tmp_path / "2"], tmp_path / "merged")
    assert same_results(tmp_path / "whole", tmp_path / "merged") == []
    with Store.read(tmp_path / "merged") as merged, Store.read(tmp_path / "whole") as whole:
        assert merged.studies() == whole.studies()


@pytest.mark.slow
def test_a_killed_part_is_done_again_by_its_own_line(slow, tmp_path):
    slow.write_text(slow.read_text().replace("range(400)", "range(60)"))
    solve_files([slow], tmp_path / "whole", jobs=2)
    line = [*command(slow, "--jobs", 2, "--shard", "1/2"), "--out", str(tmp_path / "1")]
    process = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until(lambda: finished(tmp_path / "1") > 3, process)
    process.send_signal(signal.SIGKILL)
    process.wait()
    solve_files([slow], tmp_path / "2", jobs=2, shard=Shard(2, 2))
    assert merge([tmp_path / "1", tmp_path / "2"], tmp_path / "merged").unfinished
    assert subprocess.run(line, capture_output=True, check=False).returncode == 0
    assert not merge([tmp_path / "1", tmp_path / "2"], tmp_path / "merged").unfinished
    assert same_results(tmp_path / "whole", tmp_path / "merged") == []


#: A merge that is killed at the n-th statement it puts to the database.
KILLED = """
import os, signal, sys
from convexfs.batch.store import merge as merging
from convexfs.batch.store.store import Store

left, taken = int(sys.argv[1]), merging._copy

def copy(*arguments):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    taken(*arguments)

merging._copy = copy
merging.merge(sys.argv[3:], sys.argv[2])
"""


@pytest.mark.slow(cases=1)
@pytest.mark.parametrize("when", [1, 2, 5, 7])
def test_a_merge_killed_at_any_moment_goes_on(whole, parts, tmp_path, when):
    words = [str(when), str(tmp_path / "merged"), *map(str, parts)]
    ended = subprocess.run([sys.executable, "-c", KILLED, *words], check=False)
    assert ended.returncode == -signal.SIGKILL
    with Store.read(tmp_path / "merged") as store:
        whole_parts = len(store.finished())
    sizes = [0]
    for part in parts:
        sizes.append(sizes[-1] + finished(part))
    assert whole_parts in sizes
    merge(parts, tmp_path / "merged")
    assert same_results(whole, tmp_path / "merged") == []
