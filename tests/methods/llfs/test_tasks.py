"""A point is one task, whoever asks for it: a batch, a fit that is kept, or a cluster."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import convexfs
from convexfs import LLFS
from convexfs.batch.problem_files.load import load_problem_file
from convexfs.batch.run import solve_files
from convexfs.batch.store.store import Store, same_results, unpack
from convexfs.batch.tasks import expand
from convexfs.errors import InputError, ProblemFileError
from convexfs.methods.llfs import tasks as llfs_tasks
from tests.waiting import PATIENCE, until

SPEC = "subclasses:noise=5,n=4"
FILE = f"""
METHOD = "llfs"
DATA = ["{SPEC}"]
GRID = {{"rounding": ["random"], "max_features": [2], "betas": [5]}}
SOLVERS = ["native"]
FIT = "points"
"""
SETTINGS = {"rounding": "random", "max_features": 2, "betas": 5}
LEARNED = ("local_support_", "weights_", "radii_", "betas_", "points_")


@pytest.fixture
def data():
    return convexfs.load(SPEC).scaled()


@pytest.fixture
def write(tmp_path):
    def written(text=FILE, *changes):
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        path = tmp_path / "points.py"
        path.write_text(text)
        return path

    return written


def assert_equal_models(one, other):
    for name in LEARNED:
        assert getattr(one, name).tobytes() == getattr(other, name).tobytes(), name
    assert one.certificate_ == other.certificate_
    assert one.solution_.objective == other.solution_.objective


def counted(monkeypatch):
    """The points that are computed from now on."""
    seen, original = [], llfs_tasks.do_point

    def watched(work, task):
        seen.append(json.loads(task.hyper)["point"])
        return original(work, task)

    monkeypatch.setattr(llfs_tasks, "do_point", watched)
    return seen


def test_a_fit_goes_on_where_it_was_stopped(data, tmp_path, monkeypatch):
    seen, original = counted(monkeypatch), llfs_tasks.do_point

    def stops(work, task):
        if len(seen) == 5:
            raise KeyboardInterrupt
        return original(work, task)

    kept = {**SETTINGS, "run_dir": tmp_path, "random_state": 3}
    with monkeypatch.context() as patch:
        patch.setattr(llfs_tasks, "do_point", stops)
        with pytest.raises(KeyboardInterrupt):
            LLFS(**kept).fit(data.X, data.y)
    resumed = LLFS(**kept).fit(data.X, data.y)
    assert seen == list(range(12))
    assert_equal_models(resumed, LLFS(**SETTINGS, random_state=3).fit(data.X, data.y))
    LLFS(**{**kept, "max_features": 3}).fit(data.X, data.y)
    assert len(seen) == 24


def test_a_fit_with_all_defaults_is_not_computed_twice(data, tmp_path, monkeypatch):
    seen = counted(monkeypatch)
    first, second = (LLFS(run_dir=tmp_path).fit(data.X, data.y) for _ in range(2))
    assert len(seen) == 12
    assert_equal_models(first, second)


def test_changed_code_or_a_changed_file_begins_anew(data, tmp_path, monkeypatch):
    seen = counted(monkeypatch)

    def fit(**changes):
        before = len(seen)
        settings = {"max_features": 2, "betas": [0.5], "form": "linear", **changes}
        LLFS(**settings, run_dir=tmp_path / "run").fit(data.X[:, :4], data.y)
        return len(seen) - before

    assert (fit(), fit()) == (12, 0)
    with monkeypatch.context() as patch:
        patch.setattr("convexfs.batch.tasks.code_sha256", lambda package: "other code")
        assert (fit(), fit()) == (12, 0)
    file = tmp_path / "without.py"
    text = (
        '"""LLFS without a feature."""\nimport cvxpy as cp\nMETHOD = "llfs"\nDATA = ["iris"]\n'
        "OUT = 0\ndef feasible(f, max_features):\n"
        "    return [f >= 0, f <= 1, cp.sum(f) >= 1, cp.sum(f) <= max_features, f[OUT] == 0]\n"
    )
    file.write_text(text)
    assert (fit(formulation=file), fit(formulation=file)) == (12, 0)
    file.write_text(text.replace("OUT = 0", "OUT = 1"))
    assert fit(formulation=file) == 12


def test_a_point_that_fails_ends_the_fit_and_is_tried_again(data, tmp_path, monkeypatch):
    def fails(work, task):
        raise InputError("as asked")

    with monkeypatch.context() as patch:
        patch.setattr(llfs_tasks, "do_point", fails)
        with pytest.raises(InputError, match=r"^as asked$"):
            LLFS(**SETTINGS, run_dir=tmp_path).fit(data.X, data.y)
    LLFS(**SETTINGS, run_dir=tmp_path).fit(data.X, data.y)
    with Store.read(tmp_path) as store:
        assert set(store.tasks()["status"]) == {"optimal"}


def test_the_rows_of_a_point_tell_all_its_betas(data, tmp_path):
    model = LLFS(**SETTINGS, run_dir=tmp_path / "run").fit(data.X, data.y)
    with Store.read(tmp_path / "run") as store:
        tasks, rows = store.tasks(), store.solutions()
    assert len(tasks) == 12
    key = tasks["key"][tasks["hyper"].str.contains('"point": 3,')].item()
    *betas, point = (row for row in rows.to_dict("records") if row["key"] == key)
    assert [row["label"] for row in betas] == [f"beta {b:g}" for b in (0, 0.25, 0.5, 0.75, 1)]
    table = model.points_[3]
    assert [row["status"] for row in betas] == table["status"].tolist()
    assert [row["objective"] for row in betas] == table["u1"].tolist()
    assert [row["dual_residual"] for row in betas] == table["residual"].tolist()
    for row, kept in zip(betas, table, strict=True):
        arrays = unpack(row["primal"])
        assert arrays["f"].shape == (7,)
        assert ("mask" in arrays) == np.isfinite(kept["rounded_u1"])
    assert point["label"] == "point 3"
    arrays = unpack(point["primal"])
    assert arrays["features"].tolist() == np.flatnonzero(model.local_support_[3]).tolist()
    assert (arrays["radius"], arrays["beta"]) == (model.radii_[3], model.betas_[3])
    assert arrays["table"].tobytes() == table.tobytes()


def test_columns_are_those_of_the_data_where_some_are_constant(data, tmp_path):
    X = np.insert(data.X, 0, 1.0, axis=1)
    with pytest.warns(match="constant"):
        model = LLFS(**SETTINGS, run_dir=tmp_path).fit(X, data.y)
    with Store.read(tmp_path) as store:
        rows = store.solutions().set_index("label")
    arrays = unpack(rows["primal"]["point 0"])
    assert arrays["features"].tolist() == np.flatnonzero(model.local_support_[0]).tolist()
    assert 0 not in arrays["features"]


@pytest.mark.parametrize("solver", ["native", "CLARABEL"])
def test_a_batch_is_the_model_fitted_in_one_process(write, data, tmp_path, solver):
    file = write(FILE, ('"native"', f'"{solver}"'))
    progress = solve_files([file], tmp_path / "run", jobs=2)
    assert (progress.total, progress.solved) == (12, 12)
    model = LLFS.from_run(tmp_path / "run")
    whole = LLFS(**SETTINGS, solver=solver, random_state=0).fit(data.X, data.y)
    assert_equal_models(model, whole)
    np.testing.assert_array_equal(model.predict_proba(data.X), whole.predict_proba(data.X))
    assert model.solver == solver
    assert LLFS.from_run(tmp_path / "run", vote="raw").vote == "raw"


def test_a_fit_goes_on_with_a_batch_and_a_batch_with_a_fit(write, data, tmp_path, monkeypatch):
    seen = counted(monkeypatch)
    some = write(FILE, ('"betas": [5]', '"betas": [5], "point": [0, 1, 2, 11]'))
    assert solve_files([some], tmp_path / "one").done == 4
    LLFS(**SETTINGS, run_dir=tmp_path / "one").fit(data.X, data.y)
    assert sorted(seen) == list(range(12))
    LLFS(**SETTINGS, run_dir=tmp_path / "two").fit(data.X, data.y)
    again = solve_files([write()], tmp_path / "two")
    assert (again.resumed, again.done) == (12, 0)
    assert_equal_models(LLFS.from_run(tmp_path / "one"), LLFS.from_run(tmp_path / "two", data))


def test_the_choice_of_a_model_and_what_is_missing_are_named(write, data, tmp_path):
    run = tmp_path / "run"
    file = write(
        FILE,
        ('"betas": [5]', '"betas": [3, 5], "point": [*range(11)]'),
        (f'["{SPEC}"]', f'["{SPEC}", "{SPEC},seed=1"]'),
    )
    solve_files([file], run)
    with pytest.raises(InputError, match=r"holds 4 models.*data='sub.*seed=1'; betas=3, 5$"):
        LLFS.from_run(run)
    with pytest.raises(InputError, match=r"no model there has solver='ECOS'; it holds"):
        LLFS.from_run(run, solver="ECOS")
    with pytest.raises(InputError, match=r"1 of 12 points are unfinished or failed \(11\)"):
        LLFS.from_run(run, SPEC, betas=5)
    solve_files([write(file.read_text(), ("range(11)", "range(12)"))], run)
    model = LLFS.from_run(run, SPEC, betas=5)
    assert_equal_models(model, LLFS(**SETTINGS, random_state=0).fit(data.X, data.y))
    with pytest.raises(InputError, match="no model there was fitted to these data"):
        LLFS.from_run(run, (data.X + 1.0, data.y), betas=5)


def test_a_kept_fit_is_read_with_its_arrays(data, tmp_path):
    fitted = LLFS(**SETTINGS, prune_to=5, run_dir=tmp_path).fit(data.X, data.labels)
    with pytest.raises(InputError, match=r"fitted to arrays; give them as data=\(X, y\)"):
        LLFS.from_run(tmp_path)
    model = LLFS.from_run(tmp_path, data=(data.X, data.labels))
    assert_equal_models(model, fitted)
    np.testing.assert_array_equal(model.predict(data.X), fitted.predict(data.X))


def test_folders_without_points_are_refused(write, tmp_path):
    file = write(FILE, ('FIT = "points"', ""), ('"rounding": ["random"], ', ""), ("betas", "beta"))
    file.write_text(file.read_text().replace('"beta": [5]', '"beta": [0.5]'))
    solve_files([file], tmp_path / "steps")
    with pytest.raises(InputError, match="holds no points of llfs"):
        LLFS.from_run(tmp_path / "steps")
    with Store(tmp_path / "old") as store:
        task = {"key": "k", "problem": "llfs", "method": "llfs", "status": "optimal"}
        row = {"step": 0, "label": "point 0", "primal": {"point": 0}}
        store.record(task, (), (row,))
    with pytest.raises(InputError, match="earlier version kept its points without settings"):
        LLFS.from_run(tmp_path / "old")


def test_every_point_has_a_line_in_the_log_from_workers_too(data, tmp_path):
    LLFS(**SETTINGS, run_dir=tmp_path, n_jobs=2).fit(data.X, data.y)
    lines = [line for line in (tmp_path / "log.txt").read_text().splitlines() if ": point " in line]
    assert len(lines) == 12
    assert "with native: optimal, features [" in lines[0]
    own = (tmp_path / "log.txt").read_text().splitlines()[0].split()[2]
    assert own not in {line.split()[2] for line in lines}


def test_a_solver_that_cannot_take_a_form_is_skipped_with_the_reason(write, tmp_path):
    file = write(FILE, ('"betas": [5]', '"betas": [5], "form": ["bisection"], "point": [0]'))
    progress = solve_files([file], tmp_path / "run")
    ((reason, count),) = progress.skips.items()
    assert count == 1
    assert "needs a solver of cvxpy" in reason


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('"llfs"', '"relief"'), "line 6: FIT of relief must be True, False, not 'points'"),
        (('"points"', '"samples"'), "FIT of llfs-compactness must be True, False or 'points'"),
        (('"betas": [5]', '"beta": [0.5]'), "GRID names 'beta'.*did you mean betas"),
    ],
)
def test_a_broken_contract_is_named(write, change, message):
    with pytest.raises(ProblemFileError, match=message):
        load_problem_file(write(FILE, change))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('"betas": [5]', '"form": ["conic"]'), "points.py, GRID: unknown form 'conic'"),
        (('"betas": [5]', '"point": [12]'), "points.py: point in GRID must be an integer"),
    ],
)
def test_bad_values_end_a_batch_before_it_begins(write, change, message):
    with pytest.raises(InputError, match=message):
        expand([load_problem_file(write(FILE, change))])


def command(*words):
    return [sys.executable, "-m", "convexfs", "solve", *map(str, words)]


def finished(folder):
    try:
        with Store.read(folder) as store:
            return len(store.tasks())
    except Exception:
        return 0


@pytest.mark.slow
def test_killed_during_a_batch_of_points_nothing_is_lost(write, tmp_path):
    file = write(
        FILE, ("n=4", "n=20"), ('"native"', '"CLARABEL"'), ('"betas": [5]', '"betas": [9]')
    )
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    line = command(file, "--jobs", 2, "--out", broken)
    process = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until(lambda: finished(broken) > 5, process)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert 5 < finished(broken) < 60
    assert subprocess.run(line, capture_output=True, check=False).returncode == 0
    solve_files([file], whole, jobs=2)
    assert same_results(whole, broken) == []
    assert_equal_models(LLFS.from_run(whole), LLFS.from_run(broken))


@pytest.mark.cluster
def test_dask_gives_the_same_points(write, tmp_path):
    distributed = pytest.importorskip("distributed")
    file = write(FILE, ('"betas": [5]', '"betas": [5], "point": [0, 5, 9]'))
    solve_files([file], tmp_path / "one")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address=None
    ) as cluster:
        address = cluster.scheduler_address.replace("tcp://", "dask://")
        line = command(file, "--executor", address, "--out", tmp_path / "dask")
        ran = subprocess.run(line, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert same_results(tmp_path / "one", tmp_path / "dask") == []


@pytest.mark.cluster
def test_mpi_gives_the_same_points(write, tmp_path):
    pytest.importorskip("mpi4py")
    mpiexec = Path(sys.executable).with_name("mpiexec")
    if not mpiexec.exists():
        pytest.skip("no mpiexec")
    file = write()
    solve_files([file], tmp_path / "one")
    launch = [mpiexec, "--allow-run-as-root", "--oversubscribe", "-n", "2", sys.executable]
    program = ["-m", "mpi4py.futures", "-m", "convexfs", "solve", file, "--executor", "mpi"]
    line = [*map(str, launch + program), "--out", str(tmp_path / "mpi")]
    ran = subprocess.run(line, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert ran.returncode == 0, ran.stderr
    assert same_results(tmp_path / "one", tmp_path / "mpi") == []
