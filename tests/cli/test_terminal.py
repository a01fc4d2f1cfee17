"""What happens around a command: Ctrl-C, closed pipes, full disks, terminals of ASCII only."""

import gc
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest


def test_ctrl_c_is_exit_code_130(run, monkeypatch):
    from convexfs.cli import select as select_cli

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(select_cli, "load", interrupt)
    code, _, err = run("select", "iris")
    assert code == 130
    assert err == "convexfs: stopped\n"


#: A program that is interrupted when it imports a certain module.
INTERRUPTED = """
import os, signal, sys

module = sys.argv.pop(1)

class Interrupter:
    def find_spec(self, name, *_):
        if name == module:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupter())
from convexfs.__main__ import main
sys.exit(main())
"""


@pytest.mark.parametrize(
    ("module", "words"),
    [
        ("convexfs.cli", ["list"]),
        ("numpy", ["select", "iris"]),
        ("convexfs.selection.fit_by_name", ["select", "iris"]),
        ("rich.console", ["guide", "install"]),
        ("convexfs.cli.terminal", ["no-such-command"]),
    ],
)
def test_ctrl_c_while_the_command_is_loaded_is_quiet_too(module, words):
    line = [sys.executable, "-c", INTERRUPTED, module, *words]
    ran = subprocess.run(line, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (130, "convexfs: stopped\n")


def test_a_command_that_ignores_ctrl_c_goes_on_ignoring_it():
    ignoring = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n" + INTERRUPTED
    line = [sys.executable, "-c", ignoring, "convexfs.cli", "no-such-command"]
    ran = subprocess.run(line, capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert "unknown command 'no-such-command'" in ran.stderr


#: A problem file that says how often garbage is collected, at first and after many objects.
COLLECTING = """
import gc

METHOD, DATA = "relief", ["iris"]
first = gc.get_threshold()[0]
held = [[] for _ in range(300_000)]
open("thresholds.txt", "w").write(f"{first} {gc.get_threshold()[0]}")
raise ValueError("this is enough")
"""


def test_garbage_is_collected_as_usual(tmp_path):
    (tmp_path / "collecting.py").write_text(COLLECTING)
    line = [sys.executable, "-m", "convexfs", "show", "collecting.py"]
    subprocess.run(line, cwd=tmp_path, capture_output=True, check=False)
    thresholds = set(map(int, (tmp_path / "thresholds.txt").read_text().split()))
    assert thresholds == {gc.get_threshold()[0]}


def test_the_installed_command_starts_where_ctrl_c_is_awaited():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    assert project["project"]["scripts"] == {"convexfs": "convexfs.__main__:main"}


@pytest.mark.slow(cases=1)
@pytest.mark.parametrize("words", ["list", "solvers", "select iris", "select iris --json", "-h"])
def test_a_closed_pipe_is_no_failure(words):
    command = f"{sys.executable} -m convexfs {words} | true; exit ${{PIPESTATUS[0]}}"
    # As with most users, output is written when there is much of it, or at the end.
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    ran = subprocess.run(
        ["bash", "-c", command], env=buffered, capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stderr) == (0, "")


def lines_of(words, shell="", **variables):
    """Exit code, output and complaints of a line in a shell of its own."""
    line = f"{shell} {sys.executable} -m convexfs {words}"
    ran = subprocess.run(
        ["bash", "-c", line],
        env=os.environ | variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    return ran.returncode, ran.stdout, ran.stderr


FULL = (">/dev/full", "standard output cannot be written (No space left on device)")
CLOSED = (">&-", "standard output is closed; send it somewhere, such as >/dev/null")


@pytest.mark.parametrize(
    ("words", "end", "message"),
    [
        *((words, *end) for end in (FULL, CLOSED) for words in ("--version", "--help", "list")),
        pytest.param("select iris", *FULL, marks=pytest.mark.slow),
        pytest.param("show relief", *CLOSED, marks=pytest.mark.slow),
    ],
)
def test_output_that_cannot_be_written(words, end, message):
    code, out, err = lines_of(f"{words} {end}")
    assert (code, out, err) == (2, "", f"convexfs: error: {message}\n")


@pytest.mark.slow
def test_complaints_that_cannot_be_written():
    assert lines_of("select nothing.csv 2>/dev/full")[0] == 2
    assert lines_of("select nothing.csv 2>&-")[:2] == (2, "")
    code, out, _ = lines_of("select iris 2>&-")
    assert code == 0
    assert "certificate        proven" in out


ASCII = {"PYTHONIOENCODING": "ascii", "LANG": "C", "LC_ALL": "C", "HOME": "/nowhere"}

PLAIN_LINES = ["--help", "list", "solvers", "select iris", "show relief", "show relief --mathml"]


#: Runs its arguments as commands, one after the other.
COMMANDS = """
import sys
from convexfs.__main__ import main

def run(line):
    sys.argv[1:] = line.split()
    return main()

sys.exit(max([run(line) for line in sys.argv[1:]]))
"""


def test_everything_can_be_said_in_ascii_and_nothing_of_how_other_packages_are_written(tmp_path):
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "sdpap.py").write_text("1 is 1\n")  # cvxpy imports it where it is installed
    path = {"PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])}
    ran = subprocess.run(
        [sys.executable, "-c", COMMANDS, *PLAIN_LINES],
        env=os.environ | ASCII | path, capture_output=True, text=True,
    )  # fmt: skip
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.isascii()
    assert "\\u" not in ran.stdout
    assert "?" not in ran.stdout
    assert "</math>" in ran.stdout


@pytest.mark.slow
def test_few_open_files_are_enough_or_named():
    code, out, err = lines_of("select iris", shell="ulimit -n 32;")
    assert (code, err) == (0, "")
    assert "certificate        proven" in out
    code, out, err = lines_of("select iris", shell="ulimit -S -n 12;")
    assert (code, err) == (0, "")
    code, out, err = lines_of("select iris", shell="ulimit -n 12;")
    assert (code, out) == (2, "")
    assert err == (
        "convexfs: error: only 12 files may be open at a time; allow at least 32, as by "
        "ulimit -n 256\n"
    )


def test_escape_sequences_reach_no_terminal(run, tmp_path):
    path = tmp_path / "bad\x1b]0;owned\x07\nname.csv"
    text = "a,b,kind\n1,2,x\n2,3,y\n3,5,x\n4,1,y\n5,2,x\n6,3,y\n"
    path.write_text(text.replace("a,b", '"\x1b[31mred\u202e",b').replace("x\n", "\x1b[2J\n"))
    for words in (["--target", "kind"], [], ["--target", "kind", "--method", "mmc"]):
        code, out, err = run("select", path, "--top", 1, *words)
        assert code == (0 if words else 2)
        assert not {"\x1b", "\x07", "\u202e", "\r"} & set(out + err)
        assert err.count("\n") == (not words)
    assert "␛[31mre" in run("select", path, "--target", "kind", "--top", 1)[1]
    code, _, err = run("select", tmp_path / "no\nsuch\x1b.csv")
    assert (code, err.count("\n"), "no␊such␛.csv" in err) == (2, 1, True)


SWALLOWED = """
import gc, os, signal, sys
from convexfs import cli
from convexfs.__main__ import main

class Finalized:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(1000):
            pass

def command(loaded):
    loaded()
    try:
        Finalized()
        while True:
            sum(range(1000))
    except KeyboardInterrupt:
        return 130

cli.main = command
sys.exit(main())
"""


def test_ctrl_c_in_a_finalizer_is_repeated_where_it_is_heard():
    line = [sys.executable, "-c", SWALLOWED]
    ran = subprocess.run(line, capture_output=True, text=True, check=False, timeout=120)
    assert (ran.returncode, ran.stderr) == (130, "")
