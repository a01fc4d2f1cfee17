"""The direction of the stairs: who may import whom, and what stays unloaded."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "convexfs"
#: Each room and the rooms below it that it may use.
MAY_USE = {
    "errors": set(),
    "compiling": set(),
    "solution": {"errors"},
    "data": {"errors"},
    "neighbors": {"errors", "compiling", "data"},
    "formulations": {"errors", "data", "neighbors"},
    "native": {"errors", "compiling", "solution", "data", "neighbors", "formulations"},
    "solving": {"errors", "solution"},
    "methods": {"errors", "solution", "data", "neighbors", "formulations", "native", "solving"},
}
MAY_USE["methods"] |= {"compiling", "rounding", "hyperspheres"}
MAY_USE["batch"] = MAY_USE["methods"] | {"methods", "inspection"}
MAY_USE["classification"] = MAY_USE["methods"] | {"methods"}
MAY_USE["rounding"] = MAY_USE["hyperspheres"] = {"errors", "compiling"}
MAY_USE["theory"] = {"errors"}
MAY_USE["estimators"] = MAY_USE["batch"] | {"batch", "classification", "rounding", "theory"}
MAY_USE["baselines"] = MAY_USE["estimators"] | {"estimators"}
MAY_USE["terminal"] = set()
MAY_USE["console"] = {"terminal"}
MAY_USE["pictures_llfs"] = {"errors"}
MAY_USE["inspection"] = {"errors", "solution", "formulations", "solving"}
MAY_USE["pictures"] = {"errors", "neighbors"}
MAY_USE["pictures_lfe"] = {"errors", "pictures"}
MAY_USE["selection"] = MAY_USE["baselines"] | {"baselines", "pictures", "pictures_lfe"}
MAY_USE["study"] = MAY_USE["baselines"] | {"baselines", "inspection", "pictures"}
#: Outside packages that belong to some rooms only.
BELONGS_TO = {
    "cvxpy": {"formulations", "solving", "inspection"},
    "multiprocessing": {"batch"},
    "sklearn": {"data", "classification", "estimators", "baselines", "study"},
    "matplotlib": {"pictures", "pictures_lfe", "pictures_llfs", "study"},
    # Estimators draw a progress bar when they are asked to be verbose.
    "rich": {"cli", "console", "select_cli", "batch_cli", "study_cli", "estimators"},
}
#: These may use everything.
COMMANDS = ("cli", "select_cli", "batch_cli", "show_cli", "study_cli", "report_cli", "__main__")
MODULES = [path for path in PACKAGE.rglob("*.py") if path not in (PACKAGE / "__init__.py",)]


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports_of(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def names(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


@pytest.mark.parametrize("path", MODULES, ids=names)
def test_nothing_imports_upwards(path):
    room = room_of(path)
    if room in COMMANDS:
        return
    used = {name.split(".")[1] for name in imports_of(path) if name.startswith("convexfs.")}
    assert used - {room} <= MAY_USE[room]


@pytest.mark.parametrize("path", MODULES, ids=names)
def test_outside_packages_stay_in_their_rooms(path):
    used = {name.split(".")[0] for name in imports_of(path)}
    misplaced = {name for name in used & set(BELONGS_TO) if room_of(path) not in BELONGS_TO[name]}
    assert not misplaced


@pytest.mark.parametrize("path", MODULES, ids=names)
def test_only_the_command_line_prints(path):
    calls = {
        node.func.id
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert "print" not in calls or room_of(path) == "cli"


@pytest.mark.parametrize("name", ["certify", "cone_program", "infeasibility"])
def test_the_judge_knows_nothing_of_the_solver_call(name):
    own = {n for n in imports_of(PACKAGE / f"solving/{name}.py") if n.startswith("convexfs.")}
    judges = {"convexfs.errors", "convexfs.records"}
    judges |= {"convexfs.solving.cone_program", "convexfs.solving.infeasibility"}
    assert {name.rpartition(".")[0] for name in own} <= judges


def loaded_after(statement: str) -> set[str]:
    program = f"import sys\n{statement}\nprint(*sys.modules)"
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return set(ran.stdout.split())


def test_importing_convexfs_loads_nothing_heavy():
    heavy = {"cvxpy", "numpy", "sklearn", "numba", "pandas", "scipy", "matplotlib"}
    assert not loaded_after("import convexfs") & heavy


def test_a_native_fit_never_imports_cvxpy():
    fit = "import convexfs; d = convexfs.load('iris'); convexfs.Relief().fit(d.X, d.y)"
    loaded = loaded_after(fit)
    assert "sklearn" in loaded
    assert "cvxpy" not in loaded


def test_every_public_name_is_there():
    import convexfs

    for name in convexfs.__all__:
        assert getattr(convexfs, name) is not None
    assert set(convexfs.__all__) <= set(dir(convexfs))
    with pytest.raises(AttributeError, match="no attribute 'relief'"):
        convexfs.relief  # noqa: B018
