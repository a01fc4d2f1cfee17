"""The direction of the stairs: who may import whom, and what stays unloaded."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "convexfs"
#: Rooms from the ground up; a room may use those before it.
STAIRS = (
    "errors", "records", "compiling", "data", "neighbors", "solving", "certification",
    "formats", "methods",
    "batch", "estimators", "baselines", "inspection", "pictures", "inference", "study",
    "selection", "reproduction", "cli", "__main__",
)  # fmt: skip
#: Files of a method, or of the base of all, that are scikit-learn's side of it.
ESTIMATOR_FILES = {
    "estimator", "estimator_cv", "selector", "projection", "ranked", "changed", "mixed",
    "tasks", "stored", "null", "columns", "regressor", "weighted", "taking", "margins",
}  # fmt: skip
#: Drawing may stand in a method's own folder, above its numbers.
PICTURES = "pictures"
#: Outside packages that belong to some rooms, or to some files of a method.
BELONGS_TO = {
    "cvxpy": {"solving", "certification", "formats", "inspection", "problem"},
    "multiprocessing": {"batch"},
    "sklearn": {"data", "estimators", "baselines", "inference", "study", "reproduction"},
    "matplotlib": {"pictures", "study", "reproduction"},
    # Estimators draw a progress bar when they are asked to be verbose.
    "rich": {"cli", "estimators"},
}
#: Files of a method that know neither cvxpy nor scikit-learn, whatever they import.
SPECIALISED = {"native", "newton", "kernels"}
MODULES = [path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py"]


def room_of(name: str) -> str:
    """The room of a module by its dotted name: the folder, or what its file in a method is."""
    parts = name.split(".")[1:]
    if not parts:
        return "errors"
    if parts[0] == "methods" and len(parts) > 2:
        if parts[2] in ESTIMATOR_FILES:
            return "estimators"
        if parts[2] == PICTURES:
            return PICTURES
    return parts[0]


def dotted(path: Path) -> str:
    relative = path.relative_to(ROOT).with_suffix("")
    return ".".join(relative.parts).removesuffix(".__init__")


NAMES = {dotted(path) for path in MODULES} | {"convexfs"}


def imports_of(path: Path, *, at_top: bool = False) -> set[str]:
    """Modules that a file imports; with `at_top` only those loaded along with it."""
    tree = ast.parse(path.read_text())
    nodes = tree.body if at_top else ast.walk(tree)
    found = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in NAMES else node.module for name in names}
    return found


def own_imports(path: Path, **options: bool) -> set[str]:
    return {name for name in imports_of(path, **options) if name.split(".")[0] == "convexfs"}


def shown(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


@pytest.mark.parametrize("path", MODULES, ids=shown)
def test_nothing_imports_upwards(path):
    step = STAIRS.index(room_of(dotted(path)))
    upwards = {
        name for name in own_imports(path, at_top=True) if STAIRS.index(room_of(name)) > step
    }
    assert not upwards


def test_no_module_imports_itself_through_others():
    graph = {dotted(path): own_imports(path, at_top=True) for path in MODULES}
    finished, entered = set(), []

    def visit(name):
        assert name not in entered, f"cycle: {' > '.join([*entered, name])}"
        if name in finished:
            return
        entered.append(name)
        for other in graph.get(name, ()):
            if other != name:
                visit(other)
        finished.add(entered.pop())

    for name in graph:
        visit(name)
    assert len(finished) >= len(graph)


METHOD_FILES = [
    path
    for path in MODULES
    if dotted(path).startswith("convexfs.methods.") and path.parent.name not in ("methods", "base")
]


@pytest.mark.parametrize("path", METHOD_FILES, ids=shown)
def test_a_method_uses_at_most_the_fit_of_another(path):
    home = dotted(path).split(".")[2]
    others = {
        name
        for name in own_imports(path)
        if name.startswith("convexfs.methods.") and name.split(".")[2] not in (home, "base")
    }
    assert {name.split(".")[-1] for name in others} <= {"fit", "estimator"}


@pytest.mark.parametrize("path", MODULES, ids=shown)
def test_outside_packages_stay_in_their_rooms(path):
    used = {name.split(".")[0] for name in imports_of(path)} & set(BELONGS_TO)
    places = {room_of(dotted(path))}
    if path in METHOD_FILES:
        # A problem may be written down in several files, all of them named so.
        places = (places - {"methods"}) | {path.stem.partition("_")[0]}
    misplaced = {name for name in used if not places & BELONGS_TO[name]}
    assert not misplaced


@pytest.mark.parametrize("path", [p for p in METHOD_FILES if p.stem in SPECIALISED], ids=shown)
def test_specialised_solvers_load_neither_cvxpy_nor_scikit_learn(path):
    loaded = loaded_after(f"import {dotted(path)}")
    assert not loaded & {"cvxpy", "sklearn"}


def test_no_other_room_names_a_method():
    from convexfs.cli.select import RULES
    from convexfs.methods import METHODS

    free = {"methods", "estimators", "pictures", "baselines", "reproduction"}
    naming = {
        f"{shown(path)}: {node.value}"
        for path in MODULES
        if room_of(dotted(path)) not in free
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and node.value in METHODS.keys() - set(RULES)
    }
    # The default of ``convexfs select --method`` must be some name.
    assert naming == {"cli/select.py: relief"}


@pytest.mark.parametrize("path", MODULES, ids=shown)
def test_only_the_command_line_prints(path):
    calls = {
        node.func.id
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert "print" not in calls or room_of(dotted(path)) == "cli"


@pytest.mark.parametrize("path", sorted((PACKAGE / "certification").glob("*.py")), ids=shown)
def test_certification_knows_nothing_of_the_solver_call(path):
    callers = {"convexfs.solving.solve", "convexfs.solving.parametrized"}
    assert not own_imports(path) & callers


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

    names = convexfs.__all__
    assert {"Relief", "Logo", "LLFS", "LFE", "FORMULATIONS", "solve", "certify"} <= set(names)
    assert all(getattr(convexfs, name) is not None for name in names)
    assert set(names) <= set(dir(convexfs))
    with pytest.raises(AttributeError, match="no attribute 'relief'"):
        convexfs.relief  # noqa: B018


def asserts_under_ifs(path: Path) -> set[str]:
    """Tests whose assertions a condition may leave out, so that they pass without having looked."""
    return {
        f"{path.name}: {test.name}"
        for test in ast.walk(ast.parse(path.read_text()))
        if isinstance(test, ast.FunctionDef) and test.name.startswith(("test_", "assert_"))
        for branch in ast.walk(test)
        if isinstance(branch, ast.If)
        for node in ast.walk(branch)
        if isinstance(node, ast.Assert)
    }


def test_no_assertion_stands_under_an_if(tmp_path):
    own = tmp_path / "test_own.py"
    own.write_text(
        "def test_it(x):\n    assert x\n    if x:\n        for y in x:\n            assert y"
    )
    assert asserts_under_ifs(own) == {"test_own.py: test_it"}
    files = [*(ROOT / "tests").rglob("test_*.py")]
    assert len(files) > 100
    assert not set().union(*map(asserts_under_ifs, files))
