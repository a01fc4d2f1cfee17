import numpy as np
import pytest

from convexfs.data import load
from convexfs.data.generators import spiral
from convexfs.data.specs import BUNDLED
from convexfs.errors import InputError


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.delenv("CONVEXFS_DATA", raising=False)
    np.savez(tmp_path / "small.npz", X=np.eye(4), y=[0, 0, 1, 1])
    (tmp_path / "table.csv").write_text("a,y\n1,0\n2,1\n")
    (tmp_path / "notes.md").write_text("not data")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "shape", "classes"),
    [
        ("iris", (150, 4), 3),
        ("wine", (178, 13), 3),
        ("wdbc", (569, 30), 2),
        ("digits", (1797, 64), 10),
        ("diabetes", (442, 10), 0),
    ],
)
def test_bundled_sets(name, shape, classes):
    data = load(name)
    assert data.X.shape == shape
    assert data.n_classes == classes
    assert data.name == name


def test_every_bundled_set_is_tested():
    assert set(BUNDLED) == {"iris", "wine", "wdbc", "digits", "diabetes"}


def test_a_set_has_the_kind_of_target_it_has():
    assert load("diabetes").numeric
    assert load("ring", target_kind="numbers").numeric
    with pytest.raises(InputError, match="iris has classes for a target"):
        load("iris", target_kind="numbers")
    with pytest.raises(InputError, match=r"friedman has numbers .* ReliefRegressor \(--method"):
        load("friedman", target_kind="classes")
    with pytest.raises(InputError, match="unknown kind of target 'number': did you mean numbers"):
        load("friedman", target_kind="number")


def test_generator_with_parameters():
    data = load("spiral:noise=1e1, seed=3,turns=0.5")
    assert data.X.shape == (460, 12)
    assert data.name == "spiral:noise=1e1, seed=3,turns=0.5"
    np.testing.assert_array_equal(data.X, spiral(noise=10, seed=3, turns=0.5).X)


@pytest.mark.parametrize(("spec", "name"), [("iris", "sepal width (cm)"), ("spiral:noise=2", "x2")])
def test_features_of_named_sets_are_left_out_too(spec, name):
    whole, less = load(spec), load(spec, drop=[name])
    kept = [j for j, feature in enumerate(whole.feature_names) if feature != name]
    assert less.digest == whole.select(kept).digest
    with pytest.raises(InputError, match=f"{spec} has no column 'sepal_width' to drop"):
        load(spec, drop=["sepal_width"])


def test_an_existing_file_comes_first(folder, monkeypatch):
    monkeypatch.chdir(folder)
    (folder / "wine.csv").write_text("a,y\n1,0\n2,1\n")
    (folder / "iris").mkdir()
    assert load("wine.csv").n_samples == 2
    assert load("iris").n_samples == 150


@pytest.mark.parametrize("name", ["small", "small.npz", "table.csv"])
def test_data_folder_by_argument_and_environment(folder, monkeypatch, name):
    by_argument = load(f"data:{name}", data_dir=folder)
    monkeypatch.setenv("CONVEXFS_DATA", str(folder))
    assert load(f"data:{name}").digest == by_argument.digest
    assert by_argument.name == f"data:{name}"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("spiral:nois=3", "unknown parameter 'nois'; spiral takes n, turns, radius, noise, seed"),
        ("spiral:noise=many", "gives 'many' for noise; noise must be an integer"),
        ("spiral:noise=1.5", "gives '1.5' for noise"),
        ("spiral:noise=inf", "gives 'inf' for noise"),
        ("spiral:noise", "gives '' for noise"),
        ("spiral:turns=x", "gives 'x' for turns; turns must be a number"),
        ("spiral:noise=-1", "noise is -1; give a finite number of at least 0"),
        ("spiral:turns=nan", "turns is nan; give a finite number above 0"),
        ("spiral:noise=1000000000000", "would need over 1000 TB of memory, more than the"),
        (
            "spiral:n=1e9",
            "spiral:n=1e9 would need 128 GB of memory, more than the",
        ),
        ("spiral:n=1e300", "would need over 1000 TB of memory"),
        ("twonorm:n=1e300,noise=1e300", "would need over 1000 TB of memory"),
        ("iris:n=3", "iris takes no parameters"),
        ("sprial", "no data set is called 'sprial'; did you mean spiral"),
        ("Iris", "did you mean iris"),
        ("qqqq", "choose from diabetes, digits, friedman, iris"),
        ("missing.csv", "there is no file missing.csv"),
        ("table.xlsx", "there is no file table.xlsx"),
        ("nowhere/missing", "there is no file nowhere/missing"),
        ("data:small", "needs the data folder; set CONVEXFS_DATA or pass data_dir="),
    ],
)
def test_unusable_specs(folder, monkeypatch, spec, message):
    monkeypatch.chdir(folder)
    with pytest.raises(InputError, match=message):
        load(spec)


@pytest.mark.parametrize("spec", ["iris", "spiral"])
def test_only_files_take_a_target(spec):
    with pytest.raises(InputError, match="has its own classes; leave the target 'kind' out"):
        load(spec, target="kind")


def test_misspelt_name_in_the_data_folder(folder):
    with pytest.raises(InputError, match="has no 'smal'; did you mean small"):
        load("data:smal", data_dir=folder)
    with pytest.raises(InputError, match=r"has no 'qq'; choose from small, table\.csv"):
        load("data:qq", data_dir=folder)


def test_missing_data_folder(folder):
    with pytest.raises(InputError, match=r"data folder .*nowhere does not exist"):
        load("data:small", data_dir=folder / "nowhere")


@pytest.mark.parametrize("name", ["../small", "sub/../../small", "/etc/passwd", ".."])
def test_the_data_folder_is_not_left(folder, name):
    inside = folder / "inside"
    inside.mkdir()
    with pytest.raises(InputError, match="leaves the data folder"):
        load(f"data:{name}", data_dir=inside)


def test_a_data_name_longer_than_any_file_name(folder):
    with pytest.raises(InputError, match="has no 'aaaa"):
        load("data:" + 300 * "a", data_dir=folder)


def test_a_home_that_does_not_exist(folder):
    with pytest.raises(InputError, match="data folder ~nobody-here/x does not exist"):
        load("data:small", data_dir="~nobody-here/x")


def test_the_limit_can_be_chosen(folder):
    with pytest.raises(InputError, match=r"than the 1 kB that reading may take \(the limit asked"):
        load("spiral", read_limit=1000)
    with pytest.raises(InputError, match="a read limit is a size such as 4GB"):
        load("spiral", read_limit="much")
    assert load("spiral", read_limit="1MB").n_samples == 460


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("iris", "iris is no file with columns: leave .*--groups"),
        ("data:table.csv", "has no column 'who'"),
        ("data:small", "has no array 'who'"),
    ],
)
def test_columns_that_are_not_there_cannot_be_put_aside(folder, spec, message):
    with pytest.raises(InputError, match=message):
        load(spec, data_dir=folder, aside=["who"])
