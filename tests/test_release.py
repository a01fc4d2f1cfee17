"""What is written down of a release agrees with the package."""

import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.version import Version

import convexfs
from convexfs.cli import COMMANDS

ROOT = Path(__file__).parents[1]
CONFIGURED = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = CONFIGURED["project"]
OPTIONAL = PROJECT["optional-dependencies"]
#: What conda calls by other names, and what it does not need.
CONDA_NAMES = {"cvxpy": "cvxpy-base", "matplotlib": "matplotlib-base"}
NOT_ALWAYS_THERE = {"ecos"}


def asked(lines: list[str]) -> list[Requirement]:
    return [Requirement(line) for line in lines]


def written(path: str) -> Any:
    return yaml.safe_load((ROOT / path).read_text())


def locked_versions() -> dict[str, Version]:
    lines = (ROOT / ".github/lock.txt").read_text().splitlines()
    pins = [Requirement(line) for line in lines if not line.startswith("#")]
    versions = {}
    for pin in pins:
        (only,) = pin.specifier
        assert only.operator == "=="
        assert pin.name not in versions, "one version for all systems and Pythons"
        versions[pin.name] = Version(only.version)
    return versions


def test_the_newest_release_in_the_changes_is_this_version():
    newest = re.search(r"^## (\d\S*)", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert newest is not None
    assert newest.group(1) == convexfs.__version__


def test_the_changes_name_every_command():
    named = set(re.findall(r"[\w-]+", (ROOT / "CHANGELOG.md").read_text()))
    assert COMMANDS.keys() - named == set()


def test_the_citation_is_of_this_version_and_names_each_paper():
    citation = written("CITATION.cff")
    assert citation["version"] == convexfs.__version__
    assert citation["license"] == PROJECT["license"]
    assert [author["name"] for author in citation["authors"]] == ["convexfs developers"]
    of_methods = {paper["authors"][0]["family-names"] for paper in citation["references"]}
    assert of_methods == {"Sun", "Li", "Armanfard"}
    assert all({"title", "journal", "year"} <= paper.keys() for paper in citation["references"])


def test_the_conda_recipe_asks_for_what_the_package_asks_for():
    recipe = written(".github/conda/recipe.yaml")
    assert recipe["context"]["version"] == convexfs.__version__
    own = {
        f"{CONDA_NAMES.get(need.name, need.name)} {need.specifier}"
        for need in asked(PROJECT["dependencies"])
        if need.name not in NOT_ALWAYS_THERE
    } | {f"python {PROJECT['requires-python']}"}

    def in_order(line: str) -> tuple[str, frozenset[str]]:
        name, _, bounds = line.partition(" ")
        return name, frozenset(bounds.split(","))

    assert {*map(in_order, recipe["requirements"]["run"])} == {*map(in_order, own)}


@pytest.mark.parametrize("extra", ["", *OPTIONAL])
def test_locked_versions_are_allowed_ones(extra):
    locked = locked_versions()
    needs = asked(OPTIONAL[extra] if extra else PROJECT["dependencies"])
    assert not {need.name for need in needs} - locked.keys()
    assert all(need.specifier.contains(locked[need.name]) for need in needs)


def test_workflows_try_each_system_and_python():
    systems = {"ubuntu-latest", "macos-latest", "windows-latest"}
    told = {line.rpartition(" ")[2] for line in PROJECT["classifiers"] if ":: 3." in line}
    for path, job in (("tests", "systems"), ("release", "wheels")):
        matrix = written(f".github/workflows/{path}.yml")["jobs"][job]["strategy"]["matrix"]
        assert set(matrix["os"]) == systems
        assert set(matrix["python"]) == told


def test_workflows_try_every_setting_of_versions():
    script = (ROOT / "scripts/test_versions.sh").read_text()
    known = re.search(r"^all=\((.*?)\)", script, re.M | re.S)
    assert known is not None
    tried = written(".github/workflows/tests.yml")["jobs"]["versions"]["strategy"]["matrix"]
    settings = set(known.group(1).split())
    assert settings - set(tried["setting"]) == {"python3.12", "python3.13", "python3.14"}
    assert {f"no-{extra}" for extra in OPTIONAL} - settings <= {"no-dev", "no-site"}
    assert set(tried["setting"]) <= settings


def test_the_tests_of_each_setting_are_there():
    script = (ROOT / "scripts/test_versions.sh").read_text()
    named = set(re.findall(r"tests/[\w/]+(?:\.py)?", script))
    assert len(named) > 10
    assert [path for path in named if not (ROOT / path).exists()] == []


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="only a checkout knows its files")
def test_the_sources_that_are_published_can_be_tested():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    on_top = {path.partition("/")[0] for path in listed.stdout.splitlines()}
    published = set(CONFIGURED["tool"]["hatch"]["build"]["targets"]["sdist"]["include"])
    assert on_top - published == {".ci", ".gitignore", "pyproject.toml"}
    assert published <= on_top


def test_the_lock_says_how_to_make_it_anew():
    command = (ROOT / ".github/lock.txt").read_text().splitlines()[1]
    assert "uv pip compile pyproject.toml --all-extras --universal" in command
    assert f"--python-version {PROJECT['requires-python'].removeprefix('>=')} " in command


def test_hooks_check_as_the_tests_do():
    hooks = {hook["id"]: hook for hook in written(".pre-commit-config.yaml")["repos"][0]["hooks"]}
    by_the_tests = (ROOT / "scripts/test.sh").read_text()
    for name, told in {
        "ruff-check": '"$bin/ruff" check',
        "ruff-format": '"$bin/ruff" format',
        "pyright": '"$bin/pyright"',
    }.items():
        assert told in by_the_tests
        assert hooks[name]["entry"].startswith(
            told.replace('"$bin/', ".venv/bin/").replace('"', "")
        )
        assert hooks[name]["language"] == "system"
