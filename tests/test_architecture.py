"""Layers, folders and names of the package: who may import whom, and what stays unloaded.

Every rule is about folders; none lists file names.
"""

import ast
import subprocess
import sys
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "convexfs"
#: A layer may import those before it.
LAYERS = (
    "errors", "records", "kernels", "data", "neighbors", "solving", "certification",
    "diagnosis", "formats", "methods", "batch", "estimators", "inference", "inspection", "report",
    "study", "selection", "cli", "__main__", "plugin",
)  # fmt: skip
#: Files of a method that belong to a higher layer, by the beginning of their names.
HIGHER_FILES = {
    "estimator": "estimators", "tasks": "estimators", "from_run": "estimators",
    "pictures": "report",
}  # fmt: skip
#: Layers, or files of a method, that may import a package from outside.
BELONGS_TO = {
    "cvxpy": {"solving", "certification", "diagnosis", "formats", "inspection", "problem"},
    "multiprocessing": {"batch"},
    "sklearn": {"data", "estimators", "inference", "study"},
    "matplotlib": {"report"},
    # Estimators draw a progress bar if they are verbose.
    "rich": {"cli", "estimators"},
}
#: Files of a method that import neither cvxpy nor scikit-learn, nor a module that does.
NATIVE = {"native", "newton", "kernels"}
#: Imports inside functions from a lower layer to a higher one.
UPWARD = {
    ("methods", "batch"), ("methods", "estimators"), ("methods", "inspection"),
    ("data", "methods"), ("batch", "inspection"),
    ("diagnosis", "inspection"), ("diagnosis", "report"),
    ("estimators", "inference"), ("estimators", "inspection"), ("estimators", "report"),
    ("inference", "report"),
}  # fmt: skip
MOST_MODULES, FEWEST_LINES = 16, 40
#: Files that declare something for each method, whatever their length.
DECLARATIONS = {"problem", "numbers", "estimator", "pictures"}


def dotted(path: Path) -> str:
    relative = path.relative_to(ROOT).with_suffix("")
    return ".".join(relative.parts).removesuffix(".__init__")


@cache
def trees() -> dict[str, ast.Module]:
    """Return every module of the package, parsed."""
    paths = sorted(PACKAGE.rglob("*.py"))
    return {dotted(path): ast.parse(path.read_text(encoding="utf-8")) for path in paths}


def path_of(name: str) -> Path:
    path = ROOT.joinpath(*name.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def method_of(name: str) -> str | None:
    """Return the method whose folder holds the module."""
    parts = name.split(".")
    return parts[2] if parts[1:2] == ["methods"] and len(parts) > 3 and parts[2] != "base" else None


def layer_of(name: str) -> str:
    """Return the layer of a module: its folder, or the one that its file name in a method says."""
    parts = name.split(".")
    if len(parts) == 1:
        return "errors"
    if method_of(name):
        for beginning, layer in HIGHER_FILES.items():
            if parts[3].startswith(beginning):
                return layer
    return parts[1]


def imports(nodes) -> set[str]:
    """Return the modules that these statements import."""
    found = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in trees() else node.module for name in names}
    return found


def own(names: set[str]) -> set[str]:
    return {name for name in names if name.split(".")[0] == "convexfs"}


def modules() -> list[str]:
    return [name for name in trees() if name != "convexfs"]


def rank(name: str) -> int:
    return LAYERS.index(layer_of(name))


def test_no_module_imports_a_higher_layer():
    upwards = {
        (name, other)
        for name in modules()
        for other in own(imports(trees()[name].body))
        if rank(other) > rank(name)
    }
    assert not upwards


def test_functions_import_higher_layers_only_where_it_is_written_down():
    upwards = {
        (layer_of(name), layer_of(other))
        for name in modules()
        for other in own(imports(ast.walk(trees()[name])))
        if rank(other) > rank(name)
    }
    assert upwards <= UPWARD


def test_no_module_imports_itself_through_others():
    graph = {name: own(imports(tree.body)) for name, tree in trees().items()}
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


def test_a_method_uses_only_the_fit_and_the_estimator_of_another():
    used = {
        (name, other)
        for name in modules()
        for other in own(imports(ast.walk(trees()[name])))
        if method_of(name) and method_of(other) not in (None, method_of(name))
    }
    assert used
    assert {other.rpartition(".")[2] for _, other in used} <= {"fit", "estimator"}


def test_packages_from_outside_stay_in_their_layers():
    misplaced = set()
    for name in modules():
        places = {layer_of(name)}
        if method_of(name):
            # A problem may be stated in several files, all of them named so.
            places = (places - {"methods"}) | {name.split(".")[3].partition("_")[0]}
        used = {each.split(".")[0] for each in imports(ast.walk(trees()[name]))} & set(BELONGS_TO)
        misplaced |= {(name, each) for each in used if not places & BELONGS_TO[each]}
    assert not misplaced


def test_certification_does_not_know_the_solver_that_ran():
    callers = {"convexfs.solving.solve", "convexfs.solving.parametrized"}
    judges = [name for name in modules() if layer_of(name) == "certification"]
    assert judges
    assert not {each for name in judges for each in imports(ast.walk(trees()[name]))} & callers


def test_native_solvers_load_neither_cvxpy_nor_scikit_learn_nor_a_native_fit_cvxpy():
    native = [name for name in modules() if method_of(name) and name.split(".")[3] in NATIVE]
    data = "import convexfs; d = convexfs.load('iris')"
    fit = "; ".join([data, *(f"convexfs.{name}().fit(d.X, d.y)" for name in ("Relief", "Logo"))])
    loaded, fitted = loaded_after("\n".join(f"import {name}" for name in native), fit)
    assert len(native) > 8
    assert not loaded & {"cvxpy", "sklearn"}
    assert "sklearn" in fitted
    assert "cvxpy" not in fitted


def test_only_methods_name_a_method():
    from convexfs.cli.select import RULES
    from convexfs.methods import METHODS

    naming = {
        f"{name}: {node.value}"
        for name in modules()
        if not name.startswith("convexfs.methods")
        for node in ast.walk(trees()[name])
        if isinstance(node, ast.Constant) and node.value in METHODS.keys() - set(RULES)
    }
    assert naming == set()


def test_only_the_command_line_prints():
    printing = {
        name
        for name in modules()
        for node in ast.walk(trees()[name])
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "print"
    }
    assert {layer_of(name) for name in printing} == {"cli"}


def test_no_folder_holds_more_than_sixteen_modules():
    held = Counter(path_of(name).parent for name in modules() if path_of(name).stem != "__init__")
    assert {str(folder): n for folder, n in held.items() if n > MOST_MODULES} == {}


def test_no_two_modules_of_a_layer_share_a_name():
    named = defaultdict(list)
    for name in modules():
        if path_of(name).stem != "__init__":
            named[name.split(".")[1], name.rpartition(".")[2]].append(name)
    # Each method has its own problem, fit, estimator and so on.
    shared = {
        key: names
        for key, names in named.items()
        if len(names) > 1 and len({method_of(name) for name in names}) < len(names)
    }
    assert shared == {}


def test_no_module_is_shorter_than_forty_lines_but_commands_and_declarations():
    short = {
        name
        for name in modules()
        if path_of(name).stem != "__init__"
        and layer_of(name) != "cli"
        and not (method_of(name) and name.rpartition(".")[2] in DECLARATIONS)
        and len(path_of(name).read_text(encoding="utf-8").splitlines()) < FEWEST_LINES
    }
    assert short == set()


def loaded_after(*statements: str) -> list[set[str]]:
    """Return the modules that a new process has loaded after each of these statements."""
    program = "import sys\n" + "".join(f"{each}\nprint(*sys.modules)\n" for each in statements)
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return [set(line.split()) for line in ran.stdout.splitlines()]


def test_importing_convexfs_loads_nothing_heavy():
    heavy = {"cvxpy", "numpy", "sklearn", "numba", "pandas", "scipy", "matplotlib"}
    assert not loaded_after("import convexfs")[0] & heavy


def test_every_public_name_is_there():
    import convexfs

    names = convexfs.__all__
    assert {"Relief", "Logo", "LLFS", "LFE", "FORMULATIONS", "solve", "certify"} <= set(names)
    assert all(getattr(convexfs, name) is not None for name in names)
    assert set(names) <= set(dir(convexfs))
    with pytest.raises(AttributeError, match="no attribute 'relief'"):
        convexfs.relief  # noqa: B018


def asserts_under_ifs(path: Path) -> set[str]:
    """Return tests whose assertions depend on a condition, so that they may check nothing."""
    return {
        f"{path.name}: {test.name}"
        for test in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
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
