"""A batch that is interrupted, killed or robbed of its files goes on to the same end."""

import os
import shutil
import signal
import subprocess

import pytest

from convexfs.batch.run import solve_files
from convexfs.batch.store.store import Store, same_results
from tests.batch.problem_texts import command, finished
from tests.waiting import PATIENCE, until


def test_an_interrupted_run_goes_on_to_the_same_end(plain, tmp_path):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    solve_files([plain], whole)

    class Stop(Exception):
        pass

    def stop_soon(progress):
        if progress.done == 7:
            raise Stop

    with pytest.raises(Stop):
        solve_files([plain], broken, jobs=2, watch=stop_soon)
    assert solve_files([plain], broken, jobs=2).resumed == 7
    assert same_results(whole, broken) == []


@pytest.mark.slow
def test_killed_while_it_writes_it_goes_on_to_the_same_end(slow, tmp_path):
    slow.write_text(slow.read_text().replace("range(400)", "range(60)"))
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    solve_files([slow], whole, jobs=2)
    line = command(slow, "--jobs", 2, "--out", broken)
    for count in (5, 30):
        process = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until(lambda count=count: finished(broken) > count, process)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert count < finished(broken) < 60
    ended = subprocess.run(line, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert same_results(whole, broken) == []


def test_ctrl_c_keeps_what_is_finished_and_prints_the_line_to_go_on(slow, tmp_path):
    out = tmp_path / "run"
    process = subprocess.Popen(
        command(slow, "--jobs", 2, "--out", out),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    until(lambda: finished(out) > 5, process)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "To resume" in err
    assert f"solve {slow} --jobs 2 --out {out}" in err
    assert "Traceback" not in err
    assert 5 < finished(out) < 400


def fewer_and_longer(slow, number):
    """Leave as much time as three times the tasks take, and less to compute."""
    text = slow.read_text().replace("range(400)", f"range({number})")
    slow.write_text(text.replace("sleep(0.05)", "sleep(0.15)"))


def go_on(line, out, happens):
    """Start a run, let something happen when a few more tasks are finished, and see its end."""
    before = finished(out)
    process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until(lambda: finished(out) > before + 5, process)
    happens()
    _, err = process.communicate(timeout=PATIENCE)
    return process.returncode, err


def assert_one_line(err):
    assert "Traceback" not in err
    assert err.count("\n") == 1, err


@pytest.mark.slow
def test_a_problem_file_that_changes_or_goes_stops_the_run_and_nothing_is_lost(slow, tmp_path):
    fewer_and_longer(slow, 60)
    whole, out, text = tmp_path / "whole", tmp_path / "out", slow.read_text()
    line = command(slow, "--jobs", 2, "--out", out)
    for change in (lambda: slow.write_text("raise ValueError('half saved')"), slow.unlink):
        code, err = go_on(line, out, change)
        assert code == 2
        assert_one_line(err)
        assert "finished tasks are stored: put the file back and run the same command again" in err
        with Store.read(out) as store:
            assert set(store.tasks()["status"]) == {"optimal"}
        slow.write_text(text)
    assert subprocess.run(line, capture_output=True, check=False).returncode == 0
    solve_files([slow], whole, jobs=2)
    assert same_results(whole, out) == []


def assert_stopped_without_its_folder(line, out, go_away):
    code, err = go_on(line, out, go_away)
    assert code == 2
    assert_one_line(err)
    assert "was moved, deleted or replaced while the run was going" in err
    assert not out.exists()


@pytest.mark.slow
def test_a_folder_that_is_deleted_stops_the_run(slow, tmp_path):
    out, moved = tmp_path / "out", tmp_path / "moved"
    line = command(slow, "--jobs", 2, "--out", out)
    assert_stopped_without_its_folder(line, out, lambda: shutil.rmtree(out.rename(moved)))


@pytest.mark.slow
def test_a_folder_that_is_moved_stops_the_run_until_it_is_back(slow, tmp_path):
    fewer_and_longer(slow, 40)
    out, moved = tmp_path / "out", tmp_path / "moved"
    line = command(slow, "--jobs", 2, "--out", out)
    assert_stopped_without_its_folder(line, out, lambda: out.rename(moved))
    before = finished(moved)
    moved.rename(out)
    assert subprocess.run(line, capture_output=True, check=False).returncode == 0
    assert 5 < before < finished(out) == 40
