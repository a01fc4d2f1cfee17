"""Numbers and facts that the guide states, where no example on the page prints them."""

import importlib
import re
import tomllib
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

import convexfs

ROOT = Path(__file__).parents[1]


def page(topic):
    return (ROOT / "convexfs" / "guide" / f"{topic}.md").read_text()


@pytest.mark.parametrize(("visits", "least"), [(10, 0.96), (100, 0.995)])
def test_online_relief_approaches_the_batch(visits, least):
    assert f"after {visits} visits" in page("relief")
    assert f"{least} or more" in page("relief")
    data = convexfs.load("twonorm:n=300,noise=80,seed=1").scaled()
    online = {"online": True, "n_epochs": visits, "random_state": 1}
    z, there = (
        convexfs.Relief(n_neighbors=1, n_features_to_select=3, **more).fit(data.X, data.y).margin_
        for more in ({}, online)
    )
    assert float(np.asarray(spearmanr(z, there))[0]) >= least


@pytest.mark.parametrize(
    ("sigma", "damping", "least", "most"), [(1, 0.0, 3, 7), (0.5, 0.0, 28, 42), (2, 0.5, 15, 20)]
)
def test_irelief_converges_in_the_iterations_that_its_page_states(sigma, damping, least, most):
    assert re.search(rf"\b{least} to {most}\b", page("relief"))
    data = convexfs.load("twonorm:noise=200,seed=0").scaled()
    model = convexfs.IRelief(sigma=sigma, damping=damping, n_features_to_select=20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(data.X, data.y)
    assert model.converged_
    assert least <= model.n_iter_ <= most


def test_llfs_says_that_its_solutions_are_local():
    data = convexfs.load("iris").scaled()
    model = convexfs.LLFS(betas=3, random_state=0).fit(data.X[::3], data.y[::3])
    assert model.certificate_.basis.startswith("local")


def test_the_extras_are_those_of_the_package():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    listed = re.findall(r"^\| `(\w+)` \|", page("install").partition("## Platforms")[0], re.M)
    assert sorted(listed) == sorted(project["optional-dependencies"])


def test_generators_and_functions_that_pages_name_exist():
    found = re.search(r"a generator: ([\w, ]+)", page("data"))
    assert found is not None
    assert all(convexfs.load(name).n_samples for name in found[1].strip().split(", "))
    named = re.findall(r"`(convexfs\.[\w.]+)` \(((?:`\w+`(?:, )?)+)\)", page("methods"))
    assert len(named) > 2
    for module, names in named:
        home = importlib.import_module(module)
        assert all(hasattr(home, name) for name in re.findall(r"`(\w+)`", names))
