"""What version 0.1 left behind still works: module names, pickles, stores, options."""

import importlib
import pickle
import re
import shutil
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import convexfs
from convexfs.cli import main
from convexfs.former_names import FORMER

#: Made by version 0.1: fits of every estimator, two runs, a problem file, the help of commands.
LEFT = Path(__file__).parent / "former"


def test_every_old_name_leads_to_its_module():
    for old, new in FORMER.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            module = importlib.import_module(old)
        present = importlib.import_module(new)
        names = [name for name in vars(present) if not name.startswith("__")]
        assert names, new
        assert all(getattr(module, name) is getattr(present, name) for name in names)


def test_an_old_name_warns_and_an_unknown_one_fails():
    old = f"convexfs.data.{'synthetic'}"
    sys.modules.pop(old, None)
    with pytest.warns(DeprecationWarning, match=r"convexfs\.data\.generators now"):
        importlib.import_module(old)
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("convexfs.data.no_such_module")


@pytest.fixture(scope="module")
def fits():
    return pickle.loads((LEFT / "estimators.pickle").read_bytes())


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore:Trying to unpickle")
@pytest.mark.parametrize(
    "name",
    ["Relief", "IRelief", "Simba", "Logo", "LogoCV", "Lmba", "LFE", "LLFS", "LMNN", "MMC",
     "ReliefRegressor", "LogoRegressor", "KnockoffSelector", "StabilitySelector"],
)  # fmt: skip
def test_old_pickles_load(fits, name):
    model, expected = map(pickle.loads, fits[name])
    assert type(model) is getattr(convexfs, name)
    attributes = ("weights_", "components_")
    found = next((getattr(model, each) for each in attributes if hasattr(model, each)), None)
    np.testing.assert_array_equal(model.get_support() if found is None else found, expected)
    X = convexfs.load("iris").scaled().X[::6]
    assert len(model.transform(X)) == len(X)
    assert pickle.loads(pickle.dumps(model)).get_params().keys() == model.get_params().keys()


@pytest.fixture
def run(tmp_path):
    shutil.copytree(LEFT / "run", tmp_path / "run")
    shutil.copy(LEFT / "small.py", tmp_path)
    return tmp_path / "run"


def test_an_old_store_is_read_and_exported(run, tmp_path, capsys):
    tasks = convexfs.open_run(run).tasks()
    assert tasks["ok"].tolist() == [True] * 4
    assert main(["export", str(run), "--to", str(tmp_path / "rows.csv")]) == 0
    assert main(["report", str(run), "--out", str(tmp_path / "page.html")]) == 0
    capsys.readouterr()


def test_an_old_run_is_computed_again_once_and_says_so(run, tmp_path, capsys):
    words = ["solve", str(tmp_path / "small.py"), "--out", str(run), "--jobs", "1"]
    assert main(words) == 0
    first = capsys.readouterr()
    assert main(words) == 0
    second = capsys.readouterr()
    assert "4" in first.out + first.err
    assert (first.out, first.err) != (second.out, second.err)
    assert len(convexfs.open_run(run).tasks()) in (4, 8)


def test_an_old_run_of_points_is_a_model(tmp_path):
    shutil.copytree(LEFT / "llfs_run", tmp_path / "run")
    data = convexfs.load("iris").scaled()
    X, y = data.X[::10], data.y[::10]
    model = convexfs.LLFS.from_run(tmp_path / "run", data=(X, y))
    fresh = convexfs.LLFS(betas=3).fit(X, y)
    np.testing.assert_array_equal(model.weights_, fresh.weights_)


def test_every_command_and_option_of_the_old_help_is_there(capsys):
    text = (LEFT / "help.txt").read_text()
    usages = re.split(r"^usage: convexfs", text, flags=re.MULTILINE)[1:]
    checked = 0
    for usage in usages:
        command = usage.split()[0]
        if command.startswith(("[", "-")):
            continue
        assert main([command, "--help"]) == 0
        present = set(re.findall(r"--[a-z][a-z-]*", capsys.readouterr().out))
        missing = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", usage)) - present
        assert not missing, command
        checked += 1
    assert checked >= 12
