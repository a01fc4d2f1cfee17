"""The shell scripts where they could surprise."""

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from papers import EXPERIMENTS, experiment_named

SCRIPTS = Path(__file__).parents[1] / "scripts"


@pytest.mark.parametrize("asked_by", [None, "CI", "INSTALL_CHROMIUM"])
def test_a_browser_is_installed_only_if_asked_for(tmp_path, asked_by):
    installed = tmp_path / "installed"
    for name, does in {"apt-get": f'echo "$@" >>{installed}', "id": "echo 0"}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{does}\n")
        (tmp_path / name).chmod(0o755)
    line = f"source {SCRIPTS}/environment.sh; PATH={tmp_path}; ensure_browser"
    variables = {k: v for k, v in os.environ.items() if k not in ("CI", "INSTALL_CHROMIUM")}
    asked = {} if asked_by is None else {asked_by: "1"}
    ran = subprocess.run(
        ["bash", "-c", line], env=variables | asked, capture_output=True, text=True, check=True
    )
    assert installed.exists() == (asked_by is not None)
    assert ("INSTALL_CHROMIUM=1 bash scripts/test.sh" in ran.stderr) == (asked_by is None)


def test_the_first_look_ends_with_a_line_that_puts_the_command_on_the_path():
    shown = runpy.run_path(str(SCRIPTS / "quickstart.py"))["NEXT"]
    (line,) = (line.strip() for line in shown.splitlines() if "PATH=" in line)
    ran = subprocess.run(
        ["bash", "-c", f'PATH=/usr/bin; {line}; echo "$PATH"'],
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout == f"{Path(sys.executable).parent}:/usr/bin\n"


@pytest.mark.slow
def test_points_of_llfs_become_a_table_and_a_model(tmp_path):
    words = ["subclasses:noise=5,n=4", "--solver", "CLARABEL", "--jobs", "2", "--out", tmp_path]
    line = [sys.executable, SCRIPTS / "llfs_points.py", *words]
    ran = subprocess.run([*map(str, line)], capture_output=True, text=True, check=True)
    assert "x1 x2" in ran.stdout
    assert "training accuracy 100.0%" in ran.stdout
    assert (tmp_path / "log.txt").read_text().count(": point ") == 12


def test_tables_go_where_documents_have_a_place_for_them():
    script = runpy.run_path(str(SCRIPTS / "papers" / "write_tables.py"))
    text = "a\n<!-- table one -->\nold\n<!-- end -->\nb\n<!-- table two -->\nkept\n<!-- end -->\n"
    filled = script["filled"](text, {"one": "| new |\n"})
    assert "\n| new |\n" in filled
    assert "old" not in filled
    assert "kept" in filled
    assert script["filled"](filled, {"one": "| new |\n"}) == filled


def test_runs_are_kept_without_curves():
    script = runpy.run_path(str(SCRIPTS / "papers" / "write_tables.py"))
    rows = [("error", 0, 1.23456789), ("curve", 0, 1.0), ("curve", 1, 2.0)]
    runs = pd.DataFrame(rows, columns=["measure", "position", "value"])
    assert script["kept_runs"](runs).to_dict("list") == {"measure": ["error"], "value": [1.234568]}


def test_points_of_a_figure_become_a_table():
    script = runpy.run_path(str(SCRIPTS / "papers" / "write_tables.py"))
    rows = [("ours", 1.0, 2.0), ("ours", 10.0, 0.12345), ("paper", 10.0, 21.0)]
    shown = script["points_shown"](pd.DataFrame(rows, columns=["series", "x", "y"]))
    assert shown.splitlines() == [
        "|  | 1 | 10 |", "| --- | --- | --- |", "| ours | 2 | 0.123 |", "| paper |  | 21 |",
    ]  # fmt: skip


@pytest.mark.parametrize("name", [name for name in EXPERIMENTS if name.startswith("llfs")])
def test_every_table_of_llfs_has_its_place_in_the_guide(name):
    page = (SCRIPTS / "pages/results/llfs-lmba.md").read_text(encoding="utf-8")
    for table in experiment_named(name).tables:
        assert f"<!-- table {table.name} -->" in page
