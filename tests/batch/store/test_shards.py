"""Runs in parts: every task in one part, a folder for each, and no folder for two."""

from collections import Counter

import pytest

from convexfs.batch.problem_files.load import load_problem_file
from convexfs.batch.run import solve_files
from convexfs.batch.store.shards import Shard, differences
from convexfs.batch.store.store import Store
from convexfs.batch.tasks import expand
from convexfs.errors import InputError, RunError
from tests.batch.problem_texts import PLAIN


@pytest.fixture
def few(tmp_path):
    """Ten tasks that take no time."""
    path = tmp_path / "few.py"
    path.write_text(PLAIN.replace('"native", "CLARABEL", "SCS", "HIGHS"', '"native"'))
    return path


def test_every_task_is_in_one_part_whatever_the_order(few):
    tasks = expand([load_problem_file(few)], repeats=40)
    parts = [Shard(number, 7).part(tasks) for number in range(1, 8)]
    assert Counter(task.key for part in parts for task in part) == {task.key: 1 for task in tasks}
    backwards = Shard(3, 7).part(reversed(tasks))
    assert backwards[::-1] == parts[2]
    assert all(len(part) > 20 for part in parts)


def test_a_part_does_its_own_tasks_and_says_what_it_is(few, tmp_path):
    tasks = expand([load_problem_file(few)])
    progress = solve_files([few], tmp_path / "part", shard=Shard(2, 3))
    assert progress.keys == {task.key for task in Shard(2, 3).part(tasks)}
    assert solve_files([few], tmp_path / "part", shard=Shard(2, 3)).done == 0
    with Store.read(tmp_path / "part") as store:
        record = store.shard()
    assert record is not None
    assert (record["shard"], record["of"], record["total"]) == (2, 3, len(tasks))
    assert record["tasks"] == len(progress.keys)


def test_a_part_may_be_empty(few, tmp_path):
    tasks = expand([load_problem_file(few)])
    empty = next(n for n in range(1, 1000) if not Shard(n, 1000).part(tasks))
    assert solve_files([few], tmp_path / "part", shard=Shard(empty, 1000)).total == 0


@pytest.mark.parametrize("text", ["0/8", "9/8", "3", "3/", "a/b", "-1/8", "1/0", "3/8/2", ""])
def test_what_is_no_part(text):
    with pytest.raises(InputError, match="takes a part as 1/8"):
        Shard.named(text)
    assert str(Shard.named("3/8")) == "3/8"


def test_a_folder_is_that_of_one_part_or_of_a_whole(few, tmp_path):
    solve_files([few], tmp_path / "part", shard=Shard(2, 3))
    solve_files([few], tmp_path / "whole")
    for folder, shard, words in (
        ("part", None, "holds shard 2/3 of a run; add --shard 2/3"),
        ("part", Shard(1, 3), r"another shard than 1/3 of this run \(it is 2/3\)"),
        ("part", Shard(2, 4), "3 shards and 4"),
        ("whole", Shard(2, 3), "holds a run that is no shard"),
    ):
        with pytest.raises(RunError, match=words):
            solve_files([few], tmp_path / folder, shard=shard)


@pytest.mark.parametrize(
    ("change", "options", "words"),
    [
        (lambda text: text + "# more\nX = 1\n", {}, "another text of few"),
        (lambda text: text.replace('"wine"', '"wdbc"'), {}, "data wdbc in one only"),
        (lambda text: text.replace("native", "CLARABEL"), {}, "solver CLARABEL in one only"),
        (lambda text: text, {"repeats": 2}, "other grids, options, repeats or seeds"),
    ],
)
def test_what_changed_since_a_part_was_begun_is_said(few, tmp_path, change, options, words):
    solve_files([few], tmp_path / "part", shard=Shard(1, 3))
    few.write_text(change(few.read_text()))
    with pytest.raises(RunError, match=words):
        solve_files([few], tmp_path / "part", shard=Shard(1, 3), **options)


def test_versions_that_differ_are_named():
    one = {
        "of": 2, "run": "a", "code": "x", "versions": {"numpy": "2.1"}, "files": {}, "data": {},
        "solvers": {"ECOS": "2.0"},
    }  # fmt: skip
    other = one | {"run": "b", "code": "y", "versions": {"numpy": "2.2"}, "solvers": {"ECOS": "3"}}
    assert list(differences(one, one)) == []
    assert list(differences(one, other)) == [
        "numpy 2.1 and 2.2",
        "another state of convexfs's code",
        "ECOS 2.0 and 3",
    ]
