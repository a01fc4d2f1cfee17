"""The tutorial in problems/README.md: its outputs, and that its changes do what they say."""

import ast
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from convexfs import LLFS, load, solve
from convexfs.batch.problem_files.load import load_problem_file
from convexfs.cli import main
from convexfs.methods import FORMULATIONS

ROOT = Path(__file__).parents[1]
TUTORIAL = (ROOT / "problems" / "README.md").read_text().partition("## Three changes")[2]
TUTORIAL = TUTORIAL.partition("## Reference")[0]
MARK = "=== end of block ==="


def shown(language):
    """Blocks of one language, each with the output below it."""
    return re.findall(rf"```{language}\n(.*?)```\n\n```text\n(.*?)```", TUTORIAL, re.S)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the commands run: as in the repository, but runs/ are thrown away."""
    place = tmp_path_factory.mktemp("tutorial")
    (place / "problems").symlink_to(ROOT / "problems")
    return place


@pytest.mark.slow
def test_the_programs_print_their_outputs(folder):
    blocks = shown("python")
    assert len(blocks) == 4
    program = f"\nprint({MARK!r})\n".join(code for code, _ in blocks)
    line = [sys.executable, "-c", program]
    done = subprocess.run(line, capture_output=True, text=True, cwd=folder)
    assert not done.returncode, done.stderr
    for output, (_, expected) in zip(done.stdout.split(f"{MARK}\n"), blocks, strict=True):
        assert output == expected


@pytest.mark.slow
@pytest.mark.parametrize("line", [command for command, _ in shown("bash")])
def test_the_commands_print_their_outputs(line, folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    assert main(shlex.split(line)[1:]) == 0
    assert timeless(capsys.readouterr().out) == timeless(dict(shown("bash"))[line])


def timeless(text):
    """Seconds differ from run to run; rich pads its lines."""
    return [re.sub(r"\d+\.\d+ *│", "... │", line).rstrip() for line in text.splitlines()]


def edited(path, name, **constants):
    """A copy of a shipped problem file with other values for its constants."""
    text = (ROOT / "problems" / f"{name}.py").read_text()
    for constant, value in constants.items():
        text, found = re.subn(rf"^{constant} = .*$", f"{constant} = {value!r}", text, flags=re.M)
        assert found == 1
    copy = path / f"{name}.py"
    copy.write_text(text)
    return copy


def answers(file, spec, **hyper):
    """The weights of the first convex problem, as printed and as the file changes it."""
    row, data = file.formulation, load(spec).scaled()
    values, more = row.numbers(data.X, data.y, **hyper)
    problems = row.build(**values, **more), file.build(**values, **more)
    return [solve(problem, "CLARABEL", 1e-9).primal[row.symbol] for problem in problems]


def test_unit_prices_with_the_budget_of_the_paper_change_nothing(tmp_path):
    path = edited(tmp_path, "llfs_costs", COSTS=[1] * 13, BUDGET=3)
    file = load_problem_file(path)
    for beta in (0.3, 0.8):
        printed, changed = answers(file, "wine", point=5, beta=beta, max_features=3)
        np.testing.assert_allclose(changed, printed, atol=1e-5)
    wine = load("wine").scaled()
    ours, changed = (
        LLFS(
            max_features=3, betas=[0.4, 0.9], form="linear", formulation=formulation, solver="HIGHS"
        )
        .fit(wine.X[::9], wine.y[::9])
        .local_support_
        for formulation in (None, path)
    )
    np.testing.assert_array_equal(ours, changed)


@pytest.mark.parametrize("form", ["compactness", "linear", "exact"])
def test_no_sample_spends_more_than_the_budget(form, tmp_path):
    path = edited(tmp_path, "llfs_costs", BUDGET=5)
    wine = load("wine").scaled()
    rows = np.arange(0, 178, 25)
    model = LLFS(max_features=3, betas=[0.4, 1.0], form=form, formulation=path, solver="HIGHS")
    spent = model.fit(wine.X[rows], wine.y[rows]).local_support_ @ load_costs()
    assert 3 <= spent.max() <= 5


def load_costs():
    text = (ROOT / "problems" / "llfs_costs.py").read_text()
    return np.array(ast.literal_eval(re.findall(r"^COSTS = (.*)$", text, re.M)[0]))


def test_groups_of_one_are_the_printed_problem(tmp_path):
    file = load_problem_file(edited(tmp_path, "logo_groups", GROUPS=[[i] for i in range(30)]))
    printed, changed = answers(file, "wdbc", lam=20.0)
    np.testing.assert_allclose(changed, printed, atol=1e-5)


def test_a_group_that_is_out_is_out_as_a_whole():
    _, w = answers(load_problem_file(ROOT / "problems" / "logo_groups.py"), "wdbc", lam=20.0)
    sizes = np.linalg.norm(w.reshape(3, 10), axis=0)
    assert 0 < (sizes > 1e-3).sum() < 10
    assert (sizes[sizes <= 1e-3] < 1e-6).all()


def test_a_feature_that_is_out_might_as_well_not_be_there(tmp_path):
    file = load_problem_file(edited(tmp_path, "logo_must", **{"IN, OUT": ([], [20, 22, 23])}))
    _, w = answers(file, "wdbc", lam=20.0)
    row, data = FORMULATIONS["logo-penalised"], load("wdbc").scaled()
    values, more = row.numbers(data.X, data.y, lam=20.0)
    kept = np.setdiff1d(np.arange(30), [20, 22, 23])
    without = solve(row.build(values["Z"][:, kept], **more), "CLARABEL", 1e-9).primal["w"]
    np.testing.assert_allclose(w[kept], without, atol=1e-5)
    np.testing.assert_allclose(w[[20, 22, 23]], 0, atol=1e-8)


def test_a_feature_that_is_in_keeps_its_share():
    printed, w = answers(load_problem_file(ROOT / "problems" / "logo_must.py"), "wdbc", lam=20.0)
    assert printed[1] < 1e-6
    assert w[1] >= 0.1 * w.max() * (1 - 1e-6) > 0
